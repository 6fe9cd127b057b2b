//! Which of several entries with one name an agent gets.

use std::collections::HashMap;

use super::entry::{Entry, Kind, Source};

/// An entry that another one hides.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Shadowed {
    /// The hidden entry.
    pub entry: Entry,
    /// Where the entry that wins comes from.
    pub by: Source,
}

/// Keeps one entry of each name and tells which ones it hides.
///
/// Managed wins over user, user over project, project over bundled, as in Claude Code; within one source a skill wins
/// over a command, and otherwise the earlier over the later. The order of the list is kept.
///
/// ```
/// use plimsoll::listing::{Entry, Source, resolve};
/// let of = |source| Entry { source, ..Entry::new("deploy", "") };
/// let (kept, shadowed) = resolve(vec![of(Source::Project), of(Source::User)]);
/// assert_eq!(kept, [of(Source::User)]);
/// assert_eq!((shadowed[0].entry.source, shadowed[0].by), (Source::Project, Source::User));
/// ```
pub fn resolve(entries: Vec<Entry>) -> (Vec<Entry>, Vec<Shadowed>) {
    let rank = |entry: &Entry, at: usize| (entry.source, entry.kind == Kind::Command, at);
    let mut winners: HashMap<String, (Source, bool, usize)> = HashMap::with_capacity(entries.len());
    for (at, entry) in entries.iter().enumerate() {
        let rank = rank(entry, at);
        match winners.get_mut(&entry.name) {
            Some(best) => *best = rank.min(*best),
            None => drop(winners.insert(entry.name.clone(), rank)),
        }
    }
    let (mut kept, mut shadowed) = (Vec::with_capacity(winners.len()), Vec::new());
    for (at, entry) in entries.into_iter().enumerate() {
        match winners.get(&entry.name) {
            Some(&(by, _, winner)) if winner != at => shadowed.push(Shadowed { entry, by }),
            _ => kept.push(entry),
        }
    }
    (kept, shadowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn precedence_is_managed_user_project_bundled_and_a_skill_beats_a_command() {
        let of = |source, kind| Entry {
            kind,
            source,
            ..Entry::new("x", "")
        };
        let all = vec![
            of(Source::Bundled, Kind::Prompt),
            of(Source::Project, Kind::Skill),
            of(Source::User, Kind::Command),
            of(Source::User, Kind::Skill),
            Entry::new("y", ""),
        ];
        let (kept, shadowed) = resolve(all.clone());
        assert_eq!(kept, [of(Source::User, Kind::Skill), Entry::new("y", "")]);
        assert_eq!(shadowed.len(), 3);
        let managed = of(Source::Managed, Kind::Command);
        let (kept, _) = resolve(all.into_iter().chain([managed.clone()]).collect());
        assert_eq!(kept, [Entry::new("y", ""), managed]);
    }
}
