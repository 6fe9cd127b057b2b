//! `cargo xtask CHORE`: the project's chores.

mod catalogue;
mod tidy;

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::{Result, bail};

const USAGE: &str = "usage: cargo xtask catalogue FILE… | tidy
  catalogue  generates the embedded model catalogue from downloaded price maps; see its source
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
    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        Some("catalogue") => catalogue::run(arguments),
        Some("tidy") => tidy::run(),
        _ => bail!("{USAGE}"),
    }
}
