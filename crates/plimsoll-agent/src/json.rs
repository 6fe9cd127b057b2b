//! Reads the fields of records that may be anything, and bounds what an event takes from them.

use plimsoll::Tokens;
use serde_json::Value;

use crate::event::{EventKind, MAX_TEXT, edge};

/// The longest id that is taken, in bytes. A longer one is refused, not cut.
pub(crate) const LONGEST_ID: usize = 512;

/// Gives a field's text; empty if it has none.
pub(crate) fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// Gives a field's text, if it has one.
pub(crate) fn owned(value: &Value, field: &str) -> Option<String> {
    value.get(field).and_then(Value::as_str).map(str::to_owned)
}

/// Gives a field's number of tokens.
pub(crate) fn tokens(value: &Value, field: &str) -> Option<Tokens> {
    value.get(field).and_then(Value::as_u64).map(Tokens)
}

/// Gives the members of a field that is a list.
pub(crate) fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value.get(field).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// Gives an id, if it is one that is taken.
pub(crate) fn id(value: &Value, field: &str) -> Option<String> {
    owned(value, field).filter(|id| (1..=LONGEST_ID).contains(&id.len()))
}

/// A text as events, none larger than an event carries.
pub(crate) fn pieces(text: &str, event: impl Fn(String) -> EventKind) -> Vec<EventKind> {
    let mut rest = text;
    let mut events = Vec::new();
    while !rest.is_empty() {
        let (piece, more) = rest.split_at_checked(edge(rest, MAX_TEXT)).unwrap_or((rest, ""));
        events.push(event(piece.to_owned()));
        rest = more;
    }
    events
}

/// An input, or null if it is larger than an event carries.
pub(crate) fn small(input: Value) -> Value {
    let mut count = Count(0);
    let fits = serde_json::to_writer(&mut count, &input).is_ok() && count.0 <= MAX_TEXT;
    if fits { input } else { Value::Null }
}

/// Counts what is written to it.
struct Count(usize);

impl std::io::Write for Count {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 = self.0.saturating_add(bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_input_larger_than_an_event_is_left_out_and_a_text_is_cut_into_pieces() {
        assert_eq!(small(json!({ "x": "y".repeat(MAX_TEXT) })), Value::Null);
        assert_eq!(small(json!({ "x": 1 })), json!({ "x": 1 }));
        let parts = pieces(&"é".repeat(MAX_TEXT), |text| EventKind::Text { text });
        let length = |event: &EventKind| if let EventKind::Text { text } = event { text.len() } else { 0 };
        assert_eq!(parts.iter().map(length).sum::<usize>(), 2 * MAX_TEXT);
        assert!(parts.iter().all(|part| length(part) <= MAX_TEXT));
        assert!(pieces("", |text| EventKind::Text { text }).is_empty());
    }

    #[test]
    fn an_id_that_is_too_long_is_none() {
        assert_eq!(id(&json!({ "id": "x".repeat(LONGEST_ID + 1) }), "id"), None);
        assert_eq!(id(&json!({ "id": "" }), "id"), None);
        assert_eq!(id(&json!({ "id": "a" }), "id"), Some("a".to_owned()));
    }
}
