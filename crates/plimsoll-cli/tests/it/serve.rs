//! `plimsoll serve` and `plimsoll wrap`: what they print, what they refuse, and how they end.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Stdio};

use super::Bench;

/// A gateway that is ended with the test.
struct Served(Child, String);

impl Served {
    fn start(bench: &Bench, more: &[&str]) -> Self {
        let mut command = bench.command();
        command.args(["serve", "--listen", "127.0.0.1:0"]).args(more).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.strip_prefix("plimsoll listens on http://").expect(&line).trim().to_owned();
        Self(child, address)
    }

    fn ask(&self, request: &str) -> String {
        ask(&self.1, request)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn ask(address: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream
        .write_all(format!("{request} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").as_bytes())
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn one_line_says_where_it_listens() {
    let bench = Bench::new();
    let served = Served::start(&bench, &["--upstream", "openai=http://127.0.0.1:9"]);
    assert!(served.ask("GET /health").starts_with("HTTP/1.1 200 "));
    let down = served.ask("GET /v1/models");
    assert!(down.starts_with("HTTP/1.1 502 ") && down.contains("the upstream openai cannot be reached"), "{down}");
    let nowhere = served.ask("GET /u/other/v1/models");
    assert!(nowhere.contains("there is no upstream named other; there are: openai"), "{nowhere}");
}

#[test]
fn what_cannot_be_served_is_said_with_the_next_step() {
    let bench = Bench::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let ran = bench.run(["serve", "--listen", &address]);
    assert!(ran.code(1).err().contains("--listen"), "{}", ran.err());
    for (arguments, hint) in [
        (vec!["--listen", "0.0.0.0:0"], "PLIMSOLL_KEY"),
        (vec!["--upstream", "anthropic"], "NAME=URL"),
        (vec!["--upstream", "a=http://u:secret@h"], "credentials"),
        (vec!["--upstream", "http://u:secret@h"], "NAME=URL"),
        (vec!["--upstream", "a=http://h", "--upstream", "a=http://i"], "two upstreams named a"),
        (vec!["--summarizer", "magic"], "extract"),
        (vec!["--summarizer", "anthropic:claude-x"], "ANTHROPIC_API_KEY"),
        (vec!["--summarizer", "openai:m", "--summarizer-key-env", "MINE"], "MINE is not set"),
        (vec!["--listen", "example.org:0"], "127.0.0.1:8642"),
    ] {
        let ran = bench.run(["serve"].iter().chain(&arguments));
        let err = ran.code(2).err();
        assert!(err.contains(hint) && !err.contains("secret"), "{err}");
    }
    let mut short = bench.command();
    short.args(["serve"]).env("PLIMSOLL_KEY", "too-short");
    let ran = bench.feed(short, b"");
    assert!(ran.code(2).err().contains("openssl rand") && !ran.err().contains("too-short"), "{}", ran.err());
}

#[test]
fn a_store_that_cannot_be_written_to_is_told_at_the_start() {
    let bench = Bench::new();
    std::fs::write(bench.path("file"), "a file, where a store is to be").unwrap();
    let url = format!("file://{}", bench.path("file").display());
    let mut serve = bench.command();
    serve.args(["serve", "--listen", "localhost:0", "--store", &url]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut serve = serve.spawn().unwrap();
    let mut lines = [String::new(), String::new()];
    BufReader::new(serve.stdout.take().unwrap()).read_line(&mut lines[0]).unwrap();
    BufReader::new(serve.stderr.take().unwrap()).read_line(&mut lines[1]).unwrap();
    serve.kill().unwrap();
    serve.wait().unwrap();
    assert!(lines[0].contains("plimsoll listens on http://127.0.0.1:"), "{lines:?}");
    assert!(lines[1].contains("is no directory") && lines[1].contains("Requests go through"), "{lines:?}");
}

#[cfg(unix)]
#[test]
fn a_wrapped_program_gets_an_address_of_its_own_and_gives_its_exit_code() {
    let bench = Bench::new();
    let wrap = |script: &str| {
        let mut command = bench.command();
        command.env("PATH", "/usr/bin:/bin").args(["wrap", "--", "sh", "-c", script]);
        bench.feed(command, b"in")
    };
    let ran = wrap("echo $ANTHROPIC_BASE_URL $OPENAI_BASE_URL; cat; exit 7");
    let out = ran.code(7).out();
    assert!(out.starts_with("http://127.0.0.1:") && out.contains("/v1\nin"), "{out}");
    // It is gone with the program.
    let address = out.strip_prefix("http://").unwrap().split(' ').next().unwrap().to_owned();
    assert!(TcpStream::connect(address).is_err());
    wrap("kill -TERM $$").code(143);
    let mut missing = bench.command();
    missing.args(["wrap", "no-such-program"]);
    assert!(bench.feed(missing, b"").code(1).err().contains("no-such-program is not found"));
    let mut text = bench.command();
    text.args(["wrap", "--", "/etc/passwd"]);
    assert!(bench.feed(text, b"").code(1).err().contains("/etc/passwd may not be executed"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_wrapped_program_ends_with_a_wrap_that_was_killed() {
    let bench = Bench::new();
    let mut command = bench.command();
    command.env("PATH", "/usr/bin:/bin").args(["wrap", "--", "sh", "-c", "echo $$; exec sleep 600"]);
    let mut wrap = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(wrap.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let program = std::path::PathBuf::from(format!("/proc/{}", line.trim()));
    assert!(program.exists(), "{line}");
    wrap.kill().unwrap();
    wrap.wait().unwrap();
    // What has ended stays in the table until whoever takes it over has looked.
    let runs = || std::fs::read_to_string(program.join("stat")).is_ok_and(|stat| !stat.contains(") Z "));
    let ended = (0..500).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        !runs()
    });
    assert!(ended, "the program goes on");
}
