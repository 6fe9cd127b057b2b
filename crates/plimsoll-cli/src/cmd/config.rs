//! `plimsoll config`: every setting, its value, and where that comes from.

use std::collections::BTreeMap;

use anyhow::Result;
use plimsoll_engine::config::{Config, SETTINGS, Setting, Value};
use plimsoll_engine::hook::log_path;
use plimsoll_store::Location;
use serde::Serialize;

use crate::args::{ConfigArgs, Global};
use crate::output::{Output, plain, style};
use crate::resolve::{Done, Usage, config, location};

/// A setting as `--json` shows it.
#[derive(Serialize)]
struct Row<'a> {
    value: &'a Value,
    source: String,
    default: &'a Value,
    variable: &'static str,
    about: &'static str,
}

pub(crate) fn run(arguments: &ConfigArgs, global: &Global, output: &mut Output) -> Result<Done> {
    let config = config(global)?;
    let begin = arguments.key.as_deref().unwrap_or_default();
    let asked: Vec<&Setting> = SETTINGS.iter().filter(|setting| setting.key.starts_with(begin)).collect();
    if asked.is_empty() {
        return Err(Usage(format!("there is no setting `{}`; `plimsoll config` lists them", plain(begin))).into());
    }
    if arguments.json {
        output.json(&rows(&config, &asked))?;
        return Ok(Done::Yes);
    }
    let (bold, dim, accent, end) = (style::BOLD, style::DIM, style::ACCENT, style::END);
    let width = asked.iter().map(|setting| setting.key.len()).max().unwrap_or(0);
    for setting in asked {
        let Some((value, source)) = config.get(setting.key) else { continue };
        let value = plain(&in_force(&config, setting, value));
        if arguments.sources {
            output.print(&format!(
                "{bold}{:<width$}{end}  {accent}{value}{end}  {dim}from{end} {}\n",
                setting.key,
                plain(&source.to_string()),
            ))?;
            for line in wrapped(&format!("{}; ${}", setting.about, setting.variable), WIDTH.saturating_sub(width + 2))
            {
                output.print(&format!("{:<width$}  {dim}{line}{end}\n", ""))?;
            }
        } else {
            output.print(&format!("{bold}{:<width$}{end}  {accent}{value}{end}\n", setting.key))?;
        }
    }
    Ok(Done::Yes)
}

/// The columns that a line takes, unless a word alone is longer.
const WIDTH: usize = 100;

/// A value as it is shown: of a place that nothing sets, the one that is used.
fn in_force(config: &Config, setting: &Setting, value: &Value) -> String {
    let place = match (setting.key, value) {
        ("store.url", Value::Unset) => match location(config) {
            Ok(Location::Local(root)) => Some(root.display().to_string()),
            _ => None,
        },
        ("log.file", Value::Unset) => log_path(|name| std::env::var_os(name)).map(|path| path.display().to_string()),
        _ => None,
    };
    place.unwrap_or_else(|| value.to_string())
}

/// Breaks a text into lines of at most so many characters, between words.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

fn rows<'a>(config: &'a Config, asked: &[&'a Setting]) -> BTreeMap<&'static str, Row<'a>> {
    let row = |setting: &&'a Setting| {
        let (value, source) = config.get(setting.key)?;
        let Setting { default, variable, about, .. } = setting;
        Some((setting.key, Row { value, source: source.to_string(), default, variable, about }))
    };
    asked.iter().filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("much-too-long a b", 3), ["much-too-long", "a b"]);
    }
}
