# Agent programs and SDKs through `plimsoll serve` and `plimsoll wrap`, past a small window: the checks are in gateway.py.
need @anthropic-ai/claude-code
need @openai/codex
need opencode-ai
need @anthropic-ai/sdk
need openai
# shellcheck source=/dev/null
source "$root/.ci/peers.d/gateway.sdks"
checks env PLIMSOLL="$plimsoll" PEERS_BIN="$bin" PEERS_PYTHON="$python" python3 "$root/.ci/peers.d/gateway.py"
