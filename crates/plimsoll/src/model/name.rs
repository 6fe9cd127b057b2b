//! `Name`: a model's name, taken apart, and the steps that took it apart.

use std::fmt;

use serde::Serialize;

use crate::Tokens;

/// What a step of normalisation did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Rule {
    /// The name as it was written is a key.
    Exact,
    /// White space around it, or upper case.
    Case,
    /// A context suffix such as `[1m]`, which changes the window.
    ContextSuffix,
    /// A fine-tune: `ft:gpt-4o:org::id` has the limits of its base.
    FineTune,
    /// A provider, host, publisher or region before the name, separated by `/`.
    ProviderPrefix,
    /// Bedrock's region and vendor before the name, separated by `.`.
    BedrockPrefix,
    /// Bedrock's revision after the name: `-v1:0`.
    BedrockRevision,
    /// A tag after a colon: `:free`.
    Tag,
    /// Vertex's version after `@`.
    VertexVersion,
    /// A version separator: `4.5` and `4-5` are one.
    Separator,
    /// A spelling of one family's name: `llama3`, `llama-v3`, `meta-llama-3`.
    Spelling,
    /// A date, a numbered snapshot or `-latest` was set aside; it is a version of the snapshot, not of the model.
    Snapshot,
    /// The user's own catalogue names it.
    UserFile,
    /// The catalogue knows this provider's own limits for it.
    ProviderRow,
    /// The catalogue knows the snapshot itself.
    SnapshotRow,
    /// The catalogue knows the model.
    ModelRow,
    /// No model is called so, and what was asked is a part of one name only.
    OnlyMatch,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Exact => "exact name",
            Self::Case => "lower case",
            Self::ContextSuffix => "context suffix",
            Self::FineTune => "base of the fine-tune",
            Self::ProviderPrefix => "without provider prefix",
            Self::BedrockPrefix => "without Bedrock prefix",
            Self::BedrockRevision => "without Bedrock revision",
            Self::Tag => "without tag",
            Self::VertexVersion => "Vertex version",
            Self::Separator => "version separator",
            Self::Spelling => "family spelling",
            Self::Snapshot => "without date or snapshot",
            Self::UserFile => "user's catalogue",
            Self::ProviderRow => "provider's own limits",
            Self::SnapshotRow => "snapshot",
            Self::ModelRow => "model",
            Self::OnlyMatch => "part of this name only",
        })
    }
}

/// One step of how a name was resolved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Step {
    /// What was done.
    pub rule: Rule,
    /// The name after it.
    pub name: String,
}

/// A model's name, taken apart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Name {
    /// The model, without provider, snapshot and suffixes: `claude-sonnet-4-5`.
    pub base: String,
    /// The snapshot: a date (`20250929`, `2512`, `0613`), a number (`002`) or `latest`.
    pub snapshot: Option<String>,
    /// The provider or host that the name states, lower case, with `-` for `_`.
    pub provider: Option<String>,
    /// The window that the name asks for by a suffix such as `[1m]`.
    pub context: Option<Tokens>,
    /// How the name came to this.
    pub steps: Vec<Step>,
}

impl Name {
    /// The canonical key: the base and, if there is one, the snapshot. Normalising it changes nothing.
    pub fn key(&self) -> String {
        match &self.snapshot {
            Some(snapshot) => format!("{}-{snapshot}", self.base),
            None => self.base.clone(),
        }
    }
}
