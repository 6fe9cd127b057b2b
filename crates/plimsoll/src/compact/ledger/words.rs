//! `Words`: what the user said, verbatim, whole or by passages.

use serde::{Deserialize, Serialize};

use super::paste;
use super::sentence::passages;
use super::standing::{self, Tier};
use super::value;

/// A user's message, or a passage of one, verbatim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Words {
    /// The number of the message among the user's messages, from 1, over the whole history.
    pub turn: u32,
    /// Whether this is a passage rather than the whole message.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub part: bool,
    /// The text.
    pub text: String,
    /// The later message that says explicitly that this has changed. Both are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_by: Option<u32>,
}

/// The values and names in the passages of a text that lay something down.
pub(crate) fn laid_down(text: &str) -> Vec<String> {
    let passages = passages(text);
    let standing =
        paste::said(text, &passages).into_iter().filter(|passage| standing::weigh(passage).0 <= Tier::Value);
    let mut named: Vec<String> =
        standing.flat_map(value::words).filter(|word| value::is_traceable(word)).map(str::to_owned).collect();
    named.sort_unstable();
    named.dedup();
    named
}

impl Words {
    /// Whether it says something that stands for the rest of the work: an obligation, a limit, a preference, a value.
    pub fn is_standing(&self) -> bool {
        passages(&self.text).iter().any(|passage| standing::weigh(passage).0 <= Tier::Value)
    }

    /// The weight of the weightiest passage that is not pasted.
    pub(super) fn weigh(&self) -> (Tier, u8) {
        let passages = passages(&self.text);
        let weights = paste::said(&self.text, &passages).into_iter().map(standing::weigh);
        weights.min_by_key(|(tier, score)| (*tier, std::cmp::Reverse(*score))).unwrap_or((Tier::Bulk, 0))
    }
}
