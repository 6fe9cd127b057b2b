//! `plimsoll wrap`: a gateway for one process. It ends with it and leaves nothing behind.

#![expect(clippy::doc_markdown, reason = "these comments are what --help prints")]

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::process::ExitStatus;

use anyhow::{Result, anyhow};
use clap::Args;
use plimsoll_engine::session::Recaller;
use plimsoll_server::gateway::{Gateway, Kind, Upstream};
use serde_json::{Map, Value, json};
use tokio::process::{Child, Command};

use super::serve::{GatewayArgs, runtime};
use crate::args::Global;
use crate::output::plain;
use crate::resolve::{Done, Usage};

/// Run a program behind a gateway of its own
///
/// The gateway listens on a port of its own on this machine; the program's environment points to it, for this one
/// process. Nothing of the user's configuration is touched. Signals and the exit code are passed on. Where a base URL
/// is set already (ANTHROPIC_BASE_URL, OPENAI_BASE_URL), requests go there in the end.
#[derive(Debug, Args)]
#[command(after_help = "Example: plimsoll wrap claude
         plimsoll wrap --window 64k codex exec 'What is in this folder?'
         plimsoll wrap opencode
         plimsoll wrap -- python my_agent.py")]
pub(crate) struct WrapArgs {
    #[command(flatten)]
    pub(crate) gateway: GatewayArgs,
    /// The program and its arguments: claude, codex, opencode, or any that takes its base URL from the environment
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) command: Vec<OsString>,
}

/// Programs that are known: how they are told of the gateway, and that they can open files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    Claude,
    Codex,
    OpenCode,
}

impl Known {
    fn of(program: &OsStr) -> Option<Self> {
        match Path::new(program).file_stem()?.to_str()? {
            "claude" => Some(Self::Claude),
            "codex" => Some(Self::Codex),
            "opencode" => Some(Self::OpenCode),
            _ => None,
        }
    }
}

/// What a program is started with, beyond what it was given.
#[derive(Debug, Default, PartialEq, Eq)]
struct Added {
    arguments: Vec<OsString>,
    variables: Vec<(&'static str, OsString)>,
}

pub(crate) fn run(arguments: &WrapArgs, global: &Global) -> Result<Done> {
    let Some((program, rest)) = arguments.command.split_first() else {
        return Err(Usage("give a program to run, such as `plimsoll wrap claude`".to_owned()).into());
    };
    let known = Known::of(program);
    let recaller = if known.is_some() { Recaller::Files } else { Recaller::Tool };
    let lookup = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let mut options = arguments.gateway.options(global, recaller)?;
    if arguments.gateway.upstream.is_empty() {
        options = options.with_upstreams(upstreams(lookup)?).map_err(|error| Usage(error.to_string()))?;
    }
    runtime()?.block_on(async {
        let gateway = Gateway::bind(([127, 0, 0, 1], 0).into(), options).await?;
        let added = added(known, &format!("http://{}", gateway.address()), lookup)?;
        let mut command = tied(program);
        command.args(&added.arguments).args(rest).envs(added.variables).kill_on_drop(true);
        // Before the child is there, so that no signal meets this process unprepared.
        let mut signals = Signals::listen()?;
        let mut child = command.spawn().map_err(|error| anyhow!(cannot_run(program, &error)))?;
        let (end, ended) = tokio::sync::oneshot::channel::<()>();
        let served = tokio::spawn(gateway.serve(async {
            let _ = ended.await;
        }));
        let status = loop {
            tokio::select! {
                status = child.wait() => break status?,
                signal = signals.next() => pass_on(signal, &child),
            }
        };
        // Who was served is gone: nothing that is under way matters to anybody.
        drop(end);
        served.abort();
        Ok(Done::Exited(code(status)))
    })
}

/// Why a program does not start, and what to do.
pub(super) fn cannot_run(program: &OsStr, error: &io::Error) -> String {
    let name = plain(&program.to_string_lossy());
    match error.kind() {
        io::ErrorKind::NotFound => format!("{name} is not found: is it installed, and in PATH?"),
        io::ErrorKind::PermissionDenied => {
            format!(
                "{name} may not be executed ({error}): give the program itself, or make it executable with chmod +x"
            )
        }
        _ => format!("{name} cannot be run: {error}"),
    }
}

/// A command that is asked to end where this process is killed, as far as the system knows how.
fn tied(program: &OsStr) -> Command {
    #[cfg(target_os = "linux")]
    if let Some([own, arguments @ ..]) = super::tie::starter() {
        let mut command = Command::new(own);
        command.args(arguments).arg(program);
        return command;
    }
    Command::new(program)
}

/// Where requests go in the end: where they would go without us.
fn upstreams(lookup: impl Fn(&str) -> Option<OsString>) -> Result<Vec<Upstream>> {
    let of = |kind: Kind, variables: &[&'static str]| -> Result<Upstream> {
        let set = variables.iter().find_map(|name| Some((*name, lookup(name)?)));
        let Some((variable, url)) = set else {
            return Ok(Upstream::new(kind.name(), kind.default_url())?);
        };
        let url = url.to_string_lossy().into_owned();
        Ok(Upstream::new(kind.name(), &url).map_err(|error| Usage(format!("{variable}: {error}")))?)
    };
    Ok(vec![
        of(Kind::Anthropic, &["ANTHROPIC_BASE_URL"])?,
        of(Kind::OpenAi, &["OPENAI_BASE_URL", "OPENAI_API_BASE"])?,
        of(Kind::Gemini, &["GOOGLE_GEMINI_BASE_URL"])?,
    ])
}

/// How a program is told of the gateway.
fn added(known: Option<Known>, url: &str, lookup: impl Fn(&str) -> Option<OsString>) -> Result<Added> {
    let mut added = Added::default();
    let mut set = |name, value: &str| added.variables.push((name, value.into()));
    let v1 = format!("{url}/v1");
    set("ANTHROPIC_BASE_URL", url);
    set("OPENAI_BASE_URL", &v1);
    set("OPENAI_API_BASE", &v1);
    set("GOOGLE_GEMINI_BASE_URL", url);
    for name in ["NO_PROXY", "no_proxy"] {
        // A proxy would not find this machine.
        let before = lookup(name).map(|value| format!("{},", value.to_string_lossy())).unwrap_or_default();
        set(name, &format!("{before}127.0.0.1"));
    }
    match known {
        Some(Known::Codex) => {
            added.arguments = vec!["-c".into(), format!("openai_base_url=\"{v1}\"").into()];
        }
        Some(Known::OpenCode) => {
            const VARIABLE: &str = "OPENCODE_CONFIG_CONTENT";
            let before = match lookup(VARIABLE) {
                Some(text) => serde_json::from_str(&text.to_string_lossy()).map_err(|error| {
                    Usage(format!("{VARIABLE} is set and is no JSON ({error}); unset it or mend it"))
                })?,
                None => Value::Object(Map::new()),
            };
            added.variables.push((VARIABLE, opencode(before, &v1).to_string().into()));
        }
        Some(Known::Claude) | None => {}
    }
    Ok(added)
}

/// `OpenCode`'s configuration with the gateway as the base URL of the providers that it knows by themselves.
fn opencode(mut config: Value, v1: &str) -> Value {
    for provider in ["anthropic", "openai"] {
        let mut at = &mut config;
        for key in ["provider", provider, "options"] {
            if !at.is_object() {
                *at = json!({});
            }
            let Value::Object(fields) = at else { return config };
            at = fields.entry(key).or_insert_with(|| json!({}));
        }
        if !at.is_object() {
            *at = json!({});
        }
        if let Value::Object(options) = at {
            options.insert("baseURL".to_owned(), Value::String(v1.to_owned()));
        }
    }
    config
}

/// The exit code as a shell gives it.
fn code(status: ExitStatus) -> u8 {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return u8::try_from(128 + signal).unwrap_or(255);
    }
    status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

/// A signal that was sent to this process.
#[derive(Debug, Clone, Copy)]
enum Signal {
    Interrupt,
    Terminate,
    Hangup,
    Quit,
}

/// Signals that are the program's, and not ours.
#[cfg(unix)]
struct Signals([(Signal, tokio::signal::unix::Signal); 4]);

#[cfg(unix)]
impl Signals {
    fn listen() -> Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self([
            (Signal::Interrupt, signal(SignalKind::interrupt())?),
            (Signal::Terminate, signal(SignalKind::terminate())?),
            (Signal::Hangup, signal(SignalKind::hangup())?),
            (Signal::Quit, signal(SignalKind::quit())?),
        ]))
    }

    async fn next(&mut self) -> Signal {
        std::future::poll_fn(|cx| {
            for (signal, stream) in &mut self.0 {
                if stream.poll_recv(cx).is_ready() {
                    return std::task::Poll::Ready(*signal);
                }
            }
            std::task::Poll::Pending
        })
        .await
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    #[expect(clippy::unnecessary_wraps, reason = "it can fail elsewhere")]
    fn listen() -> Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) -> Signal {
        // The console sends it to the program too; only this process must not end of it.
        let _ = tokio::signal::ctrl_c().await;
        Signal::Interrupt
    }
}

/// Passes a signal on. What a terminal sends goes to the program by itself.
#[cfg(unix)]
fn pass_on(signal: Signal, child: &Child) {
    use std::io::IsTerminal as _;
    let by_itself = matches!(signal, Signal::Interrupt | Signal::Quit) && std::io::stdin().is_terminal();
    let id = child.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw);
    let Some(id) = id.filter(|_| !by_itself) else { return };
    let signal = match signal {
        Signal::Interrupt => rustix::process::Signal::INT,
        Signal::Terminate => rustix::process::Signal::TERM,
        Signal::Hangup => rustix::process::Signal::HUP,
        Signal::Quit => rustix::process::Signal::QUIT,
    };
    // It may have ended meanwhile.
    let _ = rustix::process::kill_process(id, signal);
}

#[cfg(not(unix))]
fn pass_on(_: Signal, _: &Child) {}

#[cfg(test)]
mod tests {
    use super::*;

    const URL: &str = "http://127.0.0.1:5000";

    fn nothing(_: &str) -> Option<OsString> {
        None
    }

    #[test]
    fn requests_go_in_the_end_where_they_would_go_without_us() {
        let shown = |lookup: &dyn Fn(&str) -> Option<OsString>| -> Vec<String> {
            upstreams(lookup).unwrap().iter().map(ToString::to_string).collect()
        };
        assert_eq!(shown(&nothing)[0], "anthropic=https://api.anthropic.com");
        let set = |name: &str| (name == "OPENAI_BASE_URL").then(|| "http://10.0.0.2:8000/v1".into());
        assert_eq!(shown(&set)[1], "openai=http://10.0.0.2:8000/v1");
        let wrong = |name: &str| (name == "ANTHROPIC_BASE_URL").then(|| "nowhere".into());
        assert!(upstreams(wrong).unwrap_err().to_string().contains("ANTHROPIC_BASE_URL"));
    }

    #[test]
    fn each_program_is_told_in_its_own_way() {
        assert_eq!(Known::of(OsStr::new("/usr/bin/claude")), Some(Known::Claude));
        assert_eq!(Known::of(OsStr::new("codex.exe")), Some(Known::Codex));
        assert_eq!(Known::of(OsStr::new("python")), None);
        let codex = added(Some(Known::Codex), URL, nothing).unwrap();
        assert_eq!(codex.arguments, ["-c", "openai_base_url=\"http://127.0.0.1:5000/v1\""]);
        let plain = added(None, URL, |name| (name == "NO_PROXY").then(|| "corp".into())).unwrap();
        assert!(plain.variables.contains(&("ANTHROPIC_BASE_URL", URL.into())));
        assert!(plain.variables.contains(&("NO_PROXY", "corp,127.0.0.1".into())));
    }

    #[test]
    fn what_opencode_was_told_before_stays() {
        let before = r#"{"theme":"x","provider":{"openai":{"options":{"timeout":5},"models":{}}}}"#;
        let lookup = |name: &str| (name == "OPENCODE_CONFIG_CONTENT").then(|| before.into());
        let added_to = added(Some(Known::OpenCode), URL, lookup).unwrap();
        let (_, text) = added_to.variables.iter().find(|(name, _)| *name == "OPENCODE_CONFIG_CONTENT").unwrap();
        let config: Value = serde_json::from_str(text.to_str().unwrap()).unwrap();
        assert_eq!(
            config["provider"]["openai"]["options"],
            json!({ "timeout": 5, "baseURL": "http://127.0.0.1:5000/v1" })
        );
        assert_eq!(config["provider"]["anthropic"]["options"]["baseURL"], "http://127.0.0.1:5000/v1");
        assert_eq!(config["theme"], "x");
        let broken = |name: &str| (name == "OPENCODE_CONFIG_CONTENT").then(|| "{".into());
        assert!(added(Some(Known::OpenCode), URL, broken).unwrap_err().to_string().contains("no JSON"));
    }
}
