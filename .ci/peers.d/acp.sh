# OpenCode and Gemini CLI, driven by `plimsoll run` over the Agent Client Protocol: the checks are in acp.py.
need opencode-ai
need @google/gemini-cli
checks env PLIMSOLL="$plimsoll" PEERS_BIN="$bin" python3 "$root/.ci/peers.d/acp.py"
