//! Tools for to-dos: whole lists, and lists that the tool keeps and changes by number.

use super::calls::{Reading, TodoChange};
use super::todos::{Status, Todo};
use crate::wire::{Kind, Value};

/// Reads the list that a tool for to-dos sets, or the change it makes to one.
pub(super) fn take_todos(tool: &str, root: Value<'_, '_>, reading: &mut Reading) {
    let list = ["todos", "plan", "todo_list", "items", "tasks"]
        .into_iter()
        .find_map(|key| root.get(key).filter(|value| value.kind() == Kind::Array));
    let text = |value: Value<'_, '_>, keys: &[&str]| {
        keys.iter().find_map(|key| value.get(key).and_then(Value::text)).map(|text| text.decode().into_owned())
    };
    let lower = tool.to_ascii_lowercase();
    let is_list = lower.contains("todo") || lower.contains("plan") || lower.contains("task");
    if let Some(list) = list.filter(|_| is_list) {
        let todos: Vec<Todo> = list
            .elements()
            .filter_map(|entry| {
                let what = text(entry, &["content", "step", "title", "text", "task", "description", "subject"])?;
                let status = text(entry, &["status", "state"]).map_or(Status::Open, |status| Status::read(&status));
                Some(Todo::new(&what, status))
            })
            .collect();
        if !todos.is_empty() || list.elements().next().is_none() {
            reading.todos = Some(todos);
        }
    } else if lower.ends_with("taskcreate") || lower == "task_create" {
        reading.todo_change = text(root, &["subject", "title", "description"]).map(TodoChange::Add);
    } else if lower.ends_with("taskupdate") || lower == "task_update" {
        let number = text(root, &["taskId", "task_id", "id"]);
        let status = text(root, &["status"]).map(|status| Status::read(&status));
        reading.todo_change = number.zip(status).map(|(number, status)| TodoChange::Set(number, status));
    }
}
