//! `OwnModel`: the conversation's own model as its summariser, asked as the conversation's client asks it.

use std::fmt;
use std::sync::Arc;

use plimsoll::Tokens;
use plimsoll::wire::Format;

use super::{Summariser, SummariserError};

/// Makes the summariser that is a conversation's own model: at the place where the conversation is carried on, and with
/// what its client shows there.
///
/// It comes with a [request](crate::session::Request), is asked only if a summary is made because of that request, and is
/// dropped with what it made when the summary is there. Nothing of it is stored.
pub trait OwnModel: fmt::Debug + Send + Sync {
    /// Makes the summariser.
    ///
    /// # Errors
    /// [`SummariserError`] if the model cannot be asked; an extract takes the summary's place.
    fn summariser(&self, of: &OwnConversation<'_>) -> Result<Arc<dyn Summariser>, SummariserError>;
}

/// What is known of the conversation whose own model is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct OwnConversation<'c> {
    /// Its format.
    pub format: Format,
    /// The model that it names.
    pub model: &'c str,
    /// The model's window, as the conversation is judged by it.
    pub window: Tokens,
    /// The most that the model writes, if it is known.
    pub max_output: Option<Tokens>,
}
