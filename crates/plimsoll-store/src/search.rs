//! Searching everything that is stored: the results stored last first, and into what compactions removed.
//!
//! Two threads look through artifacts side by side; what they find is given in order.

use std::collections::{BTreeMap, HashSet};
use std::ops::ControlFlow;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::SystemTime;

use plimsoll::counted;
use plimsoll::id::{RecallId, Record, SessionId};

use crate::error::{Result, StoreError};
use crate::pattern::Pattern;
use crate::recall::{GrepLine, MAY_MISS, RecallReader};
use crate::scan::scan;
use crate::store::Store;

/// How many threads look through artifacts.
const THREADS: usize = 2;
/// How many artifacts may be looked through ahead of the one whose lines are given.
const AHEAD: usize = 64;
/// How many matches of one artifact a page shows, so that one does not fill it.
const SHOWN_OF_ONE: usize = 20;

/// What is to be searched.
#[derive(Debug, Clone, Copy)]
pub struct Search<'a> {
    /// What for.
    pub pattern: &'a Pattern,
    /// In which session; `None` for all.
    pub session: Option<&'a SessionId>,
    /// How many matches of one artifact or epoch are given at most; `None` for all.
    pub of_one: Option<usize>,
}

/// A line that matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// Where it was found.
    pub id: RecallId,
    /// The line.
    pub line: GrepLine,
    /// Whether there are more in the same place than are given.
    pub more: bool,
}

/// What came of a search.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Searched {
    /// How many artifacts and epochs were looked through, to the end or to the limit.
    pub looked_through: u64,
    /// How many matches were given.
    pub hits: u64,
    /// How many were left out, since a later epoch of the same session has the same line.
    pub repeated: u64,
    /// In how many of them matches may have been missed: only ones longer than 64 KiB, in lines longer than 1 MiB.
    pub may_miss: u64,
    /// What could not be looked through.
    pub errors: Vec<StoreError>,
}

/// What a search found, as far as it fits a page.
#[derive(Debug)]
pub struct SearchPage {
    /// A line each: id, line number, text.
    pub text: Vec<u8>,
    /// Whether there is more than fits.
    pub more: bool,
    /// What came of it.
    pub searched: Searched,
}

impl Hit {
    /// Renders the hit: the id, a colon, and the line.
    ///
    /// ```
    /// use plimsoll_store::{GrepLine, Hit};
    /// let text = b"error: no such file".to_vec();
    /// let line = GrepLine { line: 12, offset: 930, text, cut: (false, false), matches: true, gap: false };
    /// let hit = Hit { id: "s1/toolu_01".parse()?, line, more: false };
    /// assert_eq!(hit.render(), b"s1/toolu_01:12:error: no such file\n");
    /// # Ok::<(), plimsoll::id::IdError>(())
    /// ```
    pub fn render(&self) -> Vec<u8> {
        let mut rendered = format!("{}:", self.id).into_bytes();
        rendered.extend(self.line.render());
        if self.more {
            rendered.extend(format!("{}: more matches; recall it with a pattern\n", self.id).into_bytes());
        }
        rendered
    }
}

impl SearchPage {
    /// What is said below the hits.
    pub fn footer(&self) -> String {
        let Searched { looked_through, hits, repeated, errors, may_miss } = &self.searched;
        let end = if self.more { "more was found: narrow the search" } else { "end" };
        let repeated = if *repeated == 0 {
            String::new()
        } else {
            format!("; {} left out", counted(*repeated, "repeated line", "repeated lines"))
        };
        let errors = if errors.is_empty() { String::new() } else { format!("; {} could not be read", errors.len()) };
        let missed = if *may_miss == 0 { String::new() } else { format!("; {MAY_MISS}") };
        let hits = counted(*hits, "match", "matches");
        let looked_through = counted(*looked_through, "artifact", "artifacts");
        format!("[{hits} in {looked_through}{repeated}{errors}; {end}{missed}]")
    }
}

/// What was found in one place.
type Found = Result<Lines>;

/// What was found in one place.
#[derive(Debug, Default)]
struct Lines {
    found: Vec<GrepLine>,
    /// Whether there are more than are wanted.
    more: bool,
    /// Whether some may have been missed.
    may_miss: bool,
}

/// How far the threads are.
#[derive(Default)]
struct Progress {
    /// The next place that nobody looks through yet.
    next: usize,
    /// What was found, by place, until it is given.
    found: BTreeMap<usize, Found>,
    /// How many places have been given.
    given: usize,
    /// Nobody wants more.
    ended: bool,
}

#[derive(Default)]
struct Shared {
    progress: Mutex<Progress>,
    changed: Condvar,
}

impl Shared {
    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'g>(&self, progress: MutexGuard<'g, Progress>) -> MutexGuard<'g, Progress> {
        self.changed.wait(progress).unwrap_or_else(PoisonError::into_inner)
    }

    fn update<T>(&self, change: impl FnOnce(&mut Progress) -> T) -> T {
        let changed = change(&mut self.progress());
        self.changed.notify_all();
        changed
    }

    /// Takes a place to look through; `None` if there is none, or nobody wants more.
    fn take(&self, places: usize) -> Option<usize> {
        let mut progress = self.progress();
        while !progress.ended && progress.next < places && progress.next >= progress.given + AHEAD {
            progress = self.wait(progress);
        }
        if progress.ended || progress.next >= places {
            return None;
        }
        progress.next += 1;
        Some(progress.next - 1)
    }

    /// Waits for what was found in a place.
    fn found(&self, place: usize) -> Found {
        let mut progress = self.progress();
        loop {
            if let Some(found) = progress.found.remove(&place) {
                progress.given = place + 1;
                drop(progress);
                self.changed.notify_all();
                return found;
            }
            progress = self.wait(progress);
        }
    }
}

/// Ends the search when it is dropped, so that no thread waits for one that panicked.
struct Ending<'s>(&'s Shared);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.update(|progress| progress.ended = true);
    }
}

impl Store {
    /// Searches results, and what compactions removed, for lines that match: those stored or archived last come first.
    ///
    /// Nothing is held but what was found, and that of few places at a time. What cannot be read does not stop the
    /// search; it is in [`Searched::errors`].
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use std::time::SystemTime;
    /// use plimsoll::id::{SessionId, ToolCallId};
    /// use plimsoll_store::{NewResult, Pattern, Search, Store};
    ///
    /// # let store = Store::memory();
    /// # let (session, call) = (SessionId::new("s1"), ToolCallId::new("c1"));
    /// # let content = b"one\ntwo\nthree\n";
    /// # store.put_result(&NewResult { session: &session, call: &call, content, tool: None, arguments: None,
    /// #     kind: None, now: SystemTime::now() }, |_, _| None)?;
    /// let pattern = Pattern::literal("wo")?;
    /// let mut lines = Vec::new();
    /// store.search(&Search { pattern: &pattern, session: None, of_one: None }, |hit| {
    ///     lines.extend(hit.render());
    ///     ControlFlow::Continue(())
    /// })?;
    /// assert_eq!(lines, b"s1/c1:2:two\n");
    /// # Ok::<(), plimsoll_store::StoreError>(())
    /// ```
    ///
    /// # Errors
    /// The store cannot be listed.
    pub fn search(&self, search: &Search<'_>, mut visit: impl FnMut(&Hit) -> ControlFlow<()>) -> Result<Searched> {
        let places = self.places(search.session)?;
        let shared = Shared::default();
        let mut searched = Searched::default();
        let mut seen: HashSet<blake3::Hash> = HashSet::new();
        thread::scope(|scope| {
            let _ending = Ending(&shared);
            for _ in 0..THREADS.min(places.len()) {
                scope.spawn(|| {
                    while let Some(place) = shared.take(places.len()) {
                        // A panic must not leave the others waiting for this place.
                        let found =
                            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| match places.get(place) {
                                Some((_, id)) => self.look_through(id, search),
                                None => Ok(Lines::default()),
                            }));
                        let found = found.unwrap_or_else(|_| {
                            let source = std::io::Error::other("the search in it panicked");
                            Err(StoreError::Io { action: "search", path: "an artifact".into(), source })
                        });
                        shared.update(|progress| progress.found.insert(place, found));
                    }
                });
            }
            for (place, (_, id)) in places.iter().enumerate() {
                match shared.found(place) {
                    // Pruned since it was listed.
                    Err(StoreError::Unknown { .. } | StoreError::Pruned { .. }) => {}
                    Err(error) => searched.errors.push(error),
                    Ok(Lines { found: lines, more, may_miss }) => {
                        searched.looked_through += 1;
                        searched.may_miss += u64::from(may_miss);
                        let last = lines.len().saturating_sub(1);
                        for (number, line) in lines.into_iter().enumerate() {
                            if let RecallId::Epoch(epoch) = id
                                && !seen.insert(line_hash(epoch.session(), &line))
                            {
                                searched.repeated += 1;
                                continue;
                            }
                            searched.hits += 1;
                            let hit = Hit { id: id.clone(), line, more: more && number == last };
                            if visit(&hit).is_break() {
                                return;
                            }
                        }
                    }
                }
            }
        });
        Ok(searched)
    }

    /// Gives as many hits as fit `length` bytes, rendered: for a model.
    ///
    /// # Errors
    /// As [`search`](Self::search).
    pub fn search_page(&self, pattern: &Pattern, session: Option<&SessionId>, length: u64) -> Result<SearchPage> {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let (mut text, mut more) = (Vec::new(), false);
        let search = Search { pattern, session, of_one: Some(SHOWN_OF_ONE) };
        let mut searched = self.search(&search, |hit| {
            let rendered = hit.render();
            if text.len() + rendered.len() > length {
                more = true;
                return ControlFlow::Break(());
            }
            text.extend(rendered);
            ControlFlow::Continue(())
        })?;
        searched.hits -= u64::from(more);
        Ok(SearchPage { text, more, searched })
    }

    /// Lists what there is to look through, the latest first.
    fn places(&self, session: Option<&SessionId>) -> Result<Vec<(SystemTime, RecallId)>> {
        let mut places: Vec<(SystemTime, RecallId)> = Vec::new();
        let inventory = self.inventory_of(session)?;
        for artifact in inventory.sessions.into_iter().flat_map(|held| held.artifacts) {
            places.push((artifact.changed, artifact.id.into()));
        }
        for body in inventory.archives.into_iter().flat_map(|archive| archive.bodies) {
            places.push((body.used, body.id.into()));
        }
        places.sort_by(|one, other| other.cmp(one));
        Ok(places)
    }

    fn look_through(&self, id: &RecallId, search: &Search<'_>) -> Found {
        match id {
            RecallId::Artifact(artifact) => {
                // The metadata is not asked for: what stands in the file is what is listed under this id.
                let Some(reader) = self.backend().open(&Record::Text(artifact.clone()).key(), 0)? else {
                    return Err(self.missing(id.clone())?);
                };
                look(&mut RecallReader::text(reader, u64::MAX).decoded()?, search)
            }
            RecallId::Epoch(epoch) => {
                let document = self.document(epoch)?;
                look(&mut RecallReader::removed(&document, &document.removed(), 0..u64::MAX), search)
            }
        }
    }
}

fn look(reader: &mut RecallReader<'_>, search: &Search<'_>) -> Found {
    let (mut lines, mut more) = (Vec::new(), false);
    let scanned = scan(reader, search.pattern, 0, |found| {
        if search.of_one.is_some_and(|most| lines.len() >= most) {
            more = true;
            return ControlFlow::Break(());
        }
        lines.push(GrepLine::of(found));
        ControlFlow::Continue(())
    })?;
    Ok(Lines { found: lines, more, may_miss: scanned.may_miss })
}

fn line_hash(session: &SessionId, line: &GrepLine) -> blake3::Hash {
    blake3::Hasher::new().update(session.as_str().as_bytes()).update(b"/").update(&line.text).finalize()
}

#[cfg(test)]
mod tests;
