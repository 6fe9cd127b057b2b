//! `Reason` and `Warning`: why a summary is not taken, and what is doubtful about one that is, in words for the report and
//! for the model that is asked again.

use std::fmt;

use serde::Serialize;

use crate::compact::prompt::Language;
use crate::units::Tokens;

/// Why an answer is not taken as a summary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(rename_all = "snake_case", tag = "reason")]
#[non_exhaustive]
pub enum Reason {
    /// Nothing is left of it.
    #[error("the answer is empty")]
    Empty,
    /// It ends inside its draft, or its reasoning.
    #[error("the answer ends inside its draft or its reasoning, before any summary")]
    DraftOnly,
    /// It was cut off at the output limit.
    #[error("the answer was cut off at its length limit")]
    Length,
    /// It calls a tool.
    #[error("the model called a tool instead of summarising")]
    ToolCall,
    /// It writes a call of a tool as text.
    #[error("the answer holds the markup of a tool call")]
    ToolMarkup,
    /// It goes on with the conversation.
    #[error("the model went on with the conversation instead of summarising it")]
    Continued,
    /// Headings are missing, or out of order.
    #[error("the summary has {found} of the nine headings in order")]
    Headings {
        /// How many there are in order.
        found: usize,
    },
    /// The headings stand in a code block, where they are none.
    #[error("the sections of the summary stand in a code block")]
    InCode,
    /// No section says anything.
    #[error("no section of the summary says anything")]
    Skeleton,
    /// It takes more than it may.
    #[error("the summary takes {} tokens, over its bound of {} tokens", tokens.0, bound.0)]
    TooLong {
        /// What it takes.
        tokens: Tokens,
        /// What it may take.
        bound: Tokens,
    },
    /// It has grown too much against the earlier summary that it merges.
    #[error("the summary grew from {} to {} tokens, over its bound of {} tokens", previous.0, tokens.0, bound.0)]
    Grown {
        /// What it takes.
        tokens: Tokens,
        /// What the earlier one took.
        previous: Tokens,
        /// What it may take.
        bound: Tokens,
    },
    /// It holds hardly anything of the values and names in what the earlier summary lays down.
    #[error("the summary holds {held} of the {of} values and names in what the earlier summary lays down")]
    Forgets {
        /// How many it holds.
        held: usize,
        /// How many there are.
        of: usize,
    },
    /// The model refused, or its provider withheld the answer.
    #[error("the model refused, or its provider withheld the answer")]
    Refused,
    /// It is the text of an error.
    #[error("the answer is an error of the provider: {error}")]
    ProviderError {
        /// How it begins.
        error: String,
    },
}

impl Reason {
    /// What a second attempt is told: whole sentences that follow "The first answer could not be used."
    ///
    /// ```
    /// use plimsoll::{Tokens, compact::Reason};
    /// let reason = Reason::TooLong { tokens: Tokens(9_100), bound: Tokens(6_000) };
    /// assert!(reason.correction().contains("9100 tokens"));
    /// ```
    pub fn correction(&self) -> String {
        match self {
            Self::Empty => "It held no summary. Write the nine sections between `<summary>` and `</summary>`.".to_owned(),
            Self::DraftOnly => {
                "It ended before the summary began. Keep reasoning and draft to a few notes, close it with `</analysis>`, and write the summary.".to_owned()
            }
            Self::Length => {
                "It was cut off because it was too long. Keep the draft to a few lines, and each section shorter.".to_owned()
            }
            Self::ToolCall => {
                "It called a tool. Nobody carries calls out now, whatever tools are offered: write text.".to_owned()
            }
            Self::ToolMarkup => {
                "It held the markup of a tool call. Write no such markup; where one has to be quoted, quote it in a code block.".to_owned()
            }
            Self::Continued => {
                "It went on with the conversation. You are not to do any more of the work and not to answer the user: write the summary of what is there.".to_owned()
            }
            Self::Headings { found } => format!(
                "It had {found} of the nine numbered headings in order. Write all nine, `## 1.` to `## 9.`, in order, even where a section has nothing to tell."
            ),
            Self::InCode => {
                "Its sections stood in a code block. Write them as plain text between `<summary>` and `</summary>`, with no code block around them.".to_owned()
            }
            Self::Skeleton => {
                "Its sections said nothing. The conversation is there to be read: fill the sections with what was asked, done and found in it.".to_owned()
            }
            Self::TooLong { tokens, bound } => format!(
                "The summary took {} tokens, and at most {} are possible. Leave out what nothing ahead depends on, and quote less code.",
                tokens.0, bound.0
            ),
            Self::Grown { tokens, previous, bound } => format!(
                "The summary grew from {} to {} tokens, and at most {} are possible. Merge the earlier summary fact by fact instead of putting the new one beside it.",
                previous.0, tokens.0, bound.0
            ),
            Self::Forgets { held, of } => format!(
                "It held {held} of the {of} values and names in what the earlier summary lays down. Carry over what still holds of it: rules, limits, names and numbers as they stand there."
            ),
            Self::Refused => {
                "It was withheld. A summary only records what was said and done; record it plainly, without repeating what may not be written.".to_owned()
            }
            Self::ProviderError { .. } => "It was an error message instead of a summary.".to_owned(),
        }
    }
}

/// What is doubtful about a summary that was taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "warning")]
#[non_exhaustive]
pub enum Warning {
    /// It is in another language than the user's.
    Language {
        /// The language asked for.
        asked: Language,
        /// The language it is in.
        found: Language,
    },
    /// It speaks of refusing.
    Refusal {
        /// The words.
        wording: String,
    },
    /// Identifiers of the ledger are absent. The ledger carries them all the same.
    Identifiers {
        /// The first of them.
        absent: Vec<String>,
        /// How many are absent.
        count: usize,
        /// How many there are.
        of: usize,
    },
    /// Sections say nothing, though the ledger knows of something that belongs there.
    Sections {
        /// Their numbers.
        numbers: Vec<u8>,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Language { asked, found } => {
                write!(f, "the summary is in {}, though the user writes {}", found.name(), asked.name())
            }
            Self::Refusal { wording } => write!(f, "the summary speaks of refusing: “{wording}”"),
            Self::Identifiers { absent, count, of } => {
                write!(
                    f,
                    "{count} of {of} names are not in the summary, but in the carried facts: {}",
                    absent.join(", ")
                )?;
                if *count > absent.len() { f.write_str(", …") } else { Ok(()) }
            }
            Self::Sections { numbers } => {
                let numbers: Vec<String> = numbers.iter().map(u8::to_string).collect();
                write!(
                    f,
                    "sections of the summary say nothing where there is something to say: {}",
                    numbers.join(", ")
                )
            }
        }
    }
}
