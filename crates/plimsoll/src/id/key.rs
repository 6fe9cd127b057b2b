//! The layout of keys under a store's root, in one place: a [`Record`] gives its [`Key`], and a key found in a listing
//! gives its record back.

use std::fmt;

use super::artifact::{ArtifactId, EpochId};
use super::name::SessionId;

const RESULTS: &str = "results";
const EPOCHS: &str = "epochs";
const PRUNED: &str = "pruned";

/// A kind of stored record and what it belongs to. The table of the [module](crate::id) shows the keys.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Record {
    /// A tool result, whole.
    Text(ArtifactId),
    /// The metadata of a tool result.
    Meta(ArtifactId),
    /// An epoch record; it stands under the plain id, whichever body the id names.
    Epoch(EpochId),
    /// An archived document.
    Body(EpochId),
    /// A note that an epoch was replayed on a day; it stands under the plain id.
    Replayed {
        /// The epoch.
        epoch: EpochId,
        /// Days since 1970-01-01, UTC.
        day: u32,
    },
    /// The tombstone of a pruned session.
    Pruned(SessionId),
}

/// The key of a record: a relative path with `/`, whose components are safe on every platform.
///
/// It can only be made from a [`Record`], so a backend may join it to its root.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    folder: Folder,
    file: String,
}

/// A place that keys stand in, to be listed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Folder {
    /// `results`: one folder a session.
    Results,
    /// `results/<session>`: tool results and their metadata.
    ResultsOf(SessionId),
    /// `epochs`: one folder a session.
    Epochs,
    /// `epochs/<session>`: epoch records and archived bodies.
    EpochsOf(SessionId),
    /// `pruned`: tombstones.
    Pruned,
}

impl Record {
    /// Gives the key that this record stands under.
    ///
    /// ```
    /// use plimsoll::id::{ArtifactId, Record};
    /// let id: ArtifactId = "s1/toolu_01".parse()?;
    /// assert_eq!(Record::Text(id).key().to_string(), "results/s1/toolu_01.txt");
    /// # Ok::<(), plimsoll::id::IdError>(())
    /// ```
    pub fn key(&self) -> Key {
        let (folder, file) = match self {
            Self::Text(id) => (Folder::ResultsOf(id.session().clone()), format!("{}.txt", id.name())),
            Self::Meta(id) => (Folder::ResultsOf(id.session().clone()), format!("{}.json", id.name())),
            Self::Epoch(id) => (Folder::EpochsOf(id.session().clone()), format!("{}.json", id.plain().name())),
            Self::Body(id) => (Folder::EpochsOf(id.session().clone()), format!("{}.body", id.name())),
            Self::Replayed { epoch, day } => {
                (Folder::EpochsOf(epoch.session().clone()), format!("{}.{day}.replayed", epoch.plain().name()))
            }
            Self::Pruned(session) => (Folder::Pruned, format!("{session}.json")),
        };
        Key { folder, file }
    }

    /// Reads a file name found in a folder; `None` for a foreign one.
    pub fn from_file_name(folder: &Folder, file: &str) -> Option<Self> {
        let (stem, extension) = file.rsplit_once('.')?;
        match folder {
            Folder::ResultsOf(session) => {
                let id = ArtifactId::from_name(session.clone(), stem).ok()?;
                match extension {
                    "txt" => Some(Self::Text(id)),
                    "json" => Some(Self::Meta(id)),
                    _ => None,
                }
            }
            Folder::EpochsOf(session) => {
                let epoch = |stem: &str| EpochId::from_name(session.clone(), stem).ok();
                match extension {
                    "json" => epoch(stem).filter(|id| *id == id.plain()).map(Self::Epoch),
                    "body" => epoch(stem).map(Self::Body),
                    "replayed" => {
                        let (stem, text) = stem.split_once('.')?;
                        let day: u32 = text.parse().ok()?;
                        let epoch = epoch(stem).filter(|id| *id == id.plain())?;
                        // `+1` and `01` are numbers too, but not names of ours.
                        (day.to_string() == text).then_some(Self::Replayed { epoch, day })
                    }
                    _ => None,
                }
            }
            Folder::Pruned if extension == "json" => stem.parse().ok().map(Self::Pruned),
            Folder::Results | Folder::Epochs | Folder::Pruned => None,
        }
    }
}

impl Key {
    /// Gives the folder that the key stands in.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Gives the last component.
    pub fn file_name(&self) -> &str {
        &self.file
    }

    /// Gives the record back that this key is of.
    pub fn record(&self) -> Option<Record> {
        Record::from_file_name(&self.folder, &self.file)
    }
}

impl Folder {
    /// Every folder at the top of a store.
    pub const TOP: [Self; 3] = [Self::Results, Self::Epochs, Self::Pruned];

    /// Gives the components: one or two.
    pub fn components(&self) -> impl Iterator<Item = &str> {
        let (top, session) = match self {
            Self::Results => (RESULTS, None),
            Self::ResultsOf(session) => (RESULTS, Some(session)),
            Self::Epochs => (EPOCHS, None),
            Self::EpochsOf(session) => (EPOCHS, Some(session)),
            Self::Pruned => (PRUNED, None),
        };
        std::iter::once(top).chain(session.map(SessionId::as_str))
    }

    /// Gives the folder of a session below this one; `None` where there is none by that name.
    pub fn child(&self, name: &str) -> Option<Self> {
        let session = name.parse().ok()?;
        match self {
            Self::Results => Some(Self::ResultsOf(session)),
            Self::Epochs => Some(Self::EpochsOf(session)),
            _ => None,
        }
    }

    /// Gives the folder that a session's folder stands in; `None` for those at the top.
    pub fn parent(&self) -> Option<Self> {
        match self {
            Self::ResultsOf(_) => Some(Self::Results),
            Self::EpochsOf(_) => Some(Self::Epochs),
            Self::Results | Self::Epochs | Self::Pruned => None,
        }
    }

    /// Gives the session whose folder this is.
    pub fn session(&self) -> Option<&SessionId> {
        match self {
            Self::ResultsOf(session) | Self::EpochsOf(session) => Some(session),
            _ => None,
        }
    }
}

impl fmt::Display for Folder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, component) in self.components().enumerate() {
            let slash = if position == 0 { "" } else { "/" };
            write!(f, "{slash}{component}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.folder, self.file)
    }
}
