//! What is wrong with entries, whatever the budget: the agentskills rules, duplicates, unreadable frontmatter.

use std::collections::HashMap;

use serde::Serialize;

use super::entry::{Entry, Kind, Source};

/// Characters a name may have.
pub const MAX_NAME: usize = 64;
/// Characters a description may have.
pub const MAX_DESCRIPTION: usize = 1_024;

/// Something wrong with one entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Lint {
    /// The entry's name.
    pub name: String,
    /// The rule it breaks.
    pub rule: Rule,
    /// What exactly, in words.
    pub message: String,
    /// The file it was read from, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

impl Lint {
    /// Notes that an entry breaks a rule.
    pub fn new(name: impl Into<String>, rule: Rule, message: impl Into<String>) -> Self {
        Self { name: name.into(), rule, message: message.into(), path: None }
    }

    /// Names the file.
    #[must_use]
    pub fn at(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into());
        self
    }
}

/// A rule for entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Rule {
    /// Names have 1–64 of `a–z`, `0–9` and single hyphens between them (agentskills).
    Name,
    /// A skill's name equals its folder's (agentskills).
    Folder,
    /// Descriptions have at most 1,024 characters (agentskills).
    DescriptionLength,
    /// A skill says what it does (agentskills).
    NoDescription,
    /// One name stands for several entries.
    Duplicate,
    /// The frontmatter could not be read as YAML; what a line-wise reading gave is listed.
    Frontmatter,
    /// A file or folder could not be read.
    Unreadable,
}

/// Checks entries against the agentskills rules, in order, and for duplicate names.
///
/// Commands and MCP prompts have names of their own making, so only duplicates are noted of them. Of a name with a
/// namespace (`plugin:skill`) the last part is checked.
///
/// ```
/// use plimsoll::listing::{Entry, Rule, lint};
/// let found = lint(&[Entry::new("My_Skill", "Does it."), Entry::new("fine", "Does it too.")]);
/// assert_eq!(found.len(), 1);
/// assert_eq!(found[0].rule, Rule::Name);
/// ```
pub fn lint(entries: &[Entry]) -> Vec<Lint> {
    let mut found = Vec::new();
    let mut seen: HashMap<&str, usize> = HashMap::with_capacity(entries.len());
    for entry in entries {
        let times = seen.entry(entry.name.as_str()).or_insert(0);
        *times += 1;
        if *times == 2 {
            found.push(Lint::new(&entry.name, Rule::Duplicate, "several entries have this name"));
        }
        if entry.kind == Kind::Command || entry.source == Source::Mcp {
            continue;
        }
        let own = entry.name.rsplit(':').next().unwrap_or(&entry.name);
        if let Some(message) = wrong_with_name(own) {
            found.push(Lint::new(&entry.name, Rule::Name, message));
        }
        if let Some(folder) = entry.folder.as_deref().filter(|&folder| folder != own) {
            found.push(Lint::new(&entry.name, Rule::Folder, format!("its folder is called `{folder}`")));
        }
        let length = entry.description.chars().count();
        if length > MAX_DESCRIPTION {
            let message = format!("the description has {length} characters; at most {MAX_DESCRIPTION} are allowed");
            found.push(Lint::new(&entry.name, Rule::DescriptionLength, message));
        }
        let has_when = entry.when_to_use.as_deref().is_some_and(|when| !when.trim().is_empty());
        if entry.description.trim().is_empty() && !has_when {
            found.push(Lint::new(&entry.name, Rule::NoDescription, "an agent cannot tell what it is for"));
        }
    }
    found
}

fn wrong_with_name(name: &str) -> Option<String> {
    let length = name.chars().count();
    if length == 0 {
        return Some("the name is empty".to_owned());
    }
    if length > MAX_NAME {
        return Some(format!("the name has {length} characters; at most {MAX_NAME} are allowed"));
    }
    if let Some(c) = name.chars().find(|c| !matches!(c, 'a'..='z' | '0'..='9' | '-')) {
        return Some(format!("the name has {c:?}; only a–z, 0–9 and hyphens are allowed"));
    }
    if name.starts_with('-') || name.ends_with('-') || name.contains("--") {
        return Some("hyphens stand singly, and between other characters".to_owned());
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_agentskills_rules() {
        for fine in ["a", "pdf-tools", "x9", &"a".repeat(64)] {
            assert_eq!(wrong_with_name(fine), None, "{fine}");
        }
        for wrong in ["", "PDF", "a_b", "-a", "a-", "a--b", "a b", "naïve", &"a".repeat(65)] {
            assert!(wrong_with_name(wrong).is_some(), "{wrong}");
        }
    }

    #[test]
    fn a_long_description_a_duplicate_and_a_foreign_folder_are_noted_once_each() {
        let mut long = Entry::new("long", "x".repeat(1_025));
        long.folder = Some("other".to_owned());
        let entries = [long, Entry::new("twin", "a"), Entry::new("twin", "b"), Entry::new("twin", "c")];
        let rules: Vec<Rule> = lint(&entries).into_iter().map(|it| it.rule).collect();
        assert_eq!(rules, [Rule::Folder, Rule::DescriptionLength, Rule::Duplicate]);
    }

    #[test]
    fn commands_may_be_called_what_they_are() {
        let command = Entry { kind: Kind::Command, ..Entry::new("Fix_It", "") };
        let prompt = Entry { source: Source::Mcp, ..Entry::new("mcp__server__ask", "") };
        assert_eq!(lint(&[command, prompt]), []);
        assert_eq!(lint(&[Entry::new("plugin_x:fine", "Says.")]), []);
    }
}
