# Codex, driven by `plimsoll run`: the checks are in codex.py, each line that it prints is one.
need @openai/codex
while IFS= read -r line; do
    echo "$line"
    case $line in
        'ok '*) echo ok >>"$base/results" ;;
        'FAILED '*) echo failed >>"$base/results" ;;
    esac
done < <(PLIMSOLL=$plimsoll PEERS_BIN=$bin python3 "$root/.ci/peers.d/codex.py" || echo "FAILED $peer: the file ended with a failure")
