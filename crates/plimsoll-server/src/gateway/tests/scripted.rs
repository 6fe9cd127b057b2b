//! An upstream that does what a test says, and a client that says exactly what a test says.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};

use crate::gateway::{Gateway, Options, Upstream};

/// What the upstream does after it has read a request.
#[derive(Debug, Clone)]
pub(super) enum Step {
    Write(Vec<u8>),
    Wait(Duration),
    /// Sends a message to the test, and waits until the test answers.
    Ask,
    /// Writes for as long as the other side takes it.
    Pour,
    Close,
    Reset,
}

pub(super) fn write(bytes: impl AsRef<[u8]>) -> Step {
    Step::Write(bytes.as_ref().to_vec())
}

/// What the server was sent: heads and bodies.
type Requests = Arc<Mutex<Vec<(String, Vec<u8>)>>>;

/// An upstream with one script for all requests.
pub(super) struct Scripted {
    pub(super) address: SocketAddr,
    /// The requests, as they came: the head, then the body without the marks of chunks.
    pub(super) requests: Requests,
    pub(super) connections: Arc<Mutex<usize>>,
    /// Bytes that it could write with [`Step::Pour`].
    pub(super) poured: Arc<Mutex<usize>>,
    pub(super) asks: mpsc::UnboundedReceiver<oneshot::Sender<()>>,
    /// One message for each connection that the other side closed.
    pub(super) gone: mpsc::UnboundedReceiver<()>,
}

impl Scripted {
    pub(super) async fn start(script: Vec<Step>) -> Self {
        Self::start_each(vec![script]).await
    }

    /// Plays one script after the other, a request each; the last one again and again.
    pub(super) async fn start_each(scripts: Vec<Vec<Step>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (asking, asks) = mpsc::unbounded_channel();
        let (going, gone) = mpsc::unbounded_channel();
        let scripted = Self {
            address,
            requests: Arc::default(),
            connections: Arc::default(),
            poured: Arc::default(),
            asks,
            gone,
        };
        let (requests, connections) = (Arc::clone(&scripted.requests), Arc::clone(&scripted.connections));
        let poured = Arc::clone(&scripted.poured);
        let scripts = Arc::new(scripts);
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                *connections.lock().unwrap() += 1;
                let (scripts, requests, poured) = (Arc::clone(&scripts), Arc::clone(&requests), Arc::clone(&poured));
                let (asking, going) = (asking.clone(), going.clone());
                tokio::spawn(async move {
                    while let Some(request) = read_message(&mut stream).await {
                        let turn = {
                            let mut requests = requests.lock().unwrap();
                            requests.push(request);
                            requests.len() - 1
                        };
                        let script = scripts.get(turn).or(scripts.last()).unwrap();
                        if play(&mut stream, script, &asking, &poured).await.is_none() {
                            return;
                        }
                    }
                    let _ = going.send(());
                });
            }
        });
        scripted
    }

    pub(super) fn last(&self) -> (String, Vec<u8>) {
        self.requests.lock().unwrap().last().unwrap().clone()
    }

    pub(super) fn upstream(&self, name: &str) -> Upstream {
        Upstream::new(name, &format!("http://{}", self.address)).unwrap()
    }

    /// A gateway before it, as `openai`.
    pub(super) async fn gateway(&self) -> SocketAddr {
        serve(self.options()).await
    }

    pub(super) fn options(&self) -> Options {
        Options::default().with_upstreams(vec![self.upstream("openai")]).unwrap()
    }
}

async fn play(
    stream: &mut TcpStream,
    script: &[Step],
    asking: &mpsc::UnboundedSender<oneshot::Sender<()>>,
    poured: &Mutex<usize>,
) -> Option<()> {
    for step in script {
        match step {
            Step::Write(bytes) => stream.write_all(bytes).await.ok()?,
            Step::Wait(time) => tokio::time::sleep(*time).await,
            Step::Ask => {
                let (answer, answered) = oneshot::channel();
                asking.send(answer).ok()?;
                let mut byte = [0];
                tokio::select! {
                    answered = answered => answered.ok()?,
                    // The other side went away meanwhile: there is no more to play.
                    _ = stream.peek(&mut byte) => {}
                }
            }
            Step::Pour => loop {
                let written = stream.write(&[b'x'; 16384]).await.ok()?;
                *poured.lock().unwrap() += written;
            },
            Step::Close => {
                stream.shutdown().await.ok()?;
                return None;
            }
            Step::Reset => {
                stream.set_zero_linger().unwrap();
                return None;
            }
        }
    }
    Some(())
}

/// Reads a message: its head, and its body by length or in chunks.
pub(super) async fn read_message(stream: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let mut body = bytes.split_off(end);
    let head = String::from_utf8(bytes).unwrap();
    let field = |name: &str| {
        let line = head.lines().find(|line| line.to_ascii_lowercase().starts_with(&format!("{name}:")))?;
        Some(line.split_once(':').unwrap().1.trim().to_owned())
    };
    if field("transfer-encoding").is_some() {
        while !body.ends_with(b"0\r\n\r\n") {
            if stream.read_buf(&mut body).await.ok()? == 0 {
                return None;
            }
        }
        return Some((head, unchunk(&body)));
    }
    let length: usize = field("content-length").map_or(0, |length| length.parse().unwrap());
    while body.len() < length {
        if stream.read_buf(&mut body).await.ok()? == 0 {
            return None;
        }
    }
    Some((head, body))
}

/// Takes the marks of chunks out of a body.
pub(super) fn unchunk(mut bytes: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = bytes.windows(2).position(|window| window == b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&bytes[..end]).unwrap(), 16).unwrap();
        body.extend_from_slice(&bytes[end + 2..end + 2 + size]);
        bytes = &bytes[end + 2 + size + 2..];
    }
    body
}

/// Starts a gateway, for as long as the test lasts.
pub(super) async fn serve(options: Options) -> SocketAddr {
    let gateway = Gateway::bind("127.0.0.1:0".parse().unwrap(), options).await.unwrap();
    let address = gateway.address();
    tokio::spawn(gateway.serve(std::future::pending()));
    address
}

/// A client's connection.
pub(super) struct Client(pub(super) TcpStream);

impl Client {
    pub(super) async fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self(stream)
    }

    pub(super) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.write_all(bytes.as_ref()).await.unwrap();
    }

    /// Reads until this text has come, and gives everything up to there.
    pub(super) async fn until(&mut self, text: &str) -> String {
        let mut read = Vec::new();
        let all = async {
            while !String::from_utf8_lossy(&read).contains(text) {
                assert_ne!(self.0.read_buf(&mut read).await.unwrap(), 0, "it ended before {text:?}");
            }
        };
        let outcome = tokio::time::timeout(Duration::from_secs(10), all).await;
        let read = String::from_utf8_lossy(&read).into_owned();
        assert!(outcome.is_ok(), "{text:?} did not come: {read:?}");
        read
    }

    /// Reads to the end of the connection, however it ends.
    pub(super) async fn rest(&mut self) -> Vec<u8> {
        let mut read = Vec::new();
        let all = self.0.read_to_end(&mut read);
        let outcome = tokio::time::timeout(Duration::from_secs(20), all).await;
        assert!(outcome.is_ok(), "the connection stays open: {:?}", String::from_utf8_lossy(&read));
        read
    }
}

/// Sends a request on a connection of its own, which ends with it, and reads the whole answer.
pub(super) async fn ask(address: SocketAddr, head: &str, body: &[u8]) -> String {
    let mut client = Client::connect(address).await;
    let length = if body.is_empty() { String::new() } else { format!("content-length: {}\r\n", body.len()) };
    client.send(format!("{head}\r\nhost: localhost\r\nconnection: close\r\n{length}\r\n")).await;
    client.send(body).await;
    String::from_utf8_lossy(&client.rest().await).into_owned()
}

pub(super) const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
