//! Reads skills, commands and prompts from where agents keep them on disk, for the core to list.
//!
//! ```no_run
//! use plimsoll::Tokens;
//! use plimsoll::listing::{Budget, Options, list};
//! use plimsoll_engine::skills::{Agent, Places, read};
//!
//! let places = Places::of_project(".").with_home("/home/me");
//! let skills = read(&places, &Agent::ALL);
//! let listing = list(&skills.entries(), &Budget::from_window(Some(Tokens(200_000)), None), &Options::default());
//! println!("{}", listing.text);
//! ```

mod file;
mod frontmatter;
mod mcp;
mod places;
mod plugin;
#[cfg(test)]
mod tests;
mod walk;

use std::borrow::Borrow;
use std::path::{Path, PathBuf};

use plimsoll::listing::{Entry, Lint, Shadowed, Source, resolve};

pub use mcp::mcp_prompts;
pub use places::{Agent, Places};

use walk::Walk;

/// An entry and the file it was read from.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Found {
    /// What can be listed.
    pub entry: Entry,
    /// Its file.
    pub path: PathBuf,
}

impl Borrow<Entry> for Found {
    fn borrow(&self) -> &Entry {
        &self.entry
    }
}

/// What was read, and what could not be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Skills {
    /// One entry for each name, in the order of places and names.
    pub found: Vec<Found>,
    /// Entries whose name another one has that takes precedence.
    pub shadowed: Vec<Shadowed<Found>>,
    /// Files and folders that could not be read, or not in full.
    pub lint: Vec<Lint>,
}

impl Skills {
    /// The entries alone.
    pub fn entries(&self) -> Vec<Entry> {
        self.found.iter().map(|found| found.entry.clone()).collect()
    }

    fn of(walk: Walk) -> Self {
        let Walk { mut found, lints, nested, .. } = walk;
        places::unqualify(&mut found, &nested);
        let (found, shadowed) = resolve(found);
        Self { found, shadowed, lint: lints }
    }
}

/// Reads what agents would see from a project: the managed, user's and project's folders, plugins included.
///
/// Never fails: what cannot be read is in [`Skills::lint`]. A file reached by several links is read once. Takes about
/// 50 µs a skill.
pub fn read(places: &Places, agents: &[Agent]) -> Skills {
    let mut walk = Walk::default();
    places::read(places, agents, &mut walk);
    Skills::of(walk)
}

/// Reads folders as they are: a project, a plugin, a folder of skills, one skill, or a folder of commands.
///
/// A folder in which none is found is named in [`Skills::lint`].
pub fn read_folders<P: AsRef<Path>>(folders: &[P]) -> Skills {
    let mut walk = Walk::default();
    for folder in folders {
        let folder = folder.as_ref();
        let before = (walk.found.len(), walk.lints.len());
        if plugin::is_plugin(folder) {
            plugin::read_plugin(folder, None, &mut walk);
        } else if !places::read_project_folder(folder, &Agent::ALL, &mut walk) {
            walk.skills(folder, Source::Project, None);
            if walk.found.len() == before.0 {
                walk.commands(folder, Source::Project, None);
            }
        }
        if before == (walk.found.len(), walk.lints.len()) {
            let message = if folder.exists() { "no skills or commands are in it" } else { "it does not exist" };
            let lint = Lint::new("", plimsoll::listing::Rule::Unreadable, message);
            walk.lints.push(lint.at(folder.display().to_string()));
        }
    }
    Skills::of(walk)
}
