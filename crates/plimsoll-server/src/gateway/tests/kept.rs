//! Conversations that are kept inside their windows, at the socket.

use std::net::SocketAddr;
use std::sync::Arc;

use plimsoll::Tokens;
use plimsoll::budget::Capacity;
use plimsoll_engine::session::{Recaller, SessionOptions};
use plimsoll_store::Store;
use serde_json::{Value, json};

use super::scripted::{Client, OK, Scripted, Step, ask, serve, write};
use crate::gateway::{Keep, Keys, Options};

/// A window that a few turns fill.
pub(super) const WINDOW: u64 = 8_000;

pub(super) fn keep(store: &Store) -> Keep {
    let capacity = Capacity { context_window: Some(Tokens(WINDOW)), ..Capacity::default() };
    let session = SessionOptions::default().with_capacity(capacity).with_recaller(Recaller::Tool);
    let store = store.clone();
    Keep::new(session, Arc::new(move |_| Ok(store.clone())))
}

pub(super) fn options(scripted: &Scripted, keep: Keep) -> Options {
    let mut options = scripted.options();
    options.keep = Some(keep);
    options
}

pub(super) async fn kept(scripted: &Scripted) -> SocketAddr {
    serve(options(scripted, keep(&Store::memory()))).await
}

/// A turn: a question, a call, its result and an answer, about 700 tokens.
pub(super) fn turn(n: usize) -> [String; 4] {
    let line = format!("line of file {n} that says something of no great weight\\n");
    [
        format!(r#"{{"role":"user","content":"Step {n}: look into file_{n}.txt; keep it under {n}00 bytes."}}"#),
        format!(
            r#"{{"role":"assistant","content":[{{"type":"tool_use","id":"t{n}","name":"Read","input":{{"path":"/srv/file_{n}.txt"}}}}]}}"#
        ),
        format!(
            r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t{n}","content":"{}"}}]}}"#,
            line.repeat(40)
        ),
        format!(r#"{{"role":"assistant","content":[{{"type":"text","text":"file_{n}.txt has 40 lines."}}]}}"#),
    ]
}

/// A request of so many turns, and one more question.
pub(super) fn body(turns: usize) -> String {
    let mut messages: Vec<String> = (1..=turns).flat_map(turn).collect();
    messages.push(format!(r#"{{"role":"user","content":"And now step {}."}}"#, turns + 1));
    let messages = messages.join(",\n ");
    format!(
        r#"{{"model":"claude-sonnet-4-5", "max_tokens":256, "big":123456789012345678901234567890, "messages":[{messages}]}}"#
    )
}

/// A request of so many turns without a tool, about 600 tokens each, and one more question: only a summary makes room.
pub(super) fn talk(turns: usize) -> String {
    let said = |role, text: String| format!(r#"{{"role":"{role}","content":"{text}"}}"#);
    let turn = |n: usize| {
        let words = format!("Part {n} of the story has words of no great weight. ").repeat(40);
        [said("user", format!("Go on with part {n}, please.")), said("assistant", words)]
    };
    let mut messages: Vec<String> = (1..=turns).flat_map(turn).collect();
    messages.push(said("user", "And now the end.".to_owned()));
    format!(r#"{{"model":"claude-sonnet-4-5","max_tokens":256,"messages":[{}]}}"#, messages.join(","))
}

pub(super) const MESSAGES: &str = "POST /v1/messages HTTP/1.1";

pub(super) fn said(answer: &str) -> Option<&str> {
    let head = answer.split("\r\n\r\n").next().unwrap();
    head.lines().find_map(|line| line.strip_prefix("x-plimsoll: "))
}

pub(super) fn messages(body: &[u8]) -> Vec<Value> {
    let value: Value = serde_json::from_slice(body).unwrap();
    value["messages"].as_array().unwrap().clone()
}

pub(super) async fn metric(gateway: SocketAddr, name: &str) -> f64 {
    let text = ask(gateway, "GET /metrics HTTP/1.1", b"").await;
    let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name} ")).map(str::to_owned));
    line.unwrap_or_else(|| panic!("no {name} in {text}")).parse().unwrap()
}

#[tokio::test]
async fn every_request_extends_the_one_before_but_at_an_epoch() {
    let scripted = Scripted::start(vec![write(OK)]).await;
    let store = Store::memory();
    let mut gateway = serve(options(&scripted, keep(&store))).await;
    let (mut before, mut epochs) = (Vec::new(), 0);
    for turns in 0..60 {
        if turns % 17 == 16 {
            // A gateway that starts anew over the same store goes on as the old one would have.
            gateway = serve(options(&scripted, keep(&store))).await;
        }
        let original = body(turns);
        let answer = ask(gateway, MESSAGES, original.as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        let (head, sent) = scripted.last();
        assert!(sent.len() < 40_000, "turn {turns}: {} bytes went out", sent.len());
        assert!(head.contains(&format!("content-length: {}\r\n", sent.len())), "{head}");
        assert!(String::from_utf8_lossy(&sent).contains("\"big\":123456789012345678901234567890"));
        let now = messages(&sent);
        assert_eq!(now.last(), messages(original.as_bytes()).last(), "the question is what was asked");
        if !now.starts_with(&before) {
            epochs += 1;
            let told = said(&answer).unwrap_or_default();
            assert!(told.starts_with("tokens=") && told.contains("; epoch="), "{told}");
        }
        before = now[..now.len() - 1].to_vec();
    }
    assert!((2..20).contains(&epochs), "{epochs} epochs");
}

#[tokio::test]
async fn two_gateways_on_one_store_send_the_same() {
    let scripted = Scripted::start(vec![write(OK)]).await;
    let store = Store::memory();
    let gateways = [serve(options(&scripted, keep(&store))).await, serve(options(&scripted, keep(&store))).await];
    for turns in [5, 9, 14, 20, 30] {
        let body = body(turns);
        let (first, second) =
            tokio::join!(ask(gateways[0], MESSAGES, body.as_bytes()), ask(gateways[1], MESSAGES, body.as_bytes()));
        assert_eq!(said(&first).map(|t| t.split("epoch=").last()), said(&second).map(|t| t.split("epoch=").last()));
        let requests = scripted.requests.lock().unwrap();
        let [.., (_, one), (_, other)] = &requests[..] else { panic!() };
        assert_eq!(String::from_utf8_lossy(one), String::from_utf8_lossy(other), "{turns} turns");
    }
}

#[tokio::test]
async fn below_the_threshold_nothing_is_changed_and_nothing_said() {
    let scripted = Scripted::start(vec![write(OK)]).await;
    let gateway = kept(&scripted).await;
    for turns in 0..5 {
        let body = body(turns);
        let answer = ask(gateway, MESSAGES, body.as_bytes()).await;
        assert_eq!(scripted.last().1, body.as_bytes());
        assert_eq!(said(&answer), None);
    }
}

pub(super) fn refusal(status: u16, body: &str) -> Vec<Step> {
    let length = body.len();
    vec![write(format!(
        "HTTP/1.1 {status} No\r\ncontent-type: application/json\r\nx-keep: 1\r\ncontent-length: {length}\r\n\r\n{body}"
    ))]
}

#[tokio::test]
async fn a_request_that_was_too_long_is_compacted_and_sent_once_more() {
    for (status, words) in [
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 6,251 tokens > 4000 maximum"}}"#,
        ),
        (
            400,
            r#"{"error":{"message":"This model's maximum context length is 4000 tokens. However, your messages resulted in 6251 tokens.","code":"context_length_exceeded"}}"#,
        ),
        (
            400,
            r#"{"error":{"code":400,"message":"exceeds the available context size","type":"exceed_context_size_error","n_prompt_tokens":6251,"n_ctx":4000}}"#,
        ),
        (
            413,
            r#"{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#,
        ),
    ] {
        let scripted = Scripted::start_each(vec![refusal(status, words), vec![write(OK)]]).await;
        let gateway = kept(&scripted).await;
        // Far below the threshold by our count: only the upstream knows better.
        let body = body(5);
        let answer = ask(gateway, MESSAGES, body.as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{words}: {answer}");
        let requests = scripted.requests.lock().unwrap().clone();
        assert_eq!((requests.len(), &requests[0].1[..]), (2, body.as_bytes()), "{words}");
        assert!(requests[1].1.len() < requests[0].1.len() && said(&answer).unwrap().contains("epoch="), "{words}");
        assert!((metric(gateway, "plimsoll_overflows_recovered_total").await - 1.0).abs() < 0.1);
    }
}

#[tokio::test]
async fn what_is_too_long_twice_is_the_clients_to_read_as_it_was_said() {
    let words = r#"{ "type":"error", "error":{"type":"invalid_request_error","message":"prompt is too long: 6251 tokens > 4000 maximum"}}"#;
    let scripted = Scripted::start(refusal(400, words)).await;
    let answer = ask(kept(&scripted).await, MESSAGES, body(5).as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 400 ") && answer.ends_with(&format!("\r\n\r\n{words}")), "{answer}");
    assert!(answer.contains("x-keep: 1\r\n") && answer.contains(&format!("content-length: {}\r\n", words.len())));
    assert_eq!(scripted.requests.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn mechanism_66_a_limit_on_tokens_a_minute_is_no_overflow() {
    let words = r#"{"error":{"message":"Request too large for model on tokens per minute (TPM): Limit 6000, Requested 9000","code":"rate_limit_exceeded"}}"#;
    let scripted = Scripted::start(refusal(413, words)).await;
    let answer = ask(kept(&scripted).await, MESSAGES, body(5).as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 413 ") && answer.ends_with(words), "{answer}");
    assert_eq!(scripted.requests.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn an_overflow_inside_a_stream_is_heard_for_the_next_time() {
    let event = r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 6251 tokens > 4000 maximum"}}"#;
    let stream = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\nevent: error\ndata: {event}\n\n"
    );
    let scripted = Scripted::start_each(vec![vec![write(&stream), Step::Close], vec![write(OK)]]).await;
    let gateway = kept(&scripted).await;
    let body = body(5);
    let answer = ask(gateway, MESSAGES, body.as_bytes()).await;
    assert!(answer.contains(event), "{answer}");
    for _ in 0..100 {
        if metric(gateway, "plimsoll_epochs_total").await > 0.5 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let answer = ask(gateway, MESSAGES, body.as_bytes()).await;
    assert!(said(&answer).unwrap_or_default().contains("epoch="), "{answer}");
}

#[tokio::test]
async fn whatever_is_wrong_the_clients_own_bytes_go() {
    let scripted = Scripted::start(vec![write(OK)]).await;
    let broken = Keep::new(keep(&Store::memory()).session, Arc::new(|_| Err("it is gone".to_owned())));
    let (good, gone) = (kept(&scripted).await, serve(options(&scripted, broken)).await);
    let long = body(20);
    for (gateway, head, sent, reason) in [
        (gone, MESSAGES, long.as_str(), "bypass; reason=store"),
        (good, MESSAGES, "{\"model\":", "bypass; reason=not-understood"),
        (good, "POST /v1/messages HTTP/1.1\r\nx-plimsoll: bypass", long.as_str(), "bypass; reason=asked"),
        (good, "POST /v1/messages?plimsoll=bypass&beta=true HTTP/1.1", long.as_str(), "bypass; reason=asked"),
        (
            good,
            "POST /v1/messages HTTP/1.1\r\nauthorization: AWS4-HMAC-SHA256 x",
            long.as_str(),
            "bypass; reason=signed",
        ),
        (good, "POST /v1/messages HTTP/1.1\r\ncontent-encoding: br", long.as_str(), "bypass; reason=coding-unknown"),
    ] {
        let answer = ask(gateway, head, sent.as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        assert_eq!(said(&answer), Some(reason), "{head}");
        let (request, got) = scripted.last();
        assert_eq!(String::from_utf8(got).unwrap(), sent, "{reason}");
        assert!(!request.contains("plimsoll"), "{request}");
    }
    let text = ask(good, "GET /metrics HTTP/1.1", b"").await;
    assert!(text.contains("plimsoll_notes_total{reason=\"asked\"} 2"), "{text}");
}

#[tokio::test]
async fn a_shadow_changes_nothing_and_says_what_it_would_have_done() {
    let scripted = Scripted::start(vec![write(OK)]).await;
    let mut keep = keep(&Store::memory());
    keep.session.shadow = true;
    let gateway = serve(options(&scripted, keep)).await;
    for turns in [16, 17, 18] {
        let body = body(turns);
        let answer = ask(gateway, MESSAGES, body.as_bytes()).await;
        assert_eq!(scripted.last().1, body.as_bytes());
        assert!(said(&answer).unwrap_or_default().starts_with("shadow; tokens="), "{answer}");
    }
}

#[tokio::test]
async fn a_clients_own_compaction_is_not_compacted() {
    let scripted = Scripted::start(vec![write(OK)]).await;
    let gateway = kept(&scripted).await;
    let question = "And now step 15.";
    let asked = "Your task is to create a detailed summary of the conversation so far. Write it in <summary> tags.";
    let body = body(14).replace(question, asked);
    let answer = ask(gateway, MESSAGES, body.as_bytes()).await;
    assert_eq!((said(&answer), scripted.last().1), (None, body.into_bytes()));
}

/// A request whose one result is long, of a client that has our recall.
pub(super) fn with_result(lines: usize) -> String {
    let result: Vec<String> =
        (0..lines).map(|n| format!("line {n} of many, <b>{}</b>", if n == 700 { "needle" } else { "hay" })).collect();
    json!({
        "model": "claude-sonnet-4-5", "max_tokens": 64,
        "tools": [{ "name": "mcp__plimsoll__recall", "description": "x", "input_schema": { "type": "object" } }],
        "messages": [
            { "role": "user", "content": "look" },
            { "role": "assistant", "content": [{ "type": "tool_use", "id": "toolu_long", "name": "Bash", "input": {} }] },
            { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "toolu_long", "content": result.join("\n") }] },
        ],
    })
    .to_string()
}

#[tokio::test]
async fn a_fault_of_the_store_names_no_place_of_this_machine() {
    let scripted = Scripted::start(vec![write(OK)]).await;
    let gateway = serve(options(&scripted, keep(&Store::closed("could not open /srv/inside: denied")))).await;
    let answer = ask(gateway, "GET /plimsoll/recall/s1/c1 HTTP/1.1", b"").await;
    assert!(answer.starts_with("HTTP/1.1 503 ") && !answer.contains("/srv/inside"), "{answer}");
}

#[tokio::test]
async fn a_long_result_is_capped_at_admission_and_recalled_by_its_tenant_alone() {
    const ALICE: &str = "alice-secret-of-the-gateway";
    const BOB: &str = "bobby-secret-of-the-gateway";
    let scripted = Scripted::start(vec![write(OK)]).await;
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().to_owned();
    let mut keep = keep(&Store::memory());
    keep.stores = Arc::new(move |tenant| Ok(Store::local(root.join(tenant.unwrap_or("nobody")))));
    let mut options = options(&scripted, keep);
    options.keys = Keys::parse(&format!("alice:{ALICE},bob:{BOB}")).unwrap();
    let gateway = serve(options).await;
    let head = format!(
        "POST /v1/messages HTTP/1.1\r\nx-plimsoll-key: {ALICE}\r\nauthorization: Bearer sk-CANARY\r\nx-plimsoll-session: s1"
    );
    let answer = ask(gateway, &head, with_result(1000).as_bytes()).await;
    assert!(said(&answer).unwrap_or_default().contains("capped=1"), "{answer}");
    let sent = messages(&scripted.last().1);
    let text = sent[2]["content"][0]["content"].as_str().unwrap();
    assert!(text.len() < 10_000 && text.contains("recall id s1/toolu_long"), "{text}");

    let recall = |key: &str, query: &str| {
        let head = format!("GET /plimsoll/recall/s1/toolu_long{query} HTTP/1.1\r\nx-plimsoll-key: {key}");
        async move { ask(gateway, &head, b"").await }
    };
    let found = recall(ALICE, "?grep=needle").await;
    assert!(found.starts_with("HTTP/1.1 200 ") && found.contains("line 700 of many, <b>needle</b>"), "{found}");
    assert!(found.contains("x-content-type-options: nosniff") && !found.contains("access-control"), "{found}");
    assert!(recall(ALICE, "?lines=3:4").await.contains("line 2 of many, <b>hay</b>\nline 3 of many"));
    assert!(recall(ALICE, "?offset=0&length=6").await.contains("\r\n\r\nline 0"));
    for (key, status) in [(BOB, 404), ("wrong-secret-of-the-gateway", 401)] {
        let other = recall(key, "").await;
        assert!(other.starts_with(&format!("HTTP/1.1 {status} ")) && !other.contains("of many"), "{other}");
    }
    let outside =
        ask(gateway, &format!("GET /plimsoll/recall/..%2F..%2Fetc/passwd HTTP/1.1\r\nx-plimsoll-key: {ALICE}"), b"")
            .await;
    assert!(outside.starts_with("HTTP/1.1 400 "), "{outside}");
    for wrong in ["?lines=0", "?length=0", "?offset=999999999", "?grep=(", "?linse=1:2", "?lines=1:2&offset=3"] {
        let refused = recall(ALICE, wrong).await;
        assert!(refused.starts_with("HTTP/1.1 400 "), "{wrong}: {refused}");
    }

    // The same over MCP.
    let call = |key: &str, name: &str, arguments: Value| {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": name, "arguments": arguments } });
        let head = format!(
            "POST /mcp HTTP/1.1\r\nx-plimsoll-key: {key}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\nmcp-protocol-version: 2025-06-18"
        );
        let body = body.to_string();
        async move { ask(gateway, &head, body.as_bytes()).await }
    };
    let found = call(ALICE, "recall", json!({ "id": "s1/toolu_long", "grep": "needle" })).await;
    assert!(found.contains("line 700 of many"), "{found}");
    assert!(!call(BOB, "recall", json!({ "id": "s1/toolu_long", "grep": "needle" })).await.contains("700"));
    assert!(!call(BOB, "list", json!({})).await.contains("toolu_long"));
    // Files of the machine are not for callers elsewhere.
    assert!(call(ALICE, "context", json!({ "file": "/etc/passwd" })).await.contains("files are not read here"));

    // What a client sent to identify itself is not in what is stored.
    let mut stored = 0;
    let mut folders = vec![folder.path().to_owned()];
    while let Some(at) = folders.pop() {
        for entry in std::fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let bytes = std::fs::read(&path).unwrap();
                assert!(
                    memchr::memmem::find(&bytes, b"CANARY").is_none()
                        && memchr::memmem::find(&bytes, ALICE.as_bytes()).is_none()
                );
                stored += 1;
            }
        }
    }
    assert!(stored > 0);
}

#[tokio::test]
async fn results_are_left_whole_where_nobody_could_recall_them() {
    let scripted = Scripted::start(vec![write(OK)]).await;
    let gateway = kept(&scripted).await;
    let body = with_result(60).replace("mcp__plimsoll__recall", "other");
    ask(gateway, MESSAGES, body.as_bytes()).await;
    assert_eq!(scripted.last().1, body.as_bytes());
    // Unless the client says that it can.
    let body = body.replace("hay", &"hay".repeat(60)).replace("toolu_long", "toolu_2");
    ask(gateway, "POST /v1/messages HTTP/1.1\r\nx-plimsoll-recall: always", body.as_bytes()).await;
    assert!(scripted.last().1.len() < body.len());
}

#[tokio::test]
async fn tokens_are_counted_for_an_upstream_that_cannot() {
    for status in [404, 501] {
        let scripted = Scripted::start(refusal(status, "{}")).await;
        let gateway = kept(&scripted).await;
        let answer = ask(gateway, "POST /v1/messages/count_tokens HTTP/1.1", body(3).as_bytes()).await;
        assert!(
            answer.starts_with("HTTP/1.1 200 ") && answer.contains("x-plimsoll-count: estimated; tokenizer="),
            "{answer}"
        );
        let counted: Value = serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap();
        assert!((1_000..4_000).contains(&counted["input_tokens"].as_u64().unwrap()), "{counted}");
    }
    let scripted =
        Scripted::start(vec![write("HTTP/1.1 200 OK\r\ncontent-length: 18\r\n\r\n{\"input_tokens\":7}")]).await;
    let answer = ask(kept(&scripted).await, "POST /v1/messages/count_tokens HTTP/1.1", body(3).as_bytes()).await;
    assert!(answer.ends_with("{\"input_tokens\":7}") && !answer.contains("x-plimsoll"), "{answer}");
}

#[tokio::test]
async fn a_coded_body_goes_on_coded_unless_it_is_changed() {
    use std::io::Write as _;
    let scripted = Scripted::start(vec![write(OK)]).await;
    let gateway = kept(&scripted).await;
    for (turns, changed) in [(2, false), (14, true)] {
        let body = body(turns);
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(body.as_bytes()).unwrap();
        let gzip = gzip.finish().unwrap();
        let answer = ask(gateway, "POST /v1/messages HTTP/1.1\r\ncontent-encoding: gzip", &gzip).await;
        let (head, sent) = scripted.last();
        assert_eq!(head.contains("content-encoding: gzip"), !changed, "{head}");
        assert!(head.contains(&format!("content-length: {}\r\n", sent.len())), "{head}");
        if changed {
            assert!(said(&answer).unwrap().contains("epoch=") && sent.len() < body.len() / 2, "{answer}");
        } else {
            assert_eq!(sent, gzip);
        }
    }
}

#[tokio::test]
async fn what_an_answer_used_is_heard_from_streams_and_whole_answers() {
    let start =
        r#"data: {"type":"message_start","message":{"model":"m","usage":{"input_tokens":4321,"output_tokens":1}}}"#;
    let stop = r#"data: {"type":"message_stop"}"#;
    let stream = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{start}\n\n{stop}\n\n"
    );
    let whole =
        r#"{"type":"message","content":[],"stop_reason":"end_turn","usage":{"input_tokens":4321,"output_tokens":1}}"#;
    let whole = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{whole}",
        whole.len()
    );
    for script in [vec![write(stream), Step::Close], vec![write(whole)]] {
        let scripted = Scripted::start(script).await;
        let gateway = kept(&scripted).await;
        ask(gateway, MESSAGES, body(3).as_bytes()).await;
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        ask(gateway, MESSAGES, body(3).as_bytes()).await;
        let text = ask(gateway, "GET /metrics HTTP/1.1", b"").await;
        assert!(text.contains("plimsoll_tokens_after_total{method=\"reported\"} 4321"), "{text}");
        // What the provider's cache saved, or counted, is not claimed as ours.
        assert!(text.contains("plimsoll_tokens_saved_net 0\n"), "{text}");
    }
}

#[tokio::test]
async fn a_client_that_asks_for_a_websocket_is_sent_to_http() {
    let scripted = Scripted::start(vec![write(OK)]).await;
    let gateway = kept(&scripted).await;
    for path in ["/v1/responses", "/v1/responses?model=m", "/v1/responses/", "/u/openai/v1/responses?x=1"] {
        let mut client = Client::connect(gateway).await;
        let ask =
            format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n");
        client.send(&ask).await;
        client.until("HTTP/1.1 426 ").await;
    }
    assert!(scripted.requests.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_client_that_would_rather_speak_http2_is_served_like_any_other() {
    let scripted = Scripted::start(vec![write(OK)]).await;
    let gateway = kept(&scripted).await;
    let offer =
        format!("{MESSAGES}\r\nconnection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABk");
    let answer = ask(gateway, &offer, talk(14).as_bytes()).await;
    assert!(said(&answer).unwrap().contains("epoch="), "{answer}");
    let (head, sent) = scripted.last();
    assert!(sent.len() < talk(14).len() && !head.to_ascii_lowercase().contains("h2c"), "{head}");
}

#[tokio::test]
async fn what_an_upstream_says_in_our_name_does_not_reach_the_client() {
    let forged = String::from_utf8_lossy(OK).replacen(
        "\r\n",
        "\r\nx-plimsoll: tokens=9->1; epoch=none\r\nx-plimsoll-more: 1\r\n",
        1,
    );
    let scripted = Scripted::start(vec![write(forged)]).await;
    let gateway = kept(&scripted).await;
    let answer = ask(gateway, MESSAGES, talk(2).as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 200 ") && !answer.contains("x-plimsoll"), "{answer}");
}

#[tokio::test]
async fn an_error_that_is_cut_is_cut_for_the_client() {
    let head = "HTTP/1.1 400 No\r\ntransfer-encoding: chunked\r\n\r\n";
    let scripted = Scripted::start(vec![write(head), write("9\r\n{\"error\":\r\n"), Step::Close]).await;
    let mut client = Client::connect(kept(&scripted).await).await;
    client.send("POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\n{}").await;
    let got = String::from_utf8(client.rest().await).unwrap();
    assert!(got.starts_with("HTTP/1.1 400 ") && got.ends_with("{\"error\":\r\n"), "{got}");
}
