//! The mode and the model of a session: two ways to say each, of which an agent has one or none.

use serde_json::{Value, json};

use crate::json::{list, owned, text};
use crate::request::{AgentSession, Permission};

/// A request that sets something; or what cannot be done, and what could.
type Setting = Result<(&'static str, Value), (String, String)>;

/// Asks for the mode that a permission stands for. None where nothing needs to be asked: then the host's own answers to
/// the agent's requests do it.
pub(super) fn mode(opened: &Value, session: Option<&AgentSession>, permission: Permission) -> Option<Setting> {
    let (wanted, what): (&[&str], &str) = match permission {
        Permission::Default => return None,
        Permission::Plan => (&["plan", "architect"], "only plan"),
        Permission::AcceptEdits => (&["autoEdit", "auto_edit", "acceptEdits", "smart_approve"], "accept edits"),
        Permission::Bypass => (&["yolo", "bypassPermissions", "auto"], "bypass permissions"),
    };
    let modes = opened.get("modes").unwrap_or(&Value::Null);
    let there = list(modes, "availableModes").iter().filter_map(|mode| owned(mode, "id")).collect::<Vec<_>>();
    if let Some(mode) = there.iter().find(|mode| wanted.contains(&mode.as_str())) {
        return Some(Ok(("session/set_mode", json!({ "sessionId": session, "modeId": mode }))));
    }
    let option = option(opened, "mode");
    let values = option.map(values).unwrap_or_default();
    if let (Some(option), Some(value)) = (option, values.iter().find(|value| wanted.contains(&value.as_str()))) {
        return Some(Ok(set(option, session, value)));
    }
    // Leave to do more can be given request by request; a promise to do less is the agent's alone.
    (permission == Permission::Plan).then(|| {
        let known = [there, values].concat().join(", ");
        let instead = if known.is_empty() { "it has no modes".to_owned() } else { format!("its modes are {known}") };
        Err((format!("be told to {what}"), instead))
    })
}

/// Asks for a model.
pub(super) fn model(opened: &Value, session: Option<&AgentSession>, model: &str) -> Setting {
    let there = list(opened.get("models").unwrap_or(&Value::Null), "availableModels");
    if !there.is_empty() {
        // Agents take more than they list: what they do not take, they say.
        return Ok(("session/set_model", json!({ "sessionId": session, "modelId": model })));
    }
    let Some(option) = option(opened, "model") else {
        return Err(("be told which model to use".to_owned(), "choose it in its own configuration".to_owned()));
    };
    let values = values(option);
    if !values.iter().any(|value| value == model) {
        let (count, first) = (values.len(), values.iter().take(5).cloned().collect::<Vec<_>>().join(", "));
        return Err((
            format!("use the model `{model}`"),
            format!("it has {}: {first}…", plimsoll::counted(count, "model", "models")),
        ));
    }
    Ok(set(option, session, model))
}

/// Gives the model that a session is opened with.
pub(super) fn current_model(opened: &Value) -> Option<String> {
    let models = opened.get("models").and_then(|models| owned(models, "currentModelId"));
    models.or_else(|| owned(option(opened, "model")?, "currentValue"))
}

fn option<'a>(opened: &'a Value, category: &str) -> Option<&'a Value> {
    list(opened, "configOptions").iter().find(|option| text(option, "category") == category)
}

/// The values of an option; some agents put them into groups.
fn values(option: &Value) -> Vec<String> {
    let entries = list(option, "options").iter();
    let values = entries.flat_map(|entry| match list(entry, "options") {
        [] => std::slice::from_ref(entry),
        group => group,
    });
    values.filter_map(|value| owned(value, "value")).collect()
}

fn set(option: &Value, session: Option<&AgentSession>, value: &str) -> (&'static str, Value) {
    let params = json!({ "sessionId": session, "configId": text(option, "id"), "value": value });
    ("session/set_config_option", params)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gemini() -> Value {
        json!({ "modes": { "availableModes": [{ "id": "default" }, { "id": "yolo" }, { "id": "plan" }] },
                "models": { "currentModelId": "auto", "availableModels": [{ "modelId": "auto" }] } })
    }

    fn opencode() -> Value {
        json!({ "configOptions": [
            { "id": "model", "category": "model", "currentValue": "a/b", "options": [{ "value": "a/b" }, { "options": [{ "value": "c" }] }] },
            { "id": "mode", "category": "mode", "options": [{ "value": "build" }, { "value": "plan" }] } ] })
    }

    #[test]
    fn a_mode_is_asked_for_in_the_way_that_the_agent_has() {
        let asked =
            |opened: &Value, permission| mode(opened, None, permission).map(|setting| setting.map(|(m, _)| m));
        assert_eq!(asked(&gemini(), Permission::Plan), Some(Ok("session/set_mode")));
        assert_eq!(asked(&opencode(), Permission::Plan), Some(Ok("session/set_config_option")));
        assert_eq!(asked(&opencode(), Permission::Bypass), None);
        assert_eq!(asked(&gemini(), Permission::Default), None);
        assert!(asked(&json!({}), Permission::Plan).is_some_and(|asked| asked.is_err()));
    }

    #[test]
    fn a_model_that_is_not_there_is_refused_with_those_that_are() {
        assert_eq!(model(&gemini(), None, "other").map(|(method, _)| method), Ok("session/set_model"));
        assert_eq!(model(&opencode(), None, "c").map(|(method, _)| method), Ok("session/set_config_option"));
        assert!(model(&opencode(), None, "x").is_err_and(|(_, instead)| instead.contains("a/b, c")));
        assert!(model(&json!({}), None, "x").is_err());
        assert_eq!(current_model(&gemini()).as_deref(), Some("auto"));
        assert_eq!(current_model(&opencode()).as_deref(), Some("a/b"));
    }
}
