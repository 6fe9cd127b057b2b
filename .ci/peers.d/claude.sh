# Claude Code, driven by `plimsoll run`.
need @anthropic-ai/claude-code
export ANTHROPIC_BASE_URL=$model ANTHROPIC_API_KEY=dummy
claude=(--agent claude --agent-bin "$bin/claude" --env ANTHROPIC_BASE_URL --env ANTHROPIC_API_KEY)

has() { grep -qF -- "$1" "$out"; }

a_prompt() {
    run 0 "${claude[@]}" --session s --json 'say: hello there' &&
        [ "$(finished text)" = 'hello there' ] && [ "$(finished stop)" = end ] && has '"event":"text"' &&
        [ "$(finished usage.output)" = 9 ] && [ "$(finished unparsed.torn)" = 0 ]
}
check 'a prompt is answered' a_prompt

a_tool() {
    run 0 "${claude[@]}" --session s --json 'run: seq 1 30' &&
        has '"event":"tool_call"' && has '"event":"tool_result"' && [ "$(finished text)" = 'done' ] &&
        [ "$(finished turns)" = 1 ] && [ -n "$(finished context_used)" ]
}
check 'a tool is called and its result goes back' a_tool

compacts() {
    local before
    before=$(asked "$2")
    # shellcheck disable=SC2086
    run 0 "${claude[@]}" --session s --json --command "$1" &&
        has '{"event":"compaction","state":"started"' && has '"state":"finished","ok":true' &&
        grep -qE '"before":[0-9]+,"after":[0-9]+' "$out" && [ "$(asked "$2")" -gt "$before" ] &&
        [ "$(finished context_used)" -gt 0 ]
}
check '/compact compacts a resumed session' compacts '/compact' '<summary>'
run 0 "${claude[@]}" --session s 'say: something to compact again' || true
run 0 "${claude[@]}" --session s 'say: and once more' || true
check '/compact takes instructions' compacts '/compact keep the API zebra' 'keep the API zebra'

too_short() {
    run 0 "${claude[@]}" --session short 'say: one' &&
        run 0 "${claude[@]}" --session short --json --command /compact && has '"state":"finished"' &&
        run 0 "${claude[@]}" --session empty --json --command compact && has '"state":"finished","ok":false,"error":"'
}
check 'too few messages are an answer' too_short

clear_session() {
    run 0 "${claude[@]}" --session c --json 'say: remember the walrus' && local old && old=$(finished session) &&
        run 0 "${claude[@]}" --session c --json --command /clear && [ "$(finished session)" != "$old" ] &&
        run 0 "${claude[@]}" --resume "$old" --json 'say: still here' && [ "$(finished session)" = "$old" ]
}
check '/clear begins a new session and leaves the old one' clear_session

context() { run 0 "${claude[@]}" --session s --command /context && has 'Context Usage'; }
check '/context says what fills the context' context

unknown() {
    local before
    before=$(ls "$model_log" | wc -l)
    run 2 "${claude[@]}" --session s --command compcat && grep -q 'did you mean `/compact`' "$err" &&
        [ "$(ls "$model_log" | wc -l)" = "$before" ] &&
        run 2 "${claude[@]}" --session s --json --command compcat && [ "$(finished error.kind)" = unknown_command ]
}
check 'an unknown command is refused before it is sent' unknown

prose() {
    local words='Please explain what /compact does to walrus 42.'
    run 0 "${claude[@]}" --session s --json "$words" && ! has '"event":"compaction"' && [ "$(asked "$words")" -gt 0 ] &&
        run 2 "${claude[@]}" --session s '/compact this' && grep -q -- '--command' "$err"
}
check 'prose stays prose' prose

keeps_its_answer() {
    run 0 "${claude[@]}" --session s --json 'say: the answer' --command /compact &&
        [ "$(finished text)" = 'the answer' ] && [ "$(finished turns)" = 2 ] &&
        [ "$(grep -c '"event":"started"' "$out")" = 1 ]
}
check 'a command after a prompt leaves it its answer' keeps_its_answer

cancels() {
    (cd "$work" && exec "$plimsoll" run "${claude[@]}" --session slow --json 'please go slowly' >"$out" 2>"$err") &
    local pid=$! code=0
    for _ in $(seq 300); do has '"event":"text"' && break; sleep 0.1; done
    kill -TERM "$pid"
    wait "$pid" || code=$?
    [ "$code" = 130 ] && [ "$(finished stop)" = cancelled ]
}
check 'a run is cancelled in mid-turn' cancels

killed() {
    (cd "$work" && exec "$plimsoll" run "${claude[@]}" --session killed --json 'please go slowly' >"$out" 2>"$err") &
    local pid=$! family
    for _ in $(seq 300); do has '"event":"text"' && break; sleep 0.1; done
    family=$(pgrep -P "$pid") && family="$family $(pgrep -P "$family")"
    kill -KILL "$pid"
    wait "$pid" 2>/dev/null || true
    for _ in $(seq 100); do
        # shellcheck disable=SC2086
        kill -0 $family 2>/dev/null || return 0
        sleep 0.1
    done
    return 1
}
check 'a host that is killed takes the agent with it' killed

two_at_once() {
    (cd "$work" && exec "$plimsoll" run "${claude[@]}" --session two --json 'please go slowly' >"$out.first" 2>&1) &
    local pid=$! good=1
    for _ in $(seq 300); do grep -qF '"event":"text"' "$out.first" && break; sleep 0.1; done
    run 4 "${claude[@]}" --session two --json 'say: me too' && [ "$(finished error.kind)" = session_busy ] && good=0
    kill -TERM "$pid"
    wait "$pid" || true
    return $good
}
check 'two runs on one session are refused' two_at_once

no_session() {
    run 1 "${claude[@]}" --json --resume 00000000-0000-4000-8000-000000000000 'say: x' &&
        [ "$(finished error.kind)" = no_session ]
}
check 'a session that is not there is said to be missing' no_session

no_login() {
    run 1 --agent claude --agent-bin "$bin/claude" --env ANTHROPIC_BASE_URL --json 'say: x' &&
        [ "$(finished error.kind)" = not_logged_in ]
}
check 'a missing login is said to be one' no_login
