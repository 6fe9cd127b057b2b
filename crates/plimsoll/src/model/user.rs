//! `UserCatalogue`: the user's own limits, as JSON lines.

use serde::Deserialize;

use super::limits::{Limits, Source};
use super::name::Name;
use super::normalise::normalise;
use super::prices::{Priced, Prices};
use super::resolution::Entry;

/// The user's own limits, which go before everything else that is known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserCatalogue {
    models: Vec<(Name, Entry)>,
}

/// A line of a user's catalogue that could not be used. The other lines count all the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserProblem {
    /// Which line, counted from 1.
    pub line: usize,
    /// What is wrong with it.
    pub reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    model: String,
    context_window: Option<u64>,
    max_input: Option<u64>,
    max_output: Option<u64>,
    prices: Option<Dollars>,
}

/// Dollars for a million tokens.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Dollars {
    input: f64,
    cache_read: Option<f64>,
    cache_write: Option<f64>,
    output: f64,
}

impl UserCatalogue {
    /// A catalogue that says nothing.
    pub const fn new() -> Self {
        Self { models: Vec::new() }
    }

    /// Reads JSON lines: one object a line with `model` and any of `context_window`, `max_input`, `max_output` in
    /// tokens, and `prices` in dollars for a million tokens: `{"input": 3, "output": 15}`, and `cache_read`, `cache_write`. Empty lines and lines that begin with `#` or `//` are skipped. A later line for the same model wins.
    /// Returns what was understood and what was not; an unknown field is a mistake, since it would be ignored
    /// silently.
    ///
    /// JSON lines were taken over TOML since the core then needs no other parser, a line can be appended by a program,
    /// and a mistake costs one line.
    ///
    /// ```
    /// use plimsoll::{Tokens, model::{Catalogue, UserCatalogue}};
    /// let (user, problems) = UserCatalogue::parse(r#"{"model": "my-llm", "context_window": 32768}"#);
    /// assert!(problems.is_empty());
    /// let limit = Catalogue::embedded().with_user(user).limit_or_default("my-llm");
    /// assert_eq!((limit.tokens, limit.is_known()), (Tokens(32_768), true));
    /// ```
    pub fn parse(text: &str) -> (Self, Vec<UserProblem>) {
        let (mut catalogue, mut problems) = (Self::new(), Vec::new());
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') || line.starts_with("//") {
                continue;
            }
            match parse_line(line) {
                Ok(entry) => {
                    catalogue.models.retain(|(_, known)| known.name != entry.name);
                    catalogue.models.push((normalise(&entry.name), entry));
                }
                Err(reason) => problems.push(UserProblem { line: index.saturating_add(1), reason }),
            }
        }
        (catalogue, problems)
    }

    /// The models it names, in its own order.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.models.iter().map(|(_, entry)| entry)
    }

    /// Whether one of its lines is for the catalogue's row of this key.
    pub(super) fn names(&self, key: &str) -> bool {
        self.models.iter().any(|(name, _)| match &name.provider {
            Some(provider) => {
                key.strip_prefix(provider.as_str()).and_then(|rest| rest.strip_prefix('/')) == Some(&name.key())
            }
            None => key == name.key(),
        })
    }

    /// The entry of a name: as written, or of the same key and provider; two such are no answer.
    pub(super) fn find(&self, written: &str, name: &Name) -> Option<&Entry> {
        if let Some((_, entry)) = self.models.iter().find(|(_, entry)| entry.name == written) {
            return Some(entry);
        }
        let mut same = self.models.iter().filter(|(own, _)| {
            // What the user wrote without a provider holds for every provider; a context suffix is part of the name.
            own.base == name.base
                && own.context == name.context
                && (own.snapshot.is_none() || own.snapshot == name.snapshot)
                && (own.provider.is_none() || own.provider == name.provider)
        });
        match (same.next(), same.next()) {
            (Some((_, entry)), None) => Some(entry),
            _ => None,
        }
    }
}

fn parse_line(line: &str) -> Result<Entry, String> {
    let line: Line = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let name = line.model.trim();
    if name.is_empty() {
        return Err("`model` is empty".to_owned());
    }
    let stated = [line.context_window, line.max_input, line.max_output];
    if stated.contains(&Some(0)) {
        return Err("a limit of 0 tokens".to_owned());
    }
    let prices = match &line.prices {
        None => None,
        Some(Dollars { input, cache_read, cache_write, output }) => {
            let prices = Prices::from_dollars(*input, *cache_read, *cache_write, *output);
            let prices = prices.ok_or("`prices` are dollars for a million tokens, from 0 to 1,000,000")?;
            Some(Priced { prices, source: Source::User })
        }
    };
    if stated == [None; 3] && prices.is_none() {
        return Err("none of `context_window`, `max_input`, `max_output`, `prices`".to_owned());
    }
    let limits = Limits::stated(&Source::User, line.context_window, line.max_input, line.max_output);
    Ok(Entry { name: name.to_owned(), limits, prices, others: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::super::{Catalogue, Lookup};
    use super::*;
    use crate::Tokens;

    #[test]
    fn good_lines_count_beside_bad_ones() {
        let text = "# mine\n\n{\"model\": \"a\", \"context_window\": 10}\nnonsense\n{\"model\": \"b\"}\n\
                    {\"model\": \" \", \"max_input\": 1}\n{\"model\": \"c\", \"max_input\": 0}\n\
                    {\"model\": \"d\", \"window\": 5}\n{\"model\": \"a\", \"context_window\": 20}\n";
        let (user, problems) = UserCatalogue::parse(text);
        assert_eq!(problems.iter().map(|problem| problem.line).collect::<Vec<_>>(), [4, 5, 6, 7, 8]);
        let entries: Vec<_> = user.entries().collect();
        assert_eq!(entries.len(), 1);
        assert_eq!(entries[0].limits.context_window.as_ref().map(|limit| limit.tokens), Some(Tokens(20)));
    }

    #[test]
    fn a_users_line_wins_limit_by_limit() {
        let (user, _) = UserCatalogue::parse("{\"model\": \"gpt-5\", \"max_output\": 9000}");
        let Lookup::Known(limits) = Catalogue::embedded().with_user(user).lookup("openai/gpt-5") else {
            panic!("known")
        };
        assert_eq!(limits.max_output.map(|limit| (limit.tokens, limit.source)), Some((Tokens(9_000), Source::User)));
        assert_eq!(limits.max_input.map(|limit| limit.tokens), Some(Tokens(272_000)));
    }

    #[test]
    fn a_search_shows_a_users_line_once_with_what_else_is_known() {
        let (user, _) = UserCatalogue::parse("{\"model\": \"GPT-5-Mini\", \"max_output\": 9000}");
        let found = Catalogue::embedded().with_user(user).search("gpt-5-mini");
        let named: Vec<_> = found.iter().filter(|entry| entry.name.to_lowercase() == "gpt-5-mini").collect();
        assert_eq!(named.len(), 1);
        assert_eq!(named[0].limits.max_output.as_ref().map(|limit| limit.tokens), Some(Tokens(9_000)));
        assert_eq!(named[0].limits.max_input.as_ref().map(|limit| limit.tokens), Some(Tokens(272_000)));
    }

    #[test]
    fn a_line_for_one_provider_says_nothing_of_another() {
        let (user, _) = UserCatalogue::parse("{\"model\": \"azure/gpt-4o\", \"context_window\": 50000}");
        let catalogue = Catalogue::embedded().with_user(user);
        assert_eq!(catalogue.limit_or_default("azure/gpt-4o").tokens, Tokens(50_000));
        assert_eq!(catalogue.limit_or_default("gpt-4o").tokens, Tokens(128_000));
    }
}
