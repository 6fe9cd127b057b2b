//! What Claude Code and Codex are told of hooks, and Claude Code and `OpenCode` of the MCP server: members of JSON files.

use plimsoll::wire::{Edit, Kind, Span, Value, quote, splice};
use serde_json::{Value as Json, json};

use super::command::{Call, Ours, Update, hook_command, judge};
use super::json::JsonFile;
use super::{InstallError, Program};

/// A hook that is installed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hook {
    /// The event, by the program's name and ours.
    pub(super) event: &'static str,
    /// Which tools or sources it is for.
    pub(super) matcher: Option<&'static str>,
    /// After how many seconds the program gives it up.
    pub(super) timeout: u32,
}

/// What became of a file: its new text, and what is to be said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edited {
    pub(super) text: Vec<u8>,
    pub(super) notes: Vec<String>,
    /// The calls of ours that were taken out of it.
    pub(super) calls: Vec<Call>,
}

impl Edited {
    pub(super) fn new(text: &[u8]) -> Self {
        Self { text: text.to_vec(), notes: Vec::new(), calls: Vec::new() }
    }

    /// Does one step on the text as it stands.
    fn step(
        &mut self,
        edit: impl FnOnce(&JsonFile<'_>) -> Result<Vec<Edit<'static>>, InstallError>,
    ) -> Result<(), InstallError> {
        let file = JsonFile::parse(&self.text).map_err(InstallError::NoJson)?;
        let edits = edit(&file)?;
        self.text = splice(&self.text, &edits)?.into_owned();
        Ok(())
    }
}

/// Adds hooks, or brings the ones that are ours up to date.
pub(super) fn add_hooks(edited: &mut Edited, hooks: &[Hook], program: &Program) -> Result<(), InstallError> {
    for hook in hooks {
        let wanted = hook_command(program, hook.event);
        let mut notes = Vec::new();
        edited.step(|file| {
            let entries = file.at(&["hooks", hook.event]);
            for (_, command) in commands(entries) {
                match judge(&command.1, hook.event) {
                    Ours::Call(_) if command.1 == wanted => return Ok(Vec::new()),
                    Ours::Call(call) if call.update(program) != Update::Leave => {
                        return Ok(vec![Edit::replace(command.0, quote(&wanted).into_bytes())]);
                    }
                    Ours::Call(_) => {
                        notes.push(format!(
                            "the hook {} calls plimsoll with options of its own: left as it is",
                            hook.event
                        ));
                        return Ok(Vec::new());
                    }
                    Ours::ByHand => {
                        notes.push(format!("the hook {} calls plimsoll already, by hand: left as it is", hook.event));
                        return Ok(Vec::new());
                    }
                    Ours::No => {}
                }
            }
            let mut entry = json!({ "hooks": [{ "type": "command", "command": wanted, "timeout": hook.timeout }] });
            if let (Some(matcher), Some(fields)) = (hook.matcher, entry.as_object_mut()) {
                fields.insert("matcher".to_owned(), Json::from(matcher));
            }
            let edits = match entries {
                Some(entries) => file.push(entries, &entry),
                None => file.insert(&["hooks"], hook.event, &json!([entry])),
            };
            edits.ok_or_else(|| InstallError::Shape { what: format!("hooks.{}", hook.event), wanted: "an array" })
        })?;
        edited.notes.append(&mut notes);
    }
    Ok(())
}

/// Adds the status line, if there is none.
pub(super) fn add_status_line(edited: &mut Edited, program: &Program) -> Result<(), InstallError> {
    let wanted = hook_command(program, "statusline");
    let mut kept = false;
    edited.step(|file| {
        let Some(there) = file.at(&["statusLine"]).filter(|there| !there.is_null()) else {
            let line = json!({ "type": "command", "command": wanted });
            let edits = file.insert(&[], "statusLine", &line);
            return edits.ok_or(InstallError::Shape { what: "the file".to_owned(), wanted: "an object" });
        };
        let command = there.get("command").and_then(|command| Some((command.span(), command.text()?.decode())));
        match command {
            Some((_, text)) if text == wanted => Ok(Vec::new()),
            Some((span, text))
                if judge(&text, "statusline").call().is_some_and(|call| call.update(program) != Update::Leave) =>
            {
                Ok(vec![Edit::replace(span, quote(&wanted).into_bytes())])
            }
            _ => {
                kept = true;
                Ok(Vec::new())
            }
        }
    })?;
    if kept {
        edited.notes.push(format!("there is a status line already: kept. Ours would be `{wanted}`"));
    }
    Ok(())
}

/// Adds the MCP server under `parent`, or brings the entry that is ours up to date.
pub(super) fn add_server(
    edited: &mut Edited,
    parent: &'static str,
    entry: &Json,
    program: &Program,
) -> Result<(), InstallError> {
    let mut note = None;
    edited.step(|file| {
        let Some(there) = file.at(&[parent, "plimsoll"]) else {
            let edits = file.insert(&[parent], "plimsoll", entry);
            return edits.ok_or_else(|| InstallError::Shape { what: parent.to_owned(), wanted: "an object" });
        };
        match server_call(there).map(|call| call.update(program)) {
            None => note = Some("is there already, with another command: left as it is"),
            Some(Update::Leave) => note = Some("is there already, with options of its own: left as it is"),
            Some(Update::Nothing) => {}
            Some(Update::Replace) => {
                let wanted =
                    ["command", "args"].into_iter().filter_map(|key| Some((there.get(key)?, entry.get(key)?)));
                let changed = wanted.filter(|(value, wanted)| {
                    !value.text().zip(wanted.as_str()).is_some_and(|(text, wanted)| text.is(wanted))
                });
                let mut edits: Vec<_> =
                    changed.map(|(value, wanted)| Edit::replace(value.span(), on_a_line(wanted))).collect();
                edits.sort_by_key(|edit| edit.span.start());
                return Ok(edits);
            }
        }
        Ok(Vec::new())
    })?;
    edited.notes.extend(note.map(|note| format!("{parent}.plimsoll {note}")));
    Ok(())
}

/// A word, or a list of words, as people write them.
fn on_a_line(value: &Json) -> Vec<u8> {
    let word = |word: &Json| quote(word.as_str().unwrap_or_default());
    match value {
        Json::Array(words) => format!("[{}]", words.iter().map(word).collect::<Vec<_>>().join(", ")),
        one => word(one),
    }
    .into_bytes()
}

/// The call in an entry for an MCP server that runs `plimsoll mcp`, and nothing else.
fn server_call(entry: Value<'_, '_>) -> Option<Call> {
    let command = entry.get("command")?;
    let mut words: Vec<Value<'_, '_>> = command.elements().collect();
    if words.is_empty() {
        words.push(command);
        words.extend(entry.get("args").into_iter().flat_map(Value::elements));
    }
    let words: Option<Vec<String>> = words.iter().map(|word| Some(word.text()?.decode().into_owned())).collect();
    Call::of(&words?, &["mcp"])
}

/// Takes out the hooks that are ours.
pub(super) fn remove_hooks(edited: &mut Edited, events: &[&'static str]) -> Result<(), InstallError> {
    for event in events {
        // Each round takes one out: what it leaves empty goes with it.
        loop {
            let before = edited.text.len();
            let mut taken = None;
            edited.step(|file| {
                let (edit, call) = removal_of_hook(file, event).unzip();
                taken = call;
                Ok(edit.into_iter().collect())
            })?;
            edited.calls.extend(taken);
            if edited.text.len() == before {
                break;
            }
        }
        let file = JsonFile::parse(&edited.text).map_err(InstallError::NoJson)?;
        if commands(file.at(&["hooks", event])).any(|(_, command)| judge(&command.1, event) == Ours::ByHand) {
            edited.notes.push(format!("the hook {event} calls plimsoll in a way of its own: left as it is"));
        }
    }
    Ok(())
}

fn removal_of_hook(file: &JsonFile<'_>, event: &str) -> Option<(Edit<'static>, Call)> {
    let groups = file.at(&["hooks"])?.get(event)?;
    let ours = |(place, command): Found| Some((place, judge(&command.1, event).call()?));
    let (place, call) = commands(Some(groups)).find_map(ours)?;
    Some((removal_of(file, event, place)?, call))
}

fn removal_of(file: &JsonFile<'_>, event: &str, (group, index): (usize, usize)) -> Option<Edit<'static>> {
    let (root, all) = (file.root()?, file.at(&["hooks"])?);
    let groups = all.get(event)?;
    let holder = groups.elements().nth(group)?;
    let hooks = holder.get("hooks")?;
    if hooks.elements().count() > 1 {
        return file.remove(hooks.span(), &spans(hooks), index);
    }
    if groups.elements().count() > 1 {
        return file.remove(groups.span(), &spans(groups), group);
    }
    if all.fields().count() > 1 {
        return remove_member(file, all, event);
    }
    remove_member(file, root, "hooks")
}

/// Takes out the status line, if it is ours.
pub(super) fn remove_status_line(edited: &mut Edited) -> Result<(), InstallError> {
    let mut taken = None;
    edited.step(|file| {
        let command =
            file.at(&["statusLine", "command"]).and_then(Value::text).map(|text| text.decode().into_owned());
        taken = command.and_then(|command| judge(&command, "statusline").call());
        let edit = file.root().filter(|_| taken.is_some()).and_then(|root| remove_member(file, root, "statusLine"));
        Ok(edit.into_iter().collect())
    })?;
    edited.calls.extend(taken);
    Ok(())
}

/// Takes out the MCP server, if it is ours.
pub(super) fn remove_server(edited: &mut Edited, parent: &'static str) -> Result<(), InstallError> {
    let (mut by_hand, mut taken) = (false, None);
    edited.step(|file| {
        let edit = (|| {
            let (root, servers) = (file.root()?, file.at(&[parent])?);
            taken = server_call(servers.get("plimsoll")?);
            if taken.is_none() {
                by_hand = true;
                return None;
            }
            if servers.fields().count() > 1 {
                remove_member(file, servers, "plimsoll")
            } else {
                remove_member(file, root, parent)
            }
        })();
        Ok(edit.into_iter().collect())
    })?;
    edited.calls.extend(taken);
    if by_hand {
        edited.notes.push(format!("{parent}.plimsoll has another command: left as it is"));
    }
    Ok(())
}

fn remove_member(file: &JsonFile<'_>, object: Value<'_, '_>, key: &str) -> Option<Edit<'static>> {
    let index = object.fields().position(|(name, _)| name.is(key))?;
    file.remove(object.span(), &file.members(object), index)
}

fn spans(array: Value<'_, '_>) -> Vec<Span> {
    array.elements().map(Value::span).collect()
}

/// The place of a hook among the groups of an event, and where its command stands.
type Found = ((usize, usize), (Span, String));

/// The commands of all hooks of an event.
fn commands(groups: Option<Value<'_, '_>>) -> impl Iterator<Item = Found> {
    let groups = groups.filter(|groups| groups.kind() == Kind::Array);
    groups.into_iter().flat_map(Value::elements).enumerate().flat_map(|(group, entry)| {
        let hooks = entry.get("hooks").into_iter().flat_map(Value::elements).enumerate();
        hooks.filter_map(move |(index, hook)| {
            let command = hook.get("command")?;
            Some(((group, index), (command.span(), command.text()?.decode().into_owned())))
        })
    })
}
