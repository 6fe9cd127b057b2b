# Hooks, the MCP server and the installation in real agent programs, and the official MCP client: the checks are in install.py.
need @anthropic-ai/claude-code
need @openai/codex
need opencode-ai
venv=$peers/venv
[ -x "$venv/bin/python3" ] || python3 -m venv "$venv"
"$venv/bin/python3" -c 'import mcp' 2>/dev/null || "$venv/bin/python3" -m pip install --quiet --disable-pip-version-check mcp
checks "$venv/bin/python3" "$root/.ci/peers.d/install.py" "$plimsoll" "$peers/npm/node_modules"
