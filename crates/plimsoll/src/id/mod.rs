//! Names of what is stored: sessions, tool calls, artifacts, epochs, and the one layout of keys under a store's root.
//!
//! Ids reach Plimsoll from models, providers and people, so none of them is ever joined into a path. A *raw* id is
//! mapped to a *name* ([`SessionId::new`], [`ToolCallId::new`]), and a name is safe as one component of a path on
//! every platform by the way it is made. An id that somebody hands in to have something recalled is *parsed*
//! ([`RecallId`]'s `FromStr`): it must already be a name, or it is refused with the reason.
//!
//! # Names
//!
//! | raw id | name |
//! |---|---|
//! | `[A-Za-z0-9_-]{1,128}` | as it is |
//! | anything else | its safe characters, at most 64 (`_` if there are none), then `~` and 12 hex digits of BLAKE3(raw id) |
//! | a call whose name is taken by another content or raw id | the name, then `~` and 12 hex digits ([`ArtifactId::variant`]) |
//! | an epoch | `~` and 12 hex digits of the chain hash ([`EpochId::new`]), and again `~` and 12 hex digits for a further body |
//!
//! `~` never occurs in an id that is kept as it is, so a mapped id cannot meet one; and only an epoch's name begins
//! with `~`, which is why a raw id without any safe character gets a `_`. Twelve digits do not exclude that two raw
//! ids meet, and file systems may not tell `A` from `a`: so the raw ids stand in the metadata and are compared when a
//! record is read.
//!
//! Names such as `CON` or `NUL`, which Windows reserves, stay as they are here: which names a file system cannot
//! hold is the affair of the backend that writes to it (it escapes them there), and the same id must mean the same
//! key on every machine that shares a store.
//!
//! # Layout
//!
//! Keys are relative to the store's root, use `/`, and are at most three components long.
//!
//! | key | holds | [`Record`] |
//! |---|---|---|
//! | `results/<session>/<call>.txt` | a tool result, whole, as it came | `Text` |
//! | `results/<session>/<call>.json` | its metadata: raw ids, tool, sizes, hash, the frozen capped text | `Meta` |
//! | `epochs/<session>/~<12 hex>.json` | an epoch record, as the core made it | `Epoch` |
//! | `epochs/<session>/~<12 hex>[~<12 hex>].body` | an archived document: manifest, and the chunks it does not borrow | `Body` |
//! | `epochs/<session>/~<12 hex>.<day>.replayed` | empty: the epoch was replayed on that day (days since 1970, UTC) | `Replayed` |
//! | `pruned/<session>.json` | tombstone of a pruned session | `Pruned` |
//!
//! Every record is created once and never changed. Names with a leading `.` are a backend's own (temporary files).

mod artifact;
mod key;
mod name;

pub use artifact::{ArtifactId, EpochId, RecallId, VariantId};
pub use key::{Folder, Key, Record};
pub use name::{IdError, IdFault, SessionId, ToolCallId};

#[cfg(test)]
mod tests;
