//! The configuration: whether each file can be read and understood, and what it sets.

use std::fs;
use std::io;
use std::path::Path;

use super::Check;
use crate::config::{Config, Layer, Places, SETTINGS, Source};

const AREA: &str = "config";

/// Judges the files of a configuration, each by itself, and says what they set. `resolved` is what they come to with
/// environment and command line, if they come to anything.
pub fn configuration(places: &Places, resolved: Option<&Config>) -> Vec<Check> {
    let mut checks = Vec::new();
    let mut file = |path: Option<&Path>, whose: &str, project: bool, needed: bool| {
        if let Some(path) = path {
            checks.extend(judged(path, whose, project, needed));
        }
    };
    file(places.system.as_deref(), "the system's", false, false);
    if let Some(named) = places.named.as_deref() {
        file(Some(named), "the named", false, true);
    } else {
        file(places.user.as_deref(), "the user's", false, false);
        file(places.project.as_deref(), "the project's", true, false);
    }
    let sets: Vec<String> = SETTINGS
        .iter()
        .filter_map(|setting| {
            let (_, source) = resolved?.get(setting.key)?;
            (*source != Source::Default).then(|| format!("{} from {source}", setting.key))
        })
        .collect();
    if resolved.is_some() {
        checks.push(Check::note(
            AREA,
            if sets.is_empty() {
                "every setting has its default".to_owned()
            } else {
                format!("not by default: {}", sets.join(", "))
            },
        ));
    }
    checks
}

fn judged(path: &Path, whose: &str, project: bool, needed: bool) -> Vec<Check> {
    let shown = path.display();
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound && !needed => return Vec::new(),
        Err(error) => {
            let fix = if needed {
                "name a file that is there"
            } else {
                "make it a text file that you may read, or remove it"
            };
            return vec![Check::fail(AREA, format!("{whose} file {shown} cannot be read: {error}"), fix)];
        }
    };
    let mut checks = Vec::new();
    match Layer::from_toml(&text, path, project) {
        Ok(_) => checks.push(Check::ok(AREA, format!("{whose} file {shown} is understood"))),
        Err(error) => checks.push(Check::fail(AREA, error.to_string(), "mend that line; commands do nothing before")),
    }
    if !project && others_write(path) {
        let says = format!("{shown} can be changed by other users, who could move the store with it");
        checks.push(Check::warn(AREA, says, format!("chmod go-w {shown}")));
    }
    checks
}

#[cfg(unix)]
fn others_write(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o022 != 0)
}

#[cfg(not(unix))]
fn others_write(_: &Path) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::super::told;
    use super::*;

    #[test]
    fn each_file_is_judged_and_a_mistake_names_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let write = |name: &str, text: &str| {
            fs::write(path(name), text).unwrap();
            #[cfg(unix)]
            fs::set_permissions(path(name), std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        };
        write("user.toml", "[compact]\ntarget = 0.3\n");
        write("project.toml", "[compact]\ntraget = 0.3\n");
        let places = Places {
            system: Some(path("none.toml")),
            user: Some(path("user.toml")),
            project: Some(path("project.toml")),
            named: None,
        };
        let user = Layer::from_toml("[compact]\ntarget = 0.3\n", "user.toml".as_ref(), false).unwrap();
        let shown = |checks: &[Check]| told(checks).replace(&folder.path().display().to_string(), "~");
        insta::assert_snapshot!(shown(&configuration(&places, Some(&Config::resolve([user])))), @r"
        Ok config: the user's file ~/user.toml is understood
        Fail config: ~/project.toml:2: there is no setting `compact.traget`; is `compact.target` meant? → mend that line; commands do nothing before
        Note config: not by default: compact.target from user.toml:2
        ");
        let named = Places { named: Some(path("none.toml")), ..places };
        assert!(
            shown(&configuration(&named, None)).starts_with("Fail config: the named file ~/none.toml cannot be read")
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_may_change_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o666)).unwrap();
        let checks = configuration(&Places { user: Some(path), ..Places::default() }, None);
        assert!(checks.iter().any(|check| check.level == super::super::Level::Warn), "{checks:?}");
    }
}
