//! A gateway that is killed, again and again, while a conversation goes on: what was decided is never taken back.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;

use super::Bench;

const CANARY: &str = "sk-CANARY-5d1e";

/// A model that takes whatever comes, and keeps it.
struct Model {
    address: String,
    got: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Model {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let got: Arc<Mutex<Vec<Vec<u8>>>> = Arc::default();
        let kept = Arc::clone(&got);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, kept) = (stream.unwrap(), Arc::clone(&kept));
                std::thread::spawn(move || while answer(&stream, &kept).is_some() {});
            }
        });
        Self { address, got }
    }
}

fn answer(mut stream: &TcpStream, kept: &Mutex<Vec<Vec<u8>>>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line == "\r\n" {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let tokens = body.len() / 4;
    kept.lock().unwrap().push(body);
    let said = format!(
        r#"{{"type":"message","content":[{{"type":"text","text":"ok"}}],"stop_reason":"end_turn","usage":{{"input_tokens":{tokens},"output_tokens":1}}}}"#
    );
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", said.len());
    stream.write_all(format!("{head}{said}").as_bytes()).ok()
}

/// A gateway process.
struct Served(Child, String);

impl Served {
    fn start(bench: &Bench, model: &Model, window: &str) -> Self {
        let mut command = bench.command();
        let (upstream, log) = (format!("anthropic=http://{}", model.address), bench.path("requests.log"));
        command.args(["serve", "--listen", "127.0.0.1:0", "--recall", "always", "--window", window]);
        command.args(["--upstream", &upstream, "--request-log"]).arg(log);
        let errors = std::fs::OpenOptions::new().create(true).append(true).open(bench.path("errors")).unwrap();
        let mut child = command.stdout(Stdio::piped()).stderr(errors).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.strip_prefix("plimsoll listens on http://").expect(&line).trim().to_owned();
        Self(child, address)
    }

    /// Sends a request, and gives the head of its answer; nothing if there was none.
    fn ask(&self, body: &str) -> Option<String> {
        let mut stream = TcpStream::connect(&self.1).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let head = format!(
            "POST /v1/messages HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nx-api-key: {CANARY}\r\nauthorization: Bearer {CANARY}\r\ncookie: {CANARY}\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).ok()?;
        stream.write_all(body.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let _ = stream.shutdown(Shutdown::Both);
        answer.ends_with('}').then(|| answer.split("\r\n\r\n").next().unwrap().to_owned())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // SIGKILL: nothing is flushed, closed or said.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A conversation of so many turns: a call with a result, large now and then, and one more question.
fn body(turns: usize) -> String {
    let mut messages = Vec::new();
    for n in 0..turns {
        let lines = if n % 5 == 3 { 400 } else { 30 };
        let result = format!("line of file {n} that says something of no great weight\\n").repeat(lines);
        messages.push(format!(r#"{{"role":"user","content":"Step {n}: look into file_{n}.txt."}}"#));
        messages.push(format!(
            r#"{{"role":"assistant","content":[{{"type":"tool_use","id":"t{n}","name":"Read","input":{{"path":"/srv/{n}"}}}}]}}"#
        ));
        messages.push(format!(
            r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t{n}","content":"{result}"}}]}}"#
        ));
        messages.push(format!(r#"{{"role":"assistant","content":"file_{n}.txt has lines."}}"#));
    }
    messages.push(format!(r#"{{"role":"user","content":"Step {turns}: look into file_{turns}.txt."}}"#));
    format!(r#"{{"model":"claude-sonnet-4-5","max_tokens":256,"messages":[{}]}}"#, messages.join(","))
}

fn messages(body: &[u8]) -> Vec<Value> {
    serde_json::from_slice::<Value>(body).unwrap()["messages"].as_array().unwrap().clone()
}

fn epoch(head: &str) -> Option<String> {
    let told = head.lines().find_map(|line| line.strip_prefix("x-plimsoll: "))?;
    assert!(!told.starts_with("bypass"), "{told}");
    told.split("epoch=").nth(1).map(|rest| rest.split(';').next().unwrap().to_owned())
}

#[test]
fn a_gateway_that_is_killed_loses_no_decision() {
    let bench = Bench::new();
    let model = Model::start();
    let mut served = Served::start(&bench, &model, "8000");
    let (mut before, mut under, mut epochs) = (Vec::new(), None, 0);
    let taken = || std::mem::take(&mut *model.got.lock().unwrap());
    for turns in 0..60_usize {
        let whole = body(turns);
        let mut attempts: Vec<Vec<u8>> = Vec::new();
        // Most requests are sent to a gateway that dies while it works on them, a bit later each time.
        for delay in
            (0..turns % 4).map(|attempt| Duration::from_micros(((turns * 7 + attempt * 13) % 40 * 500) as u64))
        {
            let victim = std::mem::replace(&mut served, Served::start(&bench, &model, "8000"));
            std::thread::scope(|scope| {
                let asked = scope.spawn(|| victim.ask(&whole));
                std::thread::sleep(delay);
                let id = victim.0.id().to_string();
                std::process::Command::new("kill").args(["-9", &id]).status().unwrap();
                let _ = asked.join().unwrap();
            });
            drop(victim);
            std::thread::sleep(Duration::from_millis(5));
            attempts.append(&mut taken());
        }
        let head = served.ask(&whole).expect("it is answered");
        let sent = taken().pop().unwrap();
        for attempt in attempts {
            // What a model was sent once is what it is sent again.
            assert_eq!(String::from_utf8_lossy(&attempt), String::from_utf8_lossy(&sent), "turn {turns}");
        }
        let now = messages(&sent);
        let at = epoch(&head);
        if at == under {
            assert!(now.starts_with(&before), "turn {turns}: {head}\n{}", String::from_utf8_lossy(&sent));
        } else {
            assert!(at.is_some(), "turn {turns}: an epoch is forgotten");
            epochs += 1;
        }
        assert!(sent.len() < 40_000, "turn {turns}: {} bytes", sent.len());
        (before, under) = (now, at);
    }
    assert!((3..30).contains(&epochs), "{epochs} epochs");
    drop(served);

    // Nothing that it wrote, whole or torn, holds what identifies the client.
    let mut files = 0;
    let mut folders = vec![bench.folder.path().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let bytes = std::fs::read(&path).unwrap();
            assert!(!bytes.windows(6).any(|window| window == b"CANARY"), "{}", path.display());
            files += 1;
        }
    }
    assert!(files > 10, "{files} files");
}

#[test]
fn a_gateway_that_starts_anew_with_other_settings_repeats_what_was_decided() {
    let bench = Bench::new();
    let model = Model::start();
    let served = Served::start(&bench, &model, "8000");
    let mut of = Vec::new();
    for turns in [4, 12] {
        let head = served.ask(&body(turns)).expect("it is answered");
        of.push((turns, epoch(&head), model.got.lock().unwrap().last().unwrap().clone()));
    }
    assert!(of[1].1.is_some());
    drop(served);
    // Under these the results would be capped elsewhere, and another part would be removed.
    for (window, (turns, under, sent)) in ["60000", "9000"].into_iter().zip(of) {
        let served = Served::start(&bench, &model, window);
        let head = served.ask(&body(turns)).expect("it is answered");
        let again = model.got.lock().unwrap().last().unwrap().clone();
        assert_eq!(epoch(&head), under, "{turns}");
        assert_eq!(String::from_utf8_lossy(&again), String::from_utf8_lossy(&sent), "{turns}");
    }
}
