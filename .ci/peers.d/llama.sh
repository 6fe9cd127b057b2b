# A real small model: SmolLM2-135M under llama.cpp's server, with a window of 8,192 tokens. The checks are in llama.py.
# shellcheck source=/dev/null
source "$root/.ci/peers.d/llama.build"
checks python3 "$root/.ci/peers.d/llama.py" "$plimsoll" "$llama/llama-server" "$llama/model.gguf" "$work"
