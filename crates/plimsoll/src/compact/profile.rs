//! `Profile`: what kind of work a conversation is about, as data: every word of the summary request that depends on it.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// What kind of work a conversation is about: the words that shape the summary's third, eighth and ninth section and
/// the draft before it.
///
/// The built-in ones are TOML, `coding`, `workspace`, `research` and `chat`; anybody can write further ones. Fields
/// are texts without line breaks; each says where its words stand.
///
/// ```
/// use plimsoll::compact::Profile;
/// assert_eq!(Profile::default().name, "coding");
/// let workspace = Profile::named("workspace").unwrap();
/// assert_eq!(workspace.items_heading, "Items and code");
/// assert!(workspace.address.contains("u/alice/sync_orders"));
/// assert!(Profile::named("gardening").is_none());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Profile {
    /// Its name.
    pub name: Cow<'static, str>,
    /// What it is for, in a few words, for a list of profiles.
    pub about: Cow<'static, str>,
    /// What the conversation is about: "a conversation about …".
    pub work: Cow<'static, str>,
    /// The heading of the summary's third section: what the work touches.
    pub items_heading: Cow<'static, str>,
    /// What one such thing is called.
    pub item: Cow<'static, str>,
    /// What several are called.
    pub items: Cow<'static, str>,
    /// How they are named in the summary: "Name items …".
    pub address: Cow<'static, str>,
    /// What to note of them in the draft.
    pub analysis: Cow<'static, str>,
    /// What the third section holds: whole sentences.
    pub contents: Cow<'static, str>,
    /// What the eighth section, on the current work, is to say precisely.
    pub current: Cow<'static, str>,
    /// What the ninth section tells whoever continues.
    pub next: Cow<'static, str>,
    /// A rule of this kind of work: a whole sentence, or nothing.
    pub rule: Cow<'static, str>,
}

/// The built-in profiles: their names, and their files.
const BUILT_IN: [(&str, &str); 4] = [
    ("coding", include_str!("profile/coding.toml")),
    ("workspace", include_str!("profile/workspace.toml")),
    ("research", include_str!("profile/research.toml")),
    ("chat", include_str!("profile/chat.toml")),
];

impl Default for Profile {
    fn default() -> Self {
        Self::read(BUILT_IN.first().map_or("", |(_, file)| file))
    }
}

impl Profile {
    /// The fields by which a profile is written, in the order in which they stand in a file.
    pub const FIELDS: [&'static str; 12] = [
        "name",
        "about",
        "work",
        "items_heading",
        "item",
        "items",
        "address",
        "analysis",
        "contents",
        "current",
        "next",
        "rule",
    ];

    /// A built-in profile: `coding`, `workspace`, `research` or `chat`.
    pub fn named(name: &str) -> Option<Self> {
        Self::built_in_file(name).map(Self::read)
    }

    /// The names of the built-in profiles.
    pub fn built_in() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(name, _)| *name)
    }

    /// The file of a built-in profile, as TOML.
    pub fn built_in_file(name: &str) -> Option<&'static str> {
        BUILT_IN.iter().find(|(known, _)| *known == name).map(|(_, file)| *file)
    }

    /// The headings of the nine sections that a summary has; the third is the profile's own.
    ///
    /// ```
    /// use plimsoll::compact::Profile;
    /// let headings = Profile::default().headings().map(str::to_owned);
    /// assert_eq!((headings[0].as_str(), headings[2].as_str()), ("Primary request and intent", "Files and code"));
    /// ```
    pub fn headings(&self) -> [&str; 9] {
        [
            "Primary request and intent",
            "Key technical concepts",
            &self.items_heading,
            "Errors and fixes",
            "Problem solving",
            "All user messages",
            "Pending tasks",
            "Current work",
            "Context for continuing",
        ]
    }

    /// The text of a field, by its name.
    ///
    /// ```
    /// use plimsoll::compact::Profile;
    /// let mut profile = Profile::default();
    /// *profile.field_mut("item").unwrap() = "notebook".into();
    /// assert_eq!(profile.field("item"), Some("notebook"));
    /// assert_eq!(profile.field("colour"), None);
    /// ```
    pub fn field(&self, name: &str) -> Option<&str> {
        Some(match name {
            "name" => &self.name,
            "about" => &self.about,
            "work" => &self.work,
            "items_heading" => &self.items_heading,
            "item" => &self.item,
            "items" => &self.items,
            "address" => &self.address,
            "analysis" => &self.analysis,
            "contents" => &self.contents,
            "current" => &self.current,
            "next" => &self.next,
            "rule" => &self.rule,
            _ => return None,
        })
    }

    /// The text of a field, to be changed.
    pub fn field_mut(&mut self, name: &str) -> Option<&mut Cow<'static, str>> {
        Some(match name {
            "name" => &mut self.name,
            "about" => &mut self.about,
            "work" => &mut self.work,
            "items_heading" => &mut self.items_heading,
            "item" => &mut self.item,
            "items" => &mut self.items,
            "address" => &mut self.address,
            "analysis" => &mut self.analysis,
            "contents" => &mut self.contents,
            "current" => &mut self.current,
            "next" => &mut self.next,
            "rule" => &mut self.rule,
            _ => return None,
        })
    }

    /// Reads a built-in file. They keep to the part of TOML that needs no reader of TOML: a line is a comment or
    /// `name = "text"`, without escapes. The engine's tests read them as TOML and find the same.
    fn read(file: &'static str) -> Self {
        let mut profile = Self {
            name: Cow::Borrowed(""),
            about: Cow::Borrowed(""),
            work: Cow::Borrowed(""),
            items_heading: Cow::Borrowed(""),
            item: Cow::Borrowed(""),
            items: Cow::Borrowed(""),
            address: Cow::Borrowed(""),
            analysis: Cow::Borrowed(""),
            contents: Cow::Borrowed(""),
            current: Cow::Borrowed(""),
            next: Cow::Borrowed(""),
            rule: Cow::Borrowed(""),
        };
        for line in file.lines() {
            let Some((name, value)) = line.split_once(" = ") else {
                continue;
            };
            let text = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
            if let Some((field, text)) = profile.field_mut(name).zip(text) {
                *field = Cow::Borrowed(text);
            }
        }
        profile
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_profile_says_everything() {
        for name in Profile::built_in() {
            let profile = Profile::named(name).unwrap();
            assert_eq!(profile.name, name);
            for field in Profile::FIELDS {
                let text = profile.field(field).unwrap();
                assert!(field == "rule" || !text.is_empty(), "{name}: {field}");
                assert!(!text.contains(['"', '\\', '\n']), "{name}: {field} needs a reader of TOML");
                assert_eq!(text.trim(), text, "{name}: {field}");
            }
            let file = Profile::built_in_file(name).unwrap();
            let lines = file.lines().filter(|line| !line.starts_with('#')).count();
            assert_eq!(lines, Profile::FIELDS.len(), "{name}: a line that nobody reads");
        }
    }

    #[test]
    fn items_of_a_workspace_are_never_files() {
        let profile = Profile::named("workspace").unwrap();
        for field in Profile::FIELDS.iter().filter(|field| **field != "rule") {
            assert!(!profile.field(field).unwrap().to_lowercase().contains("file"), "{field}");
        }
        for word in ["script", "flow", "app", "resource", "variable", "trigger", "schedule"] {
            assert!(profile.analysis.contains(word) && profile.contents.contains(word), "{word}");
        }
        for words in [&profile.analysis, &profile.contents, &profile.current, &profile.next] {
            assert!(words.contains("draft") && words.contains("deploy"), "{words}");
        }
    }
}
