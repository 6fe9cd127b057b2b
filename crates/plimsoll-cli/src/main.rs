//! The binary `plimsoll`: parses the command line, runs a command, and turns how it ended into an exit code.

mod args;
mod cmd;
mod output;
mod page;
mod resolve;

use std::process::ExitCode;

use clap::Parser as _;

use args::{Cli, Command};
use output::Output;
use resolve::{Done, Usage};

fn main() -> ExitCode {
    // `run` and `wrap` start this program again, between themselves and another; these are no commands for people.
    let mut arguments = std::env::args_os().skip(1);
    match arguments.next() {
        Some(first) if first == cmd::run::WATCH => return plimsoll_agent::watch(arguments),
        #[cfg(target_os = "linux")]
        Some(first) if first == cmd::tie::TIE => return cmd::tie::tie(arguments),
        _ => {}
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        // Help and version are answers, everything else is wrong usage: clap knows which, and the exit code.
        Err(error) if error.use_stderr() && is_hook() => return cmd::hook::unreadable(&error),
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let cli = match cli {
        Cli { command: Command::Hook(arguments), global } => return cmd::hook::run(arguments, global),
        cli => cli,
    };
    let mut output = Output::new(cli.global.color);
    let outcome = run(&cli, &mut output).and_then(|done| Ok(output.finish().map(|()| done)?));
    match outcome {
        Ok(done) => done.into(),
        Err(error) if closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let usage = error.downcast_ref::<Usage>().is_some();
            // Nobody is left to tell if standard error is gone.
            let _ = output.say(&format!("plimsoll: {}\n", output::plain(&sentence(&error))));
            ExitCode::from(if usage { 2 } else { 1 })
        }
    }
}

fn run(cli: &Cli, output: &mut Output) -> anyhow::Result<Done> {
    match &cli.command {
        Command::Count(arguments) => cmd::count::run(arguments, output),
        Command::Context(arguments) => cmd::context::run(arguments, &cli.global, output),
        Command::Models(arguments) => cmd::models::run(arguments, &cli.global, output),
        Command::Profiles(arguments) => cmd::profiles::run(arguments, &cli.global, output),
        Command::Compact(arguments) => cmd::compact::run(arguments, &cli.global, output),
        Command::Restore(arguments) => cmd::restore::run(arguments, &cli.global, output),
        Command::Cap(arguments) => cmd::cap::run(arguments, &cli.global, output),
        Command::Store(arguments) => cmd::store::run(arguments, &cli.global, output),
        Command::Recall(arguments) => cmd::recall::run(arguments, &cli.global, output),
        Command::Skills(arguments) => cmd::skills::run(arguments, &cli.global, output),
        Command::Mcp(_) => cmd::mcp::run(&cli.global),
        Command::Install(arguments) => cmd::install::install(&arguments.what, output),
        Command::Uninstall(arguments) => cmd::install::uninstall(&arguments.what, output),
        // It was answered before anything could fail.
        Command::Hook(_) => Ok(Done::Yes),
        Command::Config(arguments) => cmd::config::run(arguments, &cli.global, output),
        Command::Doctor(arguments) => cmd::doctor::run(arguments, &cli.global, output),
        Command::Run(arguments) => cmd::run::run(arguments, &cli.global, output),
        Command::Serve(arguments) => cmd::serve::run(arguments, &cli.global, output),
        Command::Wrap(arguments) => cmd::wrap::run(arguments, &cli.global),
        Command::Completions(arguments) => cmd::completions::run(arguments, output),
        Command::Man(arguments) => cmd::man::run(arguments, output),
    }
}

/// Whether the command line is, as far as can be seen, that of a hook.
fn is_hook() -> bool {
    std::env::args_os().skip(1).any(|argument| argument == "hook")
}

/// An error and its causes in one sentence. Many say their cause themselves; it is not said twice.
pub(crate) fn sentence(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if !text.contains(&cause) {
            if !text.is_empty() {
                text.push_str(": ");
            }
            text.push_str(&cause);
        }
    }
    text
}

/// Whether a reader such as `head` simply had enough.
fn closed_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
        .any(|cause| cause.kind() == std::io::ErrorKind::BrokenPipe)
}
