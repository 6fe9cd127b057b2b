//! The YAML at the head of a skill or command file, read as far as it can be.

use saphyr_parser::{Event, Parser, ScalarStyle};

/// A file's text split into its frontmatter and its body.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Parts<'t> {
    /// The text between the `---` lines; none if the file does not begin with one.
    pub(super) head: Option<&'t str>,
    pub(super) body: &'t str,
    /// The frontmatter is begun and never ended.
    pub(super) is_open: bool,
}

/// Splits a text at its frontmatter. A byte order mark and `\r\n` are taken in stride.
pub(super) fn split(text: &str) -> Parts<'_> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let none = Parts { head: None, body: text, is_open: false };
    let Some((first, rest)) = text.split_once('\n') else {
        return none;
    };
    if first.trim_end() != "---" {
        return none;
    }
    let mut end = 0;
    for line in rest.split_inclusive('\n') {
        if matches!(line.trim_end(), "---" | "...") {
            let (head, from_end) = rest.split_at_checked(end).unwrap_or((rest, ""));
            let body = from_end.split_once('\n').map_or("", |(_, body)| body);
            return Parts { head: Some(head), body, is_open: false };
        }
        end += line.len();
    }
    // Without an end there is no telling what is head and what is body: what looks like fields is read from both.
    Parts { head: Some(rest), body: rest, is_open: true }
}

/// What frontmatter says: the scalar fields of its outermost mapping.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Fields {
    fields: Vec<(String, Option<String>)>,
    /// Why it is no valid YAML mapping; the fields then come from a line-wise reading.
    pub(super) problem: Option<String>,
}

impl Fields {
    /// Reads frontmatter: as YAML, else line by line.
    pub(super) fn read(head: &str) -> Self {
        match read_yaml(head) {
            Ok(fields) => Self { fields, problem: None },
            Err(problem) => Self { fields: read_lines(head), problem: Some(problem) },
        }
    }

    /// The value of a field, by any of its names; of several, the last. A null or empty value is none.
    pub(super) fn text(&self, names: &[&str]) -> Option<&str> {
        let found = self.fields.iter().rev().find(|(key, _)| names.contains(&key.as_str()))?;
        found.1.as_deref().map(str::trim).filter(|value| !value.is_empty())
    }

    /// A field that is a truth value, in any spelling of YAML 1.1 or 1.2. None if absent or neither.
    pub(super) fn flag(&self, names: &[&str]) -> Option<bool> {
        let value = self.text(names)?.to_ascii_lowercase();
        match value.as_str() {
            "true" | "yes" | "on" | "y" | "1" => Some(true),
            "false" | "no" | "off" | "n" | "0" => Some(false),
            _ => None,
        }
    }
}

/// Collects the scalar fields of the outermost mapping. Events only: anchors are never expanded, so that no alias can
/// blow up.
fn read_yaml(head: &str) -> Result<Vec<(String, Option<String>)>, String> {
    let mut fields = Vec::new();
    let mut depth = 0_usize;
    let mut key: Option<String> = None;
    // Values that are sequences or mappings belong to a key, too.
    let mut is_key_next = true;
    let mut was_mapping = false;
    for event in Parser::new_from_str(head) {
        let (event, _) = event.map_err(|error| error.to_string())?;
        match event {
            Event::MappingStart(..) | Event::SequenceStart(..) => {
                let is_mapping = matches!(event, Event::MappingStart(..));
                if depth == 0 {
                    if !is_mapping {
                        return Err("it is a list, not a mapping of fields".to_owned());
                    }
                    was_mapping = true;
                } else if depth == 1 {
                    if is_key_next {
                        return Err("a field's name is no text".to_owned());
                    }
                    key = None;
                }
                depth += 1;
            }
            Event::MappingEnd | Event::SequenceEnd => {
                depth = depth.saturating_sub(1);
                if depth == 1 {
                    is_key_next = true;
                }
            }
            Event::Scalar(value, style, ..) if depth == 1 => {
                if is_key_next {
                    key = Some(value.into_owned());
                } else if let Some(key) = key.take() {
                    let is_null =
                        style == ScalarStyle::Plain && matches!(value.as_ref(), "" | "~" | "null" | "Null" | "NULL");
                    fields.push((key, (!is_null).then(|| value.into_owned())));
                }
                is_key_next = !is_key_next;
            }
            Event::Alias(_) if depth == 1 => is_key_next = !is_key_next,
            Event::Scalar(value, ..) if depth == 0 && !value.is_empty() => {
                return Err("it is a text, not a mapping of fields".to_owned());
            }
            _ => {}
        }
    }
    if !was_mapping && !head.trim().is_empty() && fields.is_empty() {
        let is_comment = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
        if !head.lines().all(is_comment) {
            return Err("it holds no fields".to_owned());
        }
    }
    Ok(fields)
}

/// Reads `key: value` lines at the margin; lines indented under them continue the value.
fn read_lines(head: &str) -> Vec<(String, Option<String>)> {
    let mut fields: Vec<(String, Option<String>)> = Vec::new();
    for line in head.lines() {
        let line = line.trim_end();
        let is_indented = line.starts_with([' ', '\t']);
        if line.trim_start().starts_with('#') || line.trim().is_empty() {
            continue;
        }
        if is_indented {
            let Some((_, Some(value))) = fields.last_mut() else {
                continue;
            };
            if !value.is_empty() {
                value.push(' ');
            }
            value.push_str(line.trim());
            continue;
        }
        let Some((key, value)) = line.split_once(':') else {
            continue;
        };
        let is_key = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
        if !is_key || !(value.is_empty() || value.starts_with([' ', '\t'])) {
            continue;
        }
        let value = value.trim();
        // A block's own marker is no part of its text.
        let is_block = value.starts_with(['|', '>']) && value.len() <= 3;
        let value = if is_block { String::new() } else { unquoted(value).to_owned() };
        fields.push((key.to_owned(), Some(value)));
    }
    fields
}

fn unquoted(value: &str) -> &str {
    ['"', '\''].into_iter().find_map(|quote| value.strip_prefix(quote)?.strip_suffix(quote)).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(head: &str) -> Fields {
        Fields::read(head)
    }

    #[test]
    fn a_byte_order_mark_carriage_returns_and_dots_do_not_matter() {
        for text in ["\u{feff}---\r\nname: a\r\n---\r\nBody", "---\nname: a\n---\nBody", "---  \nname: a\n...\nBody"]
        {
            let parts = split(text);
            assert_eq!(read(parts.head.unwrap()).text(&["name"]), Some("a"), "{text:?}");
            assert_eq!(parts.body, "Body", "{text:?}");
        }
        assert_eq!(split("---\nname: a\n---").body, "");
        assert_eq!(split("# Title\n---\n"), Parts { head: None, body: "# Title\n---\n", is_open: false });
        assert!(split("---\nname: a\n").is_open);
        assert_eq!(split("").head, None);
    }

    #[test]
    fn descriptions_may_run_over_lines_in_every_style() {
        for head in [
            "description: one\n  two\n",
            "description: >\n  one\n  two\n",
            "description: |-\n  one\n  two\n",
            "description: \"one\n  two\"\n",
            "description: 'one\n\n  two'\n",
        ] {
            let fields = read(head);
            let words: Vec<&str> = fields.text(&["description"]).unwrap().split_whitespace().collect();
            assert_eq!((words, &fields.problem), (vec!["one", "two"], &None), "{head:?}");
        }
    }

    #[test]
    fn truth_is_read_in_all_its_spellings() {
        for (spellings, truth) in [
            (["true", "True", "TRUE", "yes", "Yes", "on", "ON", "y", "\"true\"", "1"], true),
            (["false", "False", "FALSE", "no", "No", "off", "OFF", "n", "'false'", "0"], false),
        ] {
            for spelling in spellings {
                let fields = read(&format!("disable-model-invocation: {spelling} # said\n"));
                assert_eq!(fields.flag(&["disable-model-invocation"]), Some(truth), "{spelling}");
            }
        }
        assert_eq!(read("hidden: perhaps\n").flag(&["hidden"]), None);
    }

    #[test]
    fn nested_values_and_nulls_are_passed_over() {
        let head = "metadata:\n  name: inner\nallowed-tools: [Bash, Read]\nname: outer\nversion: 1.10\nlicense: ~\n";
        let fields = read(head);
        assert_eq!(fields.problem, None);
        assert_eq!(fields.text(&["name"]), Some("outer"));
        assert_eq!(fields.text(&["version"]), Some("1.10"));
        assert_eq!(fields.text(&["license"]), None);
        assert_eq!(read("name: 'null'").text(&["name"]), Some("null"));
        assert_eq!(read("# nothing\n").problem, None);
    }

    #[test]
    fn what_is_no_yaml_is_read_line_by_line() {
        let fields =
            read("name: deploy\ndescription: Use when: the app\n  is to be deployed\nargument-hint: [a?, b\n");
        assert!(fields.problem.is_some());
        assert_eq!(fields.text(&["name"]), Some("deploy"));
        assert_eq!(fields.text(&["description"]), Some("Use when: the app is to be deployed"));
        let fields = read("description: >-\n  folded: here\n  {\nname: \"x\"\nbad: \"");
        assert_eq!(fields.text(&["name"]), Some("x"));
        for no_mapping in ["- a\n- b\n", "just text\n"] {
            assert!(read(no_mapping).problem.is_some(), "{no_mapping}");
        }
    }

    #[test]
    fn aliases_are_never_expanded() {
        let mut head = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..40 {
            let below = level - 1;
            head += &format!(
                "a{level}: &a{level} [*a{below}, *a{below}, *a{below}, *a{below}]
"
            );
        }
        head.push_str("name: safe\n");
        assert_eq!(read(&head).text(&["name"]), Some("safe"));
    }

    proptest! {
        #[test]
        fn nothing_makes_it_panic(text in "(?s).{0,200}", lines in "[-a-z:\\[\\]{}>|&*!%@\"' \n#]{0,200}") {
            for text in [text, lines] {
                let _ = split(&format!("---\n{text}\n---\n"));
                let _ = read(&text);
            }
        }
    }
}
