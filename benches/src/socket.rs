//! Plain sockets to measure servers with: an upstream that does nothing but answer, and a reader of answers.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// What goes wrong with a socket.
pub type Fault = Box<dyn std::error::Error + Send + Sync>;

/// Events of a streamed answer.
const EVENTS: usize = 20;

/// Starts an upstream that answers every request at once, a thread a connection; as a stream where `x-stream: 1` asks for it.
///
/// # Errors
/// If no port can be had.
pub fn scripted() -> Result<SocketAddr, Fault> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A connection that fails is over.
            std::thread::spawn(move || drop(answer_all(stream)));
        }
    });
    Ok(address)
}

fn answer_all(mut stream: TcpStream) -> Result<(), Fault> {
    stream.set_nodelay(true)?;
    let mut reader = Message::new(stream.try_clone()?);
    let whole = format!(
        "{{\"type\":\"message\",\"content\":[{{\"type\":\"text\",\"text\":\"{}\"}}],\"stop_reason\":\"end_turn\",\
         \"usage\":{{\"input_tokens\":0,\"output_tokens\":9}}}}",
        "word ".repeat(300)
    );
    loop {
        let (head, body) = reader.read()?;
        if body == 0 && head.is_empty() {
            return Ok(());
        }
        if head.contains("x-stream: 1") {
            stream.write_all(
                b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n",
            )?;
            for n in 0..EVENTS {
                let event = format!(
                    "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":\
                     {{\"type\":\"text_delta\",\"text\":\"word {n}\"}}}}\n\n"
                );
                stream.write_all(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes())?;
            }
            stream.write_all(b"0\r\n\r\n")?;
        } else {
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ";
            stream.write_all(format!("{head}{}\r\n\r\n{whole}", whole.len()).as_bytes())?;
        }
    }
}

/// Reads messages of HTTP/1.1 from a connection.
#[derive(Debug)]
pub struct Message {
    stream: TcpStream,
    held: Vec<u8>,
}

impl Message {
    /// Reads from a connection.
    pub fn new(stream: TcpStream) -> Self {
        Self { stream, held: Vec::with_capacity(1 << 16) }
    }

    fn more(&mut self) -> Result<usize, Fault> {
        let mut buffer = [0; 1 << 14];
        let read = self.stream.read(&mut buffer)?;
        self.held.extend_from_slice(buffer.get(..read).unwrap_or_default());
        Ok(read)
    }

    /// Gives the head in lower case, and the size of the body; nothing at the end of the connection.
    ///
    /// # Errors
    /// If the connection fails, or breaks off inside a message.
    pub fn read(&mut self) -> Result<(String, usize), Fault> {
        let (head, _, body) = self.next_timed(Instant::now())?;
        Ok((head, body))
    }

    /// Gives the same, and when the first byte after the head was there.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn next_timed(&mut self, began: Instant) -> Result<(String, Duration, usize), Fault> {
        let end = loop {
            if let Some(end) = find(&self.held, b"\r\n\r\n") {
                break end + 4;
            }
            if self.more()? == 0 {
                return Ok(Default::default());
            }
        };
        let head = String::from_utf8_lossy(self.held.get(..end).unwrap_or_default()).to_ascii_lowercase();
        self.held.drain(..end);
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
        let chunked = head.contains("transfer-encoding: chunked");
        if self.held.is_empty() && (chunked || length.is_some_and(|length| length > 0)) {
            self.more()?;
        }
        let first = began.elapsed();
        let mut body = length.unwrap_or(0);
        if chunked {
            loop {
                // No event holds this.
                if let Some(end) = find(&self.held, b"0\r\n\r\n") {
                    body = end;
                    self.held.drain(..end + 5);
                    break;
                }
                if self.more()? == 0 {
                    return Err("it was cut".into());
                }
            }
        } else {
            while self.held.len() < body {
                if self.more()? == 0 {
                    return Err("it was cut".into());
                }
            }
            self.held.drain(..body);
        }
        Ok((head, first, body))
    }
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}
