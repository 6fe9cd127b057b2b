//! The catalogue's text: lines sorted by key, of which a look-up reads one.

use std::borrow::Cow;

use super::limits::{Limit, Limits, Source};
use super::prices::{Priced, Prices};
use super::resolution::{Claim, Entry, Outcome};
use crate::Tokens;

/// Finds the line that begins with `key` and a tab, in lines sorted by key behind comment lines.
pub(super) fn find_line<'a>(text: &'a [u8], key: &[u8]) -> Option<&'a str> {
    if key.is_empty() || key.contains(&b'\t') || key.contains(&b'\n') || key.starts_with(b"#") {
        return None;
    }
    let (mut low, mut high) = (0, text.len());
    while low < high {
        let middle = low.midpoint(high);
        let start =
            memchr::memrchr(b'\n', text.get(low..middle)?).map_or(low, |at| low.saturating_add(at).saturating_add(1));
        let end = memchr::memchr(b'\n', text.get(start..)?).map_or(text.len(), |at| start.saturating_add(at));
        let line = text.get(start..end)?;
        let here = line.split(|byte| *byte == b'\t').next().unwrap_or_default();
        match if line.starts_with(b"#") { std::cmp::Ordering::Less } else { here.cmp(key) } {
            std::cmp::Ordering::Equal => return std::str::from_utf8(line).ok(),
            std::cmp::Ordering::Less => low = end.saturating_add(1),
            std::cmp::Ordering::Greater => high = start,
        }
    }
    None
}

/// The `# origin LETTER NAME, DATE` lines: what the letters behind the numbers mean.
pub(super) struct Origins<'a>(Vec<(char, &'a str, &'a str)>);

impl<'a> Origins<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let origin = |line: &'a str| {
            let (letter, rest) = line.strip_prefix("# origin ")?.split_once(' ')?;
            let (name, date) = rest.rsplit_once(", ")?;
            Some((letter.chars().next()?, name, date))
        };
        Self(text.lines().take_while(|line| line.starts_with('#')).filter_map(origin).collect())
    }

    fn source(&self, letter: char) -> Option<Source> {
        let (_, origin, date) = self.0.iter().find(|(known, ..)| *known == letter)?;
        Some(Source::Catalogue { origin: Cow::Owned((*origin).to_owned()), date: Cow::Owned((*date).to_owned()) })
    }
}

/// One line, taken apart.
pub(super) struct Row<'a> {
    pub(super) key: &'a str,
    cells: [Vec<(Tokens, Source)>; 3],
    prices: Option<Priced>,
    suspect: bool,
    pub(super) ambiguous: bool,
}

const FIELDS: [&str; 3] = ["context_window", "max_input", "max_output"];

impl<'a> Row<'a> {
    pub(super) fn parse(line: &'a str, origins: &Origins<'_>) -> Option<Self> {
        let mut columns = line.split('\t');
        let key = columns.next().filter(|key| !key.is_empty())?;
        let mut cells = [Vec::new(), Vec::new(), Vec::new()];
        for cell in &mut cells {
            for claim in columns.next().unwrap_or_default().split('+').filter(|claim| !claim.is_empty()) {
                let letter = claim.chars().next_back()?;
                let number = claim.strip_suffix(letter)?.parse().ok()?;
                cell.push((Tokens(number), origins.source(letter)?));
            }
        }
        let flags = columns.next().unwrap_or_default();
        let known = flags.split(' ').all(|flag| ["", "suspect", "ambiguous"].contains(&flag));
        let priced = columns.next().unwrap_or_default();
        let prices = match priced.split('+').next().filter(|claim| !claim.is_empty()) {
            None => None,
            Some(claim) => {
                let letter = claim.chars().next_back()?;
                Some(Priced { prices: Prices::parse(claim.strip_suffix(letter)?)?, source: origins.source(letter)? })
            }
        };
        (known && columns.next().is_none()).then(|| Self {
            key,
            cells,
            prices,
            suspect: flags.contains("suspect"),
            ambiguous: flags.contains("ambiguous"),
        })
    }

    fn claims(&self, skip: usize) -> Vec<Claim> {
        let cells = FIELDS.into_iter().zip(&self.cells);
        cells
            .flat_map(|(field, cell)| {
                cell.iter().skip(skip).map(move |(tokens, source)| Claim {
                    field,
                    tokens: *tokens,
                    source: source.clone(),
                })
            })
            .collect()
    }

    pub(super) fn entry(&self) -> Entry {
        let [window, input, output] = &self.cells;
        let limit =
            |cell: &Vec<(Tokens, Source)>| cell.first().map(|(tokens, source)| Limit::new(*tokens, source.clone()));
        let limits = Limits {
            context_window: limit(window),
            max_input: limit(input),
            max_output: limit(output).map(|limit| Limit { suspect: self.suspect, ..limit }),
        };
        Entry { name: self.key.to_owned(), limits, prices: self.prices.clone(), others: self.claims(1) }
    }

    pub(super) fn outcome(&self) -> Outcome {
        if self.ambiguous { Outcome::Ambiguous { claims: self.claims(0) } } else { Outcome::Found(self.entry()) }
    }
}
