//! Drivers and processes, against a program that does as a script says.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test that fails should stop at once"
)]

mod acp;
mod claude;
mod codex;
mod process;
mod session;

use std::path::{Path, PathBuf};

use plimsoll_agent::{
    Agent, Environment, Event, EventKind, Failed, Host, Input, Outcome, Prompt, Request, Run, start,
};

/// The program that does as a script says.
const PROGRAM: &str = env!("CARGO_BIN_EXE_scripted-agent");

/// A place for one test: scripts, and what they write.
struct Bench {
    folder: tempfile::TempDir,
    host: Host,
}

impl Bench {
    fn new() -> Self {
        Self::with(Host::default())
    }

    fn with(host: Host) -> Self {
        Self { folder: tempfile::tempdir().unwrap(), host }
    }

    /// A host whose agents are watched.
    fn watched() -> Self {
        Self::with(Host::new(None, Some(vec![PROGRAM.into(), "--watch".into()])))
    }

    /// A host that keeps sessions in the test's folder.
    fn with_sessions() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let host = Host::new(Some(folder.path().join("sessions")), None);
        Self { folder, host }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A request to the scripted program. `@` in the script is the test's folder.
    fn request(&self, agent: Agent, script: &str, input: impl Into<Input>) -> Request {
        let file = self.path(&format!("script-{}", std::fs::read_dir(self.folder.path()).unwrap().count()));
        std::fs::write(&file, script.replace('@', &self.folder.path().display().to_string())).unwrap();
        let environment = Environment::reduced([("PATH", "/usr/bin:/bin"), ("SECRET_TOKEN", "s3cret")]);
        let mut request = Request::new(agent, input, self.folder.path(), environment);
        request.program = Some(PROGRAM.into());
        request.arguments = vec![file.into()];
        request
    }

    async fn start(&self, request: Request) -> Run {
        start(request, &self.host).await.unwrap()
    }

    /// Runs to the end: all events, and what it came to.
    async fn run(&self, request: Request) -> (Vec<Event>, Result<Outcome, Failed>) {
        let mut run = self.start(request).await;
        let mut events = Vec::new();
        while let Some(event) = run.next().await {
            events.push(event);
        }
        (events, run.finish().await)
    }
}

fn prompt(text: &str) -> Prompt {
    Prompt::new(text).unwrap()
}

/// The events as JSON lines without what differs from run to run.
fn shown(events: &[Event]) -> String {
    let line = |event: &Event| {
        let mut value = serde_json::to_value(event).unwrap();
        let object = value.as_object_mut().unwrap();
        object.remove("at_ms");
        object.remove("offset");
        value.to_string()
    };
    events.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The answer, as its pieces say it.
fn text(events: &[Event]) -> String {
    let piece = |event: &Event| match &event.kind {
        EventKind::Text { text } if event.within.is_none() => Some(text.clone()),
        _ => None,
    };
    events.iter().filter_map(piece).collect()
}

/// Waits until something is so, and fails if it never is.
async fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..3_000 {
        if is_so() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("{what}: it is not so");
}

/// Whether a process is there and no zombie.
fn is_alive(pid_file: &Path) -> bool {
    let pid = std::fs::read_to_string(pid_file).unwrap();
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    let state = stat.rsplit_once(')').map_or("", |(_, rest)| rest.trim());
    !state.is_empty() && !state.starts_with('Z')
}
