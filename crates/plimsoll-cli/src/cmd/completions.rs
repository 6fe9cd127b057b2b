//! `plimsoll completions`: a completion script for a shell.

use anyhow::Result;
use clap::CommandFactory as _;

use crate::args::{Cli, CompletionsArgs};
use crate::output::Output;
use crate::resolve::Done;

pub(crate) fn run(arguments: &CompletionsArgs, output: &mut Output) -> Result<Done> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "plimsoll", &mut script);
    output.bytes(&script)?;
    Ok(Done::Yes)
}
