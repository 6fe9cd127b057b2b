//! The table that Codex reads of the MCP server: appended to its `config.toml`, and taken out again.

use plimsoll::wire::quote;

use super::claude::Edited;
use super::command::{Call, Update};
use super::{InstallError, Program};

const HEADER: &str = "[mcp_servers.plimsoll]";

/// Adds the table, or brings the one that is ours up to date.
pub(super) fn add_server(edited: &mut Edited, program: &Program) -> Result<(), InstallError> {
    let before = read(&edited.text)?;
    let there = before.get("mcp_servers").and_then(|servers| servers.get("plimsoll"));
    let update = there.map(|there| ours(there).map(|call| call.update(program)));
    let left = |what: &str| format!("mcp_servers.plimsoll is there already, with {what}: left as it is");
    match update {
        None => {}
        Some(Some(Update::Nothing)) => return Ok(()),
        Some(Some(Update::Replace)) => {
            remove_server(edited)?;
            edited.calls.clear();
        }
        Some(Some(Update::Leave)) => {
            edited.notes.push(left("options of its own"));
            return Ok(());
        }
        Some(None) => {
            edited.notes.push(left("another command"));
            return Ok(());
        }
    }
    let text = block(&edited.text, program);
    let mut with = edited.text.clone();
    with.extend_from_slice(text.as_bytes());
    let after = read(&with).ok();
    let added = after.as_ref().and_then(|after| after.get("mcp_servers")?.get("plimsoll").and_then(ours));
    if added.is_none_or(|added| added.update(program) != Update::Nothing) {
        return Err(InstallError::Shape { what: "mcp_servers".to_owned(), wanted: "a table that can be continued" });
    }
    edited.text = with;
    Ok(())
}

/// The table as it is appended: an empty line before it, unless the file is empty.
fn block(text: &[u8], program: &Program) -> String {
    let end = if memchr::memmem::find(text, b"\r\n").is_some() { "\r\n" } else { "\n" };
    let lead = match text {
        [] => String::new(),
        text if text.ends_with(b"\n") => end.to_owned(),
        _ => end.repeat(2),
    };
    let arguments: Vec<String> = program.server_arguments().iter().map(|word| quote(word)).collect();
    format!("{lead}{HEADER}{end}command = {}{end}args = [{}]{end}", quote(&program.text()), arguments.join(", "))
}

/// Takes the table out, if it is ours: its lines up to the next table's, and the empty line before it.
pub(super) fn remove_server(edited: &mut Edited) -> Result<(), InstallError> {
    let table = read(&edited.text)?;
    let Some(there) = table.get("mcp_servers").and_then(|servers| servers.get("plimsoll")) else {
        return Ok(());
    };
    let Some(call) = ours(there) else {
        edited.notes.push("mcp_servers.plimsoll has another command: left as it is".to_owned());
        return Ok(());
    };
    let text = String::from_utf8_lossy(&edited.text).into_owned();
    let (mut kept, mut inside, mut found) = (String::with_capacity(text.len()), false, false);
    for line in text.split_inclusive('\n') {
        let plain = line.trim();
        if plain.starts_with('[') {
            inside = plain.starts_with(HEADER) || plain.starts_with("[mcp_servers.plimsoll.");
            if inside && !found {
                found = true;
                // The empty line that was put before it.
                let without = kept.strip_suffix("\r\n").or_else(|| kept.strip_suffix('\n'));
                if let Some(without) = without.filter(|without| without.ends_with('\n')) {
                    kept.truncate(without.len());
                }
            }
        }
        if !inside || (plain.starts_with('#') || plain.is_empty()) && !kept.is_empty() {
            kept.push_str(line);
        }
    }
    let mut rest = table.clone();
    if let Some(toml::Value::Table(servers)) = rest.get_mut("mcp_servers") {
        servers.remove("plimsoll");
        if servers.is_empty() {
            rest.remove("mcp_servers");
        }
    }
    let mut now = read(kept.as_bytes()).unwrap_or_default();
    if now.get("mcp_servers").and_then(toml::Value::as_table).is_some_and(toml::Table::is_empty) {
        now.remove("mcp_servers");
    }
    if !found || now != rest {
        return Err(InstallError::Shape { what: "mcp_servers.plimsoll".to_owned(), wanted: "a table of its own" });
    }
    edited.text = kept.into_bytes();
    edited.calls.push(call);
    Ok(())
}

/// The program of a table that runs `plimsoll mcp`.
fn ours(entry: &toml::Value) -> Option<Call> {
    let arguments = entry.get("args")?.as_array()?;
    let words: Option<Vec<String>> =
        std::iter::once(entry.get("command")?).chain(arguments).map(|word| Some(word.as_str()?.to_owned())).collect();
    Call::of(&words?, &["mcp"])
}

fn read(text: &[u8]) -> Result<toml::Table, InstallError> {
    let text = std::str::from_utf8(text).map_err(|_| InstallError::NoToml("it is no UTF-8".to_owned()))?;
    toml::from_str(text).map_err(|error| InstallError::NoToml(error.message().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program() -> Program {
        Program::new("/opt/my bin/plimsoll")
    }

    fn added(text: &str) -> Edited {
        let mut edited = Edited::new(text.as_bytes());
        add_server(&mut edited, &program()).unwrap();
        edited
    }

    #[test]
    fn the_table_is_appended_and_taken_out_again_byte_for_byte() {
        for text in [
            "",
            "model = \"gpt-5\"\n",
            "model = \"gpt-5\"",
            "# a comment\r\nmodel = \"x\"\r\n\r\n[a]\r\nb = 1\r\n",
            "[mcp_servers.other]\ncommand = \"x\"\n\n\n",
            "[a]\nb = \"\"\"\ntext [not a table]\n\"\"\"\n",
        ] {
            let mut edited = added(text);
            let with = String::from_utf8(edited.text.clone()).unwrap();
            assert!(with.starts_with(text), "{with}");
            let again = added(&with);
            assert_eq!(again.text, edited.text, "once is enough");
            remove_server(&mut edited).unwrap();
            let bare = String::from_utf8(edited.text).unwrap();
            // A file without a last line feed gets one: only the record of what was there can undo that.
            assert_eq!(bare.trim_end_matches('\n'), text.trim_end_matches('\n'), "{with:?}");
        }
    }

    #[test]
    fn what_others_wrote_behind_it_stays() {
        let mut edited = added("a = 1\n");
        edited.text.extend_from_slice(b"\n# mine\n[mcp_servers.plimsoll.env]\nX = \"1\"\n\n[z]\nq = 2\n");
        remove_server(&mut edited).unwrap();
        let text = String::from_utf8(edited.text).unwrap();
        assert_eq!(text, "a = 1\n\n# mine\n\n[z]\nq = 2\n");
    }

    #[test]
    fn a_moved_program_is_brought_up_to_date_and_a_table_by_hand_is_left() {
        let mut edited = added("a = 1\n");
        add_server(&mut edited, &Program::new("/new/plimsoll")).unwrap();
        assert_eq!(
            String::from_utf8(edited.text).unwrap(),
            "a = 1\n\n[mcp_servers.plimsoll]\ncommand = \"/new/plimsoll\"\nargs = [\"mcp\"]\n"
        );
        let by_hand = "[mcp_servers.plimsoll]\ncommand = \"npx\"\nargs = [\"plimsoll\"]\n";
        let edited = added(by_hand);
        assert_eq!((edited.text.as_slice(), edited.notes.len()), (by_hand.as_bytes(), 1));
    }

    #[test]
    fn what_cannot_be_continued_is_refused() {
        for text in ["mcp_servers = { other = { command = \"x\" } }\n", "not toml", "mcp_servers = 1\n"] {
            assert!(add_server(&mut Edited::new(text.as_bytes()), &program()).is_err(), "{text}");
        }
    }
}
