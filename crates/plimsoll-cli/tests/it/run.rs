//! `plimsoll run`, against a small program that answers as Claude Code does.

use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Stdio;

use crate::{Bench, Ran};

/// Reads a line at a time, as the real program does: greeting, then turns.
const PROGRAM: &str = r#"#!/bin/sh
case "$*" in *--version*) echo "2.1.197 (Claude Code)"; exit;; *--help*) echo "--input-format --session-id --resume acceptEdits"; exit;; esac
say() { printf '%s\n' "$1"; }
result() { say '{"type":"result","is_error":'$1',"num_turns":1,"result":"'"$2"'","session_id":"s-1","usage":{"input_tokens":5,"output_tokens":2},"modelUsage":{"m":{"contextWindow":1000}}}'; }
while read -r line; do case "$line" in
*initialize*) say '{"type":"control_response","response":{"subtype":"success","request_id":"plimsoll-1","response":{"commands":[{"name":"compact"},{"name":"context"}]}}}';;
*interrupt*) result true interrupted; exit 1;;
*hang*) say '{"type":"system","subtype":"init","session_id":"s-1","model":"m"}'; say '{"type":"assistant","message":{"id":"a","content":[{"type":"text","text":"wait"}]}}';;
*/compact*) result false "Not enough messages to compact.";;
*fail*) result true "Credit balance is too low";;
*vanish*) echo oh no >&2; exit 0;;
*environment*) result false "$ADDED-$SECRET-$HIDDEN";;
*) say '{"type":"system","subtype":"init","session_id":"s-1","model":"m","slash_commands":["compact"],"skills":[]}'
say '{"type":"assistant","message":{"id":"a","model":"m","content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls"}}],"usage":{"input_tokens":400,"output_tokens":2}}}'
say '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"a\nb"}]}}'
say '{"type":"assistant","message":{"id":"b","model":"m","content":[{"type":"text","text":"an \u001b answer"}],"usage":{"input_tokens":500,"output_tokens":2}}}'
result false "an answer";;
esac; done
"#;

fn program(bench: &Bench) -> PathBuf {
    let path = bench.write("agent", PROGRAM);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn run(bench: &Bench, arguments: &[&str]) -> Ran {
    let program = program(bench);
    let mut command = bench.command();
    command.env("PATH", "/usr/bin:/bin").env("SECRET", "s3cret").env("HIDDEN", "h1dden");
    command.args(["run", "--agent", "claude", "--agent-bin"]).arg(program).args(arguments);
    Ran(command.stdin(Stdio::null()).output().unwrap())
}

fn last(ran: &Ran) -> serde_json::Value {
    let last: serde_json::Value = serde_json::from_str(ran.out().lines().last().unwrap()).unwrap();
    assert_eq!(last["event"], "finished");
    last
}

#[test]
fn the_answer_goes_to_standard_output_and_the_rest_to_standard_error() {
    let bench = Bench::new();
    let ran = run(&bench, &["hello"]);
    ran.code(0);
    assert_eq!(ran.out(), "an \u{fffd} answer\n");
    insta::assert_snapshot!(ran.err(), @"
    Bash ls
      a (+1 line)
    900 in, 4 out
    context ████████████████████                     502 of 1.0K tokens, 50 %
    session s-1
    ");
}

#[test]
fn each_event_is_a_line_and_the_last_says_how_it_ended() {
    let bench = Bench::new();
    let ran = run(&bench, &["hello", "--json"]);
    ran.code(0);
    let kinds: Vec<String> = ran
        .out()
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["event"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(kinds, ["commands", "started", "tool_call", "tool_result", "text", "usage", "finished"]);
    insta::assert_snapshot!(last(&ran), @r#"{"context_used":502,"context_window":1000,"error":null,"event":"finished","exit":{"code":0,"signal":null},"ok":true,"session":"s-1","stderr":"","stop":"end","text":"an answer","turns":1,"unparsed":{"too_long":0,"torn":0,"unknown":0},"unsent":[],"usage":{"cache_read":0,"cache_write":0,"input":900,"output":4}}"#);
}

#[test]
fn words_that_would_be_run_are_refused_with_a_hint() {
    let bench = Bench::new();
    let ran = run(&bench, &["/compact keep it"]);
    ran.code(2);
    assert!(ran.err().contains("--command '/compact'"), "{}", ran.err());
    let ran = run(&bench, &["/compact keep it", "--json"]);
    ran.code(2);
    assert_eq!(last(&ran)["error"]["kind"], "usage");
    run(&bench, &["What does /compact do?"]).code(0);
    run(&bench, &["--command", "re/view"]).code(2);
    run(&bench, &[]).code(2);
}

#[test]
fn a_declined_compaction_is_done_and_an_unknown_command_is_wrong_usage() {
    let bench = Bench::new();
    let ran = run(&bench, &["--json", "--command", "/compact keep it"]);
    ran.code(0);
    let step = ran.out().lines().find(|line| line.contains("compaction")).unwrap().to_owned();
    assert!(step.starts_with(
        r#"{"event":"compaction","state":"finished","ok":false,"error":"Not enough messages to compact.","before":null,"after":null"#
    ), "{step}");
    let ran = run(&bench, &["--command", "/compcat"]);
    ran.code(2);
    assert!(ran.err().contains("did you mean `/compact`?"), "{}", ran.err());
}

#[test]
fn whose_failure_it_is_stands_in_the_exit_code() {
    let bench = Bench::new();
    for (prompt, kind) in [("fail", "failed"), ("vanish", "no_terminal_record")] {
        let ran = run(&bench, &[prompt, "--json"]);
        ran.code(1);
        assert_eq!((&last(&ran)["error"]["kind"], &last(&ran)["ok"]), (&kind.into(), &false.into()));
    }
    let ran = Ran(bench.command().args(["run", "--agent", "claude", "--json", "x"]).output().unwrap());
    ran.code(4);
    assert_eq!(last(&ran)["error"]["kind"], "not_installed");
    assert!(run(&bench, &["fail"]).err().contains("Credit balance is too low"));
}

#[test]
fn the_agent_sees_what_is_named_and_nothing_else() {
    let bench = Bench::new();
    let ran = run(&bench, &["environment", "--json", "--env", "SECRET", "--env", "ADDED=1"]);
    assert_eq!(last(&ran)["text"], "1-s3cret-");
    run(&bench, &["x", "--env", "NOT_SET_HERE"]).code(2);
}

#[test]
fn a_request_to_end_cancels_the_run_and_says_so() {
    let bench = Bench::new();
    let program = program(&bench);
    let mut command = bench.command();
    command.env("PATH", "/usr/bin:/bin").args(["run", "--agent", "claude", "--session", "a", "--json", "hang"]);
    let mut child =
        command.arg("--agent-bin").arg(program).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains(r#""text":"wait""#)));
    // The session is taken as long as the run lasts.
    let ran = run(&bench, &["--session", "a", "x", "--json"]);
    ran.code(4);
    assert_eq!(last(&ran)["error"]["kind"], "session_busy");
    let kill = std::process::Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    let finished: serde_json::Value = serde_json::from_str(&lines.last().unwrap()).unwrap();
    assert_eq!((&finished["event"], &finished["stop"]), (&"finished".into(), &"cancelled".into()));
    assert_eq!(child.wait().unwrap().code(), Some(130));
    run(&bench, &["--session", "a", "x"]).code(0);
}
