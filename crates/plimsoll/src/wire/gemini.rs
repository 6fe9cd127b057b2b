//! todo
use super::Value;
use super::document::Document;
pub(super) fn parse<'a>(_: &mut Document<'a>, _: Value<'_, 'a>) -> Result<(), &'static str> {
    Err("todo")
}
