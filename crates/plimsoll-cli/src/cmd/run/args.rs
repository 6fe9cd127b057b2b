//! The command line of `run`, as typed.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::builder::TypedValueParser as _;
use clap::{Args, ValueHint};
use plimsoll_agent::{Agent, Permission};

/// Drive an agent program: a prompt or a command in, what happens out
///
/// A PROMPT is words and is never run: one that begins as a command does is refused. A command is a turn of its own; with
/// a PROMPT it follows the answer. Commands that the agent does not have are refused before they are sent. The answer goes
/// to standard output, everything else to standard error; with --json, each event is a line on standard output, and the
/// last one says how it ended.
///
/// The agent gets a short list of environment variables (PATH, HOME, locale, proxies and the like) and those that --env
/// names, nothing else. Ctrl-C stops it and everything it started.
#[derive(Debug, Args)]
#[command(after_help = "Example: plimsoll run --agent claude --session docs --env ANTHROPIC_API_KEY \\
             'What is in this folder?'
         plimsoll run --agent claude --session docs \\
             --command '/compact keep the API'

Exit codes: 0 done (a compaction that the agent declines is done: it says so), 1 the agent failed, 2 wrong usage or a \
                  command that the agent does not have, 4 the agent could not be run (not installed, session busy), \
                  130 stopped by Ctrl-C.")]
pub(crate) struct RunArgs {
    /// What to ask; `-` or none is standard input
    #[arg(value_name = "PROMPT")]
    pub(crate) prompt: Option<String>,
    /// The agent: claude, codex, gemini, goose, opencode, or acp for any program that speaks the Agent Client Protocol
    #[arg(long, value_name = "AGENT", value_parser = agent(), hide_possible_values = true)]
    pub(crate) agent: Agent,
    /// The agent's program, if it is not the one in PATH
    #[arg(long, value_name = "PATH", value_hint = ValueHint::ExecutablePath)]
    pub(crate) agent_bin: Option<PathBuf>,
    /// An argument for the agent's program itself, before those that are added; may be repeated
    #[arg(long, value_name = "ARG", allow_hyphen_values = true)]
    pub(crate) agent_arg: Vec<OsString>,
    /// A command to run, such as '/compact keep the API'; may be repeated
    #[arg(long, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
    /// Plimsoll's name for the session: a new name begins one, a known one goes on
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,
    /// The agent's own id of a session to go on with
    #[arg(long, value_name = "ID")]
    pub(crate) resume: Option<String>,
    /// Wait so long for another run of the same session, instead of failing at once
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) wait: Option<Duration>,
    /// The model, by a name that the agent knows
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// The directory that the agent works in [default: this one]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) cwd: Option<PathBuf>,
    /// Let a variable of the environment through, or set one; may be repeated
    #[arg(long, value_name = "NAME[=VALUE]")]
    pub(crate) env: Vec<String>,
    /// What the agent may do by itself: default (its own settings), plan, accept-edits or bypass
    #[arg(
        long,
        value_name = "MODE",
        default_value = "default",
        hide_default_value = true,
        hide_possible_values = true
    )]
    pub(crate) permission_mode: Mode,
    /// What becomes of what the agent asks approval for: deny, allow, or ask on the terminal
    #[arg(long, value_name = "HOW", default_value = "deny", hide_default_value = true, hide_possible_values = true)]
    pub(crate) approve: Approve,
    /// Codex: one prompt by `codex exec`, without approvals and commands
    #[arg(long)]
    pub(crate) one_shot: bool,
    /// Stop the agent after this time: 90, 90s, 15m or 2h
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) timeout: Option<Duration>,
    /// Print one JSON object a line: an event each, `finished` last
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Mode {
    Default,
    Plan,
    AcceptEdits,
    Bypass,
}

impl From<Mode> for Permission {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Default => Self::Default,
            Mode::Plan => Self::Plan,
            Mode::AcceptEdits => Self::AcceptEdits,
            Mode::Bypass => Self::Bypass,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Approve {
    Deny,
    Allow,
    Ask,
}

fn agent() -> impl clap::builder::TypedValueParser<Value = Agent> {
    PossibleValuesParser::new(Agent::ALL.map(Agent::name)).try_map(|name| name.parse::<Agent>())
}

/// Reads a time as people write it: `90`, `90s`, `15m`, `2h`.
fn time(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is no time; give one like 90, 90s, 15m or 2h");
    let (digits, unit) = match text.char_indices().last() {
        Some((at, 's')) => (text.get(..at).unwrap_or(""), 1),
        Some((at, 'm')) => (text.get(..at).unwrap_or(""), 60),
        Some((at, 'h')) => (text.get(..at).unwrap_or(""), 3_600),
        _ => (text, 1),
    };
    let seconds = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(unit)).ok_or_else(wrong)?;
    // A year is longer than any run, and short enough to be added to any clock.
    if seconds == 0 || seconds > 366 * 86_400 { Err(wrong()) } else { Ok(Duration::from_secs(seconds)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        assert_eq!(time("90"), Ok(Duration::from_secs(90)));
        assert_eq!(time("15m"), Ok(Duration::from_secs(900)));
        assert_eq!(time("2h"), Ok(Duration::from_secs(7_200)));
        for wrong in ["", "0", "m", "-3", "1d", "99999999999999999999h", "9999999h"] {
            assert!(time(wrong).is_err(), "{wrong}");
        }
    }
}
