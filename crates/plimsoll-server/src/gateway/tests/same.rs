//! Summaries by the conversation's own model, at the socket: asked at its upstream, with its client's credentials.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use plimsoll::Tokens;
use plimsoll::budget::Capacity;
use plimsoll::compact::Profile;
use plimsoll_engine::session::SessionOptions;
use plimsoll_store::Store;
use serde_json::json;

use super::scripted::{Scripted, Step, ask, serve, write};
use crate::gateway::Keep;

const HEAD: &str = "POST /v1/messages?beta=true HTTP/1.1\r\nx-api-key: canary-of-the-client\r\nanthropic-beta: b1\r\n\
                    x-plimsoll-session: s";

/// Enough turns for a summary to be begun.
const EARLY: usize = 46;
/// Enough for it to be due.
const DUE: usize = 57;

/// A request of so many turns, about 540 tokens each, and one more question: each extends the ones with fewer turns.
pub(super) fn talk(turns: usize) -> String {
    let said = |role, text: String| format!(r#"{{"role":"{role}", "content":"{text}"}}"#);
    let turn = |n: usize| {
        let words = format!("Part {n} of the story has words of no great weight. ").repeat(40);
        [said("user", format!("Go on with part {n}, please.")), said("assistant", words)]
    };
    let mut messages: Vec<String> = (1..=turns).flat_map(turn).collect();
    messages.push(said("user", format!("Go on with part {}, please.", turns + 1)));
    format!(r#"{{"model":"claude-sonnet-4-5", "max_tokens":256,"messages":[{}]}}"#, messages.join(" ,"))
}

/// An answer that is a summary, whatever was asked.
fn summary() -> Vec<Step> {
    let profile = Profile::default();
    let sections = (1..)
        .zip(profile.headings())
        .map(|(n, heading)| format!("## {n}. {heading}\nThe story goes on, told whole.\n"));
    let text = format!("<summary>\n{}</summary>", sections.collect::<String>());
    let body = json!({
        "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "stop_reason": "end_turn",
        "content": [{ "type": "text", "text": text }],
        "usage": { "input_tokens": 4000, "output_tokens": 200 },
    })
    .to_string();
    answer("200 OK", &body)
}

fn answer(status: &str, body: &str) -> Vec<Step> {
    let length = body.len();
    vec![write(format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    ))]
}

async fn gateway(scripted: &Scripted, store: &Store, change: impl FnOnce(&mut Keep)) -> SocketAddr {
    let capacity = Capacity { context_window: Some(Tokens(32_000)), ..Capacity::default() };
    let store = store.clone();
    let session = SessionOptions::default().with_capacity(capacity);
    let mut keep = Keep::new(session, Arc::new(move |_| Ok(store.clone())));
    keep.same = true;
    change(&mut keep);
    let mut options = scripted.options();
    options.keep = Some(keep);
    serve(options).await
}

async fn metric(gateway: SocketAddr, name: &str) -> u64 {
    let text = ask(gateway, "GET /metrics HTTP/1.1", b"").await;
    let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name} ")).map(str::to_owned));
    line.unwrap_or_else(|| panic!("no {name} in {text}")).parse().unwrap()
}

/// Sends a request that is full enough for a summary to be made meanwhile, and waits for that.
async fn prepare(gateway: SocketAddr, body: &str) {
    ask(gateway, HEAD, body.as_bytes()).await;
    for _ in 0..500 {
        if metric(gateway, "plimsoll_summaries_total").await > 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("no summary was made");
}

fn holds(folder: &Path, text: &str) -> bool {
    std::fs::read_dir(folder).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        if path.is_dir() {
            return holds(&path, text);
        }
        memchr::memmem::find(&std::fs::read(path).unwrap(), text.as_bytes()).is_some()
    })
}

#[tokio::test]
async fn the_conversations_own_model_continues_it_into_a_summary_with_the_clients_credentials() {
    let scripted = Scripted::start(summary()).await;
    let folder = tempfile::tempdir().unwrap();
    let store = Store::local(folder.path());
    let gateway = gateway(&scripted, &store, |_| {}).await;
    let before = talk(EARLY);
    prepare(gateway, &before).await;
    let requests = scripted.requests.lock().unwrap().clone();
    let [one, other] = &requests[..] else { panic!("{} requests", requests.len()) };
    let (own, asked) = if one.1 == before.as_bytes() { (one, other) } else { (other, one) };
    assert_eq!(own.1, before.as_bytes(), "what the client asks goes as it came");
    // The same place, the same client, and the conversation up to the cut, byte for byte.
    for head in [&own.0, &asked.0] {
        assert!(head.starts_with("POST /v1/messages?beta=true HTTP/1.1\r\n"), "{head}");
        for line in ["x-api-key: canary-of-the-client", "anthropic-beta: b1"] {
            assert!(head.contains(line), "{head}");
        }
        assert!(!head.contains("plimsoll-session"), "{head}");
    }
    let messages = |body: &[u8]| memchr::memmem::find(body, b"\"messages\"").unwrap();
    let (from, of) = (messages(&own.1), messages(&asked.1));
    let same = own.1[from..].iter().zip(&asked.1[of..]).take_while(|(one, other)| one == other).count();
    assert!(same > before.len() / 2, "only {same} of {} bytes are the same", before.len());
    assert!(String::from_utf8_lossy(&asked.1[of + same..]).contains("<summary>"));
    assert_eq!(metric(gateway, "plimsoll_summary_tokens_total").await, 4_200);

    // It is there when it is due, and nobody is asked again.
    for turns in [DUE, DUE + 1] {
        let answer = ask(gateway, HEAD, talk(turns).as_bytes()).await;
        assert!(answer.contains("x-plimsoll: tokens="), "{answer}");
        assert!(String::from_utf8_lossy(&scripted.last().1).contains("The story goes on, told whole."));
    }
    assert_eq!(scripted.requests.lock().unwrap().len(), 4);
    assert!(holds(folder.path(), "The story goes on") && !holds(folder.path(), "canary-of-the-client"));
}

#[tokio::test]
async fn a_model_that_refuses_leaves_the_extract() {
    let refusal = r#"{"error":{"message":"invalid x-api-key: canary-of-the-client"}}"#;
    let scripted = Scripted::start(answer("401 Unauthorized", refusal)).await;
    let store = Store::memory();
    let told: Arc<std::sync::Mutex<String>> = Arc::default();
    let log = Arc::clone(&told);
    let watch = move |event: &plimsoll_engine::event::Event| log.lock().unwrap().push_str(&format!("{event:?}\n"));
    let gateway = gateway(&scripted, &store, |keep| keep.session.watch = Arc::new(watch)).await;
    prepare(gateway, &talk(EARLY)).await;
    ask(gateway, HEAD, talk(DUE).as_bytes()).await;
    let sent = scripted.last().1;
    assert!(sent.len() < talk(DUE).len() * 2 / 3, "{} bytes", sent.len());
    let told = told.lock().unwrap().clone();
    assert!(told.contains("extract") && told.contains("the client's own credentials"), "{told}");
    assert!(!told.contains("canary"), "{told}");
}

#[tokio::test]
async fn a_shadow_asks_no_model() {
    let scripted = Scripted::start(summary()).await;
    let gateway = gateway(&scripted, &Store::memory(), |keep| keep.session.shadow = true).await;
    prepare(gateway, &talk(EARLY)).await;
    assert_eq!(scripted.requests.lock().unwrap().len(), 1);
    assert_eq!(metric(gateway, "plimsoll_summary_tokens_total").await, 0);
}
