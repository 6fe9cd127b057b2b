# Codex, driven by `plimsoll run`: the checks are in codex.py.
need @openai/codex
checks env PLIMSOLL="$plimsoll" PEERS_BIN="$bin" python3 "$root/.ci/peers.d/codex.py"
