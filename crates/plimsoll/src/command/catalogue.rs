//! The commands that a running agent says it has, and what was probably meant by one that it has not.

use serde::{Deserialize, Serialize};

/// How many near misses are named.
const NEAREST: usize = 3;

/// What a running agent reports of itself: its commands, and which of them are skills. Names stand without slashes.
///
/// The set differs from installation to installation, so it is always read and never compiled in. What is made from a
/// report is sorted, and every name is in it once; a name that is no name is left out.
///
/// ```
/// use plimsoll::command::Commands;
/// let commands = Commands::new(["/compact", "clear", "review"], ["review"]);
/// assert!(commands.has("compact") && commands.has("/compact"));
/// assert_eq!(commands.utilities(), ["clear", "compact"]);
/// assert_eq!(commands.near("compcat"), ["compact"]);
/// ```
#[doc(alias = "slash_commands")]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "super::form::CommandsForm")]
#[non_exhaustive]
pub struct Commands {
    /// Every command, skills among them.
    pub all: Vec<String>,
    /// Those of them that are skills.
    pub skills: Vec<String>,
}

impl Commands {
    /// Makes a catalogue of what an agent reports. A skill is a command, whether it is named among them or not.
    ///
    /// ```
    /// use plimsoll::command::Commands;
    /// assert_eq!(Commands::new(["clear"], ["debug"]).all, ["clear", "debug"]);
    /// ```
    pub fn new<A: AsRef<str>, S: AsRef<str>>(
        all: impl IntoIterator<Item = A>,
        skills: impl IntoIterator<Item = S>,
    ) -> Self {
        let skills = sorted(skills.into_iter().filter_map(|name| bare(name.as_ref())).collect());
        let named = all.into_iter().filter_map(|name| bare(name.as_ref()));
        Self { all: sorted(named.chain(skills.iter().cloned()).collect()), skills }
    }

    /// Gives the commands that are no skills: those the agent's makers built in.
    ///
    /// ```
    /// use plimsoll::command::Commands;
    /// assert_eq!(Commands::new(["clear", "debug"], ["debug"]).utilities(), ["clear"]);
    /// ```
    #[doc(alias = "Commands.utilities")]
    pub fn utilities(&self) -> Vec<&str> {
        self.all.iter().filter(|name| !self.skills.contains(name)).map(String::as_str).collect()
    }

    /// Says whether the agent has a command of this name, given with or without its slash.
    ///
    /// ```
    /// use plimsoll::command::Commands;
    /// let commands = Commands::new(["compact"], ["debug"]);
    /// assert!(commands.has("/debug") && !commands.has("compcat") && !commands.has("//compact"));
    /// ```
    #[doc(alias = "Commands.has")]
    pub fn has(&self, name: &str) -> bool {
        let name = name.strip_prefix('/').unwrap_or(name);
        self.all.iter().chain(&self.skills).any(|known| known == name)
    }

    /// Names the commands that somebody may have meant by a name that is none, the nearest first, at most three.
    ///
    /// Near is what a slip of the fingers explains: letters missing, too many, wrong or swapped, one for every three
    /// letters (at least one); or a name that begins with what was written.
    ///
    /// ```
    /// use plimsoll::command::Commands;
    /// let commands = Commands::new(["clear", "compact", "context", "config"], ["debug"]);
    /// assert_eq!(commands.near("/compcat"), ["compact"]);
    /// assert_eq!(commands.near("con"), ["config", "context"]);
    /// assert!(commands.near("quux").is_empty());
    /// ```
    #[doc(alias = "did you mean")]
    pub fn near(&self, name: &str) -> Vec<&str> {
        let wanted = name.trim_start_matches('/').to_lowercase();
        let letters = wanted.chars().count();
        let allowed = (letters / 3).max(1);
        let mut near: Vec<(usize, &str)> = self
            .all
            .iter()
            .filter_map(|known| {
                let lower = known.to_lowercase();
                let begun = letters >= 2 && lower.starts_with(&wanted);
                let distance = strsim::osa_distance(&wanted, &lower);
                (begun || distance <= allowed.min(lower.chars().count().saturating_sub(1)))
                    .then_some((distance, known.as_str()))
            })
            .collect();
        near.sort_unstable();
        near.into_iter().take(NEAREST).map(|(_, name)| name).collect()
    }
}

fn bare(name: &str) -> Option<String> {
    super::CommandName::new(name, "").ok().map(|name| name.name().to_owned())
}

fn sorted(mut names: Vec<String>) -> Vec<String> {
    names.sort_unstable();
    names.dedup();
    names
}
