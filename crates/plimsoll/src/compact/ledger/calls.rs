//! Reading tool calls: whatever the tool is called and however its arguments are shaped, what it touches and runs.

use super::items::Touch;
use super::shell;
use super::todos::{Status, Todo};
use super::verbs::{editor_touch, touch_of, verbs};
use crate::wire::{Kind, Tape, Value};

/// Argument names that hold what a call is about, the most telling first.
const PATH_KEYS: [&str; 18] = [
    "file_path",
    "path",
    "notebook_path",
    "filename",
    "file",
    "filepath",
    "filePath",
    "absolute_path",
    "relative_path",
    "target_file",
    "uri",
    "url",
    "paths",
    "files",
    "file_paths",
    "urls",
    "directory",
    "dir_path",
];

/// Argument names that hold a command line or code that is run.
const COMMAND_KEYS: [&str; 6] = ["command", "cmd", "commands", "code", "script", "input"];

/// Argument names that hold what a call writes.
const WRITTEN_KEYS: [&str; 9] =
    ["new_string", "new_str", "content", "file_text", "new_source", "insert_text", "replacement", "diff", "text"];

/// Argument names that tell what a call is about where it names no path and runs nothing.
const ABOUT_KEYS: [&str; 8] = ["description", "query", "pattern", "prompt", "question", "title", "name", "id"];

/// The lines of a patch that name its files.
const PATCH_MARKS: [(&str, Touch); 4] = [
    ("*** Add File: ", Touch::Created),
    ("*** Update File: ", Touch::Edited),
    ("*** Delete File: ", Touch::Deleted),
    ("*** Move to: ", Touch::Created),
];

/// What a call does, as far as its name and arguments tell.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    /// What it touches.
    pub(crate) touches: Vec<(String, Touch)>,
    /// The command line it runs.
    pub(crate) command: Option<String>,
    /// The to-do list it sets.
    pub(crate) todos: Option<Vec<Todo>>,
    /// What it changes in a to-do list that is kept by the tool.
    pub(crate) todo_change: Option<TodoChange>,
    /// What it writes, with the place.
    pub(crate) written: Option<String>,
    /// What it is about, for calls that touch and run nothing.
    pub(crate) about: Option<String>,
}

/// A change to a list of to-dos that is kept by the tool.
#[derive(Debug)]
pub(crate) enum TodoChange {
    /// A new entry.
    Add(String),
    /// Another status for the entry of this number, as the tool counts.
    Set(String, Status),
}

/// Reads a call.
pub(crate) fn read(name: &str, arguments: &str) -> Reading {
    let mut reading = Reading::default();
    let tool = name.rsplit("__").next().unwrap_or(name);
    let mut tape = Tape::default();
    let bytes = arguments.as_bytes();
    let value = if tape.parse(bytes, 0).is_ok() { tape.root(bytes) } else { None };
    let Some(root) = value.filter(|root| root.kind() == Kind::Object) else {
        // Free text: a patch, or a script.
        let text =
            value.and_then(Value::text).map_or_else(|| arguments.to_owned(), |text| text.decode().into_owned());
        if !take_patch(&text, &mut reading) && !text.trim().is_empty() {
            run(&text, &mut reading);
        }
        return reading;
    };
    super::todo_tools::take_todos(tool, root, &mut reading);
    if reading.todos.is_some() || reading.todo_change.is_some() {
        return reading;
    }
    let verbs = verbs(tool);
    let paths: Vec<String> = PATH_KEYS.iter().flat_map(|key| strings(root, key)).collect();
    // Editors with one tool for everything say what they do in `command`.
    let editor = string(root, "command").filter(|_| !paths.is_empty()).and_then(|verb| editor_touch(&verb));
    let command = if editor.is_none() { command(root, &verbs) } else { None };
    if let Some(command) = command
        && !take_patch(&command, &mut reading)
    {
        run(&command, &mut reading);
    }
    let writes = WRITTEN_KEYS.iter().any(|key| root.get(key).is_some());
    let touch = editor.or_else(|| touch_of(&verbs)).unwrap_or(if writes { Touch::Edited } else { Touch::Read });
    // Beside a command line a path is where it runs, which is no item of the work.
    if reading.touches.is_empty() && (reading.command.is_none() || touch == Touch::Ran) {
        reading.touches = paths.into_iter().take(20).map(|path| (path, touch)).collect();
    }
    if reading.touches.iter().any(|(_, touch)| matches!(touch, Touch::Created | Touch::Edited)) {
        let written = reading.written.take().or_else(|| WRITTEN_KEYS.iter().find_map(|key| string(root, key)));
        reading.written = written.or_else(|| last_edit(root));
    }
    if reading.touches.is_empty() && reading.command.is_none() {
        reading.about = ABOUT_KEYS
            .iter()
            .find_map(|key| string(root, key))
            .or_else(|| root.fields().find_map(|(_, value)| value.text()).map(|text| text.decode().into_owned()));
    }
    reading
}

fn string(root: Value<'_, '_>, key: &str) -> Option<String> {
    root.get(key).and_then(Value::text).map(|text| text.decode().into_owned())
}

fn run(command: &str, reading: &mut Reading) {
    if let Some((_, patch)) = command.split_once("*** Begin Patch").filter(|_| command.contains("apply_patch")) {
        take_patch(&format!("*** Begin Patch{patch}"), reading);
    } else {
        reading.touches = shell::touches(command);
    }
    reading.command = Some(command.to_owned());
}

/// The command line in a call's arguments, an array of words joined, a shell's wrapping left out.
fn command(root: Value<'_, '_>, verbs: &[String]) -> Option<String> {
    let runs = verbs.iter().any(|verb| {
        matches!(
            verb.as_str(),
            "bash"
                | "shell"
                | "sh"
                | "exec"
                | "execute"
                | "run"
                | "terminal"
                | "python"
                | "ipython"
                | "command"
                | "cmd"
                | "js"
                | "patch"
        )
    });
    let key = COMMAND_KEYS.into_iter().find(|key| {
        let own = matches!(*key, "command" | "cmd" | "commands");
        (own || runs) && root.get(key).is_some_and(|value| matches!(value.kind(), Kind::String | Kind::Array))
    })?;
    let value = root.get(key)?;
    if let Some(text) = value.text() {
        return Some(text.decode().trim().to_owned()).filter(|text| !text.is_empty());
    }
    let words: Vec<String> =
        value.elements().filter_map(Value::text).map(|text| text.decode().into_owned()).collect();
    match words.as_slice() {
        [] => None,
        [shell, flag, line] if shell.ends_with("sh") && flag.starts_with('-') && flag.ends_with('c') => {
            Some(line.trim().to_owned())
        }
        words => Some(words.join(" ")),
    }
}

/// The strings under a key: one, or an array of them, or of objects with a path.
fn strings(root: Value<'_, '_>, key: &str) -> Vec<String> {
    let Some(value) = root.get(key) else {
        return Vec::new();
    };
    let one = |value: Value<'_, '_>| {
        value
            .text()
            .map(|text| text.decode().trim().to_owned())
            .filter(|text| !text.is_empty() && text.len() <= 1_024 && !text.contains('\n'))
    };
    let of_object = |value: Value<'_, '_>| value.get("path").or_else(|| value.get("file_path")).and_then(one);
    one(value)
        .into_iter()
        .chain(value.elements().filter_map(|element| one(element).or_else(|| of_object(element))))
        .collect()
}

/// What the last of several edits writes.
fn last_edit(root: Value<'_, '_>) -> Option<String> {
    let edits = root.get("edits").or_else(|| root.get("replacements"))?;
    edits
        .elements()
        .filter_map(|edit| edit.get("new_string").or_else(|| edit.get("new_str")).and_then(Value::text))
        .last()
        .map(|text| text.decode().into_owned())
}

/// Reads a patch in the form that names its files in lines of stars, or a unified diff.
fn take_patch(text: &str, reading: &mut Reading) -> bool {
    if !text.trim_start().starts_with("*** Begin Patch") {
        return false;
    }
    let mut written = String::new();
    for line in text.lines() {
        for (mark, touch) in PATCH_MARKS {
            if let Some(path) = line.strip_prefix(mark) {
                reading.touches.push((path.trim().to_owned(), touch));
            }
        }
        if let Some(added) = line.strip_prefix('+').filter(|_| written.len() < 4_096) {
            written.push_str(added);
            written.push('\n');
        }
    }
    reading.written = Some(written).filter(|written| !written.trim().is_empty());
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touches(name: &str, arguments: &str) -> Vec<(String, Touch)> {
        read(name, arguments).touches
    }

    #[test]
    fn the_shapes_of_many_tools_are_read() {
        let one = |path: &str, touch| vec![(path.to_owned(), touch)];
        assert_eq!(touches("Read", r#"{"file_path":"/a b/c.rs"}"#), one("/a b/c.rs", Touch::Read));
        assert_eq!(touches("Write", r#"{"file_path":"x.rs","content":"y"}"#), one("x.rs", Touch::Created));
        assert_eq!(
            touches("MultiEdit", r#"{"file_path":"x.rs","edits":[{"new_string":"n"}]}"#),
            one("x.rs", Touch::Edited)
        );
        assert_eq!(
            touches("NotebookEdit", r#"{"notebook_path":"n.ipynb","new_source":"1"}"#),
            one("n.ipynb", Touch::Edited)
        );
        assert_eq!(
            touches("str_replace_editor", r#"{"command":"view","path":"/r/x.py"}"#),
            one("/r/x.py", Touch::Read)
        );
        assert_eq!(
            touches("str_replace_editor", r#"{"command":"create","path":"/r/x.py","file_text":"1"}"#),
            one("/r/x.py", Touch::Created)
        );
        assert_eq!(touches("write_to_file", r#"{"path":"a.ts","content":"1"}"#), one("a.ts", Touch::Created));
        assert_eq!(touches("replace_in_file", r#"{"path":"a.ts","diff":"1"}"#), one("a.ts", Touch::Edited));
        assert_eq!(touches("mcp__fs__delete_file", r#"{"path":"a.ts"}"#), one("a.ts", Touch::Deleted));
        assert_eq!(
            touches("deploy_script", r#"{"path":"u/alice/sync_orders"}"#),
            one("u/alice/sync_orders", Touch::Deployed)
        );
        assert_eq!(touches("WebFetch", r#"{"url":"https://x.org","prompt":"p"}"#), one("https://x.org", Touch::Read));
        assert_eq!(touches("mystery", r#"{"uri":"u://1"}"#), one("u://1", Touch::Read));
        assert_eq!(touches("mystery", r#"{"path":"p","content":"1"}"#), one("p", Touch::Edited));
        assert_eq!(
            touches("apply_patch", "*** Begin Patch\n*** Update File: src/a.rs\n+x\n*** End Patch"),
            one("src/a.rs", Touch::Edited)
        );
        assert_eq!(
            touches(
                "shell",
                r#"{"command":["bash","-lc","apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: b.rs\n+x\n*** End Patch\nEOF"]}"#
            ),
            one("b.rs", Touch::Created)
        );
        assert_eq!(touches("read_many", r#"{"paths":["a","b"]}"#).len(), 2);
    }

    #[test]
    fn commands_are_unwrapped() {
        let command = |name, arguments| read(name, arguments).command;
        assert_eq!(command("Bash", r#"{"command":"cargo test","description":"d"}"#).as_deref(), Some("cargo test"));
        assert_eq!(command("shell", r#"{"command":["bash","-lc","rg x"],"workdir":"/w"}"#).as_deref(), Some("rg x"));
        assert_eq!(command("shell", r#"{"command":["git","status"]}"#).as_deref(), Some("git status"));
        assert_eq!(command("exec_command", r#"{"cmd":"ls"}"#).as_deref(), Some("ls"));
        assert_eq!(command("python", r#"{"code":"print(1)"}"#).as_deref(), Some("print(1)"));
        assert_eq!(command("Read", r#"{"file_path":"x"}"#), None);
    }

    #[test]
    fn todo_tools_are_read() {
        let todos = read(
            "TodoWrite",
            r#"{"todos":[{"content":"a","status":"completed"},{"content":"b","status":"in_progress"}]}"#,
        )
        .todos
        .unwrap();
        assert_eq!(todos, [Todo::new("a", Status::Done), Todo::new("b", Status::Active)]);
        let todos = read("update_plan", r#"{"plan":[{"step":"a","status":"pending"}]}"#).todos.unwrap();
        assert_eq!(todos, [Todo::new("a", Status::Open)]);
    }

    #[test]
    fn broken_arguments_are_survived() {
        for arguments in ["", "{", "null", "[1]", "\"x\"", "{\"command\":{}}", "{\"path\":3}"] {
            read("Bash", arguments);
            read("Read", arguments);
        }
    }
}
