//! Which answers are recalled text: they are bounded, and never stored again, or recall would go round for ever.

use std::path::Path;

use plimsoll::wire::Value;

/// Whether a call asked for something that Plimsoll had stored: over MCP, by the command, or by reading a stored file.
pub(super) fn is_recall(tool: &str, arguments: Option<Value<'_, '_>>, store: Option<&Path>) -> bool {
    if let Some(name) = tool.strip_prefix("mcp__") {
        let Some((server, name)) = name.rsplit_once("__") else { return false };
        return server.contains("plimsoll") && matches!(name, "recall" | "search" | "list" | "context");
    }
    let text = |key: &str| Some(arguments?.get(key)?.text()?.decode());
    if let Some(command) = text("command").or_else(|| text("cmd")) {
        let reads = store.and_then(Path::to_str).is_some_and(|store| store.len() > 1 && command.contains(store));
        return reads || runs_recall(&command);
    }
    let path = text("file_path").or_else(|| text("filePath")).or_else(|| text("path"));
    matches!((path, store), (Some(path), Some(store)) if Path::new(&*path).starts_with(store))
}

/// Whether a shell command runs `plimsoll recall`, or another command that prints what is stored.
fn runs_recall(command: &str) -> bool {
    let words =
        command.split(|c: char| c.is_whitespace() || matches!(c, ';' | '|' | '&' | '(' | ')' | '\'' | '"' | '`'));
    let mut words = words.filter(|word| !word.is_empty());
    while let Some(word) = words.next() {
        let program = word.rsplit(['/', '\\']).next().unwrap_or(word);
        if matches!(program, "plimsoll" | "plimsoll.exe") {
            // Options may stand before the command's name.
            let mut rest = words.clone().take(8);
            if rest.any(|word| matches!(word, "recall" | "restore")) {
                return true;
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use plimsoll::wire::Tape;

    use super::*;

    fn asked(tool: &str, arguments: &str) -> bool {
        let mut tape = Tape::default();
        tape.parse(arguments.as_bytes(), 0).unwrap();
        is_recall(tool, tape.root(arguments.as_bytes()), Some(Path::new("/data/plimsoll")))
    }

    #[test]
    fn recalled_text_is_recognised_however_it_was_asked_for() {
        assert!(asked("mcp__plimsoll__recall", "{}"));
        assert!(asked("mcp__plugin_plimsoll_plimsoll__search", "{}"));
        assert!(asked("Bash", r#"{"command":"plimsoll recall 's1/c1' --lines 1:40"}"#));
        assert!(asked("Bash", r#"{"command":"cd /x && /opt/bin/plimsoll --store file:///s recall s1/c1 | head"}"#));
        assert!(asked("Bash", r#"{"command":"sed -n 1,80p /data/plimsoll/results/s1/c1.txt"}"#));
        assert!(asked("Read", r#"{"file_path":"/data/plimsoll/results/s1/c1.txt"}"#));
        assert!(!asked("mcp__other__recall", "{}"));
        assert!(!asked("Bash", r#"{"command":"grep recall plimsoll.txt"}"#));
        assert!(!asked("Bash", r#"{"command":"cat notes-about-plimsoll-recall"}"#));
        assert!(!asked("Read", r#"{"file_path":"/data/plimsolls/x"}"#));
    }
}
