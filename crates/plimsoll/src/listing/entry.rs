//! What can be listed: an entry, where it comes from, and how much of it may be shown.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A skill or command that an agent may use.
///
/// Only the name is required; everything else defaults. Unknown fields are ignored and `null` counts as absent, so a
/// list written by another program can be read as it is.
///
/// ```
/// use plimsoll::listing::{Entry, Kind, Source};
/// let entries: Vec<Entry> = serde_json::from_str(
///     r#"[{"name": "deploy", "description": "Deploys the app.", "source": "bundled"}, {"name": "review"}]"#,
/// )?;
/// assert_eq!(entries[0].source, Source::Bundled);
/// assert_eq!(entries[1].kind, Kind::Prompt);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// What the entry is called by. Plugin entries are called `plugin:skill`.
    pub name: String,
    /// What it does. May be empty.
    #[serde(default, deserialize_with = "null_is_absent")]
    pub description: String,
    /// When an agent should reach for it.
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "when-to-use")]
    pub when_to_use: Option<String>,
    /// What sort of thing it is.
    #[serde(default, deserialize_with = "null_is_absent")]
    pub kind: Kind,
    /// Where it comes from.
    #[serde(default, deserialize_with = "null_is_absent")]
    pub source: Source,
    /// How often it was used. Grouped coarsely before it decides anything.
    #[serde(default, deserialize_with = "null_is_absent")]
    pub uses: u64,
    /// Whether its description is served before those of others.
    #[serde(default, deserialize_with = "null_is_absent")]
    pub pinned: bool,
    /// How much of it may be shown.
    #[serde(default, deserialize_with = "null_is_absent")]
    pub visibility: Visibility,
    /// The folder it was read from, by name alone: the agentskills rules want it to equal the entry's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
}

impl Entry {
    /// Makes an entry of a name and a description; the rest is default.
    ///
    /// ```
    /// use plimsoll::listing::Entry;
    /// assert_eq!(Entry::new("deploy", "Deploys the app.").uses, 0);
    /// ```
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self { name: name.into(), description: description.into(), ..Self::default() }
    }
}

fn null_is_absent<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(from: D) -> Result<T, D::Error> {
    Option::<T>::deserialize(from).map(Option::unwrap_or_default)
}

/// What sort of thing an entry is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// A prompt that is handed to the model.
    #[default]
    Prompt,
    /// A folder with a `SKILL.md`.
    Skill,
    /// A command file.
    Command,
    /// Any other kind, kept by the name it was given.
    Other(String),
}

impl Kind {
    fn word(&self) -> &str {
        match self {
            Self::Prompt => "prompt",
            Self::Skill => "skill",
            Self::Command => "command",
            Self::Other(word) => word,
        }
    }
}

impl Serialize for Kind {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.word())
    }
}

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let word = Cow::<'de, str>::deserialize(from)?;
        Ok(match word.as_ref() {
            "prompt" => Self::Prompt,
            "skill" => Self::Skill,
            "command" => Self::Command,
            _ => Self::Other(word.into_owned()),
        })
    }
}

/// Where an entry comes from. Ordered by precedence: of two entries with one name, the smaller source wins.
///
/// Managed comes before user and user before project, as in Claude Code; any of them replaces a bundled entry.
/// Plugin and MCP entries carry their origin in their names and so cannot collide with the others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Source {
    /// Set by an organisation for all its users.
    Managed,
    /// The user's own.
    #[default]
    User,
    /// The project's.
    Project,
    /// A plugin's.
    Plugin,
    /// A prompt of an MCP server.
    Mcp,
    /// Shipped with the agent program.
    Bundled,
}

impl Source {
    /// Names the source as JSON does.
    pub fn word(self) -> &'static str {
        match self {
            Self::Managed => "managed",
            Self::User => "user",
            Self::Project => "project",
            Self::Plugin => "plugin",
            Self::Mcp => "mcp",
            Self::Bundled => "bundled",
        }
    }
}

/// How much of an entry may be shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Visibility {
    /// Its name and, as room allows, its description.
    #[default]
    Full,
    /// Its name alone.
    #[serde(alias = "name-only")]
    NameOnly,
    /// Nothing: it stays callable and is not listed.
    Hidden,
}
