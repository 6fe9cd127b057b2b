//! `Catalogue`: the published limits of known models, looked up in its text without parsing all of it.

use std::borrow::Cow;

use super::limits::{DEFAULT_LIMIT, Limit, Limits, ModelLimit, Source};
use super::name::{Name, Rule, Step};
use super::normalise::normalise;
use super::prices::Prices;
use super::resolution::{Entry, Lookup, Matches, Outcome, Resolution};
use super::text::{Origins, Row, find_line};
use super::user::UserCatalogue;
use crate::Tokens;

/// The embedded catalogue, as `cargo xtask catalogue` writes it: comment lines, then one line a model, sorted by key.
/// `key ⇥ context window ⇥ max input ⇥ max output ⇥ flags ⇥ prices`; a cell is `272000L`, a number and the letter of its
/// origin, or `272000L+400000M` where origins disagree, the number in force first; prices are
/// `3/0.3/3.75/15L`: dollars for a million tokens of input, cached, written to a cache, and of output.
const EMBEDDED: &str = include_str!("catalogue.tsv");

/// A catalogue text that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CatalogueError {
    /// The text does not begin as a catalogue of a known version does.
    #[error("not a catalogue: the first line is not `# plimsoll catalogue 1`")]
    NotACatalogue,
    /// A line cannot be read. Lines are counted from 1.
    #[error("catalogue line {line}: {reason}")]
    Line {
        /// Which line.
        line: usize,
        /// What is wrong with it.
        reason: &'static str,
    },
}

/// The published limits of known models, under the user's own.
///
/// Making one parses nothing; a look-up is a binary search over the text.
#[derive(Debug, Clone)]
pub struct Catalogue {
    text: Cow<'static, str>,
    user: UserCatalogue,
    default_limit: Tokens,
}

impl Catalogue {
    /// The catalogue that is part of the library.
    ///
    /// ```
    /// use plimsoll::model::{Catalogue, Lookup};
    /// let catalogue = Catalogue::embedded();
    /// assert!(matches!(catalogue.lookup("anthropic/claude-sonnet-4.5"), Lookup::Known(_)));
    /// assert_eq!(catalogue.lookup("no-such-model"), Lookup::Unknown);
    /// ```
    pub const fn embedded() -> Self {
        Self { text: Cow::Borrowed(EMBEDDED), user: UserCatalogue::new(), default_limit: DEFAULT_LIMIT }
    }

    /// A catalogue from text of the embedded one's form, read and checked as a whole.
    ///
    /// # Errors
    /// [`CatalogueError`] names the first line that is malformed or out of order.
    pub fn from_text(text: impl Into<Cow<'static, str>>) -> Result<Self, CatalogueError> {
        let text = text.into();
        if !text.starts_with("# plimsoll catalogue 1\n") {
            return Err(CatalogueError::NotACatalogue);
        }
        let origins = Origins::of(&text);
        let mut last = "";
        for (index, line) in text.lines().enumerate() {
            if line.starts_with('#') {
                continue;
            }
            let wrong = |reason| CatalogueError::Line { line: index.saturating_add(1), reason };
            let row = Row::parse(line, &origins)
                .ok_or_else(|| wrong("not `key ⇥ window ⇥ input ⇥ output ⇥ flags ⇥ prices`"))?;
            if row.key <= last {
                return Err(wrong("keys are not in order"));
            }
            last = row.key;
        }
        Ok(Self { text, user: UserCatalogue::new(), default_limit: DEFAULT_LIMIT })
    }

    /// Its text, for whoever keeps or refreshes it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The day of a collection that it was made from, as `YYYY-MM-DD`: of days written so, the later is the greater.
    ///
    /// ```
    /// use plimsoll::model::Catalogue;
    /// assert!(Catalogue::embedded().date_of("models.dev") > Some("2026-01-01"));
    /// assert_eq!(Catalogue::embedded().date_of("nobody's"), None);
    /// ```
    pub fn date_of(&self, collection: &str) -> Option<&str> {
        let origins = self.text.lines().take_while(|line| line.starts_with('#'));
        let of = origins.filter_map(|line| line.strip_prefix("# origin ")?.split_at_checked(2));
        of.filter(|(_, rest)| rest.starts_with(collection))
            .filter_map(|(_, rest)| Some(rest.rsplit_once(", ")?.1))
            .max()
    }

    /// Puts the user's own catalogue over this one; each limit that it states wins.
    #[must_use]
    pub fn with_user(mut self, user: UserCatalogue) -> Self {
        self.user = user;
        self
    }

    /// Sets the number that [`limit_or_default`](Self::limit_or_default) gives for unknown models (128,000 tokens).
    #[must_use]
    pub const fn with_default_limit(mut self, tokens: Tokens) -> Self {
        self.default_limit = tokens;
        self
    }

    /// Looks a model up by any of its names.
    #[doc(alias = "LookupModelLimit")]
    pub fn lookup(&self, name: &str) -> Lookup {
        match self.resolve(name).outcome {
            Outcome::Found(entry) => Lookup::Known(entry.limits),
            Outcome::Ambiguous { .. } | Outcome::Unknown => Lookup::Unknown,
        }
    }

    /// Gives a usable number for any model: its context window, or its input limit where only that is known, or the
    /// fallback. The answer tells which, so that a fallback never caps what a user sets.
    ///
    /// ```
    /// use plimsoll::{Tokens, model::Catalogue};
    /// let catalogue = Catalogue::embedded();
    /// let known = catalogue.limit_or_default("gpt-4o");
    /// assert_eq!((known.tokens, known.is_known()), (Tokens(128_000), true));
    /// let unknown = catalogue.limit_or_default("no-such-model");
    /// assert_eq!((unknown.tokens, unknown.is_known()), (Tokens(128_000), false));
    /// ```
    #[doc(alias = "GetModelLimit")]
    pub fn limit_or_default(&self, name: &str) -> ModelLimit {
        let limits = match self.lookup(name) {
            Lookup::Known(limits) => limits,
            Lookup::Unknown => Limits::default(),
        };
        ModelLimit::of(&limits, self.default_limit)
    }

    /// What a model's tokens cost, or `None` where that is not known. A host's own prices are told from the maker's
    /// only where its limits differ too.
    ///
    /// ```
    /// use plimsoll::model::Catalogue;
    /// let prices = Catalogue::embedded().prices("openai/gpt-5").expect("known");
    /// assert_eq!((prices.input, prices.output), (1_250_000, 10_000_000));
    /// ```
    pub fn prices(&self, name: &str) -> Option<Prices> {
        match self.resolve(name).outcome {
            Outcome::Found(entry) => entry.prices.map(|priced| priced.prices),
            Outcome::Ambiguous { .. } | Outcome::Unknown => None,
        }
    }

    /// Resolves a name and shows how: as written, then normalised, the provider's own limits before the model's, the
    /// snapshot before the model (rule: specification of limits, *Names*).
    ///
    /// ```
    /// use plimsoll::model::{Catalogue, Outcome};
    /// let resolution = Catalogue::embedded().resolve("vertex_ai/claude-sonnet-4-5@20250929");
    /// let Outcome::Found(entry) = &resolution.outcome else { panic!("known") };
    /// assert_eq!(entry.name, "claude-sonnet-4-5");
    /// let steps: Vec<String> = resolution.steps.iter().map(|step| step.rule.to_string()).collect();
    /// assert_eq!(steps, ["without provider prefix", "Vertex version", "without date or snapshot", "model"]);
    /// ```
    pub fn resolve(&self, query: &str) -> Resolution {
        let origins = Origins::of(&self.text);
        let name = normalise(query);
        let mut steps = Vec::new();
        let mut outcome = Outcome::Unknown;
        let exact = query.trim();
        if let Some(row) = self.row(exact, &origins) {
            steps.push(Step { rule: Rule::Exact, name: exact.to_owned() });
            outcome = row.outcome();
        } else {
            steps.extend(name.steps.iter().cloned());
            for (rule, key) in candidates(&name) {
                if let Some(row) = self.row(&key, &origins) {
                    steps.push(Step { rule, name: key });
                    outcome = row.outcome();
                    break;
                }
            }
        }
        if let Outcome::Found(entry) = &mut outcome {
            apply_context_suffix(entry, name.context);
        }
        if let Some(own) = self.user.find(exact, &name) {
            steps.push(Step { rule: Rule::UserFile, name: own.name.clone() });
            let below = match outcome {
                Outcome::Found(entry) => entry,
                Outcome::Ambiguous { .. } | Outcome::Unknown => {
                    Entry { name: own.name.clone(), limits: Limits::default(), prices: None, others: Vec::new() }
                }
            };
            let limits = own.limits.clone().over(&below.limits);
            outcome = Outcome::Found(Entry { limits, prices: own.prices.clone().or(below.prices.clone()), ..below });
        }
        Resolution { query: query.to_owned(), outcome, steps }
    }

    /// Finds the models of whose names the query is a part, in order of their keys. Case and version separators do not
    /// matter. Rows of single hosts are found only by a query with a `/`.
    pub fn search(&self, query: &str) -> Vec<Entry> {
        let sought = sought(query);
        if sought.is_empty() {
            return Vec::new();
        }
        let origins = Origins::of(&self.text);
        let hosts_too = sought.contains('/');
        let own = self.user.entries().filter(|entry| self::sought(&entry.name).contains(&sought));
        // Under the user's own name, with what else is known of it.
        let own = own.filter_map(|entry| match self.resolve(&entry.name).outcome {
            Outcome::Found(known) => Some(Entry { name: entry.name.clone(), ..known }),
            Outcome::Ambiguous { .. } | Outcome::Unknown => None,
        });
        let known = self
            .text
            .lines()
            .filter(|line| !line.starts_with('#'))
            .filter(|line| line.split('\t').next().is_some_and(|key| key.contains(&sought)))
            .filter_map(|line| Row::parse(line, &origins))
            .filter(|row| !row.ambiguous && (hosts_too || !row.key.contains('/')))
            .filter(|row| !self.user.names(row.key))
            .map(|row| row.entry());
        let mut found: Vec<Entry> = own.chain(known).collect();
        found.sort_by(|a, b| a.name.cmp(&b.name));
        found
    }

    /// Answers `models QUERY`: one model where the query resolves to one, else those of whose names it is a part.
    pub fn matches(&self, query: &str) -> Matches {
        let resolution = self.resolve(query);
        if matches!(resolution.outcome, Outcome::Found(_)) {
            return Matches::One(resolution);
        }
        let mut several = self.search(query);
        if several.len() == 1
            && let Some(entry) = several.pop()
        {
            let mut resolution = resolution;
            resolution.steps.push(Step { rule: Rule::OnlyMatch, name: entry.name.clone() });
            return Matches::One(Resolution { outcome: Outcome::Found(entry), ..resolution });
        }
        if several.is_empty() { Matches::None(resolution) } else { Matches::Several(several) }
    }

    /// All models, hosts' own rows left out, in order of their keys.
    pub fn models(&self) -> impl Iterator<Item = Entry> {
        let origins = Origins::of(&self.text);
        self.text
            .lines()
            .filter(|line| !line.starts_with('#'))
            .filter_map(move |line| Row::parse(line, &origins).map(|row| (row.ambiguous, row.entry())))
            .filter(|(ambiguous, entry)| !ambiguous && !entry.name.contains('/'))
            .map(|(_, entry)| entry)
    }

    fn row(&self, key: &str, origins: &Origins<'_>) -> Option<Row<'_>> {
        find_line(self.text.as_bytes(), key.as_bytes()).and_then(|line| Row::parse(line, origins))
    }
}

impl Default for Catalogue {
    fn default() -> Self {
        Self::embedded()
    }
}

/// The keys under which a name may be known, the most specific first.
fn candidates(name: &Name) -> Vec<(Rule, String)> {
    let model = if name.snapshot.is_some() { Rule::SnapshotRow } else { Rule::ModelRow };
    let mut candidates = Vec::with_capacity(4);
    if let Some(provider) = &name.provider {
        candidates.push((Rule::ProviderRow, format!("{provider}/{}", name.key())));
    }
    candidates.push((model, name.key()));
    if name.snapshot.is_some() {
        if let Some(provider) = &name.provider {
            candidates.push((Rule::ProviderRow, format!("{provider}/{}", name.base)));
        }
        candidates.push((Rule::ModelRow, name.base.clone()));
    }
    candidates
}

/// A suffix such as `[1m]` sets the window; an input limit that belongs to a smaller window no longer holds.
fn apply_context_suffix(entry: &mut Entry, context: Option<Tokens>) {
    let Some(tokens) = context else { return };
    let asked = Limits { context_window: Some(Limit::new(tokens, Source::Name)), max_input: None, max_output: None };
    entry.limits = asked.over(&entry.limits);
}

fn sought(query: &str) -> String {
    let mut sought = query.trim().to_ascii_lowercase().replace('_', "-");
    // As the keys are written; a dot elsewhere would match nothing anyway.
    if sought.len() > 1 {
        sought = sought.replace('.', "-");
    }
    sought
}

#[cfg(test)]
#[path = "catalogue/tests.rs"]
mod tests;
