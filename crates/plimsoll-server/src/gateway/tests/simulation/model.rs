//! A model that takes so many tokens and no more, and says what it took, in the protocol that it is asked in.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};

use super::super::scripted::read_message;

/// What was sent for each request of a client: more than one body if it was too long at first.
type Taken = Arc<Mutex<HashMap<u64, Vec<Vec<u8>>>>>;

pub(super) struct Model {
    pub(super) address: SocketAddr,
    taken: Taken,
}

impl Model {
    /// Starts one that takes so many tokens; a token is so many hundredths of a byte.
    pub(super) async fn start(takes: u64, ratio: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let taken = Taken::default();
        let kept = Arc::clone(&taken);
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(answer(stream, Arc::clone(&kept), takes, ratio));
            }
        });
        Self { address, taken }
    }

    /// What was sent for a request.
    pub(super) fn take(&self, number: u64) -> Vec<Vec<u8>> {
        self.taken.lock().unwrap().remove(&number).unwrap_or_default()
    }
}

async fn answer(mut stream: TcpStream, kept: Taken, takes: u64, ratio: u64) {
    while let Some((head, body)) = read_message(&mut stream).await {
        let tokens = body.len() as u64 * ratio / 100;
        let number = head.lines().find_map(|line| line.strip_prefix("x-number: ")).unwrap().parse().unwrap();
        kept.lock().unwrap().entry(number).or_default().push(body);
        let path = head.split(' ').nth(1).unwrap();
        let said = if tokens > takes { refusal(path, tokens, takes) } else { used(path, tokens, number % 2 == 0) };
        if stream.write_all(&said).await.is_err() {
            return;
        }
    }
}

fn refusal(path: &str, tokens: u64, takes: u64) -> Vec<u8> {
    let body = if path.ends_with("/messages") {
        format!(
            r#"{{"type":"error","error":{{"type":"invalid_request_error","message":"prompt is too long: {tokens} tokens > {takes} maximum"}}}}"#
        )
    } else {
        format!(
            r#"{{"error":{{"message":"This model's maximum context length is {takes} tokens. However, your messages resulted in {tokens} tokens.","code":"context_length_exceeded"}}}}"#
        )
    };
    let head = format!("HTTP/1.1 400 No\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len());
    (head + &body).into_bytes()
}

/// An answer that says what was used: as a stream, or whole.
fn used(path: &str, tokens: u64, streams: bool) -> Vec<u8> {
    let anthropic = format!(r#""usage":{{"input_tokens":{tokens},"output_tokens":50}}"#);
    let chat =
        format!(r#""usage":{{"prompt_tokens":{tokens},"completion_tokens":50,"total_tokens":{}}}"#, tokens + 50);
    let responses = format!(
        r#"{{"object":"response","status":"completed","output":[],"usage":{{"input_tokens":{tokens},"output_tokens":50,"total_tokens":{}}}}}"#,
        tokens + 50
    );
    let (stream, whole) = if path.ends_with("/messages") {
        (
            format!(
                "data: {{\"type\":\"message_start\",\"message\":{{\"model\":\"m\",{anthropic}}}}}\n\ndata: {{\"type\":\"message_stop\"}}\n\n"
            ),
            format!(r#"{{"type":"message","content":[],"stop_reason":"end_turn",{anthropic}}}"#),
        )
    } else if path.ends_with("/completions") {
        (
            format!("data: {{\"object\":\"chat.completion.chunk\",\"choices\":[],{chat}}}\n\ndata: [DONE]\n\n"),
            format!(r#"{{"object":"chat.completion","choices":[],{chat}}}"#),
        )
    } else {
        (format!("data: {{\"type\":\"response.completed\",\"response\":{responses}}}\n\n"), responses)
    };
    let (kind, body) = if streams { ("text/event-stream", stream) } else { ("application/json", whole) };
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n", body.len());
    (head + &body).into_bytes()
}
