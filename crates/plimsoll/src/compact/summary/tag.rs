//! Tags of an answer, as models write them: in any case, with attributes and white space.

use std::ops::Range;

use super::code::Code;

/// What a tag is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Name {
    /// The draft that is asked for.
    Analysis,
    /// The summary.
    Summary,
    /// Reasoning that a model writes into its answer unasked.
    Reasoning,
}

/// A tag, and where it stands.
#[derive(Debug, Clone)]
pub(super) struct Tag {
    pub(super) name: Name,
    pub(super) closes: bool,
    pub(super) place: Range<usize>,
}

impl Tag {
    pub(super) fn opens(&self, name: Name) -> bool {
        self.name == name && !self.closes
    }
}

/// How each tag may be spelled. Open models mark what they think in a few ways.
const SPELLED: [(&str, Name); 6] = [
    ("analysis", Name::Analysis),
    ("summary", Name::Summary),
    ("thinking", Name::Reasoning),
    ("think", Name::Reasoning),
    ("thought", Name::Reasoning),
    ("reasoning", Name::Reasoning),
];

/// The tags in a text that stand outside code.
pub(super) fn tags(text: &str) -> Vec<Tag> {
    let mut tags = Vec::new();
    let mut code = Code::default();
    let mut at = 0;
    while let Some(found) = text.get(at..).and_then(|rest| rest.find(['<', '`', '~'])) {
        let start = at + found;
        let rest = text.get(start..).unwrap_or("");
        if let Some(len) = code.at(text, start) {
            at = start + len;
        } else if let Some((name, closes, len)) = tag(rest) {
            tags.push(Tag { name, closes, place: start..start + len });
            at = start + len;
        } else {
            // A run of marks that begins no code is passed as a whole.
            at = start + (rest.len() - rest.trim_start_matches(['`', '~']).len()).max(1);
        }
    }
    tags
}

/// The tags from a place on.
pub(super) fn from(tags: &[Tag], at: usize) -> &[Tag] {
    tags.get(tags.partition_point(|tag| tag.place.start < at)..).unwrap_or(&[])
}

/// How far from its name a tag ends, in bytes.
const ATTRIBUTES: usize = 201;

/// The tag that a text begins with, and its length.
pub(super) fn tag(text: &str) -> Option<(Name, bool, usize)> {
    let inside = text.strip_prefix('<')?.trim_start();
    let (inside, closes) = match inside.strip_prefix('/') {
        Some(inside) => (inside.trim_start(), true),
        None => (inside, false),
    };
    let (len, name) = SPELLED.into_iter().find_map(|(spelled, name)| {
        inside.get(..spelled.len()).filter(|start| start.eq_ignore_ascii_case(spelled)).map(|_| (spelled.len(), name))
    })?;
    let rest = inside.get(len..)?;
    let attributes = rest.bytes().take(ATTRIBUTES).position(|byte| byte == b'>')?;
    let between = rest.get(..attributes)?;
    let proper = between.is_empty() || between.starts_with(char::is_whitespace) || between == "/";
    if !proper || between.contains('<') {
        return None;
    }
    let total = text.len() - rest.len() + attributes + 1;
    Some((name, closes, total))
}
