//! What an agent program tells a hook: one JSON object on standard input, read where it stands.

use std::borrow::Cow;
use std::path::PathBuf;

use plimsoll::wire::{Tape, Value};

use super::HookFault;

/// The object that a hook is given.
#[derive(Debug, Clone, Copy)]
pub(super) struct HookInput<'t, 'a> {
    root: Value<'t, 'a>,
}

impl<'t, 'a> HookInput<'t, 'a> {
    /// Reads the object. `tape` is filled.
    pub(super) fn parse(tape: &'t mut Tape, bytes: &'a [u8]) -> Result<Self, HookFault> {
        tape.parse(bytes, 0)?;
        let root = tape.root(bytes).filter(|root| root.kind() == plimsoll::wire::Kind::Object);
        Ok(Self { root: root.ok_or(HookFault::NoObject)? })
    }

    pub(super) fn get(self, name: &str) -> Option<Value<'t, 'a>> {
        self.root.get(name)
    }

    /// A field that is a text, if it is not empty.
    pub(super) fn text(self, name: &str) -> Option<Cow<'a, str>> {
        let text = self.get(name)?.text()?;
        (!text.is_empty()).then(|| text.decode())
    }

    /// A text that must be there.
    pub(super) fn needed(self, name: &'static str) -> Result<Cow<'a, str>, HookFault> {
        self.text(name).ok_or(HookFault::Missing { field: name })
    }

    /// The session file that the program writes.
    pub(super) fn transcript(self) -> Option<PathBuf> {
        self.text("transcript_path").map(|path| PathBuf::from(path.into_owned()))
    }
}
