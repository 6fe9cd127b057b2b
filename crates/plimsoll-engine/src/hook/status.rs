//! The status line: the model, and how full its context is.

use plimsoll::Tokens;
use plimsoll::model::Catalogue;
use plimsoll::wire::Value;

use super::input::HookInput;
use super::tail::{LastAnswer, window};

/// The most characters of a status line.
const LONGEST: usize = 160;

/// Writes the status line. What the program says of its context goes before what its session file tells.
///
/// The catalogue is only read where a window is to be looked up.
pub(super) fn status(input: HookInput<'_, '_>, catalogue: impl FnOnce() -> Catalogue) -> String {
    let model = input.get("model");
    let id = model.and_then(|model| text(model.get("id")).or_else(|| text(Some(model))));
    let name = model.and_then(|model| text(model.get("display_name"))).or_else(|| id.clone());
    let said = input.get("context_window").and_then(|said| {
        let size = said.get("context_window_size")?.u64().filter(|size| *size > 0)?;
        Some((used(said)?, Tokens(size)))
    });
    let context = said.or_else(|| {
        let last = LastAnswer::read(&input.transcript()?);
        let context = last.context?;
        Some((context, window(&catalogue(), id.as_deref().or(last.model.as_deref()), last.window)))
    });
    line(name.as_deref(), context)
}

/// What the context holds: the last answer is a part of it from then on.
fn used(said: Value<'_, '_>) -> Option<Tokens> {
    let usage = said.get("current_usage").filter(|usage| !usage.is_null());
    let sum = |usage: Value<'_, '_>| {
        ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens"]
            .into_iter()
            .filter_map(|key| usage.get(key)?.u64())
            .fold(Tokens::ZERO, |sum, tokens| sum + Tokens(tokens))
    };
    usage.map(sum).or_else(|| said.get("total_input_tokens")?.u64().map(Tokens))
}

fn text(value: Option<Value<'_, '_>>) -> Option<String> {
    Some(value?.text()?.decode().into_owned()).filter(|text| !text.is_empty())
}

fn line(model: Option<&str>, context: Option<(Tokens, Tokens)>) -> String {
    let context = context
        .filter(|(_, window)| *window > Tokens::ZERO)
        .map(|(used, window)| format!("context {used} of {window} ({} %)", used.percent_of(window)));
    let parts: Vec<&str> = model.into_iter().chain(context.as_deref()).collect();
    parts.join(" · ").chars().filter(|c| !c.is_control()).take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use plimsoll::wire::Tape;

    use super::*;

    fn of(json: &str) -> String {
        let mut tape = Tape::default();
        status(HookInput::parse(&mut tape, json.as_bytes()).unwrap(), Catalogue::embedded)
    }

    #[test]
    fn what_the_program_says_of_its_context_is_shown() {
        let json = r#"{"model":{"id":"claude-opus-4-8","display_name":"Opus 4.8"},"context_window":{"context_window_size":200000,
            "total_input_tokens":9,"current_usage":{"input_tokens":1000,"cache_read_input_tokens":79000,"output_tokens":10000}}}"#;
        assert_eq!(of(json), "Opus 4.8 · context 90.0K of 200.0K (45 %)");
    }

    #[test]
    fn without_that_the_session_file_tells_and_without_both_the_model_is_shown() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        let line = r#"{"type":"assistant","message":{"model":"claude-sonnet-4-5","usage":{"input_tokens":20000,"output_tokens":0}}}"#;
        std::fs::write(&path, line).unwrap();
        let json = serde_json::json!({ "model": { "display_name": "Son\u{1b}net" }, "transcript_path": path });
        assert!(of(&json.to_string()).starts_with("Sonnet · context 20.0K of "), "{}", of(&json.to_string()));
        assert_eq!(of(r#"{"model":{"id":"m"},"transcript_path":"/nowhere"}"#), "m");
        assert_eq!(of("{}"), "");
    }
}
