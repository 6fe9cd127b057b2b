//! `compact --summarizer`: a model writes the summary, or the extract stands in for it, and nothing is lost on the way.

use std::process::Stdio;
use std::time::Duration;

use plimsoll::compact::Profile;

use crate::server::{Act, Server, anthropic, chat, head, part, responses, stream, whole};
use crate::{Bench, Ran, body};

const CANARY: &str = "sk-canary-0123456789";

/// A whole summary, as a model writes one.
fn good() -> String {
    let profile = Profile::default();
    let sections = (1..).zip(profile.headings()).map(|(number, heading)| {
        format!("## {number}. {heading}\nThe zebra files were read one by one, and each has sixty lines.\n\n")
    });
    format!("<analysis>\nnotes\n</analysis>\n\n<summary>\n{}</summary>", sections.collect::<String>())
}

/// A bench with a conversation to compact, and the run of it with these options.
fn compact(bench: &Bench, server: &Server, summarizer: &str, more: &[&str]) -> Ran {
    bench.write("t.json", body(12));
    let mut command = bench.command();
    command.args(["compact", "t.json", "--keep-tokens", "300", "--summarizer", summarizer, "--summarizer-url"]);
    command.arg(server.url()).args(more).env("OPENAI_API_KEY", CANARY).env("ANTHROPIC_API_KEY", CANARY);
    let ran = Ran(command.stdin(Stdio::null()).output().unwrap());
    assert!(!ran.out().contains("canary") && !ran.err().contains("canary"), "{}{}", ran.out(), ran.err());
    ran
}

#[test]
fn a_model_writes_the_summary_and_the_report_says_what_it_cost() {
    for (summarizer, answer, path) in [
        ("openai:gpt-4o-mini", chat(&good(), "stop"), "/v1/chat/completions"),
        ("responses:gpt-4o-mini", responses(&good()), "/v1/responses"),
        ("anthropic:claude-haiku-4-5", anthropic(&good(), "end_turn"), "/v1/messages"),
    ] {
        let (bench, server) = (Bench::new(), Server::start([stream(&answer)]));
        let report = compact(&bench, &server, summarizer, &["-o", "out.json", "--json"]).code(0).json();
        assert_eq!((report["outcome"].as_str(), report["summarizer"].as_str()), (Some("applied"), Some(summarizer)));
        assert_eq!((report["fallback"].is_null(), report["calls"].as_u64()), (true, Some(1)));
        assert_eq!(
            (report["usage"]["cache_read"].as_u64(), report["usage"]["output"].as_u64()),
            (Some(900), Some(300))
        );
        assert_eq!(report["request"]["form"], "text");
        assert!(report["request"]["input"].as_u64().unwrap() > 500);
        assert!(report["summary_tokens"].as_u64().unwrap() > 100);
        assert_eq!(server.seen()[0].line, format!("POST {path} HTTP/1.1"));
        assert_eq!(server.seen()[0].json()["stream"], true);
        let out = std::fs::read_to_string(bench.path("out.json")).unwrap();
        assert!(out.contains("The zebra files were read") && !out.contains("<analysis>"));
        assert!(out.contains("keep it under 1003 bytes"), "the facts stand beside the summary");
        let epoch = report["epoch"].as_str().unwrap();
        assert_eq!(bench.run(["restore", epoch]).code(0).out(), body(12));
        // The same again asks nobody, and gives the same bytes.
        let again = compact(&bench, &server, summarizer, &["-o", "again.json", "--json"]).code(0).json();
        assert_eq!((again["epoch"].as_str(), again["calls"].as_u64()), (Some(epoch), Some(0)));
        assert_eq!(std::fs::read_to_string(bench.path("again.json")).unwrap(), out);
        assert_eq!(server.seen().len(), 1);
    }
}

#[test]
fn a_person_is_told_what_was_asked_and_what_it_bought() {
    let (bench, server) = (Bench::new(), Server::start([stream(chat(&good(), "stop"))]));
    let told = compact(&bench, &server, "openai:gpt-4o-mini", &["-o", "out.json"]).code(0).out();
    assert!(told.contains("asked   openai:gpt-4o-mini: "), "{told}");
    assert!(told.contains("used    1.0K tokens in (900 of them cached), 300 out, 1 call; it bought "), "{told}");
}

#[test]
fn a_dry_run_shows_the_request_and_asks_nobody() {
    let (bench, server) = (Bench::new(), Server::start([]));
    let told = compact(&bench, &server, "openai:gpt-4o-mini", &["--dry-run"]).code(0).out();
    assert!(told.contains("would ask openai:gpt-4o-mini: ") && told.contains(" tokens in, at most "), "{told}");
    assert!(told.contains("pays    for the rewritten prompt cache after ") && told.contains("a dry run"), "{told}");
    let report = compact(&bench, &server, "openai:gpt-4o-mini", &["--dry-run", "--json"]).code(0).json();
    assert!(report["request"]["input"].as_u64().unwrap() > 0 && report["break_even_turns"].as_u64().unwrap() > 0);
    assert_eq!((report["calls"].as_u64(), report["epoch"].is_null()), (Some(0), true));
    assert!(report["tokens_after"].as_u64() <= report["tokens_before"].as_u64());
    assert!(told.contains("at most "), "what it comes to is known by its bound only: {told}");
    assert!(server.seen().is_empty() && !bench.stored());
}

#[test]
fn a_dry_run_knows_of_a_summary_that_was_written_before() {
    let (bench, server) = (Bench::new(), Server::start([stream(chat(&good(), "stop"))]));
    let first = compact(&bench, &server, "openai:gpt-4o-mini", &["-o", "out.json", "--json"]).code(0).json();
    let told = compact(&bench, &server, "openai:gpt-4o-mini", &["--dry-run"]).code(0).out();
    assert!(
        told.contains("summary by openai:gpt-4o-mini, written before") && told.contains("nobody would be asked"),
        "{told}"
    );
    let report = compact(&bench, &server, "openai:gpt-4o-mini", &["--dry-run", "--json"]).code(0).json();
    assert_eq!((&report["tokens_after"], report["request"].is_null()), (&first["tokens_after"], true));
    // Whoever says what it is to heed gets another one.
    let other = ["--dry-run", "--instructions", "the stripes"];
    assert!(compact(&bench, &server, "openai:gpt-4o-mini", &other).code(0).out().contains("would ask"));
    assert_eq!(server.seen().len(), 1);
}

#[test]
fn nobody_is_asked_for_what_could_not_be_written() {
    let (bench, server) = (Bench::new(), Server::start([]));
    for out in ["no/such/folder.json", "."] {
        let ran = compact(&bench, &server, "openai:gpt-4o-mini", &["-o", out]);
        assert!(!ran.0.status.success() && ran.err().contains(out), "{}", ran.err());
    }
    assert!(server.seen().is_empty());
}

#[test]
fn a_store_that_ends_with_the_command_is_recalled_from_by_nobody() {
    let (bench, server) = (Bench::new(), Server::start([stream(chat(&good(), "stop"))]));
    let told =
        compact(&bench, &server, "openai:gpt-4o-mini", &["-o", "out.json", "--store", "memory:"]).code(0).out();
    assert!(!told.contains("plimsoll recall") && told.contains("the store memory: ends with this command"), "{told}");
}

#[test]
fn a_model_that_does_not_deliver_is_replaced_by_the_extract_which_says_why() {
    let refused = whole("401 Unauthorized", &[], r#"{"error":{"message":"bad key sk-canary-0123456789"}}"#);
    let (bench, server) = (Bench::new(), Server::start([refused]));
    let ran = compact(&bench, &server, "openai:gpt-4o-mini", &["-o", "out.json", "--json"]);
    let report = ran.code(0).json();
    assert_eq!((report["outcome"].as_str(), report["summarizer"].as_str()), (Some("applied"), Some("extract")));
    assert_eq!(report["fallback"]["from"], "openai:gpt-4o-mini");
    let reason = report["fallback"]["reason"].as_str().unwrap();
    assert!(reason.contains("refuses the key (status 401): bad key [key]; check OPENAI_API_KEY"), "{reason}");
    let out = std::fs::read_to_string(bench.path("out.json")).unwrap();
    assert!(out.contains("keep it under 1003 bytes"));
    // Two answers that are no summary; and once the model is well again, it is asked again.
    let chatter = || stream(chat("Sure, I have read the next file.", "stop"));
    let (bench, server) = (Bench::new(), Server::start([chatter(), chatter(), stream(chat(&good(), "stop"))]));
    let told = compact(&bench, &server, "openai:gpt-4o-mini", &["-o", "out.json"]).code(0).out();
    assert!(told.contains("instead of openai:gpt-4o-mini the extract was written: "), "{told}");
    assert!(told.contains("twice") && told.contains("2 calls"), "{told}");
    let report = compact(&bench, &server, "openai:gpt-4o-mini", &["-o", "out.json", "--json"]).code(0).json();
    assert_eq!((report["summarizer"].as_str(), report["fallback"].is_null()), (Some("openai:gpt-4o-mini"), true));
}

#[test]
fn the_conversations_own_model_is_sent_its_own_bytes() {
    let (bench, server) = (Bench::new(), Server::start([stream(anthropic(&good(), "end_turn"))]));
    let report = compact(&bench, &server, "same", &["-o", "out.json", "--json"]).code(0).json();
    assert_eq!(report["summarizer"], "anthropic:claude-sonnet-4-5");
    assert_eq!(
        (report["request"]["form"].as_str(), report["request"]["obstacle"].is_null()),
        (Some("same_conversation"), true)
    );
    let sent = server.seen()[0].body.clone();
    let original = body(12);
    let start = original.find("\"messages\"").unwrap();
    let prefix = &original.as_bytes()[start..start + 4_000];
    assert!(sent.windows(prefix.len()).any(|part| part == prefix), "the prefix goes out byte for byte");
    assert!(String::from_utf8_lossy(&sent).contains("123456789012345678901234567890"));
}

#[cfg(unix)]
#[test]
fn ctrl_c_leaves_everything_as_it_was() {
    for signal in ["-INT", "-TERM"] {
        let bench = Bench::new();
        let begun = vec![
            head("text/event-stream"),
            Act::Wait(Duration::from_millis(20)),
            part("data: {\"choices\":[{\"delta\":{\"content\":\"<ana\"}}]}\n\n"),
            Act::Hang,
        ];
        let server = Server::start([begun]);
        let file = bench.write("t.json", body(12));
        let mut command = bench.command();
        command.args(["compact", "t.json", "--in-place", "--keep-tokens", "300", "--summarizer", "openai:m"]);
        command.arg("--summarizer-url").arg(server.url()).stdin(Stdio::null()).stdout(Stdio::piped());
        let child = command.stderr(Stdio::piped()).spawn().unwrap();
        for _ in 0..1_000 {
            if !server.seen().is_empty() {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let killed = std::process::Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        assert!(killed.success());
        let ran = Ran(child.wait_with_output().unwrap());
        assert!(ran.code(130).err().contains("the compaction was cancelled; nothing was changed"), "{}", ran.err());
        assert_eq!(std::fs::read_to_string(file).unwrap(), body(12));
        assert_eq!(
            std::fs::read_dir(bench.folder.path())
                .unwrap()
                .filter(|entry| { entry.as_ref().unwrap().file_name().to_string_lossy().starts_with("t.json") })
                .count(),
            1,
            "there is no backup either"
        );
        assert_eq!(bench.run(["store", "ls", "--json"]).out(), "");
        server.wait_for_gone(1);
    }
}

#[cfg(unix)]
#[test]
fn a_key_comes_from_a_command_or_another_variable_and_is_shown_to_nobody() {
    let bench = Bench::new();
    let server = Server::start([stream(chat(&good(), "stop")), stream(anthropic(&good(), "end_turn"))]);
    let command = "--summarizer-key-command=echo sk-canary-from-command";
    compact(&bench, &server, "openai:gpt-4o-mini", &["-o", "out.json", command]).code(0);
    assert_eq!(server.seen()[0].header("authorization"), Some("Bearer sk-canary-from-command"));
    bench.write(
        "config.toml",
        "[compact]\nsummarizer = \"anthropic:claude-haiku-4-5\"\nsummarizer_key_env = \"MY_KEY\"\n",
    );
    let mut command = bench.command();
    command.args([
        "compact",
        "t.json",
        "--keep-tokens",
        "300",
        "--config",
        "config.toml",
        "-o",
        "out.json",
        "--json",
    ]);
    command.env("PLIMSOLL_SUMMARIZER_URL", server.url()).env("MY_KEY", "sk-canary-mine");
    let ran = Ran(command.stdin(Stdio::null()).output().unwrap());
    assert_eq!(ran.code(0).json()["summarizer"], "anthropic:claude-haiku-4-5");
    assert_eq!(server.seen()[1].header("x-api-key"), Some("sk-canary-mine"));
    assert!(!ran.out().contains("canary") && !ran.err().contains("canary"));
    let failing = compact(&bench, &server, "openai:m", &["--json", "--summarizer-key-command=echo canary; exit 7"]);
    let reason = failing.code(0).json()["fallback"]["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("gave none: it ended with exit status: 7"), "{reason}");
}

#[test]
fn a_proxy_that_the_environment_names_is_used() {
    let (bench, proxy) = (Bench::new(), Server::start([stream(chat(&good(), "stop"))]));
    bench.write("t.json", body(12));
    let mut command = bench.command();
    command.args(["compact", "t.json", "--keep-tokens", "300", "--summarizer", "openai:gpt-4o-mini", "--json"]);
    command.args(["--summarizer-url", "http://model.invalid/v1"]).env("HTTP_PROXY", proxy.url());
    // A name that a web server's scripts get from outside is not heeded by clients.
    command.env("http_proxy", proxy.url());
    let report = Ran(command.stdin(Stdio::null()).output().unwrap()).code(0).json();
    assert_eq!(report["fallback"], serde_json::Value::Null);
    assert_eq!(proxy.seen()[0].line, "POST http://model.invalid/v1/chat/completions HTTP/1.1");
}

#[test]
fn a_summarizer_that_there_is_not_is_wrong_usage() {
    let bench = Bench::new();
    bench.write("t.json", body(12));
    for (arguments, said) in [
        (&["--summarizer", "gemini:pro"][..], "there is no summarizer `gemini:pro`; give extract, same"),
        (&["--summarizer", "openai:"], "`openai:` names no model"),
        (&["--summarizer", "openai:m", "--summarizer-url", "ftp://me:canary@h"], "it begins neither with http://"),
    ] {
        let ran = bench.run(["compact", "t.json"].iter().chain(arguments));
        assert!(ran.code(2).err().contains(said), "{}", ran.err());
        assert!(!ran.err().contains("canary"));
    }
    // What comes with a project never sends its reader's conversations anywhere, nor runs a command.
    for key in ["summarizer", "summarizer_url", "summarizer_key_command", "summarizer_key_env"] {
        bench.write(".plimsoll.toml", format!("[compact]\n{key} = \"x\"\n"));
        assert!(bench.run(["compact", "t.json"]).code(2).err().contains("a project does not set"));
    }
}
