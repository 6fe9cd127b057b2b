//! Plugins of Claude Code: folders of skills and commands under one name.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use plimsoll::listing::{Lint, Rule, Source};
use serde::Deserialize;

use super::walk::Walk;

const MANIFEST: &str = ".claude-plugin/plugin.json";

#[derive(Deserialize)]
struct Manifest {
    name: Option<String>,
}

/// Whether a folder is a plugin.
pub(super) fn is_plugin(folder: &Path) -> bool {
    folder.join(MANIFEST).is_file()
}

/// Reads a plugin's skills and commands as `plugin:skill`. Its name is the manifest's, or as told, or its folder's.
pub(super) fn read_plugin(folder: &Path, told: Option<&str>, walk: &mut Walk) {
    let manifest = read_json::<Manifest>(&folder.join(MANIFEST), walk);
    let of_folder = || folder.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = manifest.and_then(|it| it.name).or_else(|| told.map(str::to_owned)).or_else(of_folder);
    let name = name.unwrap_or_else(|| "plugin".to_owned());
    walk.skills(&folder.join("skills"), Source::Plugin, Some(&name));
    walk.commands(&folder.join("commands"), Source::Plugin, Some(&name));
}

#[derive(Deserialize)]
struct Installed {
    #[serde(default)]
    plugins: BTreeMap<String, Installs>,
}

/// One plugin's installations: a list since version 2 of the file, a single one before.
#[derive(Deserialize)]
#[serde(untagged)]
enum Installs {
    Several(Vec<Install>),
    One(Install),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Install {
    install_path: Option<PathBuf>,
    project_path: Option<PathBuf>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Settings {
    enabled_plugins: BTreeMap<String, bool>,
}

/// Reads the plugins that are installed and not disabled. `config` is Claude Code's folder, `project` the project's.
pub(super) fn read_installed(config: &Path, project: &Path, walk: &mut Walk) {
    let Some(installed) = read_json::<Installed>(&config.join("plugins/installed_plugins.json"), walk) else {
        return;
    };
    let mut enabled = BTreeMap::new();
    // Later settings overrule earlier ones.
    let own = project.join(".claude");
    for file in [config.join("settings.json"), own.join("settings.json"), own.join("settings.local.json")] {
        enabled.extend(read_json::<Settings>(&file, walk).unwrap_or_default().enabled_plugins);
    }
    for (key, installs) in installed.plugins {
        if enabled.get(&key) == Some(&false) {
            continue;
        }
        let installs = match installs {
            Installs::Several(several) => several,
            Installs::One(one) => vec![one],
        };
        let is_here =
            |install: &Install| install.project_path.as_deref().is_none_or(|path| project.starts_with(path));
        let told = key.split('@').next().filter(|name| !name.is_empty());
        if let Some(path) = installs.into_iter().find(is_here).and_then(|install| install.install_path) {
            read_plugin(&path, told, walk);
        }
    }
}

/// Reads a JSON file that need not be there; one that cannot be understood is reported.
fn read_json<T: for<'de> Deserialize<'de>>(path: &Path, walk: &mut Walk) -> Option<T> {
    let bytes = std::fs::read(path).ok()?;
    match serde_json::from_slice(&bytes) {
        Ok(value) => Some(value),
        Err(error) => {
            let lint = Lint::new("", Rule::Unreadable, format!("it cannot be understood: {error}"));
            walk.lints.push(lint.at(path.display().to_string()));
            None
        }
    }
}
