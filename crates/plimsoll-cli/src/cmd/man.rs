//! `plimsoll man`: manual pages, one for the program and one for each command.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::{Args, Command, CommandFactory as _, ValueHint};
use clap_mangen::Man;

use crate::args::Cli;
use crate::output::{Output, plain, style};
use crate::resolve::{Done, Usage};

/// Write manual pages
///
/// Without --out, one page goes to standard output: that of COMMAND, or the program's own.
#[derive(Debug, Args)]
#[command(after_help = "Example: plimsoll man --out ~/.local/share/man/man1 && man plimsoll-compact
         plimsoll man compact | man -l -")]
pub(crate) struct ManArgs {
    /// The command that a page is wanted of, such as `compact` or `store ls`
    #[arg(value_name = "COMMAND", conflicts_with = "out")]
    pub(crate) command: Vec<String>,
    /// Write the pages of all commands into this directory, which is made if it is not there
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
}

pub(crate) fn run(arguments: &ManArgs, output: &mut Output) -> Result<Done> {
    let pages = pages()?;
    let Some(out) = &arguments.out else {
        let name = std::iter::once("plimsoll").chain(arguments.command.iter().map(String::as_str));
        let name = format!("{}.1", name.collect::<Vec<_>>().join("-"));
        let found = pages.into_iter().find(|(known, _)| *known == name);
        let (_, page) = found.ok_or_else(|| {
            let command = plain(&arguments.command.join(" "));
            Usage(format!("there is no command `{command}`; `plimsoll --help` lists them"))
        })?;
        output.bytes(&page)?;
        return Ok(Done::Yes);
    };
    std::fs::create_dir_all(out).with_context(|| format!("cannot make the directory {}", out.display()))?;
    let count = pages.len();
    for (name, page) in pages {
        let path = out.join(name);
        std::fs::write(&path, page).with_context(|| format!("cannot write {}", path.display()))?;
    }
    output.print(&format!(
        "wrote {} to {} {}(`man -M` wants the directory above man1){}\n",
        plimsoll::counted(count, "page", "pages"),
        plain(&out.display().to_string()),
        style::DIM,
        style::END
    ))?;
    Ok(Done::Yes)
}

/// All pages, by file name. They hold no date: the same program gives the same pages.
fn pages() -> Result<Vec<(String, Vec<u8>)>> {
    let mut program = Cli::command().disable_help_subcommand(true);
    program.build();
    let mut pages = Vec::new();
    let mut commands = vec![program];
    while let Some(command) = commands.pop() {
        commands.extend(command.get_subcommands().filter(|command| !command.is_hide_set()).map(Command::clone));
        let man =
            Man::new(command).section("1").manual("Plimsoll").source(concat!("plimsoll ", env!("CARGO_PKG_VERSION")));
        let mut page = Vec::new();
        man.render(&mut page)?;
        pages.push((man.get_filename(), page));
    }
    pages.sort();
    Ok(pages)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page_with_its_options_and_its_example() {
        let pages = pages().unwrap();
        let page = |name: &str| {
            let (_, page) = pages.iter().find(|(known, _)| known == name).unwrap_or_else(|| panic!("no {name}"));
            String::from_utf8(page.clone()).unwrap()
        };
        for command in Cli::command().get_subcommands() {
            let page = page(&format!("plimsoll-{}.1", command.get_name()));
            assert!(page.contains(".TH ") && page.contains("Example: "), "{page}");
        }
        let compact = page("plimsoll-compact.1");
        assert!(compact.contains("\\-\\-keep\\-tokens") && compact.contains("claude:last"), "{compact}");
        assert!(page("plimsoll.1").contains("plimsoll\\-compact(1)"));
        assert!(
            page("plimsoll-store-ls.1").contains("plimsoll store ls")
                || page("plimsoll-store-ls.1").contains("store\\-ls")
        );
        assert!(!pages.iter().any(|(name, _)| name.contains("help")));
    }
}
