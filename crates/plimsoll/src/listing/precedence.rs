//! Which of several entries with one name an agent gets.

use std::borrow::Borrow;
use std::collections::HashMap;

use super::entry::{Entry, Kind, Source};

/// An entry that another one hides.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Shadowed<T = Entry> {
    /// The hidden entry.
    pub entry: T,
    /// Where the entry that wins comes from.
    pub by: Source,
}

/// Keeps one entry of each name and tells which ones it hides.
///
/// Managed wins over user, user over project, project over bundled, as in Claude Code; within one source a skill wins
/// over a command, and otherwise the earlier over the later. The order of the list is kept. Items are entries, or
/// anything that carries one, such as an entry with its path.
///
/// ```
/// use plimsoll::listing::{Entry, Source, resolve};
/// let of = |source| Entry { source, ..Entry::new("deploy", "") };
/// let (kept, shadowed) = resolve(vec![of(Source::Project), of(Source::User)]);
/// assert_eq!(kept, [of(Source::User)]);
/// assert_eq!((shadowed[0].entry.source, shadowed[0].by), (Source::Project, Source::User));
/// ```
pub fn resolve<T: Borrow<Entry>>(items: Vec<T>) -> (Vec<T>, Vec<Shadowed<T>>) {
    let mut winners: HashMap<&str, (Source, bool, usize)> = HashMap::with_capacity(items.len());
    for (at, item) in items.iter().enumerate() {
        let entry: &Entry = item.borrow();
        let rank = (entry.source, entry.kind == Kind::Command, at);
        winners.entry(&entry.name).and_modify(|best| *best = rank.min(*best)).or_insert(rank);
    }
    let winner_of: Vec<Option<(Source, usize)>> = items
        .iter()
        .map(|item| winners.get(item.borrow().name.as_str()))
        .map(|best| best.map(|&(source, _, at)| (source, at)))
        .collect();
    let (mut kept, mut shadowed) = (Vec::with_capacity(winners.len()), Vec::new());
    for ((at, entry), winner) in items.into_iter().enumerate().zip(winner_of) {
        match winner {
            Some((by, winner)) if winner != at => shadowed.push(Shadowed { entry, by }),
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
        let of = |source, kind| Entry { kind, source, ..Entry::new("x", "") };
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
