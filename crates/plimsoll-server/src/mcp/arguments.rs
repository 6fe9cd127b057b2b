//! The arguments of a tool, as models write them: a number may be a text, and what is wrong is said with what is right.

use rmcp::model::JsonObject;
use serde_json::Value;

/// The arguments of a call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arguments<'a> {
    given: &'a JsonObject,
}

impl<'a> Arguments<'a> {
    /// Takes arguments of which only these names are known.
    pub(super) fn of(given: &'a JsonObject, known: &[&str]) -> Result<Self, String> {
        match given.keys().find(|name| !known.contains(&name.as_str())) {
            Some(name) => {
                let name: String = name.chars().filter(|c| !c.is_control()).take(60).collect();
                Err(format!("there is no argument `{name}`; there are {}", known.join(", ")))
            }
            None => Ok(Self { given }),
        }
    }

    fn get(self, name: &str) -> Option<&'a Value> {
        self.given.get(name).filter(|value| !value.is_null())
    }

    /// A text that is not empty.
    pub(super) fn text(self, name: &str) -> Result<Option<&'a str>, String> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.as_str()).filter(|text| !text.is_empty())),
            Some(other) => Err(format!("`{name}` must be a text; {} was given", kind(other))),
        }
    }

    /// A text that must be there.
    pub(super) fn needed(self, name: &str, what: &str) -> Result<&'a str, String> {
        self.text(name)?.ok_or_else(|| format!("`{name}` is missing: {what}"))
    }

    /// A whole number from 0.
    pub(super) fn number(self, name: &str) -> Result<Option<u64>, String> {
        let wrong = || format!("`{name}` must be a whole number, 0 or more");
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => text.trim().parse().map(Some).map_err(|_| wrong()),
            Some(value) => {
                // `20.0` is how some write 20.
                let whole = value.as_f64().filter(|number| number.fract() == 0.0 && *number >= 0.0);
                let spelled = whole.and_then(|number| format!("{number}").parse().ok());
                value.as_u64().or(spelled).map(Some).ok_or_else(wrong)
            }
        }
    }

    /// Yes or no; no if it is not there.
    pub(super) fn switch(self, name: &str) -> Result<bool, String> {
        match self.get(name) {
            None => Ok(false),
            Some(Value::Bool(value)) => Ok(*value),
            Some(Value::String(text)) if text == "true" => Ok(true),
            Some(Value::String(text)) if text == "false" => Ok(false),
            Some(_) => Err(format!("`{name}` must be true or false")),
        }
    }

    /// A range of lines: `3:7`, `3:` to the end, `3` alone.
    pub(super) fn lines(self, name: &str) -> Result<Option<(u64, u64)>, String> {
        let wrong = || format!("`{name}` must be a range of lines like \"10:20\", counted from 1");
        let text = match self.get(name) {
            None => return Ok(None),
            Some(Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
        };
        let text = text.trim();
        let (first, last) = text.split_once([':', '-']).unwrap_or((text, text));
        let number = |digits: &str, open: u64| match digits.trim() {
            "" => Ok(open),
            digits => digits.parse::<u64>().map_err(|_| wrong()),
        };
        let (first, last) = (number(first, 1)?, number(last, u64::MAX)?);
        if text.is_empty() || first == 0 || last < first { Err(wrong()) } else { Ok(Some((first, last))) }
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_and_lines_are_read_as_models_write_them() {
        let Value::Object(given) = json!({
            "a": 20, "b": "20", "c": 20.0, "d": -1, "e": 1.5, "f": null, "l": "10:20", "m": "10-20", "n": 7, "o": "5:",
            "p": "0:3", "q": "x", "r": "9:3",
        }) else {
            panic!()
        };
        let read = Arguments { given: &given };
        for name in ["a", "b", "c"] {
            assert_eq!(read.number(name), Ok(Some(20)), "{name}");
        }
        assert!(read.number("d").is_err() && read.number("e").is_err());
        assert_eq!((read.number("f"), read.number("missing")), (Ok(None), Ok(None)));
        assert_eq!((read.lines("l"), read.lines("m")), (Ok(Some((10, 20))), Ok(Some((10, 20)))));
        assert_eq!((read.lines("n"), read.lines("o")), (Ok(Some((7, 7))), Ok(Some((5, u64::MAX)))));
        assert!(["p", "q", "r"].into_iter().all(|name| read.lines(name).is_err()));
        let error = Arguments::of(&given, &["id", "offset"]).unwrap_err();
        assert_eq!(error, "there is no argument `a`; there are id, offset");
    }
}
