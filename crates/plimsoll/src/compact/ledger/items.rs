//! `Item`: something the work touched — a file, a script, an address — and what became of it.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::outcome::Outcome;

/// What was done to an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Touch {
    /// Made anew.
    Created,
    /// Changed.
    Edited,
    /// Deleted.
    Deleted,
    /// Deployed or published.
    Deployed,
    /// Run or tested.
    Ran,
    /// Read.
    Read,
    /// Listed or searched.
    Listed,
    /// Touched in a way that is not known.
    Used,
}

impl Touch {
    const ALL: [Self; 8] =
        [Self::Created, Self::Edited, Self::Deleted, Self::Deployed, Self::Ran, Self::Read, Self::Listed, Self::Used];

    /// Its name, as shown.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Edited => "edited",
            Self::Deleted => "deleted",
            Self::Deployed => "deployed",
            Self::Ran => "ran",
            Self::Read => "read",
            Self::Listed => "listed",
            Self::Used => "used",
        }
    }

    /// Whether it changes the item.
    pub const fn changes(self) -> bool {
        matches!(self, Self::Created | Self::Edited | Self::Deleted | Self::Deployed)
    }

    pub(super) fn read(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|touch| touch.name() == name)
    }
}

/// Something the work touched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// Its path or address.
    pub path: String,
    /// What was done to it, in the order in which each kind was first done, with how often.
    pub touches: Vec<(Touch, u32)>,
    /// What was done last.
    pub last: Touch,
    /// What became of that.
    pub outcome: Outcome,
    /// The user's message that was being worked on then.
    pub turn: u32,
}

impl Item {
    /// Whether the work changed it.
    pub fn is_changed(&self) -> bool {
        self.touches.iter().any(|(touch, _)| touch.changes())
    }

    fn add(&mut self, touch: Touch, times: u32) {
        match self.touches.iter_mut().find(|(known, _)| *known == touch) {
            Some((_, count)) => *count = count.saturating_add(times),
            None => self.touches.push((touch, times)),
        }
    }
}

/// The items of a history, found by path.
#[derive(Debug, Default)]
pub(super) struct Items {
    pub(super) list: Vec<Item>,
    places: HashMap<String, usize>,
}

impl Items {
    pub(super) fn of(list: Vec<Item>) -> Self {
        let places = list.iter().enumerate().map(|(place, item)| (item.path.clone(), place)).collect();
        Self { list, places }
    }

    /// Records a touch. Writing what is already known is editing it; listing what is otherwise known says nothing new.
    pub(super) fn touch(&mut self, path: &str, touch: Touch, outcome: Outcome, turn: u32) {
        if let Some(item) = self.places.get(path).and_then(|place| self.list.get_mut(*place)) {
            let touch = if touch == Touch::Created && item.last != Touch::Deleted { Touch::Edited } else { touch };
            item.add(touch, 1);
            // Reading does not hide how the last change ended, unless that went well.
            if touch.changes() || !item.last.changes() || !item.outcome.is_failure() {
                (item.last, item.outcome) = (touch, outcome);
            }
            item.turn = turn;
        } else {
            self.places.insert(path.to_owned(), self.list.len());
            self.list.push(Item { path: path.to_owned(), touches: vec![(touch, 1)], last: touch, outcome, turn });
        }
    }

    /// Adds what a later part of the history knows.
    pub(super) fn merge(&mut self, newer: Vec<Item>) {
        for item in newer {
            if let Some(known) = self.places.get(&item.path).and_then(|place| self.list.get_mut(*place)) {
                for (touch, times) in item.touches {
                    let touch =
                        if touch == Touch::Created && known.last != Touch::Deleted { Touch::Edited } else { touch };
                    known.add(touch, times);
                }
                let last = if item.last == Touch::Created && known.last != Touch::Deleted {
                    Touch::Edited
                } else {
                    item.last
                };
                if last.changes() || !known.last.changes() || !known.outcome.is_failure() {
                    (known.last, known.outcome) = (last, item.outcome);
                }
                known.turn = known.turn.max(item.turn);
            } else {
                self.places.insert(item.path.clone(), self.list.len());
                self.list.push(item);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writing_twice_is_creating_and_editing() {
        let mut items = Items::default();
        items.touch("a", Touch::Created, Outcome::Ok, 1);
        items.touch("a", Touch::Created, Outcome::Failed, 2);
        items.touch("a", Touch::Read, Outcome::Ok, 2);
        let item = &items.list[0];
        assert_eq!(item.touches, [(Touch::Created, 1), (Touch::Edited, 1), (Touch::Read, 1)]);
        assert_eq!(
            (item.last, item.outcome),
            (Touch::Edited, Outcome::Failed),
            "a failed change is not hidden by a look at it"
        );
    }

    #[test]
    fn merging_adds_up() {
        let mut older = Items::default();
        older.touch("a", Touch::Read, Outcome::Ok, 1);
        let mut newer = Items::default();
        newer.touch("a", Touch::Created, Outcome::Ok, 3);
        newer.touch("b", Touch::Read, Outcome::Ok, 3);
        older.merge(newer.list);
        assert_eq!(older.list.len(), 2);
        assert_eq!(older.list[0].touches, [(Touch::Read, 1), (Touch::Edited, 1)]);
        assert_eq!(older.list[0].turn, 3);
    }
}
