# OpenCode and Gemini CLI, driven by `plimsoll run` over the Agent Client Protocol: the checks are in acp.py.
need opencode-ai
need @google/gemini-cli
while IFS= read -r line; do
    echo "$line"
    case $line in
        'ok '*) echo ok >>"$base/results" ;;
        'FAILED '*) echo failed >>"$base/results" ;;
    esac
done < <(PLIMSOLL=$plimsoll PEERS_BIN=$bin python3 "$root/.ci/peers.d/acp.py" || echo "FAILED $peer: the file ended with a failure")
