//! Slash commands as values: what may be sent to an agent program as a command, and what never can be.
//!
//! Agent programs answer a set of commands that are not prompts: `/compact` summarises the conversation and goes on,
//! `/clear` throws it away. They travel the same channel as prompts. A host that built them from strings would run words
//! that a user only wrote, and would send a mistyped command as a prompt, which a model then discusses. So a command is
//! a [`Command`]; what it looks like on that channel is [`Command::wire`]; and by the way its parts are checked there is
//! no value, made or read back, that puts a line break, an empty name or two leading slashes there.
//!
//! Which commands there are, only the running agent knows: [`Commands`] holds what it reported. How far a compaction got
//! is a [`Compaction`].
//!
//! # JSON
//!
//! | value | JSON |
//! |---|---|
//! | `Command::Compact { instructions: None }` | `{"compact":{"instructions":null}}` |
//! | `Command::Compact { instructions: Some(…) }` | `{"compact":{"instructions":"keep the API"}}` |
//! | `Command::Clear`, `Command::Context` | `"clear"`, `"context"` |
//! | `Command::Other(…)` | `{"other":"review src/lib.rs"}` |
//! | `Commands` | `{"all":["clear","compact"],"skills":[]}` |
//! | `Compaction::Started` | `"started"` |
//! | `Compaction::Finished { … }` | `{"finished":{"ok":true,"error":null,"before":19834,"after":575}}` |
//!
//! Reading takes more than is written: `{"compact":{}}` has no instructions, nor has one whose instructions are white
//! space; `{"other":"context"}` is `"context"`; what a `Finished` leaves out is unknown. What breaks a rule, such as
//! `{"other":"a\nb"}`, is an error.

mod catalogue;
mod compaction;
mod form;
mod name;

pub use catalogue::Commands;
pub use compaction::Compaction;
pub use name::{CommandError, CommandName, Instructions};

use std::fmt;

use serde::{Deserialize, Serialize};

use form::CommandForm;

/// A command to an agent program, as a value.
///
/// Two spellings of one command are one value: `/context` is [`Context`](Self::Context) however it was made, which is
/// why [`Other`](Self::Other) takes a [`CommandName`], and [`Command::new`] decides.
///
/// ```
/// use plimsoll::command::Command;
/// let command = Command::compact("keep the\nAPI");
/// assert_eq!(command.wire(), "/compact keep the API");
/// assert_eq!(Command::new("//review", "src/lib.rs")?.wire(), "/review src/lib.rs");
/// assert_eq!(Command::new("context", "")?, Command::Context);
/// assert!(Command::new("re view", "").is_err());
/// # Ok::<(), plimsoll::command::CommandError>(())
/// ```
#[doc(alias = "slash command")]
#[doc(alias = "Command::Compact")]
#[doc(alias = "Command::Clear")]
#[doc(alias = "Command::Other")]
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", try_from = "CommandForm")]
#[non_exhaustive]
pub enum Command {
    /// Replaces the older part of the conversation by a summary, and goes on.
    Compact {
        /// What the summary should pay attention to.
        instructions: Option<Instructions>,
    },
    /// Discards the conversation and keeps the session: what was said is gone from the context, the session can still be
    /// talked to. (An agent may give it a new id of its own.)
    Clear,
    /// Asks what fills the context.
    Context,
    /// Any other command, with its arguments. Make it with [`Command::new`], so that a known name gets its variant.
    Other(CommandName),
}

impl Command {
    /// Makes a command of its name and its arguments.
    ///
    /// Leading slashes of the name do not count, nor does white space around the arguments; line breaks in them become
    /// spaces. `compact`, `clear` and `context` become the variants of their names.
    ///
    /// ```
    /// use plimsoll::command::Command;
    /// assert_eq!(Command::new("/compact", " keep the API ")?, Command::compact("keep the API"));
    /// assert_eq!(Command::new("model", "opus")?.wire(), "/model opus");
    /// # Ok::<(), plimsoll::command::CommandError>(())
    /// ```
    ///
    /// # Errors
    /// If the name is empty, or has white space, a control character or a slash in it; and if `clear`, which discards
    /// a conversation, is given words that it does not take.
    pub fn new(name: &str, arguments: &str) -> Result<Self, CommandError> {
        Self::try_from(CommandName::new(name, arguments)?)
    }

    /// Makes a `/compact`. Instructions that are empty or white space are none.
    ///
    /// ```
    /// use plimsoll::command::Command;
    /// assert_eq!(Command::compact("keep the API").wire(), "/compact keep the API");
    /// assert_eq!(Command::compact(" \n ").wire(), "/compact");
    /// ```
    pub fn compact(instructions: &str) -> Self {
        Self::Compact { instructions: Instructions::new(instructions) }
    }

    /// Reads a whole message as a command; `None` if it is no command but words.
    ///
    /// Only a message that begins with the slash is one, so a `/compact` within prose, in a code block or in a tool's
    /// result is text. Neither is a path a command: a name has no second slash. `/clear` with words after it is not one
    /// either: somebody writes about it.
    ///
    /// ```
    /// use plimsoll::command::Command;
    /// assert_eq!(Command::parse("/compact keep the API"), Some(Command::compact("keep the API")));
    /// assert_eq!(Command::parse("  /clear\n"), Some(Command::Clear));
    /// assert_eq!(Command::parse("run /compact now"), None);
    /// assert_eq!(Command::parse("/clear is what I fear"), None);
    /// assert_eq!(Command::parse("/usr/bin is not in PATH"), None);
    /// ```
    pub fn parse(text: &str) -> Option<Self> {
        let name = reads_as_command(text)?;
        let arguments = text.trim().strip_prefix('/')?.strip_prefix(name)?;
        Self::new(name, arguments).ok()
    }

    /// Gives the command's name, without a slash.
    ///
    /// ```
    /// use plimsoll::command::Command;
    /// assert_eq!(Command::compact("keep the API").name(), "compact");
    /// ```
    pub fn name(&self) -> &str {
        match self {
            Self::Compact { .. } => "compact",
            Self::Clear => "clear",
            Self::Context => "context",
            Self::Other(name) => name.name(),
        }
    }

    /// Gives what follows the name, if anything does.
    ///
    /// ```
    /// use plimsoll::command::Command;
    /// assert_eq!(Command::compact("keep the API").arguments(), Some("keep the API"));
    /// assert_eq!(Command::Clear.arguments(), None);
    /// ```
    pub fn arguments(&self) -> Option<&str> {
        match self {
            Self::Compact { instructions } => instructions.as_ref().map(Instructions::as_str),
            Self::Other(name) => name.arguments(),
            Self::Clear | Self::Context => None,
        }
    }

    /// Writes the command as agent programs read it: one line, one leading slash.
    ///
    /// ```
    /// use plimsoll::command::Command;
    /// assert_eq!(Command::Context.wire(), "/context");
    /// ```
    pub fn wire(&self) -> String {
        match self.arguments() {
            Some(arguments) => format!("/{} {arguments}", self.name()),
            None => format!("/{}", self.name()),
        }
    }
}

/// Gives the name of the command that an agent program may take a message for, whatever was meant; `None` if none.
///
/// This errs on the side of commands where [`Command::parse`] errs on the side of words: a message that begins with
/// `/name` is not to be sent as a prompt, even if it is no command that could be made.
///
/// ```
/// use plimsoll::command::reads_as_command;
/// assert_eq!(reads_as_command("/clear is what I fear"), Some("clear"));
/// assert_eq!(reads_as_command(" /compact"), Some("compact"));
/// assert_eq!(reads_as_command("/usr/bin is not in PATH"), None);
/// assert_eq!(reads_as_command("5 / 3"), None);
/// ```
pub fn reads_as_command(text: &str) -> Option<&str> {
    let rest = text.trim().strip_prefix('/')?;
    let name = rest.split(char::is_whitespace).next().filter(|name| !name.starts_with('/'))?;
    CommandName::new(name, "").ok().map(|_| name)
}

/// Gives a command the variant of its name, so that two spellings are one value.
impl TryFrom<CommandName> for Command {
    type Error = CommandError;

    fn try_from(name: CommandName) -> Result<Self, CommandError> {
        match (name.name(), name.arguments()) {
            ("compact", arguments) => Ok(Self::compact(arguments.unwrap_or_default())),
            ("clear", None) => Ok(Self::Clear),
            ("clear", Some(_)) => Err(CommandError::TakesNothing { name: name.name().to_owned() }),
            ("context", None) => Ok(Self::Context),
            _ => Ok(Self::Other(name)),
        }
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.wire())
    }
}

#[cfg(test)]
mod tests;
