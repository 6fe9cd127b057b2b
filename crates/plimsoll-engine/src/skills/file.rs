//! One skill or command file, read into an entry.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use plimsoll::listing::{Entry, Kind, Lint, Rule, Source, Visibility};

use super::Found;
use super::frontmatter::{Fields, split};

/// Bytes of a file that are read: frontmatter and the first paragraph stand at its head, however large the rest is.
const READ_AT_MOST: u64 = 256 * 1024;
/// Characters of a first paragraph that may stand in for a description.
const PARAGRAPH: usize = 1_024;

/// What a file is known by before it is read.
pub(super) struct Naming<'a> {
    pub(super) kind: Kind,
    pub(super) source: Source,
    /// What stands before the name: `plugin` of `plugin:skill`.
    pub(super) namespace: Option<&'a str>,
    /// The name where the frontmatter gives none, or may not give one.
    pub(super) fallback: &'a str,
    /// The folder of a skill.
    pub(super) folder: Option<&'a str>,
}

/// Reads the head of a file as text. Anything but a regular file is refused before it is opened: a pipe would block.
pub(super) fn read_head(path: &Path) -> io::Result<(String, bool)> {
    let metadata = std::fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len().min(READ_AT_MOST)).unwrap_or(0));
    File::open(path)?.take(READ_AT_MOST).read_to_end(&mut bytes)?;
    let is_all = (bytes.len() as u64) < READ_AT_MOST;
    Ok((String::from_utf8_lossy(&bytes).into_owned(), is_all))
}

/// Makes an entry of a file's text, with what is wrong about it.
pub(super) fn entry_of(text: &str, is_all: bool, path: &Path, naming: &Naming<'_>) -> (Found, Vec<Lint>) {
    let parts = split(text);
    let fields = parts.head.map(Fields::read).unwrap_or_default();
    let given = fields.text(&["name"]).filter(|_| naming.kind == Kind::Skill);
    let own = clean(given.unwrap_or(naming.fallback));
    let name = match naming.namespace {
        Some(namespace) => format!("{namespace}:{own}"),
        None => own,
    };
    let described = fields.text(&["description"]).map(clean);
    // As in Claude Code, the first paragraph says what a file is for if nothing else does.
    let description = described.unwrap_or_else(|| clean(&first_paragraph(parts.body, parts.is_open)));
    let when_to_use = fields.text(&["when_to_use", "when-to-use", "whenToUse"]).map(clean);
    let is_hidden = fields.flag(&["disable-model-invocation", "disable_model_invocation"]) == Some(true);
    let mut entry = Entry::new(name, description);
    entry.when_to_use = when_to_use;
    entry.kind = naming.kind.clone();
    entry.source = naming.source;
    entry.folder = naming.folder.map(str::to_owned);
    if is_hidden {
        entry.visibility = Visibility::Hidden;
    }

    let mut problems = Vec::new();
    if parts.is_open {
        let message = if is_all {
            "its frontmatter has no closing `---`".to_owned()
        } else {
            format!("its frontmatter does not end within {} KiB", READ_AT_MOST / 1024)
        };
        problems.push(message);
    } else if let Some(problem) = &fields.problem {
        problems.push(format!("its frontmatter is not valid YAML and was read line by line: {problem}"));
    } else if parts.head.is_none() && naming.kind == Kind::Skill {
        problems.push("it has no frontmatter; its first paragraph stands in for a description".to_owned());
    }
    let shown = path.display().to_string();
    let lint = |message| Lint::new(&entry.name, Rule::Frontmatter, message).at(&shown);
    let lints = problems.into_iter().map(lint).collect();
    (Found { entry, path: path.to_owned() }, lints)
}

/// Control characters have no place in a prompt or on a terminal; white space among them is dealt with by the listing.
fn clean(text: &str) -> String {
    text.chars().filter(|c| c.is_whitespace() || !c.is_control()).collect()
}

/// The first lines of a body that are neither heading, fence, nor markup.
fn first_paragraph(body: &str, is_open: bool) -> String {
    let mut paragraph = String::new();
    for line in body.lines() {
        let line = line.trim();
        let is_field = is_open && line.split_once(':').is_some_and(|(key, _)| !key.contains(' '));
        let is_prose = !line.is_empty() && !line.starts_with(['#', '<', '`', '|']) && !is_field && line != "---";
        if is_prose {
            if !paragraph.is_empty() {
                paragraph.push(' ');
            }
            paragraph.push_str(line);
        } else if !paragraph.is_empty() {
            break;
        }
        if paragraph.len() > 4 * PARAGRAPH {
            break;
        }
    }
    paragraph.chars().take(PARAGRAPH).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skill(text: &str) -> (Entry, Vec<Lint>) {
        let naming = Naming {
            kind: Kind::Skill,
            source: Source::User,
            namespace: None,
            fallback: "folder",
            folder: Some("folder"),
        };
        let (found, lints) = entry_of(text, true, Path::new("folder/SKILL.md"), &naming);
        (found.entry, lints)
    }

    /// Mechanism 77: malformed frontmatter hides a skill.
    #[test]
    fn m77_malformed_frontmatter_hides_no_skill_and_is_reported() {
        for (text, name, description) in [
            ("---\nname: a\ndescription: Use when: broken\n---\nBody.", "a", "Use when: broken"),
            (
                "---\nname: [a\n---\n# Title\n\nDoes a thing.\nIn two lines.\n\nMore.",
                "[a",
                "Does a thing. In two lines.",
            ),
            ("---\nname: a\ndescription: Never ended.\n", "a", "Never ended."),
            ("---\n- a list\n---\nSays what it does.", "folder", "Says what it does."),
            ("# Title\n\nHas no frontmatter.", "folder", "Has no frontmatter."),
            ("---\nname: a\ndescription: \"Unclosed quote\n---\nBody.", "a", "\"Unclosed quote"),
        ] {
            let (entry, lints) = skill(text);
            assert_eq!((entry.name.as_str(), entry.description.as_str()), (name, description), "{text:?}");
            assert_eq!(lints.len(), 1, "{text:?}");
            assert_eq!((lints[0].rule, lints[0].path.as_deref()), (Rule::Frontmatter, Some("folder/SKILL.md")));
        }
    }

    #[test]
    fn the_fields_of_claude_code_are_understood() {
        let (entry, lints) = skill(
            "---\ndescription: Does it.\nwhen-to-use: the user asks\ndisable-model-invocation: Yes\nuser-invocable: no\n\
             allowed-tools: Bash(git *)\nmodel: haiku\n---\n",
        );
        assert_eq!(lints, []);
        assert_eq!(entry.when_to_use.as_deref(), Some("the user asks"));
        assert_eq!((entry.visibility, entry.name.as_str()), (Visibility::Hidden, "folder"));
    }

    #[test]
    fn control_characters_do_not_reach_the_listing() {
        let (entry, _) = skill("---\nname: \"a\\x1b[31m\"\ndescription: \"b\\ac\\e]0;d\"\n---\n");
        assert_eq!((entry.name.as_str(), entry.description.as_str()), ("a[31m", "bc]0;d"));
    }
}
