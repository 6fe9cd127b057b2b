//! Which answers are recalled text: they are bounded, and never stored again, or recall would go round for ever.
//!
//! What is taken for recalled text by mistake is lost, what is not is stored once more. So in doubt it is not.

use std::path::{Component, Path};

use plimsoll::wire::Value;

use super::shell::{self, Word};

/// The directories of a store that hold what is recalled.
const KEPT: [&str; 2] = ["results", "epochs"];
/// Programs that print a file, or a part of it, and nothing else.
const PRINTERS: [&str; 16] = [
    "cat", "head", "tail", "less", "more", "nl", "tac", "rev", "cut", "wc", "sort", "uniq", "tr", "od", "xxd",
    "strings",
];
/// Programs that do so with a script or a pattern before the file.
const SCRIPTED: [&str; 8] = ["grep", "egrep", "fgrep", "rg", "sed", "awk", "jq", "ag"];

/// Whether a call asked for something that Plimsoll had stored, and for nothing else: over MCP, by the command, or by
/// reading a stored file.
pub(super) fn is_recall(tool: &str, arguments: Option<Value<'_, '_>>, store: Option<&Path>) -> bool {
    if let Some(name) = tool.strip_prefix("mcp__") {
        let Some((server, name)) = name.rsplit_once("__") else { return false };
        return server.contains("plimsoll") && matches!(name, "recall" | "search" | "list" | "context");
    }
    let text = |key: &str| Some(arguments?.get(key)?.text()?.decode());
    if let Some(command) = text("command").or_else(|| text("cmd")) {
        return only_recalls(&command, store);
    }
    let path = text("file_path").or_else(|| text("filePath")).or_else(|| text("path"));
    path.is_some_and(|path| is_stored(&path, store))
}

/// Whether a path is that of something kept in the store.
fn is_stored(path: &str, store: Option<&Path>) -> bool {
    let Some(store) = store.filter(|store| store.parent().is_some()) else { return false };
    let path = Path::new(path);
    // Whether the rest of a path leads out again is not made out.
    !path.components().any(|component| component == Component::ParentDir)
        && KEPT.iter().any(|kept| path.starts_with(store.join(kept)))
}

/// Whether all that a command line prints is recalled: each of its commands is a recall or the reading of a stored file,
/// perhaps passed through programs that show a part of it.
fn only_recalls(command: &str, store: Option<&Path>) -> bool {
    let Some(commands) = shell::read(command) else { return false };
    let mut recalls = false;
    for pipeline in commands {
        let Some((first, filters)) = pipeline.split_first() else { return false };
        if filters.is_empty() && matches!(first.as_slice(), [cd, _] if cd.text == "cd") {
            continue;
        }
        let is_recall = runs_recall(first) || prints(first, store) == Some(true);
        if !is_recall || !filters.iter().all(|filter| prints(filter, store) == Some(false)) {
            return false;
        }
        recalls = true;
    }
    recalls
}

/// Whether a command is `plimsoll recall`, or another that prints what is stored.
fn runs_recall(words: &[Word]) -> bool {
    // Variables may be set before the program, and options given before the command's name.
    let mut words = words.iter().skip_while(|word| word.is_setting());
    if !words.next().is_some_and(|program| matches!(program.program(), "plimsoll" | "plimsoll.exe")) {
        return false;
    }
    while let Some(word) = words.next() {
        match word.text.as_str() {
            "recall" | "restore" => return true,
            "--store" | "--config" | "--log" | "--color" => drop(words.next()),
            option if option.starts_with('-') => {}
            _ => return false,
        }
    }
    false
}

/// Whether a command prints stored files (`true`) or what is piped into it (`false`); `None` if it may print anything
/// else.
fn prints(words: &[Word], store: Option<&Path>) -> Option<bool> {
    let (program, words) = words.split_first()?;
    let mut scripts = match program.program() {
        name if PRINTERS.contains(&name) => 0,
        name if SCRIPTED.contains(&name) => 1,
        _ => return None,
    };
    let mut stored = false;
    for word in words {
        let text = word.text.as_str();
        if is_stored(text, store) {
            stored = true;
        } else if text.len() > 1 && text.starts_with('-') || text.bytes().all(|byte| byte.is_ascii_digit()) {
            // An option, or its number.
        } else if scripts > 0 && !stored {
            scripts -= 1;
        } else {
            return None;
        }
    }
    Some(stored)
}

#[cfg(test)]
mod tests {
    use plimsoll::wire::{Tape, quote};

    use super::*;

    fn asked(tool: &str, arguments: &str) -> bool {
        let mut tape = Tape::default();
        tape.parse(arguments.as_bytes(), 0).unwrap();
        is_recall(tool, tape.root(arguments.as_bytes()), Some(Path::new("/data/plimsoll")))
    }

    fn ran(command: &str) -> bool {
        asked("Bash", &format!(r#"{{"command":{}}}"#, quote(command)))
    }

    #[test]
    fn recalled_text_is_recognised_however_it_was_asked_for() {
        assert!(asked("mcp__plimsoll__recall", "{}"));
        assert!(asked("mcp__plugin_plimsoll_plimsoll__search", "{}"));
        assert!(asked("Read", r#"{"file_path":"/data/plimsoll/results/s1/c1.txt"}"#));
        for command in [
            "plimsoll recall 's1/c1' --lines 1:40",
            "cd /x && /opt/bin/plimsoll --store file:///s recall s1/c1 | head",
            "PLIMSOLL_STORE=/s plimsoll recall \"$ID\" 2>&1 | grep -n 'a; b' | head -n 40",
            "plimsoll recall s1/c1; plimsoll recall s1/c2 # both",
            "sed -n 1,80p /data/plimsoll/results/s1/c1.txt",
            "grep -A 3 'error|warning' /data/plimsoll/results/s1/c1.txt | tail -5",
            "cat '/data/plimsoll/results/s1/c1.txt'",
        ] {
            assert!(ran(command), "{command}");
        }
    }

    #[test]
    fn what_only_mentions_recall_or_the_store_or_does_more_than_recall_is_none() {
        assert!(!asked("mcp__other__recall", "{}"));
        for path in ["/data/plimsolls/x", "/data/plimsoll/notes.txt", "/data/plimsoll/results/../../x"] {
            assert!(!asked("Read", &format!(r#"{{"file_path":"{path}"}}"#)), "{path}");
        }
        for command in [
            "grep recall plimsoll.txt",
            "cat notes-about-plimsoll-recall",
            "make # see plimsoll recall a/b",
            "grep -rn 'plimsoll recall' docs",
            "plimsoll recall a/b && make test",
            "make test; plimsoll recall a/b",
            "make $(plimsoll recall a/b)",
            "make `plimsoll recall a/b`",
            "plimsoll recall a/b\nmake",
            "plimsoll recall a/b | xargs make",
            "plimsoll recall a/b & make",
            "plimsoll run recall",
            "echo plimsoll recall a/b",
            "ls /data/plimsoll/results; make",
            "cat /data/plimsoll/results/s1/c1.txt src/main.rs",
            "grep -n x src/main.rs /data/plimsoll/results/s1/c1.txt y",
            "plimsoll recall a/b | diff - src/main.rs",
            "plimsoll recall a/b | cat - src/main.rs",
            "make > /data/plimsoll/results/s1/c1.txt",
            "plimsoll recall 'a/b",
            "cd /x",
            "",
        ] {
            assert!(!ran(command), "{command}");
        }
    }
}
