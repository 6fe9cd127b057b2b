use std::time::SystemTime;

use plimsoll::id::{EpochId, SessionId, ToolCallId};
use plimsoll_store::{Compaction, NewResult, PAGE};
use rmcp::RoleClient;
use rmcp::model::{ClientCapabilities, ClientConfig, ProtocolVersion};
use rmcp::service::RunningService;
use serde_json::{Value, json};

use super::*;

fn put(store: &Store, session: &str, call: &str, content: &str) {
    put_bytes(store, session, call, content.as_bytes());
}

fn put_bytes(store: &Store, session: &str, call: &str, content: &[u8]) {
    let (session, call) = (SessionId::new(session), ToolCallId::new(call));
    let (tool, now) = (Some("Bash"), SystemTime::now());
    let result = NewResult { session: &session, call: &call, content, tool, arguments: None, kind: Some("log"), now };
    store.put_result(&result, |_, _| None).unwrap();
}

/// A client of the SDK, over a pipe in memory.
struct Client {
    running: RunningService<RoleClient, ClientConfig>,
}

impl Client {
    async fn new(store: &Store, version: ProtocolVersion) -> Self {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let server = McpServer::new(store.clone());
        tokio::spawn(async move {
            let running = server.serve(ours).await.unwrap();
            running.waiting().await.unwrap();
        });
        let info = Implementation::new("a test", "1");
        let config = ClientConfig::new(ClientCapabilities::default(), info).with_protocol_version(version);
        Self { running: config.serve(theirs).await.unwrap() }
    }

    /// Calls a tool: its text, and whether it is an error.
    async fn call(&self, name: &'static str, arguments: Value) -> (String, bool) {
        let Value::Object(arguments) = arguments else { panic!("an object") };
        let request = CallToolRequestParams::new(name).with_arguments(arguments);
        let result = self.running.call_tool(request).await.unwrap();
        let texts: Vec<&str> = result.content.iter().map(|block| &*block.as_text().unwrap().text).collect();
        (texts.concat(), result.is_error == Some(true))
    }
}

fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

fn log(lines: usize) -> String {
    (1..=lines).map(|n| format!("line {n} of a log\n")).collect()
}

#[test]
fn pages_put_together_are_the_whole_over_every_revision_of_the_protocol() {
    let store = Store::memory();
    let content = format!("{}é{}", log(6_000), "日本語\n".repeat(4_000));
    put(&store, "s1", "c1", &content);
    run(async {
        for version in [ProtocolVersion::V_2025_11_25, ProtocolVersion::V_2025_06_18, ProtocolVersion::V_2024_11_05] {
            let client = Client::new(&store, version.clone()).await;
            let info = client.running.peer_info().unwrap();
            assert_eq!(info.protocol_version, version);
            assert!(info.instructions.as_ref().is_some_and(|text| text.contains("recall id") && text.len() < 1_000));
            let (mut whole, mut offset) = (String::new(), 0);
            loop {
                let (answer, is_error) = client.call("recall", json!({ "id": "s1/c1", "offset": offset })).await;
                assert!(!is_error && answer.len() as u64 <= PAGE + 100, "{}", answer.len());
                let (page, footer) = plimsoll::cap::RecallFooter::find(&answer).unwrap();
                whole.push_str(page);
                offset = footer.bytes.end;
                if footer.bytes.end == footer.size {
                    break;
                }
            }
            assert!(whole == content);
        }
    });
}

#[test]
fn a_result_in_utf_16_is_answered_as_text_in_pages_that_join_and_stay_within_bounds() {
    let store = Store::memory();
    let content = "日本語の行 😀\n".repeat(9_000);
    let raw: Vec<u8> = std::iter::once(0xFEFF).chain(content.encode_utf16()).flat_map(u16::to_be_bytes).collect();
    put_bytes(&store, "s1", "c1", &raw);
    run(async {
        let client = Client::new(&store, ProtocolVersion::V_2025_11_25).await;
        let (mut whole, mut offset) = (String::new(), 0);
        loop {
            let (answer, _) = client.call("recall", json!({ "id": "s1/c1", "offset": offset })).await;
            assert!(answer.len() as u64 <= PAGE + 200, "{}", answer.len());
            let (text, footer) = answer.rsplit_once('\n').unwrap();
            let (page, said) = text.rsplit_once('\n').unwrap();
            assert_eq!(said, "[UTF-16BE, shown as UTF-8; offsets count the bytes as they are stored]");
            let footer = plimsoll::cap::RecallFooter::parse(footer).unwrap();
            // The line feed before what is said is the page's own, if its last line is whole.
            whole.push_str(page);
            whole.push_str(if page.ends_with('😀') && page.lines().last() == content.lines().next() {
                "\n"
            } else {
                ""
            });
            offset = footer.bytes.end;
            if offset == footer.size {
                break;
            }
        }
        assert!(whole == content);
        let (answer, _) = client.call("recall", json!({ "id": "s1/c1", "offset": 3, "length": 1 })).await;
        assert!(answer.starts_with("日本\n[UTF-16BE"), "{answer}");
        let (answer, _) = client.call("recall", json!({ "id": "s1/c1", "lines": "9000:9000" })).await;
        assert_eq!(answer, "日本語の行 😀\n[lines 9000-9000]");
    });
}

#[test]
fn tools_are_read_only_and_their_descriptions_bounded() {
    let tools = McpServer::new(Store::memory()).tools();
    for tool in &tools {
        let hints = tool.annotations.as_ref().unwrap();
        assert_eq!(
            (hints.read_only_hint, hints.destructive_hint, hints.open_world_hint),
            (Some(true), Some(false), Some(false))
        );
        assert!(tool.description.as_ref().unwrap().len() < 500, "{}", tool.name);
    }
    let size = serde_json::to_string(&tools).unwrap().len();
    assert!(size < 4_500, "what every request of an agent carries: {size} bytes");
}

#[test]
fn lines_and_expressions_find_the_place_and_stay_within_a_page() {
    let store = Store::memory();
    put(&store, "s1", "c1", &log(6_000));
    put(&store, "s1", "long", &"x".repeat(200_000));
    run(async {
        let client = Client::new(&store, ProtocolVersion::V_2025_11_25).await;
        let (answer, _) = client.call("recall", json!({ "id": "s1/c1", "lines": "10:12" })).await;
        assert_eq!(answer, "line 10 of a log\nline 11 of a log\nline 12 of a log\n[lines 10-12]");
        let (answer, _) = client.call("recall", json!({ "id": "s1/c1", "grep": "line 500 ", "context": 1 })).await;
        assert!(
            answer.starts_with("499-line 499 of a log\n500:line 500 of a log\n501-line 501 of a log\n["),
            "{answer}"
        );

        // A range that is too long goes on where the page ends.
        let (mut next, mut seen) = ("1:5000".to_owned(), 0);
        loop {
            let (answer, _) = client.call("recall", json!({ "id": "s1/c1", "lines": next })).await;
            assert!(answer.len() as u64 <= PAGE + 100);
            seen += answer.lines().filter(|line| line.starts_with("line ")).count();
            match answer.rsplit_once("next lines \"") {
                Some((_, rest)) => next = rest.trim_end_matches("\"]").to_owned(),
                None => break,
            }
        }
        assert_eq!(seen, 5_000);
        let (answer, _) = client.call("recall", json!({ "id": "s1/long", "lines": "1:1" })).await;
        assert!(answer.ends_with("[line 1 is longer than a page: give `grep`, or `offset` and `length` in bytes]"));
        assert!(answer.len() as u64 <= PAGE + 100);
        let (answer, _) = client.call("recall", json!({ "id": "s1/long", "grep": "x" })).await;
        assert!(answer.len() as u64 <= PAGE + 200, "{}", answer.len());
    });
}

#[test]
fn a_miss_says_what_kind_it_is_and_what_to_do() {
    let store = Store::memory();
    put(&store, "s1", "c1", "text");
    run(async {
        let client = Client::new(&store, ProtocolVersion::V_2025_11_25).await;
        for (tool, arguments, said) in [
            ("recall", json!({}), "`id` is missing"),
            ("recall", json!({ "id": "../etc/passwd" }), "SESSION/CALL"),
            ("recall", json!({ "id": "s1/none" }), "never stored here"),
            ("recall", json!({ "id": 5 }), "must be a text"),
            ("recall", json!({ "id": "s1/c1", "offset": 4 }), "4"),
            ("recall", json!({ "id": "s1/c1", "lines": "0:3" }), "counted from 1"),
            ("recall", json!({ "id": "s1/c1", "grep": "(" }), "("),
            ("recall", json!({ "id": "s1/c1", "length": 0 }), "`length` must be 1 or more"),
            ("recall", json!({ "id": "s1/c1", "page": 1 }), "there is no argument `page`"),
            ("search", json!({ "query": "" }), "`query` is missing"),
            ("list", json!({ "session": "a/b" }), "before the slash"),
            ("context", json!({ "file": "/nowhere/at/all" }), "cannot read"),
            ("context", json!({ "file": "/dev/zero" }), "regular file"),
            ("context", json!({ "file": "/" }), "regular file"),
            ("nonsense", json!({}), "there are recall, search, list and context"),
        ] {
            let (answer, is_error) = client.call(tool, arguments.clone()).await;
            assert!(is_error && answer.contains(said), "{tool} {arguments}: {answer}");
            assert!(answer.len() < 600, "{answer}");
        }
        assert_eq!(
            client.call("recall", json!({ "id": "s1/c1" })).await,
            ("text\n[bytes 0-4 of 4; end]".to_owned(), false)
        );
    });
}

#[test]
fn garbage_between_messages_is_answered_and_the_next_message_too() {
    let (mut ours, theirs) = tokio::io::duplex(1 << 16);
    let (input, output) = tokio::io::split(theirs);
    let answers = run(async {
        let served = tokio::spawn(serve_lines(McpServer::new(Store::memory()), input, output));
        let sent = concat!(
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"#,
            r#""clientInfo":{"name":"t","version":"1"}}}"#,
            "\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\ngarbage\n",
            r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"recall","arguments":"x"}}"#,
            "\n{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\"}\n",
        );
        ours.write_all(sent.as_bytes()).await.unwrap();
        let mut answers: Vec<Value> = Vec::new();
        let mut lines = tokio::io::AsyncBufReadExt::lines(tokio::io::BufReader::new(&mut ours));
        while answers.len() < 4 {
            answers.push(serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap());
        }
        drop(lines);
        drop(ours);
        served.await.unwrap().unwrap();
        answers
    });
    let of = |id: Value| answers.iter().find(|answer| answer["id"] == id).unwrap();
    assert_eq!(of(Value::Null)["error"]["code"], -32700);
    assert_eq!(of(json!(2))["error"]["code"], -32602);
    assert!(of(json!(1))["result"].is_object() && of(json!(3))["result"].is_object());
}

#[test]
fn what_was_pruned_is_told_from_what_never_was() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::local(folder.path());
    put(&store, "old", "c1", "text");
    let later = SystemTime::now() + std::time::Duration::from_secs(40 * 86_400);
    store.prune(&plimsoll_store::prune::Policy::default(), later).unwrap();
    let answer = tools::call("recall", json!({ "id": "old/c1" }).as_object().unwrap(), &store).unwrap_err();
    let answer = answer.words();
    assert!(answer.contains("was stored, and is not any more"), "{answer}");
}

#[test]
fn search_and_list_lead_to_what_is_there() {
    let store = Store::memory();
    put(&store, "s1", "c1", "one\nthe needle is here\n");
    put(&store, "s2", "c1", "two\nanother needle\n");
    let (session, removed) = (SessionId::new("s1"), 0..4);
    let epoch = EpochId::new(&session, &[7; 32]);
    let compaction = Compaction {
        epoch: &epoch,
        document: b"old and new",
        removed: std::slice::from_ref(&removed),
        artifacts: &[],
        record: b"{}",
        now: SystemTime::now(),
    };
    store.archive(&compaction).unwrap();
    run(async {
        let client = Client::new(&store, ProtocolVersion::V_2025_11_25).await;
        let (answer, _) = client.call("search", json!({ "query": "needle" })).await;
        assert!(
            answer.contains("s1/c1:2:the needle is here\n") && answer.contains("s2/c1:2:another needle"),
            "{answer}"
        );
        let (answer, _) = client.call("search", json!({ "query": "n..dle", "regex": true, "session": "s2" })).await;
        assert!(answer.contains("s2/c1:2:") && !answer.contains("s1/c1"), "{answer}");
        let (answer, _) = client.call("search", json!({ "query": "needle", "session": "s3" })).await;
        assert!(answer.contains("nothing is stored of session s3"), "{answer}");
        let (answer, _) = client.call("list", json!({})).await;
        assert!(
            answer.contains("s1: 1 result, 1 archived conversation,") && answer.contains("s2: 1 result,"),
            "{answer}"
        );
        let (answer, _) = client.call("list", json!({ "session": "s1" })).await;
        assert!(answer.contains("s1/c1: Bash, log, 23 bytes, just now\n"), "{answer}");
        assert!(answer.contains(&format!("{epoch}: archived conversation")), "{answer}");
        let (answer, _) = client.call("recall", json!({ "id": epoch.to_string() })).await;
        assert_eq!(answer, "old \n[bytes 0-4 of 4; end]");
        let (answer, is_error) = client.call("list", json!({ "session": "none" })).await;
        assert!(!is_error && answer.starts_with("nothing is stored of session none"), "{answer}");
    });
}

#[test]
fn a_transcript_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("body.json");
    let body = r#"{"model":"claude-sonnet-4-5","messages":[{"role":"user","content":"Hello there"}]}"#;
    std::fs::write(&path, body).unwrap();
    let arguments = json!({ "file": path, "window": 100_000 });
    let answer = tools::call("context", arguments.as_object().unwrap(), &Store::memory()).unwrap();
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!((&answer["window"], &answer["messages"]), (&json!(100_000), &json!(1)));
    std::fs::write(&path, "root:x:0:0").unwrap();
    let error = tools::call("context", arguments.as_object().unwrap(), &Store::memory()).unwrap_err();
    let error = error.words();
    assert!(error.contains("no transcript"), "{error}");
}
