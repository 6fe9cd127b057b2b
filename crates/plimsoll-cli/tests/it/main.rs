//! The binary, from outside: what it prints, where, and with which exit code.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::format_collect,
    reason = "a test that fails should stop at once"
)]

mod bad_input;
mod compact;
mod config;
mod forms;
mod integration;
#[cfg(unix)]
mod killed;
mod profiles;
mod results;
#[cfg(unix)]
mod run;
mod serve;
#[path = "../../../plimsoll-engine/src/summarise/http/tests/server.rs"]
mod server;
mod sessions;
mod skills;
mod summarizer;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A place for one test: a store of its own, and files.
struct Bench {
    folder: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        command.env_clear().env("PLIMSOLL_STORE", self.path("store")).current_dir(self.folder.path());
        command
    }

    fn run<A: AsRef<std::ffi::OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Ran {
        Ran(self.command().args(arguments).stdin(Stdio::null()).output().unwrap())
    }

    fn pipe<A: AsRef<std::ffi::OsStr>>(&self, arguments: impl IntoIterator<Item = A>, input: &[u8]) -> Ran {
        let mut command = self.command();
        command.args(arguments);
        self.feed(command, input)
    }

    /// Runs a command with this on its standard input.
    #[expect(clippy::unused_self, reason = "the command runs at this bench")]
    fn feed(&self, mut command: Command, input: &[u8]) -> Ran {
        use std::io::Write as _;
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_vec();
        let writer = std::thread::spawn(move || {
            // The program may refuse before it has read everything.
            let _ = stdin.write_all(&input);
        });
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        Ran(output)
    }

    /// Whether anything was stored.
    fn stored(&self) -> bool {
        self.path("store").exists()
    }
}

/// What a run came to.
struct Ran(Output);

impl Ran {
    #[track_caller]
    fn code(&self, expected: i32) -> &Self {
        assert_eq!(self.0.status.code(), Some(expected), "stdout: {}\nstderr: {}", self.out(), self.err());
        self
    }

    fn out(&self) -> String {
        String::from_utf8_lossy(&self.0.stdout).into_owned()
    }

    fn err(&self) -> String {
        String::from_utf8_lossy(&self.0.stderr).into_owned()
    }

    fn bytes(&self) -> &[u8] {
        &self.0.stdout
    }

    fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.0.stdout).unwrap_or_else(|error| panic!("{error}: {}", self.out()))
    }
}

/// The example session that the repository carries.
fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/tideline.jsonl")
}

/// A request body of some turns, each a question, a call, its result and an answer.
fn body(turns: usize) -> String {
    let mut messages = Vec::new();
    for turn in 0..turns {
        messages.push(format!(
            r#"{{"role":"user","content":"Step {turn}: look into file_{turn}.txt, keep it under {} bytes."}}"#,
            1000 + turn
        ));
        messages.push(format!(
            r#"{{"role":"assistant","content":[{{"type":"tool_use","id":"t{turn}","name":"Read","input":{{"file_path":"/srv/file_{turn}.txt"}}}}]}}"#
        ));
        messages.push(format!(
            r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t{turn}","content":"{}"}}]}}"#,
            format!("line of file {turn}\\n").repeat(60)
        ));
        messages.push(format!(
            r#"{{"role":"assistant","content":[{{"type":"text","text":"file_{turn}.txt has 60 lines."}}]}}"#
        ));
    }
    messages.push(r#"{"role":"user","content":"And now the last one."}"#.to_owned());
    format!(
        r#"{{"model":"claude-sonnet-4-5", "max_tokens": 1024, "big": 123456789012345678901234567890, "messages":[{}]}}"#,
        messages.join(",\n ")
    )
}
