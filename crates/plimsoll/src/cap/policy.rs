//! What a caller decides about a cap, what it knows of where the whole is kept, and what comes back.

use std::borrow::Cow;

use super::kind::Kind;
use super::limit::Cap;
use super::marker::Marker;
use crate::Bytes;
use crate::id::ArtifactId;

/// How a text is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Shape {
    /// By kind of content: shares for head and tail, and between them what a reader would look for.
    #[default]
    Default,
    /// Head, `[...snipped N bytes...]`, and a tail of at most 256 bytes.
    Classic,
}

/// How results are capped.
///
/// ```
/// use plimsoll::Bytes;
/// use plimsoll::cap::{Cap, Kind, Policy, Shape};
/// let policy = Policy::new(Cap::Bytes(Bytes(8_192))).for_tool("Bash");
/// assert_eq!((policy.shape, policy.hint, policy.kind), (Shape::Default, Some(Kind::Output), None));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Policy {
    /// The most that the returned text may take.
    pub cap: Cap,
    /// How the text is cut.
    pub shape: Shape,
    /// The kind of content where the caller is sure; otherwise it is detected.
    pub kind: Option<Kind>,
    /// The kind that is likely, such as a tool's usual one; what the content shows goes before it.
    pub hint: Option<Kind>,
}

impl Policy {
    /// Makes a policy of the default shape with this cap.
    pub fn new(cap: impl Into<Cap>) -> Self {
        Self { cap: cap.into(), ..Self::default() }
    }

    /// Takes the usual kind of a tool's results as the hint.
    #[must_use]
    pub fn for_tool(self, tool: &str) -> Self {
        Self { hint: Kind::of_tool(tool).or(self.hint), ..self }
    }

    /// Takes this shape.
    #[must_use]
    pub fn with_shape(self, shape: Shape) -> Self {
        Self { shape, ..self }
    }

    /// Takes this kind as given, whatever the content looks like.
    #[must_use]
    pub fn with_kind(self, kind: Kind) -> Self {
        Self { kind: Some(kind), ..self }
    }
}

/// How much of a text is kept where it can be recalled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Saved {
    /// All of it.
    Whole,
    /// Only its first bytes: the rest was over a quota.
    First(Bytes),
    /// Nothing: what the preview leaves out is gone, and the marker says so.
    Not,
}

/// Where the whole text is kept: it decides what the marker says.
///
/// ```
/// use plimsoll::cap::{Naming, Saved};
/// let id = "s1/toolu_01".parse()?;
/// let naming = Naming::whole(&id).at(Some("/data/results/s1/toolu_01.txt"));
/// assert_eq!(naming.saved, Saved::Whole);
/// assert_eq!(Naming::unsaved().id, None);
/// # Ok::<(), plimsoll::id::IdError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Naming<'n> {
    /// The recall id.
    pub id: Option<&'n ArtifactId>,
    /// The path of the stored text, for readers that can open local files.
    pub path: Option<&'n str>,
    /// How much of it is there.
    pub saved: Saved,
}

impl<'n> Naming<'n> {
    /// Names a text that is kept whole.
    pub fn whole(id: &'n ArtifactId) -> Self {
        Self { id: Some(id), path: None, saved: Saved::Whole }
    }

    /// Names a text of which only the first bytes are kept.
    pub fn first(id: &'n ArtifactId, bytes: Bytes) -> Self {
        Self { id: Some(id), path: None, saved: Saved::First(bytes) }
    }

    /// Says that the text could not be kept.
    pub fn unsaved() -> Self {
        Self { id: None, path: None, saved: Saved::Not }
    }

    /// Adds the path, if there is one that the reader can open.
    #[must_use]
    pub fn at(self, path: Option<&'n str>) -> Self {
        Self { path, ..self }
    }
}

/// A text inside its cap.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capped<'t> {
    /// What is shown. At or under the cap it is the text itself, byte for byte; over it, always UTF-8.
    pub text: Cow<'t, [u8]>,
    /// Whether something was left out.
    pub was_capped: bool,
    /// How many bytes of the text are not shown between head and tail.
    pub omitted: Bytes,
    /// The size of the whole text.
    pub bytes: Bytes,
    /// Its lines; a last one without a line feed counts.
    pub lines: u64,
    /// The kind of content, as given or detected.
    pub kind: Kind,
    /// The marker in the text; none in the classic shape, nor where the cap leaves no room for one.
    pub marker: Option<Marker>,
}

impl Capped<'_> {
    /// Gives the text as a string. Only a text at or under the cap can hold invalid UTF-8, which is shown lossily.
    pub fn as_str(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.text)
    }

    /// Takes the text as a string, as [`as_str`](Self::as_str) gives it.
    pub fn into_string(self) -> String {
        match String::from_utf8(self.text.into_owned()) {
            Ok(text) => text,
            Err(invalid) => String::from_utf8_lossy(invalid.as_bytes()).into_owned(),
        }
    }

    /// Lets go of the given text, copying it if need be.
    pub fn into_owned(self) -> Capped<'static> {
        Capped { text: Cow::Owned(self.text.into_owned()), ..self }
    }
}
