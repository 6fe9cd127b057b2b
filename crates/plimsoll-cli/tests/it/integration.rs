//! Hooks and installation from outside: exit codes, what is printed, what is logged, what is left behind.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use super::{Bench, Ran};

fn hook(bench: &Bench, event: &str, input: &[u8], more: &[(&str, &str)]) -> Ran {
    let mut command = bench.command();
    command.args(["hook", event]).env("PLIMSOLL_LOG", bench.path("log")).envs(more.iter().copied());
    bench.feed(command, input)
}

fn logged(bench: &Bench) -> String {
    fs::read_to_string(bench.path("log")).unwrap_or_default()
}

fn tool_input(text: &str) -> String {
    serde_json::json!({
        "session_id": "s1", "tool_use_id": "toolu_1", "tool_name": "Bash", "transcript_path": "/nowhere",
        "tool_response": { "stdout": text, "stderr": "", "interrupted": false },
    })
    .to_string()
}

#[test]
fn a_long_result_is_capped_and_recalled_by_the_id_and_the_path_that_the_text_names() {
    let bench = Bench::new();
    let text: String = (0..9_000).map(|n| format!("line {n} of a long log\n")).collect();
    let ran = hook(&bench, "PostToolUse", tool_input(&text).as_bytes(), &[("PLIMSOLL_CAP_MAX_BYTES", "4096")]);
    let said = ran.code(0).json();
    let shown = said["hookSpecificOutput"]["updatedToolOutput"]["stdout"].as_str().unwrap();
    assert!(shown.len() <= 4_096 && shown.contains("recall id s1/toolu_1"), "{shown}");
    let path = bench.path("store/results/s1/toolu_1.txt");
    assert!(shown.contains(path.to_str().unwrap()), "{shown}");
    assert_eq!(fs::read_to_string(path).unwrap(), text);
    assert_eq!(bench.run(["recall", "s1/toolu_1"]).code(0).out(), text);
    assert_eq!(logged(&bench), "");
}

#[test]
fn what_is_within_the_cap_is_not_answered_and_nothing_is_written() {
    let bench = Bench::new();
    let ran = hook(&bench, "PostToolUse", tool_input("short").as_bytes(), &[]);
    assert_eq!((ran.code(0).out().as_str(), bench.stored(), logged(&bench).as_str()), ("", false, ""));
}

#[test]
fn whatever_goes_wrong_the_agent_goes_on() {
    for (event, input, said) in [
        ("PostToolUse", "", "input cannot be read: the JSON ends"),
        ("PostToolUse", "{\"tool_response\": \"", "the JSON ends"),
        ("PostToolUse", "[]", "no JSON object"),
        ("PreCompact", "{}", "`session_id`"),
        ("PreCompact", "{\"session_id\":\"s\",\"transcript_path\":\"/nowhere/at/all\"}", "/nowhere/at/all"),
        ("PreCompact", "{\"session_id\":\"s\",\"transcript_path\":\"/dev/zero\"}", "no regular file"),
        ("NoSuchEvent", "{}", "`NoSuchEvent` is no event"),
    ] {
        let bench = Bench::new();
        let ran = hook(&bench, event, input.as_bytes(), &[]);
        assert_eq!(ran.code(0).out(), "", "{event} {input}");
        let log = logged(&bench);
        assert!(log.lines().count() == 1 && log.contains(said), "{event} {input}: {log}");
    }
    // A mistake in the configuration, or in the command line, is no reason to stop an agent either.
    let bench = Bench::new();
    let ran = hook(&bench, "PostToolUse", tool_input("x").as_bytes(), &[("PLIMSOLL_CAP_MAX_BYTES", "lots")]);
    assert_eq!(ran.code(0).out(), "");
    assert!(logged(&bench).contains("PLIMSOLL_CAP_MAX_BYTES"), "{}", logged(&bench));
    for arguments in [vec!["hook"], vec!["hook", "--what"], vec!["hook", "PostToolUse", "more"]] {
        let mut command = bench.command();
        command.args(arguments).env("PLIMSOLL_LOG", bench.path("log"));
        assert_eq!(bench.feed(command, b"{}").code(0).out(), "");
    }
    assert_eq!(logged(&bench).lines().count(), 4);
}

#[test]
fn a_store_that_refuses_gives_an_honest_text_and_a_line_in_the_log() {
    let bench = Bench::new();
    let blocked = bench.write("blocked", "a file where a directory should be");
    let url = format!("file://{}", blocked.join("store").display());
    let input = tool_input(&"a line\n".repeat(5_000));
    let ran = hook(
        &bench,
        "PostToolUse",
        input.as_bytes(),
        &[("PLIMSOLL_STORE", &url), ("PLIMSOLL_CAP_MAX_BYTES", "4096")],
    );
    let said = ran.code(0).json();
    let shown = said["hookSpecificOutput"]["updatedToolOutput"]["stdout"].as_str().unwrap();
    assert!(shown.len() <= 4_096 && shown.contains("could NOT be saved"), "{shown}");
    assert!(logged(&bench).contains("could not be stored"), "{}", logged(&bench));
    // One that cannot be opened, or ends with the hook, is no reason to show everything, or to claim that it is saved.
    for (url, why) in
        [("s3://bucket/prefix", "AWS_"), ("memory:", "ends with this process"), ("nonsense", "no scheme")]
    {
        let more = [("PLIMSOLL_STORE", url), ("PLIMSOLL_CAP_MAX_BYTES", "4096")];
        let said = hook(&bench, "PostToolUse", input.as_bytes(), &more).code(0).json();
        let shown = said["hookSpecificOutput"]["updatedToolOutput"]["stdout"].as_str().unwrap();
        assert!(shown.len() <= 4_096 && shown.contains("could NOT be saved"), "{url}: {shown}");
        let log = logged(&bench);
        let last = log.lines().last().unwrap();
        assert!(last.contains("could not be stored") && last.contains(why), "{url}: {last}");
    }
    assert_eq!(hook(&bench, "PreCompact", b"{}", &[("PLIMSOLL_STORE", "memory:")]).code(0).out(), "");
    assert!(logged(&bench).contains("a store in memory ends with the hook"));
}

#[cfg(unix)]
#[test]
fn a_program_that_never_ends_its_input_is_given_up() {
    let bench = Bench::new();
    let mut command = bench.command();
    command.args(["hook", "statusline"]).env("PLIMSOLL_LOG", bench.path("log"));
    let mut child = command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let open = child.stdin.take();
    let begun = Instant::now();
    let output = child.wait_with_output().unwrap();
    drop(open);
    assert!(output.status.success() && output.stdout.is_empty());
    assert!(begun.elapsed() < Duration::from_secs(6));
    assert!(logged(&bench).contains("given up after 2 seconds"), "{}", logged(&bench));
}

#[cfg(unix)]
#[test]
fn a_log_that_is_a_link_is_not_written_through() {
    let bench = Bench::new();
    let precious = bench.write("precious", "precious");
    std::os::unix::fs::symlink(&precious, bench.path("log")).unwrap();
    assert_eq!(hook(&bench, "PreCompact", b"{}", &[]).code(0).out(), "");
    assert_eq!(fs::read_to_string(precious).unwrap(), "precious");
}

#[test]
fn a_session_file_is_archived_and_announced_after_the_compaction() {
    let bench = Bench::new();
    let example = super::example();
    let text = fs::read(&example).unwrap();
    let input =
        serde_json::json!({ "session_id": "s1", "transcript_path": example, "source": "compact", "trigger": "auto" });
    let input = input.to_string();
    assert_eq!(hook(&bench, "PreCompact", input.as_bytes(), &[]).code(0).out(), "");
    let said = hook(&bench, "SessionStart", input.as_bytes(), &[]).code(0).json();
    let said = said["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    let (_, rest) = said.split_once("plimsoll restore '").unwrap();
    let (epoch, _) = rest.split_once('\'').unwrap();
    assert!(bench.run(["restore", epoch]).code(0).bytes() == text);
    assert!(!bench.run(["recall", epoch]).code(0).bytes().is_empty());
    assert_eq!(logged(&bench), "");
}

/// Runs install or uninstall with a home directory at the bench.
fn with_home(bench: &Bench, arguments: &[&str]) -> Ran {
    let mut command = bench.command();
    command.args(arguments).env("HOME", bench.path("home"));
    bench.feed(command, b"")
}

#[test]
fn nothing_is_written_without_apply_and_all_is_undone_byte_for_byte() {
    let bench = Bench::new();
    let settings = bench.path("home/.claude/settings.json");
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    let text = "{\n    // mine\n    \"model\": \"opus\"\n}";
    fs::write(&settings, text).unwrap();
    let shown = with_home(&bench, &["install", "claude"]);
    assert!(
        shown.code(0).out().contains("+             \"command\": \"") || shown.out().contains("hook PostToolUse"),
        "{}",
        shown.out()
    );
    assert!(shown.err().contains("--apply"), "{}", shown.err());
    assert_eq!(fs::read_to_string(&settings).unwrap(), text);
    assert!(!bench.path("home/.claude.json").exists());

    let done = with_home(&bench, &["install", "claude", "--apply", "--json"]).code(0).json();
    assert_eq!(
        (&done["applied"], &done["changes"][0]["change"], &done["changes"][1]["change"]),
        (&true.into(), &"edit".into(), &"create".into())
    );
    let backup = done["changes"][0]["backup"].as_str().unwrap().to_owned();
    assert_eq!(fs::read_to_string(&backup).unwrap(), text);
    let written = fs::read_to_string(&settings).unwrap();
    assert!(written.contains("// mine") && written.contains(env!("CARGO_BIN_EXE_plimsoll")), "{written}");
    let again = with_home(&bench, &["install", "claude", "--apply", "--json"]).code(0).json();
    assert_eq!(again["applied"], false);

    with_home(&bench, &["uninstall", "claude", "--apply"]).code(0);
    assert_eq!(fs::read_to_string(&settings).unwrap(), text);
    assert!(!bench.path("home/.claude.json").exists() && !Path::new(&backup).exists());
    assert!(with_home(&bench, &["uninstall", "claude"]).code(0).out().contains("nothing to do"));
}

#[test]
fn an_unknown_agent_is_wrong_usage_and_a_broken_file_a_failure() {
    let bench = Bench::new();
    assert!(with_home(&bench, &["install", "emacs"]).code(2).err().contains("claude, codex and opencode"));
    fs::create_dir_all(bench.path("home/.codex")).unwrap();
    fs::write(bench.path("home/.codex/config.toml"), "not toml").unwrap();
    let ran = with_home(&bench, &["install", "codex", "--apply"]);
    assert!(ran.code(1).err().contains("config.toml"), "{}", ran.err());
    assert_eq!(fs::read_to_string(bench.path("home/.codex/config.toml")).unwrap(), "not toml");
}

#[test]
fn the_mcp_server_answers_on_standard_output_and_ends_with_its_input() {
    let bench = Bench::new();
    bench
        .pipe(["cap", "--session", "s1", "--call", "c1", "--max-bytes", "1000"], "a line\n".repeat(500).as_bytes())
        .code(0);
    let lines = [
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        "this is no JSON",
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"recall","arguments":{"id":"s1/c1","lines":"2:3"}}}"#,
        r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"recall","arguments":{"id":"../x"}}}"#,
    ];
    let ran = bench.pipe(["mcp"], (lines.join("\n") + "\n").as_bytes());
    let out = ran.code(0).out();
    let answers: Vec<serde_json::Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let answer = |id: u64| answers.iter().find(|answer| answer["id"] == id).unwrap_or_else(|| panic!("{out}"));
    assert_eq!(answer(1)["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(answer(2)["result"]["content"][0]["text"], "a line\na line\n[lines 2-3]");
    assert_eq!(answer(3)["result"]["isError"], true);
}

#[test]
fn a_store_that_is_named_is_written_into_every_command_and_used_by_it() {
    let bench = Bench::new();
    let store = format!("file://{}", bench.path("my store").display()).replace(' ', "%20");
    let done = with_home(&bench, &["install", "claude", "--store", &store, "--apply", "--json"]);
    assert!(done.code(0).json()["notes"].to_string().contains(&store));
    let settings = fs::read_to_string(bench.path("home/.claude/settings.json")).unwrap();
    let settings: serde_json::Value = serde_json::from_str(&settings).unwrap();
    let command = settings["hooks"]["PostToolUse"][0]["hooks"][0]["command"].as_str().unwrap();
    let output = "a line\n".repeat(40_000);
    let event = serde_json::json!({
        "session_id": "s1", "hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_use_id": "toolu_1",
        "tool_input": {"command": "x"}, "tool_response": {"stdout": output, "stderr": ""},
    });
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", command]).env("HOME", bench.path("home"));
    assert!(bench.feed(shell, event.to_string().as_bytes()).code(0).out().contains("recall id s1/toolu_1"));
    let recalled = bench.run(["recall", "s1/toolu_1", "--store", &store, "--lines", "2"]);
    assert_eq!(recalled.code(0).out(), "a line\n");
    let doctor = with_home(&bench, &["doctor", "--json"]).out();
    assert!(
        doctor.contains(&format!("installed in claude, and calls this program, with the store {store}")),
        "{doctor}"
    );
    // What was changed since is taken out all the same.
    let path = bench.path("home/.claude/settings.json");
    let changed = fs::read_to_string(&path).unwrap().replacen('{', "{\n  \"a\": 1,", 1);
    fs::write(&path, changed).unwrap();
    with_home(&bench, &["uninstall", "claude", "--apply"]).code(0);
    let left: serde_json::Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(left, serde_json::json!({"a": 1}));
}

#[test]
fn a_store_that_cannot_be_installed_is_wrong_usage_and_no_key_is_shown() {
    let bench = Bench::new();
    for store in ["s3://key:secret@bucket/x", "memory:", "relative"] {
        let ran = with_home(&bench, &["install", "claude", "--store", store, "--apply"]);
        assert!(ran.code(2).err().contains("--store cannot be installed"), "{}", ran.err());
        assert!(!ran.err().contains("secret") && !bench.path("home/.claude").exists());
    }
}
