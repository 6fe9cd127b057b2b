//! `plimsoll run`: drives an agent program, and says what happens as JSON lines or for people.

mod args;
mod shown;

use std::ffi::OsString;
use std::io::IsTerminal as _;

use anyhow::Result;
use plimsoll::command::Command;
use plimsoll::id::SessionId;
use plimsoll_agent::{
    AgentError, AgentSession, Approvals, Decision, Environment, Event, EventKind, Failed, Host, Input, Outcome,
    Prompt, Request, Run, start,
};

use crate::args::Global;
use crate::output::Output;
use crate::resolve::{Done, Usage, sessions};

use args::Approve;
pub(crate) use args::RunArgs;
use shown::Shown;

/// The first argument under which this program is a watcher.
pub(crate) const WATCH: &str = "__watch";

/// The longest prompt that is read from standard input, in MiB; a longer one is refused anyway.
const MOST_MIB: u64 = 9;

pub(crate) fn run(arguments: &RunArgs, global: &Global, output: &mut Output) -> Result<Done> {
    let mut shown = Shown::new(output, arguments.json);
    let ended = prepare(arguments, global).and_then(|(request, later, host)| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let approve = arguments.approve;
        runtime.block_on(async { drive(request, later, &host, approve, &mut shown).await })
    });
    match ended {
        Ok(done) => Ok(done),
        Err(error) => {
            // For a machine, the last line says how it ended, whatever went wrong.
            shown.failed(&error)?;
            Err(error)
        }
    }
}

/// From what was typed to what is asked: the first input, and those that follow it.
fn prepare(arguments: &RunArgs, global: &Global) -> Result<(Request, Vec<Input>, Host)> {
    let mut inputs = inputs(arguments)?.into_iter();
    let Some(first) = inputs.next() else {
        return Err(Usage("there is nothing to ask: give a PROMPT, or --command '/compact'".to_owned()).into());
    };
    if arguments.approve == Approve::Ask && !(std::io::stdin().is_terminal() && std::io::stderr().is_terminal()) {
        return Err(Usage("--approve ask needs a terminal to ask on; use deny or allow".to_owned()).into());
    }
    let here = std::env::current_dir()?;
    let cwd = arguments.cwd.as_ref().map_or_else(|| here.clone(), |cwd| here.join(cwd));
    let mut request = Request::new(arguments.agent, first, cwd, environment(&arguments.env)?);
    request.program = arguments.agent_bin.as_ref().map(|program| {
        // A bare name is looked for in PATH, anything else is a file from here.
        if program.components().count() > 1 { here.join(program) } else { program.clone() }
    });
    request.arguments.clone_from(&arguments.agent_arg);
    request.session = arguments.session.as_deref().map(SessionId::new);
    request.resume = match &arguments.resume {
        Some(id) => Some(AgentSession::new(id.clone()).map_err(|error| Usage(format!("--resume: {error}")))?),
        None => None,
    };
    request.wait = arguments.wait;
    request.model.clone_from(&arguments.model);
    request.permission = arguments.permission_mode.into();
    request.approvals = if arguments.approve == Approve::Deny { Approvals::Deny } else { Approvals::Ask };
    request.one_shot = arguments.one_shot;
    request.timeout = arguments.timeout;
    let watcher = std::env::current_exe().ok().map(|own| vec![OsString::from(own), WATCH.into()]);
    Ok((request, inputs.collect(), Host::new(Some(sessions(global)?), watcher)))
}

fn inputs(arguments: &RunArgs) -> Result<Vec<Input>> {
    let mut inputs = Vec::new();
    let asked = match arguments.prompt.as_deref() {
        Some("-") => Some(read_prompt()?),
        None if arguments.command.is_empty() && !std::io::stdin().is_terminal() => Some(read_prompt()?),
        given => given.map(str::to_owned),
    };
    if let Some(text) = asked {
        let prompt = Prompt::new(text).map_err(|error| Usage(hint(&error)))?;
        inputs.push(Input::Prompt(prompt));
    }
    for text in &arguments.command {
        inputs.push(Input::Command(command(text)?));
    }
    Ok(inputs)
}

fn read_prompt() -> Result<String> {
    let input = plimsoll_engine::Input::standard(plimsoll::Bytes(MOST_MIB << 20))?;
    let text = std::str::from_utf8(input.bytes()).map_err(|_| Usage("the prompt is not UTF-8".to_owned()))?;
    Ok(text.trim_end_matches(['\n', '\r']).to_owned())
}

fn hint(error: &plimsoll_agent::RequestError) -> String {
    match error {
        plimsoll_agent::RequestError::PromptReadsAsCommand { name } => format!(
            "the prompt begins with `/{name}`, which agents run as a command; if that is meant, use --command \
             '/{name}', else begin with another word"
        ),
        other => other.to_string(),
    }
}

/// Reads `--command`: as it is typed into an agent, the slash may be missing.
fn command(text: &str) -> Result<Command> {
    let text = text.trim();
    let (name, words) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    Command::new(name, words).map_err(|error| Usage(format!("--command: {error}")).into())
}

/// What the agent sees of the environment: the short list, and what `--env` names or sets.
fn environment(named: &[String]) -> Result<Environment> {
    let mut environment = Environment::reduced(std::env::vars_os());
    for variable in named {
        match variable.split_once('=') {
            Some(("", _)) => return Err(Usage("--env: a variable needs a name".to_owned()).into()),
            Some((name, value)) => {
                environment.set(name, value);
            }
            None if std::env::var_os(variable).is_none() => {
                let name = crate::output::plain(variable);
                return Err(Usage(format!("--env {name}: it is not set here; give a value with {name}=VALUE")).into());
            }
            None => {
                environment.allow(variable.as_str());
            }
        }
    }
    Ok(environment)
}

async fn drive(
    request: Request,
    later: Vec<Input>,
    host: &Host,
    approve: Approve,
    shown: &mut Shown<'_>,
) -> Result<Done> {
    let mut stop = Stop::listen()?;
    let started = tokio::select! {
        started = start(request, host) => started,
        () = stop.asked() => return Ok(Done::Interrupted),
    };
    let mut run = match started {
        Ok(run) => run,
        Err(error) => return shown.finished(&Outcome::default(), Some(&error)).map(|()| failure(&error)),
    };
    for input in later {
        // A command that is not known is refused here or, if the agent has not yet said what it has, when its turn comes.
        if let Err(error) = run.send(input).await {
            run.cancel();
            let outcome = run.finish().await.unwrap_or_else(|failed| *failed.outcome);
            return shown.finished(&outcome, Some(&error)).map(|()| failure(&error));
        }
    }
    let mut asked = 0;
    loop {
        // What is there is shown before anybody is waited for.
        let next = if let Ok(event) = run.events().try_recv() {
            Some(event)
        } else {
            shown.flush()?;
            tokio::select! {
                next = run.next() => next,
                () = stop.asked() => {
                    asked += 1;
                    if asked > 1 {
                        return Ok(Done::Interrupted);
                    }
                    run.cancel();
                    continue;
                }
            }
        };
        let Some(event) = next else { break };
        shown.event(&event)?;
        answer(&event, &run, approve, shown).await?;
    }
    match run.finish().await {
        Ok(outcome) => {
            shown.finished(&outcome, None)?;
            Ok(if asked > 0 { Done::Interrupted } else { Done::Yes })
        }
        Err(Failed { error, outcome, .. }) => {
            shown.finished(&outcome, Some(&error))?;
            Ok(if asked > 0 { Done::Interrupted } else { failure(&error) })
        }
    }
}

/// Answers a request for approval as the user wants.
async fn answer(event: &Event, run: &Run, approve: Approve, shown: &mut Shown<'_>) -> Result<()> {
    let EventKind::ApprovalRequest { id, .. } = &event.kind else {
        return Ok(());
    };
    let allowed = match approve {
        Approve::Allow => true,
        Approve::Deny => false,
        Approve::Ask => shown.ask().await?,
    };
    let decision =
        if allowed { Decision::Allow } else { Decision::Deny { reason: "the user does not allow it".to_owned() } };
    match run.respond(id, decision).await {
        // It was withdrawn meanwhile.
        Ok(()) | Err(AgentError::NoApproval { .. } | AgentError::Over) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Whose failure it is.
fn failure(error: &AgentError) -> Done {
    match error {
        AgentError::UnknownCommand { .. }
        | AgentError::Unsupported { .. }
        | AgentError::FlagRejected { .. }
        | AgentError::Request(_) => Done::Misused,
        AgentError::NotInstalled { .. }
        | AgentError::Spawn { .. }
        | AgentError::SessionBusy { .. }
        | AgentError::SessionConflict { .. }
        | AgentError::Record { .. }
        | AgentError::Io { .. } => Done::NotRun,
        _ => Done::Failed,
    }
}

/// Signals that ask this program to end.
struct Stop {
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
}

impl Stop {
    fn listen() -> Result<Self> {
        Ok(Self {
            #[cfg(unix)]
            terminate: tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?,
        })
    }

    async fn asked(&mut self) {
        #[cfg(unix)]
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = self.terminate.recv() => {}
        }
        #[cfg(not(unix))]
        let _ = tokio::signal::ctrl_c().await;
    }
}
