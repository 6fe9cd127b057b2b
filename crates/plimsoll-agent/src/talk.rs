//! The one place where a conversation and a process meet.

use std::collections::VecDeque;
use std::future::pending;
use std::io;
use std::time::{Duration, SystemTime};

use tokio::io::AsyncWriteExt as _;
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout};

use crate::agent::Agent;
use crate::conversation::{Conversation, Effect};
use crate::error::{AgentError, Failed};
use crate::event::Event;
use crate::lines::{Line, Lines};
use crate::outcome::{Exit, Outcome};
use crate::process::{Child, Group, exit};
use crate::request::{AgentSession, MAX_LINE};
use crate::run::{Run, Wish};
use crate::session::{Lease, SessionRecord, Sessions};
use crate::tail::Tail;

/// How many events may wait for the host before the program's output is not read on.
const WAITING: usize = 256;
/// How long a program may take to greet.
const GREETING: Duration = Duration::from_secs(90);
/// How long a program may take to end once nothing is asked of it any more.
const LINGER: Duration = Duration::from_secs(15);
/// How much longer a watcher gets than what it watches.
const MARGIN: Duration = Duration::from_secs(2);

/// What a run holds on to until its end.
#[derive(Debug, Default)]
pub(crate) struct Holding {
    /// Where the session is recorded, and as what.
    pub(crate) record: Option<(Sessions, SessionRecord)>,
    pub(crate) leases: Vec<Lease>,
}

/// Lets a conversation and a process talk.
pub(crate) fn begin(agent: Agent, conversation: Conversation, child: Child, limits: Limits, holding: Holding) -> Run {
    let (sender, events) = mpsc::channel(WAITING);
    let (wishes, wished) = mpsc::unbounded_channel();
    let Child { process, stdin, stdout, stderr, group } = child;
    let tail = Tail::default();
    let reading = tokio::spawn(tail.clone().fill(stderr));
    let talk = Talk {
        agent,
        conversation,
        stdin: Some(stdin),
        lines: Lines::new(stdout, usize::try_from(MAX_LINE.0).unwrap_or(usize::MAX)),
        unwritten: VecDeque::new(),
        unreported: VecDeque::new(),
        events: sender,
        group,
        limits,
        closing: false,
        waiting: None,
        stopping: None,
        killing: None,
        timed_out: None,
        holding,
    };
    let task = tokio::spawn(talk.talk(process, wished, tail, reading));
    Run { events, wishes, task: Some(task) }
}

/// How long things may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) timeout: Option<Duration>,
    pub(crate) grace: Duration,
}

struct Talk {
    agent: Agent,
    conversation: Conversation,
    stdin: Option<ChildStdin>,
    lines: Lines<ChildStdout>,
    unwritten: VecDeque<u8>,
    unreported: VecDeque<Event>,
    events: mpsc::Sender<Event>,
    group: Group,
    limits: Limits,
    /// Standard input is closed once everything is written.
    closing: bool,
    /// When the driver wants to be asked again.
    waiting: Option<Instant>,
    /// When the program is asked to end, unless it does by itself.
    stopping: Option<Instant>,
    /// When it is killed.
    killing: Option<Instant>,
    timed_out: Option<(Instant, &'static str, Duration)>,
    holding: Holding,
}

impl Talk {
    async fn talk(
        mut self,
        mut process: tokio::process::Child,
        mut wishes: mpsc::UnboundedReceiver<Wish>,
        tail: Tail,
        mut reading: JoinHandle<()>,
    ) -> Result<Outcome, Failed> {
        let began = Instant::now();
        let whole = self.limits.timeout.map(|after| (began + after, "the run", after));
        let greeting = (began + GREETING, "the agent's greeting", GREETING);
        self.timed_out = Some(whole.filter(|whole| whole.0 < greeting.0).unwrap_or(greeting));
        let events = self.events.clone();
        let effects = self.conversation.start();
        self.carry_out(effects, 0);
        let (mut ended, mut silent, mut listening, mut greeted) = (None, false, true, false);
        // Every branch may be given up for another: none loses what it has begun.
        while ended.is_none() || !silent || !self.unreported.is_empty() {
            if greeted != self.conversation.is_greeted() {
                // From here on, the run as a whole counts.
                greeted = true;
                self.timed_out = whole;
            }
            let reporting = !self.unreported.is_empty();
            tokio::select! {
                biased;
                wish = wishes.recv(), if listening => if let Some(wish) = wish {
                    self.grant(wish);
                } else {
                    // The run was dropped: nobody waits for it.
                    listening = false;
                    self.unreported.clear();
                    self.conversation.cancel();
                    self.stop();
                },
                () = until(self.timed_out.map(|(at, ..)| at)) => {
                    if let Some((_, what, after)) = self.timed_out.take() {
                        self.conversation.fail(AgentError::Timeout { what, after });
                        self.stop();
                    }
                }
                () = until(self.waiting) => {
                    self.waiting = None;
                    let effects = self.conversation.waited();
                    self.carry_out(effects, 0);
                }
                () = until(self.stopping) => self.stop(),
                () = until(self.killing) => {
                    self.killing = None;
                    self.group.kill();
                    // What it started outside its group may hold the pipe for ever.
                    silent |= ended.is_some();
                }
                status = process.wait(), if ended.is_none() => {
                    ended = Some(status.map_or_else(|_| Exit::default(), exit));
                    self.group.leader_ended();
                    self.stdin = None;
                    self.stopping = None;
                    // What it wrote is in the pipe still; who else has the pipe open is not waited for.
                    self.killing = Some(Instant::now() + MARGIN);
                }
                permit = events.reserve(), if reporting => match permit {
                    Ok(permit) => if let Some(event) = self.unreported.pop_front() {
                        permit.send(event);
                    },
                    Err(_) => self.unreported.clear(),
                },
                wrote = write(&mut self.stdin, &mut self.unwritten), if self.has_to_write() => self.wrote(wrote),
                filled = self.lines.fill(), if !silent && !reporting => if let Ok(true) = filled {
                    self.read();
                } else {
                    silent = true;
                    // A program that says nothing more has nothing left to do.
                    self.stopping.get_or_insert(Instant::now() + LINGER);
                },
            }
        }
        let _ = timeout(MARGIN, &mut reading).await;
        reading.abort();
        let exit = ended.unwrap_or_default();
        let Self { conversation, holding, group, .. } = self;
        let (outcome, error) = conversation.finish(exit, tail.text());
        drop(group);
        drop(holding);
        match error {
            None => Ok(outcome),
            Some(error) => Err(Failed { error, outcome: Box::new(outcome) }),
        }
    }

    fn grant(&mut self, wish: Wish) {
        let (granted, answer) = match wish {
            Wish::Cancel => {
                let effects = self.conversation.cancel();
                self.carry_out(effects, 0);
                self.stopping.get_or_insert(Instant::now() + self.limits.grace);
                return;
            }
            Wish::Send(input, answer) => (self.conversation.send(input), answer),
            Wish::Respond(approval, decision, answer) => (self.conversation.respond(&approval, &decision), answer),
            Wish::SetModel(model, answer) => (self.conversation.set_model(&model), answer),
        };
        let granted = granted.map(|effects| self.carry_out(effects, 0));
        // Who asked may not wait for the answer.
        let _ = answer.send(granted);
    }

    /// Takes the lines that are there, until one has something to report that nobody takes yet.
    fn read(&mut self) {
        let mut effects = Vec::new();
        while self.unreported.is_empty() {
            let offset = match self.lines.buffered() {
                None => return,
                Some(Line::Whole { offset, bytes }) => {
                    self.conversation.line(bytes, offset, &mut effects);
                    offset
                }
                Some(Line::TooLong { offset, length }) => {
                    self.conversation.skipped(length, &mut effects);
                    offset
                }
            };
            self.carry_out(std::mem::take(&mut effects), offset);
        }
    }

    fn carry_out(&mut self, effects: Vec<Effect>, offset: u64) {
        for effect in effects {
            match effect {
                Effect::Write(line) => {
                    self.unwritten.extend(line.as_bytes());
                    self.unwritten.push_back(b'\n');
                }
                Effect::Shut => {
                    self.closing = true;
                    self.close_if_written();
                }
                Effect::Emit(kind, within) => self.report(Event { kind, at: SystemTime::now(), offset, within }),
                Effect::Session(session) => self.bind(session),
                Effect::Wait(how_long) => self.waiting = Some(Instant::now() + how_long),
                Effect::Close => {
                    self.closing = true;
                    self.close_if_written();
                    self.stopping.get_or_insert(Instant::now() + LINGER);
                }
                Effect::Stop => self.stop(),
            }
        }
    }

    fn report(&mut self, event: Event) {
        if self.unreported.is_empty() {
            match self.events.try_send(event) {
                Err(mpsc::error::TrySendError::Full(event)) => self.unreported.push_back(event),
                Ok(()) | Err(mpsc::error::TrySendError::Closed(_)) => {}
            }
        } else {
            self.unreported.push_back(event);
        }
    }

    /// The agent said which session it is: what was bound before is confirmed, or corrected.
    fn bind(&mut self, session: AgentSession) {
        let Some((sessions, record)) = &mut self.holding.record else {
            return;
        };
        record.session = Some(session);
        record.confirmed = true;
        if let Err(error) = sessions.write(record) {
            self.conversation.fail(error);
            self.stop();
        }
    }

    /// Asks everything to end, and will not wait long for it.
    fn stop(&mut self) {
        self.stopping = None;
        self.stdin = None;
        self.unwritten.clear();
        if self.killing.is_none() {
            self.group.terminate();
            self.killing = Some(Instant::now() + self.limits.grace + self.group.margin());
        }
    }

    fn has_to_write(&self) -> bool {
        self.stdin.is_some() && !self.unwritten.is_empty()
    }

    fn wrote(&mut self, wrote: io::Result<usize>) {
        match wrote {
            Ok(count) => {
                self.unwritten.drain(..count.min(self.unwritten.len()));
                self.close_if_written();
            }
            // It ended, or is about to; why is in what it said.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => self.stdin = None,
            Err(source) => {
                self.conversation.fail(AgentError::Io { agent: self.agent, action: "write to", source });
                self.stop();
            }
        }
    }

    fn close_if_written(&mut self) {
        if self.closing && self.unwritten.is_empty() {
            self.stdin = None;
        }
    }
}

/// Writes what it can of what is to be written.
async fn write(stdin: &mut Option<ChildStdin>, unwritten: &mut VecDeque<u8>) -> io::Result<usize> {
    match stdin {
        Some(stdin) => stdin.write(unwritten.as_slices().0).await,
        None => pending().await,
    }
}

async fn until(instant: Option<Instant>) {
    match instant {
        Some(instant) => sleep_until(instant).await,
        None => pending().await,
    }
}
