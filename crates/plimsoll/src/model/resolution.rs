//! The answers of the catalogue: entries, and how a name came to one.

use serde::Serialize;

use super::limits::{Limits, Source};
use super::name::Step;
use super::prices::Priced;
use crate::Tokens;

/// A number that some origin stated for a limit, in force or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Claim {
    /// Which limit: `context_window`, `max_input` or `max_output`.
    pub field: &'static str,
    /// The number.
    pub tokens: Tokens,
    /// Who states it.
    pub source: Source,
}

/// What the catalogue knows of one model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// The key, or the name in the user's file.
    pub name: String,
    /// The limits in force.
    pub limits: Limits,
    /// What its tokens cost, where that is known.
    pub prices: Option<Priced>,
    /// Numbers of other origins that disagree with those in force.
    pub others: Vec<Claim>,
}

/// The answer to a plain look-up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lookup {
    /// The model is known; some of its limits may still be unknown.
    Known(Limits),
    /// It is not known, or the name fits several models: no guess is made.
    Unknown,
}

/// How the resolution of a name ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "one at a time, and mostly the large one")]
pub enum Outcome {
    /// The name is one model.
    Found(Entry),
    /// The name fits models of different limits.
    Ambiguous {
        /// The numbers that its meanings have.
        claims: Vec<Claim>,
    },
    /// No model of this name is known.
    Unknown,
}

/// A resolved name, and how it came to that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Resolution {
    /// The name as it was asked.
    pub query: String,
    /// What it is.
    pub outcome: Outcome,
    /// What was done to the name, in order; the last step found the row.
    pub steps: Vec<Step>,
}

/// What a query for `models QUERY` matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Matches {
    /// It resolves to one model.
    One(Resolution),
    /// It resolves to none, but is a part of the names of several.
    Several(Vec<Entry>),
    /// It is nothing; the resolution tells what was tried.
    None(Resolution),
}
