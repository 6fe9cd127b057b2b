//! `Limits`: the three limits of a model, each with its source, and how sources are layered.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::Endpoint;
use crate::Tokens;

/// The context window assumed for a model of which nothing is known: 128,000 tokens.
pub const DEFAULT_LIMIT: Tokens = Tokens(128_000);

/// Where a limit comes from, the most trusted first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Source {
    /// The user's own setting, or the user's own catalogue file.
    User,
    /// A context suffix of the name itself, such as the `[1m]` of `claude-sonnet-4-5[1m]`.
    Name,
    /// What the server that serves the model says of it.
    Server,
    /// Usage that the provider reported: more than the window that was believed to be the model's.
    Usage,
    /// The catalogue: which collection of published numbers, and of what date (`YYYY-MM-DD`).
    Catalogue {
        /// The collection, for example `models.dev`.
        origin: Cow<'static, str>,
        /// The day that the collection was read or made, as `YYYY-MM-DD`.
        date: Cow<'static, str>,
    },
    /// Nothing is known: an assumption. Never an upper bound for anything that somebody knows.
    Fallback,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User => f.pad("user"),
            Self::Name => f.pad("name"),
            Self::Server => f.pad("server"),
            Self::Usage => f.pad("reported usage, which exceeds the window that is known"),
            Self::Catalogue { origin, date } => write!(f, "catalogue: {origin}, {date}"),
            Self::Fallback => f.pad("fallback"),
        }
    }
}

/// One limit in tokens, with its source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limit {
    /// The number.
    pub tokens: Tokens,
    /// Who says so.
    pub source: Source,
    /// Whether the number looks like another one copied into its place: an output limit that equals the window.
    #[serde(default)]
    pub suspect: bool,
}

impl Limit {
    /// A limit that is not suspect.
    pub fn new(tokens: Tokens, source: Source) -> Self {
        Self { tokens, source, suspect: false }
    }
}

/// The three limits of a model, in tokens. They are different things, and none is ever derived from another: a model
/// may have a window of 400,000 of which 272,000 may be input and 128,000 output.
///
/// ```
/// use plimsoll::{Tokens, model::{Catalogue, Lookup}};
/// let Lookup::Known(limits) = Catalogue::embedded().lookup("openai/gpt-5") else { panic!("known") };
/// assert_eq!(limits.context_window.map(|limit| limit.tokens), Some(Tokens(400_000)));
/// assert_eq!(limits.max_input.map(|limit| limit.tokens), Some(Tokens(272_000)));
/// assert_eq!(limits.max_output.map(|limit| limit.tokens), Some(Tokens(128_000)));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// How much input and output together may be.
    pub context_window: Option<Limit>,
    /// How much the input alone may be.
    pub max_input: Option<Limit>,
    /// How much the output alone may be.
    pub max_output: Option<Limit>,
}

impl Limits {
    /// Limits that all come from one source. A limit of zero is no limit that anything could work under: it is taken
    /// as not stated.
    pub fn stated(
        source: &Source,
        context_window: Option<u64>,
        max_input: Option<u64>,
        max_output: Option<u64>,
    ) -> Self {
        let limit = |tokens: Option<u64>| {
            tokens.filter(|tokens| *tokens > 0).map(|tokens| Limit::new(Tokens(tokens), source.clone()))
        };
        Self { context_window: limit(context_window), max_input: limit(max_input), max_output: limit(max_output) }
    }

    /// Whether none of the three is known.
    pub fn is_empty(&self) -> bool {
        self.context_window.is_none() && self.max_input.is_none() && self.max_output.is_none()
    }

    /// Fills what these limits leave open from a less trusted layer.
    ///
    /// A window stated here is not cut by an input limit of the lower layer that belongs to a smaller window: such an
    /// input limit describes another set-up (mechanism 37: the user's own correct setting was rejected).
    pub(super) fn over(mut self, lower: &Self) -> Self {
        let describes_this_window = match (&self.context_window, &lower.context_window) {
            (Some(here), Some(below)) => here.tokens <= below.tokens,
            (Some(_), None) => false,
            (None, _) => true,
        };
        if self.context_window.is_none() {
            // An input limit stated here may exceed a lower layer's window; then that window is not this set-up's.
            let input = self.max_input.as_ref().map_or(Tokens::ZERO, |limit| limit.tokens);
            self.context_window = lower.context_window.clone().filter(|window| input <= window.tokens);
        }
        if self.max_input.is_none() {
            self.max_input = lower.max_input.clone().filter(|input| {
                describes_this_window
                    || self.context_window.as_ref().is_some_and(|window| window.tokens <= input.tokens)
            });
        }
        if self.max_output.is_none() {
            self.max_output.clone_from(&lower.max_output);
        }
        self
    }

    /// Those of certain sources.
    fn of(&self, wanted: impl Fn(&Source) -> bool) -> Self {
        let of = |limit: &Option<Limit>| limit.clone().filter(|limit| wanted(&limit.source));
        Self {
            context_window: of(&self.context_window),
            max_input: of(&self.max_input),
            max_output: of(&self.max_output),
        }
    }
}

/// Which of the limits a number is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitKind {
    /// The context window.
    ContextWindow,
    /// The input limit: given where only that is known. The window is at least as large.
    MaxInput,
}

/// A usable number for any model, which tells knowledge from fallback.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ModelLimit {
    /// The number.
    pub tokens: Tokens,
    /// Which limit it is.
    pub kind: LimitKind,
    /// Who says so.
    pub source: Source,
}

impl ModelLimit {
    /// Whether somebody said so; `false` for a fallback, which must never cap what a user sets.
    pub fn is_known(&self) -> bool {
        self.source != Source::Fallback
    }

    pub(super) fn of(limits: &Limits, fallback: Tokens) -> Self {
        let known = |limit: &Option<Limit>, kind| {
            limit.as_ref().map(|limit| Self { tokens: limit.tokens, kind, source: limit.source.clone() })
        };
        known(&limits.context_window, LimitKind::ContextWindow)
            .or_else(|| known(&limits.max_input, LimitKind::MaxInput))
            .unwrap_or(Self { tokens: fallback, kind: LimitKind::ContextWindow, source: Source::Fallback })
    }
}

/// Layers what is known of a model: the user's setting over what the server says over the catalogue over `fallback`. What the
/// user's own file says was merged into the catalogue's entry; it counts as the user's setting, below `user`.
///
/// Each of the three limits is taken from the highest layer that states it, except that an input limit never comes
/// from a layer that describes a smaller window. The fallback fills the window only where neither a window nor an
/// input limit is known, so it bounds nobody's setting. On a local or private endpoint the catalogue says nothing: a
/// name alone does not tell what is served there (rule: specification of limits, *Limits*).
///
/// ```
/// use plimsoll::{Tokens, model::{Catalogue, DEFAULT_LIMIT, Endpoint, Limits, Lookup, Source, resolve_limits}};
/// let Lookup::Known(known) = Catalogue::embedded().lookup("gpt-5") else { panic!("known") };
/// let mine = Limits::stated(&Source::User, Some(1_000_000), None, None);
/// let limits = resolve_limits(Some(&mine), None, Some(&known), Endpoint::Public, DEFAULT_LIMIT);
/// assert_eq!(limits.context_window.map(|limit| limit.tokens), Some(Tokens(1_000_000)));
/// let limits = resolve_limits(None, None, Some(&known), Endpoint::LocalOrPrivate, DEFAULT_LIMIT);
/// assert_eq!(limits.context_window.map(|limit| limit.source), Some(Source::Fallback));
/// ```
pub fn resolve_limits(
    user: Option<&Limits>,
    server: Option<&Limits>,
    catalogue: Option<&Limits>,
    endpoint: Endpoint,
    fallback: Tokens,
) -> Limits {
    // What the user's own file says was merged into the entry; it is the user's word all the same.
    let file = catalogue.map(|limits| limits.of(|source| *source == Source::User));
    let published = catalogue.map(|limits| match endpoint {
        Endpoint::Public => limits.clone(),
        // What the name's suffix says stays.
        Endpoint::LocalOrPrivate => {
            limits.of(|source| !matches!(source, Source::Catalogue { .. } | Source::Fallback))
        }
    });
    let mut limits = user.cloned().unwrap_or_default();
    for lower in [file.as_ref(), server, published.as_ref()].into_iter().flatten() {
        limits = limits.over(lower);
    }
    if limits.context_window.is_none() && limits.max_input.is_none() {
        limits.context_window = Some(Limit::new(fallback, Source::Fallback));
    }
    limits
}

#[cfg(test)]
#[path = "limits/tests.rs"]
mod tests;
