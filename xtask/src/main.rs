//! `cargo xtask CHORE`: the project's chores.

mod tidy;

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::{Result, bail};

const USAGE: &str = "usage: cargo xtask tidy
  tidy       checks what the compiler does not: floors, file sizes, forgotten files, stray words";

fn main() -> ExitCode {
    match chore() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Shown as a sentence: a backtrace says nothing to whoever has to fix a fault in a file.
            let _ = writeln!(std::io::stderr(), "xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn chore() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments
        .iter()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .as_slice()
    {
        ["tidy"] => tidy::run(),
        _ => bail!("{USAGE}"),
    }
}
