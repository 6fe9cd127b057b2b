# The official SDKs through the gateway against a real model server, llama.cpp's: the checks are in gateway.llama.py.
need @anthropic-ai/sdk
need openai
# shellcheck source=/dev/null
source "$root/.ci/peers.d/gateway.sdks"
# shellcheck source=/dev/null
source "$root/.ci/peers.d/llama.build"
checks env PEERS_MODULES="$peers/npm/node_modules" PEERS_PYTHON="$python" python3 "$root/.ci/peers.d/gateway.llama.py" \
    "$plimsoll" "$llama/llama-server" "$llama/model.gguf" "$work"
