//! What is known of a summariser, and what it says.

use std::time::Duration;

use plimsoll::Tokens;
use plimsoll::compact::{self, Api};
use plimsoll::transcript::Usage;
use plimsoll::wire::Stop;

/// Who answers, and what it can take.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Service {
    /// How it is called in reports: `extract`, `anthropic:claude-haiku-4-5`.
    pub name: String,
    /// The API through which a model is asked; `None` if none is asked.
    pub api: Option<Api>,
    /// The model's name there.
    pub model: Option<String>,
    /// The model's context window, if it is known.
    pub window: Option<Tokens>,
    /// The most that the model writes, if it is known.
    pub max_output: Option<Tokens>,
    /// Whether the conversation itself is carried on there, so that its prefix is cached: where it names this model, it is
    /// then sent as it is.
    pub continues: bool,
}

impl Service {
    /// Makes a service of this name, about which nothing else is known.
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), api: None, model: None, window: None, max_output: None, continues: false }
    }

    /// Makes the service of a model that is asked through an API.
    pub fn of_model(name: impl Into<String>, api: Api, model: impl Into<String>) -> Self {
        Self { api: Some(api), model: Some(model.into()), ..Self::named(name) }
    }
}

/// What a summariser answered: raw, as it was written, before anything is made of it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Answer {
    /// The text, reasoning left out.
    pub text: String,
    /// Why it stopped.
    pub stop: Stop,
    /// What the call used, if it was reported.
    pub usage: Option<Usage>,
    /// The model that answered, as the service names it.
    pub model: Option<String>,
    /// How many tools it called.
    pub tool_calls: usize,
}

impl Answer {
    /// Makes an answer that came to its end.
    pub fn ended(text: impl Into<String>) -> Self {
        Self { text: text.into(), stop: Stop::End, usage: None, model: None, tool_calls: 0 }
    }

    /// The answer as it is judged.
    pub(super) fn judged(&self) -> compact::Answer<'_> {
        compact::Answer { text: &self.text, stop: self.stop.clone(), tool_calls: self.tool_calls }
    }
}

/// How far a summary is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress {
    /// A model is asked.
    Asking {
        /// Who.
        service: String,
        /// What the request counts.
        input: Tokens,
    },
    /// It is asked again after a pause.
    Waiting {
        /// How long.
        pause: Duration,
        /// Why.
        reason: String,
    },
    /// It answers.
    Writing {
        /// What it has written so far, estimated.
        output: Tokens,
    },
    /// Its answer is no summary; it is asked once more.
    Rejected {
        /// Why.
        reason: String,
    },
    /// Another summariser takes its place.
    FallingBack {
        /// Why.
        reason: String,
    },
}
