//! OpenAI Chat Completions.
use super::document::Document;
use super::{Tape, Value, lines::Lines};
use crate::transcript::Role;
pub(super) fn parse<'a>(_: &mut Document<'a>, _: Value<'_, 'a>) -> Result<(), &'static str> {
    Err("todo")
}
pub(super) fn parse_lines<'a>(
    _: &'a [u8],
    _: Lines<'a>,
    _: &mut Tape,
) -> Result<Document<'a>, &'static str> {
    Err("todo")
}
pub(super) fn message(_: &Document<'_>, role: Role, text: &str) -> String {
    format!(r#"{{"role":"{}","content":{text}}}"#, role.name())
}
