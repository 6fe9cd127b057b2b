//! What a tool does, by the words of its name.

use super::items::Touch;

/// The words of a tool's name, lower case: `readFile`, `read_file`, `Read-File` are the same.
pub(crate) fn verbs(name: &str) -> Vec<String> {
    let mut verbs = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && was_lower) {
            verbs.push(String::new());
        }
        was_lower = c.is_lowercase();
        if c.is_alphanumeric()
            && let Some(last) = verbs.last_mut()
        {
            last.extend(c.to_lowercase());
        }
    }
    verbs.retain(|verb| !verb.is_empty());
    verbs
}

/// What a tool does to what it names, by the words of its name.
pub(crate) fn touch_of(verbs: &[String]) -> Option<Touch> {
    const TABLE: [(Touch, &[&str]); 7] = [
        (Touch::Deployed, &["deploy", "publish", "release"]),
        (Touch::Deleted, &["delete", "remove", "rm", "trash", "archive"]),
        (
            Touch::Edited,
            &[
                "edit",
                "replace",
                "patch",
                "update",
                "insert",
                "append",
                "modify",
                "multiedit",
                "rename",
                "move",
                "diff",
                "notebookedit",
            ],
        ),
        (Touch::Created, &["write", "create", "new", "add", "save", "upload", "draft", "make"]),
        (Touch::Listed, &["list", "ls", "glob", "grep", "find", "search", "tree", "query"]),
        (
            Touch::Read,
            &[
                "read", "view", "open", "cat", "get", "fetch", "webfetch", "show", "load", "download", "navigate",
                "goto", "visit", "browse", "scrape", "crawl",
            ],
        ),
        (Touch::Ran, &["run", "test", "execute", "trigger", "call", "preview"]),
    ];
    TABLE
        .into_iter()
        .find(|(_, names)| verbs.iter().any(|verb| names.contains(&verb.as_str())))
        .map(|(touch, _)| touch)
}

/// What an editor of many commands does by this one.
pub(super) fn editor_touch(command: &str) -> Option<Touch> {
    Some(match command {
        "view" | "open" | "read" => Touch::Read,
        "create" | "write" => Touch::Created,
        "str_replace" | "insert" | "undo_edit" | "edit" | "replace" | "append" | "rename" => Touch::Edited,
        "delete" => Touch::Deleted,
        _ => return None,
    })
}
