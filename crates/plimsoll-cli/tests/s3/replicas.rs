//! Several gateways on one store, behind a plain round-robin: what one decides, all repeat.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

use super::{Machine, fresh};

/// A gateway on a machine of its own.
struct Replica {
    child: Child,
    address: SocketAddr,
    _machine: Machine,
}

impl Replica {
    fn start(prefix: &str, upstream: SocketAddr) -> Self {
        let machine = Machine::new(prefix).with("OPENAI_API_KEY", "key-of-the-operator");
        let at = format!("http://{upstream}");
        let named = format!("anthropic={at}");
        let arguments = ["serve", "--listen", "127.0.0.1:0", "--upstream", &named, "--window", "8000"];
        let summarizer = ["--summarizer", "openai:teller", "--summarizer-url", &at];
        let mut command = machine.command(&[&arguments[..], &summarizer[..]].concat());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().rsplit('/').next().unwrap().parse().expect(&line);
        Self { child, address, _machine: machine }
    }

    /// As a machine dies: without a word.
    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A server for both: the conversation's model, and the summariser, whose every summary reads otherwise.
struct Upstream {
    address: SocketAddr,
    /// What the conversation's model was sent.
    bodies: Arc<Mutex<Vec<Vec<u8>>>>,
    summaries: Arc<Mutex<usize>>,
}

impl Upstream {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let upstream = Self { address, bodies: Arc::default(), summaries: Arc::default() };
        let (bodies, summaries) = (Arc::clone(&upstream.bodies), Arc::clone(&upstream.summaries));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (bodies, summaries) = (Arc::clone(&bodies), Arc::clone(&summaries));
                thread::spawn(move || {
                    let mut reader = BufReader::new(stream.try_clone().unwrap());
                    while let Some((head, body)) = message(&mut reader) {
                        let answer = if head.starts_with("POST /v1/chat/completions ") {
                            let mut summaries = summaries.lock().unwrap();
                            *summaries += 1;
                            summary(*summaries)
                        } else {
                            bodies.lock().unwrap().push(body);
                            json!({ "type": "message", "role": "assistant", "content": [] })
                        };
                        if write_answer(&stream, &answer.to_string()).is_err() {
                            return;
                        }
                    }
                });
            }
        });
        upstream
    }

    fn last(&self) -> Vec<u8> {
        self.bodies.lock().unwrap().last().unwrap().clone()
    }
}

fn write_answer(mut stream: &TcpStream, body: &str) -> std::io::Result<()> {
    let length = body.len();
    write!(stream, "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}")
}

/// A summary that tells which it is.
fn summary(number: usize) -> Value {
    let sections = (1..=9).map(|section| format!("## {section}. Part\nThe story, as told by summary-{number}.\n\n"));
    let text = format!("<summary>\n{}</summary>", sections.collect::<String>());
    json!({
        "model": "teller", "object": "chat.completion",
        "choices": [{ "index": 0, "finish_reason": "stop", "message": { "role": "assistant", "content": text } }],
        "usage": { "prompt_tokens": 5000, "completion_tokens": 200, "total_tokens": 5200 },
    })
}

fn message(reader: &mut BufReader<TcpStream>) -> Option<(String, Vec<u8>)> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().unwrap())
    });
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    Some((head, body))
}

/// Gives each connection to the next of the replicas; one that does not take it is passed over.
fn round_robin(replicas: Vec<SocketAddr>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for (turn, client) in listener.incoming().flatten().enumerate() {
            let order = (0..replicas.len()).map(|step| replicas[(turn + step) % replicas.len()]);
            let Some(server) = order.into_iter().find_map(|address| TcpStream::connect(address).ok()) else {
                continue;
            };
            let ways = [(&client, &server), (&server, &client)].map(|(from, to)| {
                let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                thread::spawn(move || {
                    let _ = std::io::copy(&mut from, &mut to);
                    let _ = to.shutdown(std::net::Shutdown::Write);
                })
            });
            drop(ways);
        }
    });
    address
}

/// Sends a request on a connection of its own, and gives the epoch that it went out under.
fn ask(address: SocketAddr, body: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).unwrap();
    let length = body.len();
    write!(
        stream,
        "POST /v1/messages HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nx-plimsoll-session: story\r\n\
         content-length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    let told = answer.lines().find_map(|line| line.strip_prefix("x-plimsoll: "))?;
    assert!(told.starts_with("tokens="), "{told}");
    told.split("epoch=").nth(1).map(|epoch| epoch.split(';').next().unwrap().to_owned())
}

/// A request of so many turns, about 540 tokens each, and one more question: each extends the ones with fewer turns.
fn talk(turns: usize) -> String {
    let mut messages = Vec::new();
    for n in 1..=turns {
        let words = format!("Part {n} of the story has words of no great weight. ").repeat(40);
        messages.push(json!({ "role": "user", "content": format!("Go on with part {n}, please.") }));
        messages.push(json!({ "role": "assistant", "content": words }));
    }
    messages.push(json!({ "role": "user", "content": format!("Go on with part {}, please.", turns + 1) }));
    json!({ "model": "claude-sonnet-4-5", "max_tokens": 256, "messages": messages }).to_string()
}

fn messages(body: &[u8]) -> Vec<Value> {
    let body: Value = serde_json::from_slice(body).unwrap();
    body["messages"].as_array().unwrap().clone()
}

/// Which summaries a body holds.
fn told_by(body: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(body);
    let numbers = text.split("as told by summary-").skip(1).map(|rest| rest.split('.').next().unwrap().to_owned());
    let mut numbers: Vec<String> = numbers.collect();
    numbers.dedup();
    numbers
}

pub(super) fn two_gateways_behind_a_round_robin_are_one() {
    let (prefix, upstream) = (fresh("replicas"), Upstream::start());
    let mut replicas = [Replica::start(&prefix, upstream.address), Replica::start(&prefix, upstream.address)];
    let balanced = round_robin(replicas.iter().map(|replica| replica.address).collect());
    let mut epochs: Vec<String> = Vec::new();
    let mut tellers: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let (mut before, mut same) = (Vec::new(), 0);
    for turns in 1..=60 {
        if turns == 30 {
            replicas[0].kill();
        }
        let body = talk(turns);
        let epoch = ask(balanced, &body);
        let sent = upstream.last();
        if let Some(epoch) = &epoch {
            let tellers = tellers.entry(epoch.clone()).or_insert_with(|| told_by(&sent));
            assert_eq!(*tellers, told_by(&sent), "of one epoch there is one summary");
            if epochs.last() != Some(epoch) {
                assert!(!epochs.contains(epoch), "turn {turns}: what was left is not come back to");
                epochs.push(epoch.clone());
                before.clear();
            }
        }
        let now = messages(&sent);
        assert!(now.starts_with(&before), "turn {turns}: what is sent extends what was sent, whoever sends it");
        before = now[..now.len() - 1].to_vec();
        // Whoever is asked says the same, once they stand under the same epoch.
        if turns < 30 {
            for replica in &replicas {
                if ask(replica.address, &body) == epoch {
                    assert_eq!(String::from_utf8_lossy(&upstream.last()), String::from_utf8_lossy(&sent));
                    same += 1;
                }
            }
        }
    }
    assert!(epochs.len() >= 4, "{epochs:?}");
    assert!(same > 40, "{same} of 58 were the same");
    // A summary is bought by those that need it, and not again and again.
    let summaries = *upstream.summaries.lock().unwrap();
    assert!(summaries <= 2 * epochs.len() + 2, "{summaries} summaries for {} epochs", epochs.len());
    // A third one that has never seen the conversation goes on where the others were.
    let third = Replica::start(&prefix, upstream.address);
    let body = talk(60);
    let (there, sent) = (ask(replicas[1].address, &body), upstream.last());
    assert_eq!((ask(third.address, &body), upstream.last()), (there, sent));
}
