//! The strategy `classic`: the arithmetic agents have used, to the character.

use std::borrow::Cow;

use super::budget::Budget;
use super::entry::{Entry, Kind, Source, Visibility};
use super::row::{ELLIPSIS, one_line};

/// Characters a description may have, bundled ones included.
pub(super) const CAP: usize = 250;
/// Characters below which no description is worth listing.
pub(super) const MINIMUM: usize = 20;

/// One line as `classic` would write it.
pub(super) struct Line {
    pub(super) text: String,
    /// Characters of its description that are shown.
    pub(super) shown: usize,
    /// Characters of its description before the cap.
    pub(super) asked: usize,
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
    full.into_iter().map(|it| if it.is_kept { it.into_line() } else { it.into_cut(room) }).collect()
}

struct Full {
    name: String,
    /// None where only the name may be shown.
    description: Option<String>,
    asked: usize,
    is_kept: bool,
    characters: i128,
}

impl Full {
    fn new(entry: &Entry) -> Self {
        let name = one_line(&entry.name).into_owned();
        let is_named_only = entry.visibility != Visibility::Full;
        let mut text = one_line(&entry.description).into_owned();
        let when = entry.when_to_use.as_deref().map_or(Cow::Borrowed(""), one_line);
        if !text.is_empty() && !when.is_empty() {
            text.push_str(" - ");
        }
        text.push_str(&when);
        let asked = text.chars().count();
        let description = (!is_named_only).then(|| truncate(text, CAP));
        let bundled = entry.kind == Kind::Prompt && entry.source == Source::Bundled;
        let characters = count(&name) + description.as_deref().map_or(2, |text| 4 + count(text));
        Self { name, description, asked, is_kept: bundled || is_named_only, characters }
    }

    fn into_line(mut self) -> Line {
        let description = self.description.take();
        self.line(description, false)
    }

    fn into_cut(mut self, room: i128) -> Line {
        let whole = self.description.as_deref().map_or(0, count);
        let room = usize::try_from(room.max(0)).unwrap_or(usize::MAX);
        let is_worth_it = room >= MINIMUM;
        let text = self.description.take().filter(|_| is_worth_it).map(|text| truncate(text, room));
        let for_budget = text.as_deref().map_or(0, count) < whole;
        self.line(text, for_budget)
    }

    fn line(self, description: Option<String>, for_budget: bool) -> Line {
        let (name, asked) = (self.name, self.asked);
        let shown = description.as_deref().map_or(0, |text| text.chars().count());
        let text = description.map_or_else(|| format!("- {name}"), |text| format!("- {name}: {text}"));
        Line { text, shown, asked, for_budget }
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
