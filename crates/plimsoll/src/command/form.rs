//! The JSON that commands and catalogues are read from: it says more than they do, and only valid ones come of it.

use serde::Deserialize;

use super::{Command, CommandError, CommandName, Commands, Instructions};

/// A command as it may be written. Empty instructions are none, and a known name is the command of that name.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum CommandForm {
    Compact {
        #[serde(default)]
        instructions: Option<String>,
    },
    Clear,
    Context,
    Other(CommandName),
}

impl TryFrom<CommandForm> for Command {
    type Error = CommandError;

    fn try_from(form: CommandForm) -> Result<Self, CommandError> {
        match form {
            CommandForm::Compact { instructions } => {
                Ok(Self::Compact { instructions: instructions.as_deref().and_then(Instructions::new) })
            }
            CommandForm::Clear => Ok(Self::Clear),
            CommandForm::Context => Ok(Self::Context),
            CommandForm::Other(name) => Self::try_from(name),
        }
    }
}

/// A catalogue as an agent may have written it: with slashes, unsorted, skills not among the commands.
#[derive(Deserialize)]
pub(super) struct CommandsForm {
    #[serde(default)]
    all: Vec<String>,
    #[serde(default)]
    skills: Vec<String>,
}

impl From<CommandsForm> for Commands {
    fn from(form: CommandsForm) -> Self {
        Self::new(form.all, form.skills)
    }
}
