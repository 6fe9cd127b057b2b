//! The strategy `classic`: the arithmetic agents have used, to the character.

use super::budget::Budget;
use super::entry::{Entry, Kind, Source, Visibility};
use super::row::{ELLIPSIS, one_line};

/// Characters a description may have, bundled ones included.
pub(super) const CAP: usize = 250;
/// Characters below which no description is worth listing.
pub(super) const MINIMUM: i128 = 20;

/// One line as `classic` would write it.
pub(super) struct Line {
    pub(super) text: String,
    /// Characters of its description that are shown.
    pub(super) shown: usize,
    /// Whether the budget, not the cap, took something away.
    pub(super) for_budget: bool,
}

/// Lists entries that are not hidden, in order.
///
/// A limit in tokens is taken at four characters a token; when both limits are given, the smaller counts.
pub(super) fn lines(entries: &[&Entry], budget: &Budget<'_>) -> Vec<Line> {
    let full: Vec<Full> = entries.iter().map(|entry| Full::new(entry)).collect();
    let most = i128::from(budget.in_characters());
    let total: i128 = full.iter().map(|it| it.characters + 1).sum();
    if total - 1 <= most {
        return full.into_iter().map(Full::into_line).collect();
    }
    // Bundled entries keep their line whatever the budget; so do those that show a name only, having nothing to cut.
    let (mut kept, mut names, mut others) = (0, 0, 0);
    for it in &full {
        if it.is_kept {
            kept += it.characters + 1;
        } else {
            names += count(&it.name) + 4;
            others += 1;
        }
    }
    if others == 0 {
        return full.into_iter().map(Full::into_line).collect();
    }
    let room = (most - kept - (names + others - 1)).div_euclid(others);
    full.into_iter()
        .map(|it| {
            if it.is_kept {
                it.into_line()
            } else {
                it.into_cut(room)
            }
        })
        .collect()
}

struct Full {
    name: String,
    /// None where only the name may be shown.
    description: Option<String>,
    is_kept: bool,
    characters: i128,
}

impl Full {
    fn new(entry: &Entry) -> Self {
        let name = one_line(&entry.name).into_owned();
        let is_named_only = entry.visibility != Visibility::Full;
        let description = (!is_named_only).then(|| {
            let mut text = one_line(&entry.description).into_owned();
            let when = entry
                .when_to_use
                .as_deref()
                .map(one_line)
                .unwrap_or_default();
            if !text.is_empty() && !when.is_empty() {
                text.push_str(" - ");
            }
            text.push_str(&when);
            truncate(text, CAP)
        });
        let bundled = entry.kind == Kind::Prompt && entry.source == Source::Bundled;
        let characters = count(&name) + description.as_deref().map_or(2, |text| 4 + count(text));
        Self {
            name,
            description,
            is_kept: bundled || is_named_only,
            characters,
        }
    }

    fn into_line(self) -> Line {
        match self.description {
            None => Line {
                text: format!("- {}", self.name),
                shown: 0,
                for_budget: false,
            },
            Some(text) => Line {
                shown: text.chars().count(),
                text: format!("- {}: {text}", self.name),
                for_budget: false,
            },
        }
    }

    fn into_cut(self, room: i128) -> Line {
        let whole = self.description.as_deref().map_or(0, count);
        let Some(text) = self.description.filter(|_| room >= MINIMUM) else {
            return Line {
                text: format!("- {}", self.name),
                shown: 0,
                for_budget: whole > 0,
            };
        };
        let text = truncate(text, usize::try_from(room).unwrap_or(usize::MAX));
        let shown = text.chars().count();
        Line {
            text: format!("- {}: {text}", self.name),
            shown,
            for_budget: count(&text) < whole || whole > room,
        }
    }
}

/// Cuts to `room` characters: unchanged if it fits, else one character fewer and an ellipsis.
fn truncate(text: String, room: usize) -> String {
    if text.chars().nth(room).is_none() {
        return text;
    }
    let mut cut: String = text.chars().take(room.saturating_sub(1)).collect();
    cut.push(ELLIPSIS);
    cut
}

fn count(text: &str) -> i128 {
    i128::try_from(text.chars().count()).unwrap_or(i128::MAX)
}
