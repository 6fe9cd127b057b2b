//! The live chain: which lines of a session its program would send on resuming, and in which order.
//!
//! The rules are those observed of the program: back from the leaf by `parentUuid` to the last boundary; a tail that
//! a boundary preserves by reference stands after its anchor, in the order in which it is named; parallel calls and
//! their results branch off the chain, and are found by the id of their response and by the ids of the calls. They stand
//! after the last line of their response that is on the chain, so the result that the chain goes on from comes last.

use std::collections::{HashMap, HashSet};

use super::super::{Oddity, OddityKind, Text};
use super::line::{Line, LineKind, Scan};

/// What of a session is live.
#[derive(Debug, Default)]
pub(super) struct Live {
    /// The lines, in the order in which they are sent; not all of them are messages.
    pub(super) lines: Vec<u32>,
    /// The last message line of the conversation.
    pub(super) leaf: Option<u32>,
    /// Whether the file is a side conversation as a whole: a subagent's.
    pub(super) sidechain: bool,
}

/// Finds the live lines of a session.
pub(super) fn live(scan: &Scan<'_>, oddities: &mut Vec<Oddity>) -> Live {
    let messages = || scan.lines.iter().filter(|line| is_message(line));
    let sidechain = messages().next().is_some() && messages().all(|line| line.sidechain);
    let tree = Tree::new(scan, sidechain, oddities);
    // Sessions of the first versions have no ids, and what other programs wrote may have no parents: a file in which
    // nothing hangs on anything is no tree.
    let hangs =
        |line: &Line<'_>| line.uuid.is_some() && line.parent.is_some_and(|parent| tree.by_uuid.contains_key(&parent));
    if !messages().any(|line| tree.in_scope(line) && hangs(line)) {
        return tree.linear();
    }
    let Some(leaf) = tree.leaf() else {
        return Live { sidechain, ..Live::default() };
    };
    let chain = tree.walk(leaf);
    Live { lines: tree.with_parallel_calls(chain), leaf: Some(leaf), sidechain }
}

fn is_message(line: &Line<'_>) -> bool {
    matches!(line.kind, LineKind::User | LineKind::Assistant)
}

/// The tail that the last boundary preserves, resolved to lines.
#[derive(Debug, Default)]
struct Tail {
    anchor: u32,
    lines: Vec<u32>,
    /// Where each line stands in `lines`.
    places: HashMap<u32, usize>,
}

struct Tree<'s, 'a> {
    scan: &'s Scan<'a>,
    by_uuid: HashMap<Text<'a>, u32>,
    /// The first line of each id that stands on several.
    repeated: HashMap<Text<'a>, u32>,
    sidechain: bool,
    tail: Option<Tail>,
}

impl<'s, 'a> Tree<'s, 'a> {
    fn new(scan: &'s Scan<'a>, sidechain: bool, oddities: &mut Vec<Oddity>) -> Self {
        let mut by_uuid = HashMap::with_capacity(scan.lines.len());
        let mut repeated = HashMap::new();
        for (at, line) in scan.lines.iter().enumerate() {
            let Some(uuid) = line.uuid else { continue };
            // The program keeps the last of two lines with one id, in the place of the first.
            if let Some(before) = by_uuid.insert(uuid, index(at)) {
                repeated.entry(uuid).or_insert(before);
                oddities.push(Oddity { kind: OddityKind::DuplicateId, span: line.span });
            }
        }
        for line in &scan.lines {
            if line.parent.is_some_and(|parent| !by_uuid.contains_key(&parent)) {
                oddities.push(Oddity { kind: OddityKind::MissingParent, span: line.span });
            }
        }
        let mut tree = Self { scan, by_uuid, repeated, sidechain, tail: None };
        tree.tail = tree.preserved();
        tree
    }

    fn line(&self, at: u32) -> Option<&'s Line<'a>> {
        self.scan.lines.get(at as usize)
    }

    fn numbered(&self) -> impl DoubleEndedIterator<Item = (u32, &'s Line<'a>)> + ExactSizeIterator {
        self.scan.lines.iter().enumerate().map(|(at, line)| (index(at), line))
    }

    /// Where a line stands among the others: a line that is repeated stands where it stood first.
    fn place(&self, at: u32) -> u32 {
        let uuid = self.line(at).and_then(|line| line.uuid);
        uuid.and_then(|uuid| self.repeated.get(&uuid).copied()).unwrap_or(at)
    }

    fn in_scope(&self, line: &Line<'_>) -> bool {
        self.sidechain || !line.sidechain
    }

    /// What follows the last boundary, line by line.
    fn linear(&self) -> Live {
        let boundary = self.numbered().rev().find(|(_, line)| line.kind == LineKind::Boundary);
        let after = boundary.map_or(0, |(at, _)| at + 1);
        let lines: Vec<u32> = self
            .numbered()
            .filter(|(at, line)| *at >= after && is_message(line) && self.in_scope(line))
            .map(|(at, _)| at)
            .collect();
        Live { leaf: lines.last().copied(), lines, sidechain: self.sidechain }
    }

    /// The last user or assistant line of the conversation.
    ///
    /// Lines that the program or another agent of a team wrote are the leaf only if they stand on the same chain as the
    /// last line that is not. A summary that hangs on nothing is no leaf: without its boundary the old chain wins.
    fn leaf(&self) -> Option<u32> {
        let messages = || {
            self.numbered().rev().filter_map(|(at, line)| {
                let uuid = line.uuid.filter(|_| is_message(line) && self.in_scope(line))?;
                let repeat = self.repeated.get(&uuid).is_some_and(|first| *first != at);
                let live = self.by_uuid.get(&uuid).copied().filter(|_| !repeat)?;
                Some((live, self.line(live)?))
            })
        };
        let hanging = || messages().filter(|(_, line)| !(line.summary && line.parent.is_none()));
        let (last, line) = hanging().next().or_else(|| messages().next())?;
        if !line.meta && !line.teammate {
            return Some(last);
        }
        match hanging().find(|(_, line)| !line.meta && !line.teammate) {
            Some((own, _)) if !self.walk(last).contains(&own) => Some(own),
            _ => Some(last),
        }
    }

    /// The line before a line on the chain.
    fn before(&self, at: u32) -> Option<u32> {
        let parent = self.line(at)?.parent?;
        if let Some(found) = self.by_uuid.get(&parent) {
            return Some(*found);
        }
        if !self.sidechain {
            return None;
        }
        // A subagent's file names parents that stand in its caller's file: there the order of lines stands in.
        self.numbered().take(at as usize).rev().find(|(_, line)| is_message(line)).map(|(before, _)| before)
    }

    /// The chain that ends at a leaf, oldest first. Cycles end it.
    fn walk(&self, leaf: u32) -> Vec<u32> {
        let mut seen = HashSet::new();
        let mut reversed = Vec::new();
        let mut next = Some(leaf);
        let mut tail = self.tail.as_ref();
        while let Some(mut at) = next {
            if let Some(kept) = tail {
                let upto =
                    if at == kept.anchor { Some(kept.lines.len()) } else { kept.places.get(&at).map(|at| at + 1) };
                if let Some(upto) = upto {
                    let lines = kept.lines.get(..upto).unwrap_or(&[]);
                    reversed.extend(lines.iter().rev().filter(|line| seen.insert(**line)));
                    at = kept.anchor;
                    tail = None;
                }
            }
            if !seen.insert(at) {
                break;
            }
            reversed.push(at);
            if self.line(at).is_some_and(|line| line.kind == LineKind::Boundary) {
                break;
            }
            next = self.before(at);
        }
        reversed.reverse();
        reversed
    }

    /// Resolves what the last boundary preserves. One line that is not in the file, and nothing is preserved.
    fn preserved(&self) -> Option<Tail> {
        let (_, named) = self.scan.preserved.as_ref()?;
        let find = |uuid: Text<'a>| self.by_uuid.get(&uuid).copied();
        let anchor = find(named.anchor?)?;
        let lines: Vec<u32> = match (&named.lines, named.ends) {
            (Some(lines), _) => lines.iter().map(|uuid| find(*uuid)).collect::<Option<_>>()?,
            (None, Some((head, tail))) => {
                let (head, tail) = (find(head)?, find(tail)?);
                let chain = self.walk(tail);
                let start = chain.iter().position(|line| *line == head)?;
                chain.get(start..)?.to_vec()
            }
            (None, None) => return None,
        };
        let lines: Vec<u32> = lines.into_iter().filter(|line| *line != anchor).collect();
        let places = lines.iter().enumerate().map(|(place, line)| (*line, place)).collect();
        Some(Tail { anchor, lines, places })
    }

    /// Adds what branches off a chain: the other lines of its responses, and the results of their calls.
    fn with_parallel_calls(&self, chain: Vec<u32>) -> Vec<u32> {
        let on_chain: HashSet<u32> = chain.iter().copied().collect();
        let mut last_of: HashMap<Text<'a>, u32> = HashMap::new();
        let mut answered: HashSet<Text<'a>> = HashSet::new();
        for (at, line) in chain.iter().filter_map(|at| Some((*at, self.line(*at)?))) {
            match (line.kind, line.response) {
                (LineKind::Assistant, Some(response)) => {
                    last_of.insert(response, at);
                }
                (LineKind::User, _) => answered.extend(self.scan.calls_of(line)),
                _ => {}
            }
        }
        let boundary =
            chain.first().copied().filter(|at| self.line(*at).is_some_and(|line| line.kind == LineKind::Boundary));
        // What stands before the boundary comes back only if the boundary names it.
        let reachable = |at: u32, from: u32| match boundary {
            Some(boundary) => {
                let named = self.tail.as_ref().is_some_and(|tail| tail.places.contains_key(&from));
                self.place(at) > boundary || (self.place(from) < boundary && !named)
            }
            None => true,
        };
        let mut siblings: HashMap<Text<'a>, Vec<u32>> = HashMap::new();
        let mut results: HashMap<Text<'a>, Vec<u32>> = HashMap::new();
        for (at, line) in self.numbered() {
            if on_chain.contains(&at) || !self.in_scope(line) || !is_live_copy(self, at, line) {
                continue;
            }
            match (line.kind, line.response) {
                (LineKind::Assistant, Some(response)) if last_of.contains_key(&response) => {
                    siblings.entry(response).or_default().push(at);
                }
                (LineKind::User, _) => {
                    for call in self.scan.calls_of(line) {
                        results.entry(*call).or_default().push(at);
                    }
                }
                _ => {}
            }
        }
        if siblings.is_empty() && results.is_empty() {
            return chain;
        }
        let mut calls: HashMap<Text<'a>, Vec<Text<'a>>> = HashMap::new();
        let mut lines = Vec::with_capacity(chain.len() + siblings.len());
        let mut added: HashSet<u32> = HashSet::new();
        for at in chain {
            lines.push(at);
            let Some(line) = self.line(at) else { continue };
            let Some(response) = line.response.filter(|_| line.kind == LineKind::Assistant) else {
                continue;
            };
            let made = calls.entry(response).or_default();
            made.extend(self.scan.calls_of(line));
            if last_of.get(&response) != Some(&at) {
                continue;
            }
            let mut others = siblings.remove(&response).unwrap_or_default();
            others.sort_unstable_by_key(|other| self.place(*other));
            for sibling in others {
                if reachable(sibling, at) {
                    lines.push(sibling);
                    made.extend(self.line(sibling).map(|line| self.scan.calls_of(line)).unwrap_or_default());
                }
            }
            let mut found: Vec<u32> = Vec::new();
            for call in made.iter() {
                if answered.contains(call) {
                    continue;
                }
                let answer = results.get(call).into_iter().flatten().find(|answer| reachable(**answer, at));
                if let Some(answer) = answer {
                    answered.insert(*call);
                    if added.insert(*answer) {
                        found.push(*answer);
                    }
                }
            }
            found.sort_unstable_by_key(|found| self.place(*found));
            lines.extend(found);
        }
        lines
    }
}

/// Whether a line is the one that its id stands for; of two lines with one id only the last is.
fn is_live_copy(tree: &Tree<'_, '_>, at: u32, line: &Line<'_>) -> bool {
    line.uuid.is_some_and(|uuid| tree.by_uuid.get(&uuid) == Some(&at))
}

fn index(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}
