//! A server that does as a script says, byte for byte: one reply a request, on real sockets.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What is done in the course of a reply.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    /// Writes these bytes, at once.
    Say(Vec<u8>),
    /// Waits.
    Wait(Duration),
    /// Says nothing more, until the other end has gone.
    Hang,
}

/// A reply: what is done, and then the connection is closed.
pub(crate) type Reply = Vec<Act>;

/// A request, as it came.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) line: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(header, _)| header.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).expect("a body is JSON")
    }
}

/// The server. It goes on until the test's process ends.
pub(crate) struct Server {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    gone: Arc<Mutex<usize>>,
}

impl Server {
    /// Starts a server that gives these replies, one a request, in order.
    pub(crate) fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let (seen, gone) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(0)));
        let mut replies: std::collections::VecDeque<Reply> = replies.into_iter().collect();
        let (noted, left) = (seen.clone(), gone.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { break };
                let Some(request) = read(&stream) else {
                    // No HTTP: a client that speaks TLS to a server that does not, say.
                    let _ = (&stream).write_all(b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n");
                    continue;
                };
                noted.lock().expect("no thread panics").push(request);
                let reply = replies.pop_front().unwrap_or_else(|| whole("418 Unexpected", &[], "no reply is left"));
                let left = left.clone();
                // A reply may last; the next request does not wait for it.
                std::thread::spawn(move || answer(stream, reply, &left));
            }
        });
        Self { address, seen, gone }
    }

    /// Its base address.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The requests that came.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().expect("no thread panics").clone()
    }

    /// Waits until so many clients have gone away in the middle of a reply.
    pub(crate) fn wait_for_gone(&self, count: usize) {
        for _ in 0..500 {
            if *self.gone.lock().expect("no thread panics") >= count {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("nobody went away");
    }
}

fn read(stream: &TcpStream) -> Option<Seen> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let mut headers = Vec::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim_end().split_once(": ") else { break };
        headers.push((name.to_owned(), value.to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let mut body = vec![0; length.map_or(0, |(_, length)| length.parse().expect("a length is a number"))];
    reader.read_exact(&mut body).ok()?;
    Some(Seen { line: line.trim_end().to_owned(), headers, body })
}

fn answer(mut stream: TcpStream, reply: Reply, gone: &Mutex<usize>) {
    let _ = stream.set_nodelay(true);
    for act in reply {
        let still_there = match act {
            Act::Say(bytes) => stream.write_all(&bytes).and_then(|()| stream.flush()).is_ok(),
            Act::Wait(pause) => {
                std::thread::sleep(pause);
                true
            }
            Act::Hang => matches!(stream.read(&mut [0; 1]), Ok(1..)),
        };
        if !still_there {
            *gone.lock().expect("no thread panics") += 1;
            return;
        }
    }
}

/// A reply in one piece.
pub(crate) fn whole(status: &str, headers: &[(&str, &str)], body: &str) -> Reply {
    let mut text = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n", body.len());
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    vec![Act::Say(format!("{text}\r\n{body}").into_bytes())]
}

/// The head of a stream in chunks.
pub(crate) fn head(content_type: &str) -> Act {
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n"
    );
    Act::Say(head.into_bytes())
}

/// A part of a stream, as a chunk.
pub(crate) fn part(bytes: impl AsRef<[u8]>) -> Act {
    let bytes = bytes.as_ref();
    Act::Say([format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat())
}

/// The end of a stream in chunks. Without it, the stream is cut.
pub(crate) fn end() -> Act {
    Act::Say(b"0\r\n\r\n".to_vec())
}

/// A whole stream.
pub(crate) fn stream(bytes: impl AsRef<[u8]>) -> Reply {
    vec![head("text/event-stream; charset=utf-8"), part(bytes), end()]
}

/// What Anthropic streams for a text.
pub(crate) fn anthropic(text: &str, stop: &str) -> String {
    let mut stream = String::new();
    let mut event =
        |name: &str, data: serde_json::Value| stream.push_str(&format!("event: {name}\ndata: {data}\n\n"));
    event(
        "message_start",
        serde_json::json!({"type": "message_start", "message": {"id": "m1", "model": "claude-real", "content": [],
            "usage": {"input_tokens": 20, "cache_read_input_tokens": 900, "cache_creation_input_tokens": 80, "output_tokens": 1}}}),
    );
    event(
        "content_block_start",
        serde_json::json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
    );
    event("ping", serde_json::json!({"type": "ping"}));
    for piece in pieces(text) {
        event(
            "content_block_delta",
            serde_json::json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}}),
        );
    }
    event("content_block_stop", serde_json::json!({"type": "content_block_stop", "index": 0}));
    event(
        "message_delta",
        serde_json::json!({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 300}}),
    );
    event("message_stop", serde_json::json!({"type": "message_stop"}));
    stream
}

/// What Chat Completions streams for a text.
pub(crate) fn chat(text: &str, stop: &str) -> String {
    let mut stream = ": processing\n\n".to_owned();
    let chunk = |delta: serde_json::Value, stop: Option<&str>| {
        let data = serde_json::json!({"model": "gpt-real", "choices": [{"index": 0, "delta": delta, "finish_reason": stop}], "usage": null});
        format!("data: {data}\n\n")
    };
    for piece in pieces(text) {
        stream.push_str(&chunk(serde_json::json!({"content": piece}), None));
    }
    stream.push_str(&chunk(serde_json::json!({}), Some(stop)));
    let usage = serde_json::json!({"model": "gpt-real", "choices": [], "usage": {"prompt_tokens": 1000, "completion_tokens": 300, "prompt_tokens_details": {"cached_tokens": 900}}});
    stream.push_str(&format!("data: {usage}\n\ndata: [DONE]\n\n"));
    stream
}

/// What Responses streams for a text.
pub(crate) fn responses(text: &str) -> String {
    let mut stream = String::new();
    let mut event = |name: &str, mut data: serde_json::Value| {
        data["type"] = name.into();
        stream.push_str(&format!("event: {name}\ndata: {data}\n\n"));
    };
    event("response.created", serde_json::json!({"response": {"model": "gpt-real", "status": "in_progress"}}));
    event("response.output_item.added", serde_json::json!({"item": {"type": "message"}}));
    for piece in pieces(text) {
        event("response.output_text.delta", serde_json::json!({"delta": piece}));
    }
    let usage = serde_json::json!({"input_tokens": 1000, "input_tokens_details": {"cached_tokens": 900}, "output_tokens": 300});
    let output = serde_json::json!([{"type": "message", "content": [{"type": "output_text", "text": text}]}]);
    event(
        "response.completed",
        serde_json::json!({"response": {"model": "gpt-real", "status": "completed", "error": null, "incomplete_details": null, "output": output, "usage": usage}}),
    );
    stream
}

/// A text in pieces of a few characters, as models write.
fn pieces(text: &str) -> impl Iterator<Item = String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(40).map(|piece| piece.iter().collect()).collect::<Vec<String>>().into_iter()
}
