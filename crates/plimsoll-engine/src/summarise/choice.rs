//! `Choice`: which summariser a person or a configuration names.

use std::fmt;
use std::str::FromStr;

use plimsoll::compact::Api;
use plimsoll::wire::{Document, Format};

/// Who is to write the summary.
///
/// ```
/// use plimsoll::compact::Api;
/// use plimsoll_engine::summarise::Choice;
/// assert_eq!("extract".parse(), Ok(Choice::Extract));
/// let choice: Choice = "openai:gpt-5-mini".parse()?;
/// assert_eq!(choice, Choice::Model { api: Api::OpenaiChat, model: "gpt-5-mini".to_owned() });
/// assert_eq!(choice.to_string(), "openai:gpt-5-mini");
/// # Ok::<(), plimsoll_engine::summarise::UnknownSummariser>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Choice {
    /// The embedded one: no model, no key, no network.
    #[default]
    Extract,
    /// The conversation's own model, through the API of its own format.
    Same,
    /// A model.
    Model {
        /// The API that it is asked through.
        api: Api,
        /// Its name there.
        model: String,
    },
}

/// A name that means no summariser.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnknownSummariser {
    /// It is none of those that there are.
    #[error(
        "there is no summarizer `{0}`; give extract, same, anthropic:MODEL, openai:MODEL (Chat Completions) or \
         responses:MODEL"
    )]
    Name(String),
    /// A kind without a model.
    #[error("`{0}` names no model; give {0}MODEL")]
    NoModel(String),
    /// The conversation's own model is not named in it.
    #[error(
        "the transcript names no model, so `same` means none; name one, as anthropic:MODEL, openai:MODEL or responses:MODEL"
    )]
    NoOwnModel,
    /// The conversation's own format has no summariser.
    #[error(
        "there is no summarizer for the format {0}; name one, as anthropic:MODEL, openai:MODEL or responses:MODEL"
    )]
    Format(Format),
}

impl FromStr for Choice {
    type Err = UnknownSummariser;

    fn from_str(text: &str) -> Result<Self, UnknownSummariser> {
        let unknown = || UnknownSummariser::Name(text.chars().filter(|c| !c.is_control()).take(100).collect());
        let (kind, model) = match text.trim().split_once(':') {
            None if text.trim() == "extract" => return Ok(Self::Extract),
            None if text.trim() == "same" => return Ok(Self::Same),
            None => return Err(unknown()),
            Some(parts) => parts,
        };
        let api = match kind {
            "anthropic" => Api::Anthropic,
            "openai" => Api::OpenaiChat,
            "responses" => Api::OpenaiResponses,
            _ => return Err(unknown()),
        };
        let model = model.trim();
        if model.is_empty() {
            return Err(UnknownSummariser::NoModel(format!("{kind}:")));
        }
        Ok(Self::Model { api, model: model.to_owned() })
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Extract => f.write_str("extract"),
            Self::Same => f.write_str("same"),
            Self::Model { api, model } => {
                let kind = match api {
                    Api::Anthropic => "anthropic",
                    Api::OpenaiResponses => "responses",
                    _ => "openai",
                };
                write!(f, "{kind}:{model}")
            }
        }
    }
}

impl Choice {
    /// The API and the model that it means for a document; `None` if no model is asked. `named` is the document's model
    /// where the user knows it better.
    ///
    /// # Errors
    /// [`UnknownSummariser`] if the document's own model is meant, and it has none that can be asked.
    pub fn model(
        &self,
        document: &Document<'_>,
        named: Option<&str>,
    ) -> Result<Option<(Api, String)>, UnknownSummariser> {
        match self {
            Self::Extract => Ok(None),
            Self::Model { api, model } => Ok(Some((*api, model.clone()))),
            Self::Same => {
                let api = match document.format() {
                    Format::Anthropic | Format::ClaudeCode => Api::Anthropic,
                    Format::OpenaiChat => Api::OpenaiChat,
                    Format::OpenaiResponses | Format::Codex => Api::OpenaiResponses,
                    other => return Err(UnknownSummariser::Format(other)),
                };
                let own = || document.model().map(|model| model.decode().into_owned());
                let model = named.map(str::to_owned).or_else(own).filter(|model| !model.trim().is_empty());
                model.map(|model| Some((api, model))).ok_or(UnknownSummariser::NoOwnModel)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use plimsoll::wire::{ParseOptions, parse};

    use super::*;

    #[test]
    fn names_are_read_and_shown_again() {
        for name in ["extract", "same", "anthropic:claude-haiku-4-5", "openai:a/b:free", "responses:gpt-5"] {
            assert_eq!(name.parse::<Choice>().unwrap().to_string(), name);
        }
        for name in ["", "gpt-5", "gemini:pro", "openai:", "openai: ", "OPENAI:x"] {
            assert!(name.parse::<Choice>().is_err(), "{name}");
        }
        let error = "openai:".parse::<Choice>().unwrap_err();
        assert_eq!(error.to_string(), "`openai:` names no model; give openai:MODEL");
    }

    #[test]
    fn the_same_model_is_the_documents_own() {
        let model = |json: &str, named: Option<&str>| {
            let document = parse(json.as_bytes(), &ParseOptions::default()).unwrap();
            Choice::Same.model(&document, named)
        };
        let chat = r#"{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":"u"}]}"#;
        assert_eq!(model(chat, None), Ok(Some((Api::OpenaiChat, "m".to_owned()))));
        assert_eq!(model(chat, Some("n")), Ok(Some((Api::OpenaiChat, "n".to_owned()))));
        let nameless = r#"{"messages":[{"role":"system","content":"s"},{"role":"user","content":"u"}]}"#;
        assert_eq!(model(nameless, None), Err(UnknownSummariser::NoOwnModel));
        let gemini = r#"{"model":"g","contents":[{"role":"user","parts":[{"text":"u"}]}]}"#;
        assert_eq!(model(gemini, None), Err(UnknownSummariser::Format(Format::Gemini)));
    }
}
