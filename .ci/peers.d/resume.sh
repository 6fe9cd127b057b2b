# Sessions that Plimsoll compacted, resumed by Claude Code and Codex themselves: the checks are in resume.py.
# An older Claude Code reads no tail by reference, and a newer one is not to be surprised by ours: both are tried too.
need @anthropic-ai/claude-code
need @openai/codex
resumes() { checks env PLIMSOLL="$plimsoll" python3 "$root/.ci/peers.d/resume.py" "$@"; }
resumes claude "$bin/claude"
for version in 2.1.20 2.1.332; do
    other=$peers/claude-$version
    [ -d "$other/node_modules" ] ||
        npm install --silent --no-audit --no-fund --prefix "$other" "@anthropic-ai/claude-code@$version" >&2
    resumes claude "$other/node_modules/.bin/claude"
done
resumes codex "$bin/codex"
