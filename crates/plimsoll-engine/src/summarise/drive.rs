//! What a summary is made of, and what is told of it once it is made.

use std::fmt;

use plimsoll::Tokens;
use plimsoll::compact::{Carried, Ledger, Profile, Summarise};
use plimsoll::transcript::Usage;
use plimsoll::wire::Document;
use serde::Serialize;

/// What a summary is to be of: the part of a document that a plan removes.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    /// The document.
    pub document: &'a Document<'a>,
    /// What leaves it, and the bounds of what takes its place.
    pub plan: &'a Summarise,
    /// What kind of work it is.
    pub profile: &'a Profile,
    /// What the user asked this summary to pay attention to. It steers, it selects nothing away.
    pub instructions: Option<&'a str>,
    /// The id under which what is removed will be recalled; empty if it is not stored.
    pub recall: &'a str,
    /// Counts tokens, as the conversation's model does.
    pub count: &'a (dyn Fn(&str) -> Tokens + Send + Sync),
}

impl fmt::Debug for Job<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The document is not for logs.
        f.debug_struct("Job")
            .field("removed", &self.plan.removed)
            .field("profile", &self.profile.name)
            .field("recall", &self.recall)
            .finish_non_exhaustive()
    }
}

/// A summary that can take the place of what it is of.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Summary {
    /// The nine sections.
    pub text: String,
    /// What is carried beside them: for [`ContinuationParts::ledger`](plimsoll::compact::ContinuationParts). `None` where
    /// the sections hold the facts themselves, as an extract's do.
    pub facts: Option<String>,
    /// The facts that are carried, wherever they stand.
    pub ledger: Ledger,
    /// How many of each kind.
    pub carried: Carried,
    /// Who wrote it.
    pub by: String,
    /// The model that wrote it, as its service names it.
    pub model: Option<String>,
    /// How often a model was asked, the service's own retries not counted.
    pub calls: u32,
    /// What all of these calls used together, as far as it was reported.
    pub usage: Usage,
    /// What the reader of the report is to know of the summary.
    pub warnings: Vec<String>,
    /// Why it is not written by whom it was asked of.
    pub fallback: Option<Fallback>,
}

/// Why another summariser wrote the summary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fallback {
    /// Who was to write it.
    pub from: String,
    /// Why they did not.
    pub reason: String,
}

/// A compaction was cancelled: everything is as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the compaction was cancelled; nothing was changed")]
pub struct Aborted;
