//! A stream that says at its beginning that the request was too long, at the socket.

use std::net::SocketAddr;
use std::sync::Arc;

use plimsoll_engine::session::SessionOptions;
use plimsoll_store::Store;

use super::same::talk;
use super::scripted::{Scripted, Step, ask, serve, write};
use crate::gateway::Keep;

const MESSAGES: &str = "POST /v1/messages HTTP/1.1";
const TOO_LONG: &str = r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 6251 tokens > 4000 maximum"}}"#;
const START: &str = r#"{"type":"message_start","message":{"type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}"#;

/// A stream of these pieces, each written by itself.
fn stream(pieces: &[String]) -> Vec<Step> {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n".to_owned();
    let mut steps = vec![write(head)];
    for piece in pieces {
        steps.push(Step::Wait(std::time::Duration::from_millis(30)));
        steps.push(write(piece));
    }
    steps.push(Step::Close);
    steps
}

fn event(data: &str) -> String {
    let kind: serde_json::Value = serde_json::from_str(data).unwrap();
    format!("event: {}\ndata: {data}\n\n", kind["type"].as_str().unwrap())
}

async fn gateway(scripted: &Scripted) -> SocketAddr {
    let store = Store::memory();
    let mut options = scripted.options();
    options.keep = Some(Keep::new(SessionOptions::default(), Arc::new(move |_| Ok(store.clone()))));
    serve(options).await
}

#[tokio::test]
async fn what_a_compacted_request_brings_takes_the_place_of_a_stream_that_begins_with_too_long() {
    let good = stream(&[event(START), event(r#"{"type":"message_stop"}"#)]);
    let scripted = Scripted::start_each(vec![stream(&[event(TOO_LONG)]), good]).await;
    let answer = ask(gateway(&scripted).await, MESSAGES, talk(12).as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("message_stop"), "{answer}");
    assert!(!answer.contains("too long"), "{answer}");
    let requests = scripted.requests.lock().unwrap();
    assert_eq!((requests.len(), &requests[0].1[..]), (2, talk(12).as_bytes()));
    assert!(requests[1].1.len() < requests[0].1.len() * 2 / 3);
}

#[tokio::test]
async fn once_something_was_passed_on_the_client_hears_what_was_said() {
    let late = stream(&[event(START), event(TOO_LONG)]);
    let scripted = Scripted::start(late).await;
    let answer = ask(gateway(&scripted).await, MESSAGES, talk(12).as_bytes()).await;
    assert!(answer.contains("message_start") && answer.contains("too long"), "{answer}");
    assert_eq!(scripted.requests.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_second_stream_that_says_the_same_is_passed_on_as_it_is() {
    let scripted = Scripted::start(stream(&[event(TOO_LONG)])).await;
    let answer = ask(gateway(&scripted).await, MESSAGES, talk(12).as_bytes()).await;
    assert_eq!(answer.matches("too long").count(), 1, "{answer}");
    assert_eq!(scripted.requests.lock().unwrap().len(), 2);
}
