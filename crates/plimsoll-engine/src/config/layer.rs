//! One layer of settings: read from a file's text, from the environment, or given on the command line.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Source;
use super::setting::{SETTINGS, Setting};
use super::value::Value;

/// What is wrong with a configuration. Nothing was done when one is returned.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A file cannot be read.
    #[error("cannot read the configuration {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file is not TOML.
    #[error("{}:{line}: {reason}; see `plimsoll config --help` for the form", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// What the reader of TOML said.
        reason: String,
    },
    /// A key that is no setting.
    #[error("{}:{line}: there is no setting `{key}`; {}", path.display(), hint(*near))]
    Unknown {
        /// The file.
        path: PathBuf,
        /// The line.
        line: usize,
        /// The key.
        key: String,
        /// A setting of nearly that name.
        near: Option<&'static str>,
    },
    /// A setting that a project's file may not set.
    #[error("{}:{line}: a project does not set `{key}`; set it in your own configuration", path.display())]
    NotForProjects {
        /// The file.
        path: PathBuf,
        /// The line.
        line: usize,
        /// The key.
        key: &'static str,
    },
    /// A value of the wrong kind.
    #[error("{from}: `{key}` is {found}; give {wanted}")]
    Value {
        /// Where it stands.
        from: Source,
        /// The key.
        key: &'static str,
        /// What stands there.
        found: String,
        /// What is taken.
        wanted: String,
    },
}

fn hint(near: Option<&str>) -> String {
    match near {
        Some(near) => format!("is `{near}` meant?"),
        None => "`plimsoll config` lists them".to_owned(),
    }
}

/// Values from one place.
#[derive(Debug, Clone, Default)]
pub struct Layer {
    values: BTreeMap<&'static str, (Value, Source)>,
}

impl Layer {
    /// Reads a file's text. `project` says that the file came with a project.
    ///
    /// # Errors
    /// [`ConfigError`] names the line: a mistake in a configuration is never passed over, since it would act in silence.
    pub fn from_toml(text: &str, path: &Path, project: bool) -> Result<Self, ConfigError> {
        let line = |at: usize| 1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count();
        let document = DeTable::parse(text).map_err(|error| ConfigError::Syntax {
            path: path.to_owned(),
            line: line(error.span().map_or(0, |span| span.start)),
            reason: error.message().to_owned(),
        })?;
        let mut layer = Self::default();
        let mut tables = vec![(String::new(), document.get_ref())];
        while let Some((prefix, table)) = tables.pop() {
            for (name, value) in table {
                let key = format!("{prefix}{}", name.get_ref());
                let line = line(name.span().start);
                let of_table = || SETTINGS.iter().any(|setting| setting.key.starts_with(&format!("{key}.")));
                match (value.get_ref(), Setting::named(&key)) {
                    (DeValue::Table(inner), None) if of_table() => tables.push((format!("{key}."), inner)),
                    (_, Some(setting)) if project && !setting.project => {
                        return Err(ConfigError::NotForProjects { path: path.to_owned(), line, key: setting.key });
                    }
                    (_, Some(setting)) => {
                        layer.take(setting, value, Source::File { path: path.to_owned(), line })?;
                    }
                    (_, None) => {
                        let near = Setting::near(&key).map(|setting| setting.key);
                        return Err(ConfigError::Unknown { path: path.to_owned(), line, key, near });
                    }
                }
            }
        }
        Ok(layer)
    }

    fn take(
        &mut self,
        setting: &'static Setting,
        value: &Spanned<DeValue<'_>>,
        source: Source,
    ) -> Result<(), ConfigError> {
        let (read, found) = match value.get_ref() {
            DeValue::String(text) => (setting.kind.read(text), format!("`{text}`")),
            DeValue::Integer(number) => {
                let digits = number.as_str();
                let whole = u64::from_str_radix(digits, number.radix()).ok();
                (whole.and_then(|number| setting.kind.of_number(number)), digits.to_owned())
            }
            DeValue::Float(number) => {
                let digits = number.as_str();
                (digits.parse().ok().and_then(|number| setting.kind.of_decimal(number)), digits.to_owned())
            }
            DeValue::Boolean(switch) => (setting.kind.read(&switch.to_string()), switch.to_string()),
            other => (None, format!("of type {}", other.type_str())),
        };
        let Some(read) = read else {
            return Err(ConfigError::Value { from: source, key: setting.key, found, wanted: setting.kind.wanted() });
        };
        self.values.insert(setting.key, (read, source));
        Ok(())
    }

    /// Reads the environment; `lookup` gives a variable's value. One that is empty counts as not set.
    ///
    /// # Errors
    /// [`ConfigError::Value`] for a value of the wrong kind.
    pub fn from_environment(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let mut layer = Self::default();
        for setting in &SETTINGS {
            if let Some(text) = lookup(setting.variable).filter(|text| !text.is_empty()) {
                layer.put(setting, &text, Source::Environment(setting.variable))?;
            }
        }
        Ok(layer)
    }

    /// Adds what an option of the command line says.
    ///
    /// # Errors
    /// [`ConfigError::Value`] for a value of the wrong kind.
    pub fn with_option(mut self, key: &str, option: &'static str, text: Option<&str>) -> Result<Self, ConfigError> {
        if let Some((setting, text)) = Setting::named(key).zip(text) {
            self.put(setting, text, Source::CommandLine(option))?;
        }
        Ok(self)
    }

    fn put(&mut self, setting: &'static Setting, text: &str, source: Source) -> Result<(), ConfigError> {
        let Some(value) = setting.kind.read(text) else {
            let found = format!("`{text}`");
            return Err(ConfigError::Value { from: source, key: setting.key, found, wanted: setting.kind.wanted() });
        };
        self.values.insert(setting.key, (value, source));
        Ok(())
    }

    pub(super) fn into_values(self) -> BTreeMap<&'static str, (Value, Source)> {
        self.values
    }
}
