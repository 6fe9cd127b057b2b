//! `Profile`: what kind of work a conversation is about, as far as a summary's wording depends on it.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// What kind of work a conversation is about.
///
/// ```
/// use plimsoll::compact::Profile;
/// assert_eq!(Profile::default().name, "coding");
/// assert_eq!(Profile::named("workspace").unwrap().items_heading, "Items and code");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Profile {
    /// Its name.
    pub name: Cow<'static, str>,
    /// The heading of the summary's third section: what the work touches.
    pub items_heading: Cow<'static, str>,
    /// What one such thing is called.
    pub item: Cow<'static, str>,
    /// What several are called.
    pub items: Cow<'static, str>,
}

impl Default for Profile {
    fn default() -> Self {
        Self::built_in("coding", "Files and code", "file", "files")
    }
}

impl Profile {
    const fn built_in(name: &'static str, heading: &'static str, item: &'static str, items: &'static str) -> Self {
        Self {
            name: Cow::Borrowed(name),
            items_heading: Cow::Borrowed(heading),
            item: Cow::Borrowed(item),
            items: Cow::Borrowed(items),
        }
    }

    /// A built-in profile: `coding`, `workspace`, `research` or `chat`.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "coding" => Self::default(),
            "workspace" => Self::built_in("workspace", "Items and code", "item", "items"),
            "research" => Self::built_in("research", "Sources, claims and figures", "source", "sources"),
            "chat" => Self::built_in("chat", "Things talked about", "thing", "things"),
            _ => return None,
        })
    }
}
