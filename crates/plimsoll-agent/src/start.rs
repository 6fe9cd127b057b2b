//! From a request to a run: the session is bound, the program found, asked what it can, and started.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::acp::Acp;
use crate::agent::Agent;
use crate::claude::Claude;
use crate::codex::Codex;
use crate::codex::exec::Exec;
use crate::conversation::Conversation;
use crate::driver::{Driver, Thread};
use crate::error::AgentError;
use crate::find;
use crate::probe::{Capabilities, Probes};
use crate::process::Spawn;
use crate::request::{AgentSession, Request};
use crate::run::Run;
use crate::session::{SessionRecord, Sessions, new_id, own_name};
use crate::talk::{Holding, Limits, begin};

/// What a host gives to all its runs.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Host {
    /// Where named sessions are kept, and leases of all sessions. Without it there are neither.
    pub sessions: Option<Sessions>,
    /// A program, with its arguments, that calls [`watch`](crate::watch): usually the host itself. It stands between the
    /// host and the agent, and kills everything that the agent started if the host is killed.
    pub watcher: Option<Vec<OsString>>,
    probes: Probes,
}

impl Host {
    /// Makes a host that keeps sessions in a directory and has agents watched by a program.
    pub fn new(sessions: Option<PathBuf>, watcher: Option<Vec<OsString>>) -> Self {
        Self { sessions: sessions.map(Sessions::new), watcher, probes: Probes::default() }
    }
}

/// Starts an agent.
///
/// # Errors
/// If the request cannot be carried out: the program is missing, its session is busy or another's, or it does not have
/// what is asked. What goes wrong later is told by [`Run::finish`].
pub async fn start(request: Request, host: &Host) -> Result<Run, AgentError> {
    start_with(driver(&request), request, host).await
}

/// Starts an agent under a driver of the host's own.
///
/// # Errors
/// As [`start`].
pub async fn start_with(mut driver: Box<dyn Driver>, request: Request, host: &Host) -> Result<Run, AgentError> {
    let agent = request.agent;
    check(&request)?;
    let named = match (&request.program, agent.program()) {
        (Some(program), _) => program.clone(),
        (None, Some(name)) => name.into(),
        (None, None) => {
            return Err(AgentError::Unsupported {
                agent,
                what: "be started without the path of a program".to_owned(),
                instead: "name the one that speaks the protocol (--agent-bin PATH)".to_owned(),
            });
        }
    };
    let Some(program) = find::program(&named, &request.cwd, &request.environment) else {
        return Err(AgentError::NotInstalled { agent, program: named });
    };
    let (thread, holding) = bind(&request, host, driver.takes_id()).await?;
    let failed = |source| AgentError::Spawn { program: program.clone(), cwd: request.cwd.clone(), source };
    let can = match driver.help() {
        Some(help) => host.probes.ask(&program, help, &request.cwd, &request.environment).await.map_err(failed)?,
        None => Capabilities::default(),
    };
    let launch = driver.launch(&request, &thread, &can)?;
    let mut environment = request.environment.clone();
    for (name, value) in launch.environment {
        environment.set(name, value);
    }
    let spawn = Spawn {
        program: program.clone(),
        arguments: request.arguments.iter().cloned().chain(launch.arguments).collect(),
        environment: environment.iter().map(|(n, v)| (n.to_owned(), v.to_owned())).collect(),
        cwd: request.cwd.clone(),
        grace: request.grace,
        watcher: host.watcher.clone(),
    };
    let child = spawn.start().map_err(failed)?;
    let limits = Limits { timeout: request.timeout, grace: request.grace };
    Ok(begin(agent, Conversation::new(agent, driver, request.input), child, limits, holding))
}

fn driver(request: &Request) -> Box<dyn Driver> {
    match request.agent {
        Agent::Claude => Box::<Claude>::default(),
        Agent::Codex if request.one_shot => Box::<Exec>::default(),
        Agent::Codex => Box::<Codex>::default(),
        agent @ (Agent::Gemini | Agent::Goose | Agent::OpenCode | Agent::Acp) => Box::new(Acp::new(agent)),
    }
}

/// Checks what would otherwise fail in ways that say nothing.
fn check(request: &Request) -> Result<(), AgentError> {
    let agent = request.agent;
    if !request.cwd.is_dir() {
        let source = std::io::Error::new(std::io::ErrorKind::NotADirectory, "the directory is not there");
        let program = request.program.clone().unwrap_or_else(|| agent.name().into());
        return Err(AgentError::Spawn { program, cwd: request.cwd.clone(), source });
    }
    if request.one_shot && agent != Agent::Codex {
        return Err(AgentError::Unsupported {
            agent,
            what: "be run in a way of its own for one prompt".to_owned(),
            instead: "leave it out: a run of one prompt ends after it".to_owned(),
        });
    }
    if let Some(model) = &request.model
        && (model.is_empty() || model.starts_with('-') || model.chars().any(|c| c.is_control() || c.is_whitespace()))
    {
        return Err(AgentError::Unsupported {
            agent,
            what: format!("use a model called `{}`", model.escape_debug()),
            instead: "a model's name has no spaces and does not begin with `-`".to_owned(),
        });
    }
    Ok(())
}

/// Settles which session the run is in, takes the right to it, and records it before anything is started.
async fn bind(request: &Request, host: &Host, takes_id: bool) -> Result<(Thread, Holding), AgentError> {
    let (agent, wait) = (request.agent, request.wait);
    let mut holding = Holding::default();
    let Some(sessions) = &host.sessions else {
        if let Some(name) = &request.session {
            let conflict = "cannot be kept: the host has no place for sessions".to_owned();
            return Err(AgentError::SessionConflict { session: name.to_string(), conflict });
        }
        return Ok((request.resume.clone().map_or(Thread::New, Thread::Resume), holding));
    };
    let Some(name) = &request.session else {
        let Some(id) = &request.resume else {
            return Ok((Thread::New, holding));
        };
        holding.leases.push(lease(sessions, agent, id, wait).await?);
        return Ok((Thread::Resume(id.clone()), holding));
    };
    holding.leases.push(sessions.lease(name, wait).await?);
    let known = sessions.read(name)?;
    if let Some(known) = &known {
        agrees(known, request)?;
    }
    let bound = known.as_ref().and_then(|known| known.session.clone());
    let confirmed = known.as_ref().is_some_and(|known| known.confirmed);
    let (thread, session) = match (&request.resume, bound) {
        (Some(id), _) => (Thread::Resume(id.clone()), Some(id.clone())),
        (None, Some(id)) if confirmed => (Thread::Resume(id.clone()), Some(id)),
        // What was bound and never confirmed may be there or not. A fresh id cannot collide with it.
        (None, _) => match new_id().filter(|_| takes_id) {
            Some(id) => (Thread::NewAs(id.clone()), Some(id)),
            None => (Thread::New, None),
        },
    };
    if let Some(id) = &session {
        holding.leases.push(lease(sessions, agent, id, wait).await?);
    }
    let confirmed = matches!(thread, Thread::Resume(_));
    let record = SessionRecord { name: name.clone(), agent, session, confirmed, cwd: request.cwd.clone() };
    sessions.write(&record)?;
    holding.record = Some((sessions.clone(), record));
    Ok((thread, holding))
}

async fn lease(
    sessions: &Sessions,
    agent: Agent,
    id: &AgentSession,
    wait: Option<std::time::Duration>,
) -> Result<crate::session::Lease, AgentError> {
    sessions.lease(&own_name(agent, id), wait).await.map_err(|error| match error {
        AgentError::SessionBusy { .. } => AgentError::SessionBusy { session: id.to_string() },
        other => other,
    })
}

/// Whether a request is about the session that its name stands for.
fn agrees(known: &SessionRecord, request: &Request) -> Result<(), AgentError> {
    let conflict = if known.agent != request.agent {
        format!("belongs to {}; ask that agent, or take another name", known.agent)
    } else if known.cwd != request.cwd {
        format!("was begun in {}; run it there, or take another name", known.cwd.display())
    } else {
        match (&known.session, &request.resume) {
            (Some(own), Some(asked)) if own != asked && known.confirmed => {
                format!("stands for {own}; leave the other id out, or take another name")
            }
            _ => return Ok(()),
        }
    };
    Err(AgentError::SessionConflict { session: known.name.to_string(), conflict })
}
