//! Whether the models that agents are configured with are known: without a window nothing can be judged.

use std::ffi::OsString;
use std::path::PathBuf;

use plimsoll::model::Lookup;
use serde::Deserialize;

use super::Check;
use crate::CatalogueFiles;

const AREA: &str = "models";
/// What Claude Code's own short names stand for changes from version to version.
const SHORT: [&str; 7] = ["default", "opus", "sonnet", "haiku", "opusplan", "best", "inherit"];

/// Reads which models agents are configured with: each name, and where it stands.
///
/// Looked at are `ANTHROPIC_MODEL`, Claude Code's `settings.json` and Codex's `config.toml`. A file that is not there, or
/// not understood, names none: that is for its program to say.
pub fn configured_models(lookup: &dyn Fn(&str) -> Option<OsString>) -> Vec<(String, String)> {
    let absolute = |name: &str| lookup(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = absolute("HOME").or_else(|| absolute("USERPROFILE"));
    let below = |own: &str, name: &str| absolute(own).or_else(|| home.as_ref().map(|home| home.join(name)));
    let mut found = Vec::new();
    let variable = lookup("ANTHROPIC_MODEL").map(|name| name.to_string_lossy().into_owned());
    found.extend(variable.filter(|name| !name.is_empty()).map(|name| (name, "ANTHROPIC_MODEL".to_owned())));
    if let Some(path) = below("CLAUDE_CONFIG_DIR", ".claude").map(|folder| folder.join("settings.json")) {
        let settings = std::fs::read(&path).ok().and_then(|text| serde_json::from_slice::<Settings>(&text).ok());
        found.extend(settings.and_then(|settings| settings.model).map(|name| (name, path.display().to_string())));
    }
    if let Some(path) = below("CODEX_HOME", ".codex").map(|folder| folder.join("config.toml")) {
        let settings = std::fs::read_to_string(&path).ok().and_then(|text| toml::from_str::<Settings>(&text).ok());
        found.extend(settings.and_then(|settings| settings.model).map(|name| (name, path.display().to_string())));
    }
    found
}

/// The one setting that is read of other programs' files.
#[derive(Deserialize)]
struct Settings {
    model: Option<String>,
}

/// Judges models by name, each with where it is configured, by the catalogue and the user's lines in it.
pub fn models(configured: &[(String, String)], files: &CatalogueFiles) -> Vec<Check> {
    let (catalogue, mistake) = files.load_anyway();
    let fix = "until then no command that counts or compacts runs";
    let mistake = mistake.map(|mistake| Check::fail(AREA, mistake.to_string(), fix));
    let judged = configured.iter().map(|(name, place)| {
        let plain = name.split('[').next().unwrap_or(name);
        match catalogue.lookup(name) {
            Lookup::Known(limits) => match limits.context_window.or(limits.max_input) {
                Some(window) => {
                    let (tokens, source) = (window.tokens, window.source);
                    Check::ok(AREA, format!("{name} ({place}) has a window of {tokens} tokens ({source})"))
                }
                None => {
                    Check::warn(AREA, format!("the window of {name} ({place}) is not known"), "give --window TOKENS")
                }
            },
            Lookup::Unknown if SHORT.contains(&plain) => {
                Check::note(AREA, format!("{name} ({place}) stands for a model that its program chooses"))
            }
            Lookup::Unknown => Check::warn(
                AREA,
                format!("{name} ({place}) is not known, so {} tokens are assumed", plimsoll::model::DEFAULT_LIMIT),
                "give --window TOKENS, or say its limits in models.jsonl beside the configuration; `plimsoll models` lists what is known",
            ),
        }
    });
    mistake.into_iter().chain(judged).collect()
}

#[cfg(test)]
mod tests {
    use super::super::Level;
    use super::*;

    #[test]
    fn models_are_read_from_the_programs_own_files() {
        let home = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = home.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let read = || {
            let at = home.path().as_os_str().to_owned();
            let found = configured_models(&|name| (name == "HOME").then(|| at.clone()));
            found.into_iter().map(|(name, _)| name).collect::<Vec<_>>()
        };
        assert!(read().is_empty());
        write(".claude/settings.json", r#"{"model":"opus","hooks":{}}"#);
        write(".codex/config.toml", "model = \"gpt-5.1-codex\"\n[tools]\nx = 1\n");
        assert_eq!(read(), ["opus", "gpt-5.1-codex"]);
        write(".codex/config.toml", "model = ");
        assert_eq!(read(), ["opus"]);
        let found = configured_models(&|name| (name == "ANTHROPIC_MODEL").then(|| "sonnet".into()));
        assert_eq!(found, [("sonnet".to_owned(), "ANTHROPIC_MODEL".to_owned())]);
    }

    #[test]
    fn a_model_without_a_known_window_is_told() {
        let files = CatalogueFiles::default();
        let level = |name: &str| models(&[(name.to_owned(), "config.toml".to_owned())], &files)[0].level;
        assert_eq!(level("claude-sonnet-4-5"), Level::Ok);
        assert_eq!(level("sonnet"), Level::Note);
        assert_eq!(level("sonnet[1m]"), Level::Note);
        assert_eq!(level("our-own-finetune"), Level::Warn);
        assert!(models(&[], &files).is_empty());
    }

    #[test]
    fn the_users_lines_count_and_a_mistake_in_them_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("models.jsonl");
        let files = CatalogueFiles { user: Some(path.clone()), refreshed: None };
        let configured = [("our-own-finetune".to_owned(), "config.toml".to_owned())];
        std::fs::write(&path, "{\"model\":\"our-own-finetune\",\"context_window\":40960}\n").unwrap();
        let checks = models(&configured, &files);
        assert_eq!(checks.len(), 1);
        assert_eq!(checks[0].says, "our-own-finetune (config.toml) has a window of 41.0K tokens (user)");
        std::fs::write(&path, "{\"model\":\"our-own-finetune\",\"window\":40960}\n").unwrap();
        let checks = models(&configured, &files);
        assert_eq!((checks[0].level, checks[1].level), (Level::Fail, Level::Warn));
        assert!(checks[0].says.contains("models.jsonl, line 1"), "{}", checks[0].says);
    }
}
