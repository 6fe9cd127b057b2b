//! What this program does when a test starts it as another process.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;

use plimsoll::id::{ArtifactId, Key, Record, SessionId, ToolCallId};
use plimsoll_store::backend::Backend as _;
use plimsoll_store::conformance;

use crate::{Server, fresh, noise};

/// A process of its own, which waits until it is told to go.
pub(crate) struct Other {
    pub(crate) child: Child,
    said: BufReader<ChildStdout>,
}

impl Other {
    pub(crate) fn start(role: &str, prefix: &str, number: usize) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .env("PLIMSOLL_TEST_ROLE", role)
            .env("PLIMSOLL_TEST_PREFIX", prefix)
            .env("PLIMSOLL_TEST_NUMBER", number.to_string())
            .env("SSL_CERT_FILE", std::env::var_os("PLIMSOLL_TEST_S3_CERTIFICATE").unwrap_or_default())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut other = Self { said: BufReader::new(child.stdout.take().unwrap()), child };
        assert_eq!(other.line(), "ready");
        other
    }

    pub(crate) fn go(&mut self) {
        writeln!(self.child.stdin.as_mut().unwrap(), "go").unwrap();
    }

    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.said.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }
}

pub(crate) fn key(session: &str, call: &str) -> Key {
    Record::Text(ArtifactId::new(&SessionId::new(session), &ToolCallId::new(call))).key()
}

/// What writer `number` brings to a race: all of one size.
pub(crate) fn brought(number: usize) -> Vec<u8> {
    noise(number as u64, 50_000)
}

pub(crate) fn play(role: &str) {
    let prefix = std::env::var("PLIMSOLL_TEST_PREFIX").unwrap();
    let number: usize = std::env::var("PLIMSOLL_TEST_NUMBER").unwrap().parse().unwrap();
    let store = Server::get().open(&prefix);
    let mut line = String::new();
    println!("ready");
    std::io::stdin().read_line(&mut line).unwrap();
    match role {
        "race" => {
            for round in 0..5 {
                let created = store.create(&key("race", &round.to_string()), &[&brought(number)]).unwrap();
                println!("{created:?}");
            }
        }
        "upload" => {
            let large = key("killed", "large");
            let mut draft = store.begin(&large).unwrap();
            draft.write(&noise(1, 96 << 20)).unwrap();
            println!("publishing");
            println!("{:?}", draft.publish(&large).unwrap());
        }
        "secure" => {
            conformance::run(|| Arc::new(Server::secure().open(&fresh(&prefix)))).unwrap();
            println!("conforms");
        }
        other => panic!("{other} is no role"),
    }
}
