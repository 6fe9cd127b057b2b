//! todo
use super::document::Document;
use super::{Edit, Rewrite, Tape, Text, lines::Lines};
#[derive(Debug, Clone)]
pub(super) struct Rollout<'a> {
    pub(super) id: Text<'a>,
}
pub(super) fn parse<'a>(
    _: &'a [u8],
    _: Lines<'a>,
    _: &mut Tape,
) -> Result<Document<'a>, &'static str> {
    Err("todo")
}
pub(super) fn append(_: &Document<'_>, _: &Rollout<'_>, _: &Rewrite<'_>) -> Vec<Edit<'static>> {
    Vec::new()
}
