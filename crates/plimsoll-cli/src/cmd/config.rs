//! `plimsoll config`: every setting, its value, and where that comes from.

use std::collections::BTreeMap;

use anyhow::Result;
use plimsoll_engine::config::{Config, SETTINGS, Setting, Value};
use serde::Serialize;

use crate::args::{ConfigArgs, Global};
use crate::output::{Output, plain, style};
use crate::resolve::{Done, Usage, config};

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
        let value = plain(&value.to_string());
        if arguments.sources {
            output.print(&format!(
                "{bold}{:<width$}{end}  {accent}{value}{end}  {dim}from{end} {}\n{:<width$}  {dim}{}; ${}{end}\n",
                setting.key,
                plain(&source.to_string()),
                "",
                setting.about,
                setting.variable,
            ))?;
        } else {
            output.print(&format!("{bold}{:<width$}{end}  {accent}{value}{end}\n", setting.key))?;
        }
    }
    Ok(Done::Yes)
}

fn rows<'a>(config: &'a Config, asked: &[&'a Setting]) -> BTreeMap<&'static str, Row<'a>> {
    let row = |setting: &&'a Setting| {
        let (value, source) = config.get(setting.key)?;
        let Setting { default, variable, about, .. } = setting;
        Some((setting.key, Row { value, source: source.to_string(), default, variable, about }))
    };
    asked.iter().filter_map(row).collect()
}
