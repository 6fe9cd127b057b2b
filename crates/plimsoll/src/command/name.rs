//! The checked parts of a command: its name with arguments, and instructions.

use serde::{Deserialize, Serialize};

/// The longest name or arguments that a message shows, in characters.
const SHOWN: usize = 60;

/// What a compaction's summary should pay attention to: one line, not empty, no white space around it.
///
/// Line breaks and control characters become spaces when it is made or read back, and it is never cut.
///
/// ```
/// use plimsoll::command::Instructions;
/// assert_eq!(Instructions::new("keep\r\nthe API ").map(|i| i.to_string()), Some("keep the API".to_owned()));
/// assert_eq!(Instructions::new(" \n\t "), None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Instructions(String);

impl Instructions {
    /// Folds a text to one line; `None` if nothing is left of it.
    ///
    /// ```
    /// use plimsoll::command::Instructions;
    /// assert!(Instructions::new("keep the API").is_some());
    /// ```
    pub fn new(text: &str) -> Option<Self> {
        Some(Self(fold(text))).filter(|folded| !folded.0.is_empty())
    }

    /// Gives the line.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for Instructions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&self.0)
    }
}

impl TryFrom<String> for Instructions {
    type Error = CommandError;

    fn try_from(text: String) -> Result<Self, CommandError> {
        Self::new(&text).ok_or(CommandError::NoInstructions)
    }
}

impl From<Instructions> for String {
    fn from(instructions: Instructions) -> Self {
        instructions.0
    }
}

/// The name of a command with its arguments, as one line without a slash before it: `review src/lib.rs`.
///
/// The name is not empty and has no white space, no control character and no slash; the arguments are one line.
///
/// ```
/// use plimsoll::command::CommandName;
/// let name = CommandName::new("/review", "src/lib.rs\n")?;
/// assert_eq!((name.name(), name.arguments()), ("review", Some("src/lib.rs")));
/// assert!(CommandName::new("//", "").is_err());
/// assert!(CommandName::new("re\nview", "").is_err());
/// # Ok::<(), plimsoll::command::CommandError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CommandName {
    name: String,
    arguments: Option<String>,
}

impl CommandName {
    /// Checks a name, without its leading slashes, and folds its arguments to one line.
    ///
    /// ```
    /// use plimsoll::command::CommandName;
    /// assert_eq!(CommandName::new("usage", "")?.name(), "usage");
    /// # Ok::<(), plimsoll::command::CommandError>(())
    /// ```
    ///
    /// # Errors
    /// If the name is empty, or has white space, a control character or a slash in it.
    pub fn new(name: &str, arguments: &str) -> Result<Self, CommandError> {
        let bare = name.trim_start_matches('/');
        if bare.is_empty() {
            return Err(CommandError::NoName);
        }
        if let Some(character) = bare.chars().find(|c| c.is_whitespace() || c.is_control() || *c == '/') {
            return Err(CommandError::Name { name: shown(name), character });
        }
        let arguments = Some(fold(arguments)).filter(|arguments| !arguments.is_empty());
        Ok(Self { name: bare.to_owned(), arguments })
    }

    /// Gives the name alone.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Gives the arguments, if there are any.
    pub fn arguments(&self) -> Option<&str> {
        self.arguments.as_deref()
    }
}

impl TryFrom<String> for CommandName {
    type Error = CommandError;

    /// Splits at the first space. Unlike [`CommandName::new`], which is given arguments apart, it takes no line break.
    fn try_from(text: String) -> Result<Self, CommandError> {
        let text = text.trim_end_matches(' ');
        let (name, arguments) = text.split_once(' ').unwrap_or((text, ""));
        if let Some(character) = arguments.chars().find(|c| breaks(*c)) {
            return Err(CommandError::Arguments { arguments: shown(arguments), character });
        }
        Self::new(name, arguments)
    }
}

impl From<CommandName> for String {
    fn from(name: CommandName) -> Self {
        match name.arguments {
            Some(arguments) => format!("{} {arguments}", name.name),
            None => name.name,
        }
    }
}

/// Why something is no command.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CommandError {
    /// There is no name, or nothing but slashes.
    #[error("a command needs a name, as in `/compact`")]
    NoName,
    /// The name has a character that no name has.
    #[error("`{name}` is not the name of a command: it has {character:?} in it; give arguments apart from the name")]
    Name {
        /// The name, shortened to be shown.
        name: String,
        /// The first character that does not belong.
        character: char,
    },
    /// Arguments that were to be taken as they stand have a line break or another control character.
    #[error("`{arguments}` cannot be the arguments of a command: {character:?} in it would end the line")]
    Arguments {
        /// The arguments, shortened to be shown.
        arguments: String,
        /// The first character that does not belong.
        character: char,
    },
    /// The command takes no arguments.
    #[error("`/{name}` takes no arguments; give it alone, or write words as a prompt")]
    TakesNothing {
        /// The command's name.
        name: String,
    },
    /// Instructions are given, but nothing stands in them.
    #[error("instructions are empty; leave them out instead")]
    NoInstructions,
}

/// Characters that end a line for somebody: controls, and the separators that Unicode has for lines and paragraphs.
fn breaks(character: char) -> bool {
    character.is_control() || matches!(character, '\u{2028}' | '\u{2029}')
}

/// Makes one line of a text: every run of line breaks and controls, with the white space around it, is one space.
fn fold(text: &str) -> String {
    let lines = text.split(breaks).map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join(" ")
}

fn shown(text: &str) -> String {
    let mut shown: String = text.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    shown
}
