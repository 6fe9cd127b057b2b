//! How far a compaction that an agent was asked for got.

use serde::{Deserialize, Serialize};

use crate::Tokens;

/// A step of an agent's own compaction.
///
/// A refusal ("there is too little to compact") is an answer: a run that completed, carrying `Finished` with `ok`
/// false, and not an error.
///
/// ```
/// use plimsoll::command::Compaction;
/// let refused: Compaction = serde_json::from_str(r#"{"finished":{"ok":false,"error":"Not enough messages."}}"#)?;
/// assert_eq!(refused, Compaction::refused("Not enough messages."));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[doc(alias = "Compaction::Started")]
#[doc(alias = "Compaction::Finished")]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Compaction {
    /// The agent began to summarise.
    Started,
    /// The agent is done with it, one way or the other.
    Finished {
        /// Whether the conversation is compacted now.
        ok: bool,
        /// Why it is not, in the agent's words.
        #[serde(default)]
        error: Option<String>,
        /// The context before, in tokens, if the agent said.
        #[serde(default)]
        before: Option<Tokens>,
        /// The context after, in tokens, if the agent said.
        #[serde(default)]
        after: Option<Tokens>,
    },
}

impl Compaction {
    /// Makes the end of a compaction that was done.
    ///
    /// ```
    /// use plimsoll::{Tokens, command::Compaction};
    /// let done = Compaction::done(Some(Tokens(19_834)), Some(Tokens(575)));
    /// assert!(matches!(done, Compaction::Finished { ok: true, error: None, .. }));
    /// ```
    pub fn done(before: Option<Tokens>, after: Option<Tokens>) -> Self {
        Self::Finished { ok: true, error: None, before, after }
    }

    /// Makes the end of a compaction that the agent declined or failed at, with its reason.
    ///
    /// ```
    /// use plimsoll::command::Compaction;
    /// assert!(matches!(Compaction::refused("too short"), Compaction::Finished { ok: false, .. }));
    /// ```
    pub fn refused(reason: impl Into<String>) -> Self {
        Self::Finished { ok: false, error: Some(reason.into()), before: None, after: None }
    }
}
