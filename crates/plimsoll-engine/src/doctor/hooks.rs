//! What is installed into agent programs, and whether it calls a program that is there; and what hooks had to say.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::Check;
use crate::install::{Agent, InstallError, InstallPlaces, Program, Scope, plan_install, plan_uninstall};

const AREA: &str = "hooks";
/// Trouble that is older is no news.
const NEWS: Duration = Duration::from_secs(7 * 86_400);

/// Judges what is installed of this program, for the user and for the project that `places` names.
pub fn hooks(places: &InstallPlaces, program: &Path) -> Vec<Check> {
    // What is installed is known again by the program's name, so under another name it cannot install itself.
    if program.file_stem().is_none_or(|name| name != "plimsoll") {
        let says = format!("this program is called {}: what is installed calls `plimsoll`", program.display());
        return vec![Check::note(AREA, says).with_fix("run `plimsoll doctor` to look at that")];
    }
    let mut checks = Vec::new();
    for (name, agent) in Agent::ALL {
        for scope in [Scope::User, Scope::Project] {
            checks.extend(judged(name, agent, scope, places, program));
        }
    }
    checks
}

fn judged(name: &str, agent: Agent, scope: Scope, places: &InstallPlaces, program: &Path) -> Vec<Check> {
    let (whose, option) = match scope {
        Scope::User => ("", ""),
        Scope::Project => (" of this project", " --scope project"),
    };
    let again = format!("plimsoll install {name}{option} --apply");
    let failed =
        |error: InstallError| vec![Check::fail(AREA, format!("{name}{whose}: {error}"), "mend the file it names")];
    let taken = match plan_uninstall(agent, scope, places) {
        Ok(taken) => taken,
        Err(error) => return failed(error),
    };
    if !taken.is_change() {
        // A project without hooks of its own is as projects are.
        let note = Check::note(AREA, format!("nothing is installed in {name}")).with_fix(again);
        return (scope == Scope::User).then_some(note).into_iter().collect();
    }
    let mut stores: Vec<Option<&str>> = taken.calls.iter().map(|call| call.store.as_deref()).collect();
    stores.sort_unstable();
    stores.dedup();
    let store = stores.iter().flatten().next().copied();
    let again = store.map_or(again.clone(), |store| {
        format!("plimsoll --store '{}' install {name}{option} --apply", store.replace('\'', r"'\''"))
    });
    let as_it_is = match store {
        Some(store) => Program::new(program).with_store(store),
        None => Ok(Program::new(program)),
    };
    let put = match as_it_is.and_then(|program| plan_install(agent, scope, &program, places)) {
        Ok(put) => put,
        Err(InstallError::Store { reason }) => {
            let says = format!("what is installed in {name}{whose} names a store that cannot be used: {reason}");
            return vec![Check::fail(AREA, says, again)];
        }
        Err(error) => return failed(error),
    };
    let called = || taken.calls.iter().map(|call| &call.program).filter(|path| path.is_absolute());
    if let Some(path) = called().find(|path| !path.is_file()) {
        let says = format!("what is installed in {name}{whose} calls {}, which is not there", path.display());
        return vec![Check::fail(AREA, says, again)];
    }
    let with = store.map_or_else(String::new, |store| format!(", with the store {store}"));
    if stores.len() > 1 {
        let named: Vec<&str> = stores.iter().map(|store| store.unwrap_or("the configured one")).collect();
        let says = format!("what is installed in {name}{whose} uses several stores: {}", named.join(", "));
        return vec![Check::warn(AREA, says, again)];
    }
    if !put.is_change() {
        return vec![Check::ok(AREA, format!("installed in {name}{whose}, and calls this program{with}"))];
    }
    let says = match called().find(|path| path.as_path() != program) {
        Some(other) => format!("what is installed in {name}{whose} calls another program, {}", other.display()),
        None => format!("only a part is installed in {name}{whose}"),
    };
    vec![Check::warn(AREA, says, again)]
}

/// Judges the log of hooks: a hook that does nothing says why there, and nowhere else.
pub fn log(path: Option<&Path>, now: SystemTime) -> Vec<Check> {
    let Some(path) = path else {
        return vec![Check::fail(AREA, "no directory for the log is known", "set HOME, or give --log FILE")];
    };
    let shown = path.display();
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_file() => metadata,
        Ok(_) => {
            let says = format!("the log {shown} is no regular file, so nothing is written to it");
            return vec![Check::fail(AREA, says, "move it away, or give --log FILE")];
        }
        Err(_) => return vec![Check::ok(AREA, "no hook has had anything to log")],
    };
    let text = fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let age = metadata.modified().ok().and_then(|at| now.duration_since(at).ok()).unwrap_or_default();
    match text.lines().next_back() {
        Some(last) if age < NEWS => {
            let last: String = last.chars().take(200).collect();
            let says = format!("a hook logged trouble in the last days: {last}");
            vec![Check::warn(AREA, says, format!("see {shown}; remove it when it is settled"))]
        }
        _ => vec![Check::ok(AREA, "no hook has had anything to log in the last days")],
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::super::told;
    use super::*;
    use crate::install::apply;

    struct Home(tempfile::TempDir);

    impl Home {
        fn places(&self) -> InstallPlaces {
            let home = self.0.path().join("home").into_os_string();
            InstallPlaces::of(|name| (name == "HOME").then(|| home.clone()), &self.0.path().join("project"))
        }

        fn program(&self, name: &str) -> PathBuf {
            let path = self.0.path().join(name).join("plimsoll");
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "").unwrap();
            path
        }

        fn told(&self, program: &Path) -> String {
            let checks: Vec<Check> =
                hooks(&self.places(), program).into_iter().filter(|check| check.says.contains("claude")).collect();
            told(&checks).replace(&self.0.path().display().to_string(), "~")
        }
    }

    #[test]
    fn what_is_installed_is_judged_by_the_program_that_it_calls() {
        let home = Home(tempfile::tempdir().unwrap());
        let (mine, other) = (home.program("bin"), home.program("old"));
        fs::create_dir_all(home.0.path().join("home")).unwrap();
        insta::assert_snapshot!(home.told(&mine), @"Note hooks: nothing is installed in claude → plimsoll install claude --apply");
        let plan = plan_install(Agent::Claude, Scope::User, &Program::new(&other), &home.places()).unwrap();
        apply(&plan, &home.places()).unwrap();
        insta::assert_snapshot!(home.told(&other), @"Ok hooks: installed in claude, and calls this program");
        insta::assert_snapshot!(home.told(&mine), @"Warn hooks: what is installed in claude calls another program, ~/old/plimsoll → plimsoll install claude --apply");
        fs::remove_file(&other).unwrap();
        insta::assert_snapshot!(home.told(&mine), @"Fail hooks: what is installed in claude calls ~/old/plimsoll, which is not there → plimsoll install claude --apply");
        fs::write(home.0.path().join("home/.claude/settings.json"), "{ no JSON").unwrap();
        assert!(
            home.told(&mine).starts_with("Fail hooks: claude: ~/home/.claude/settings.json"),
            "{}",
            home.told(&mine)
        );
    }

    #[test]
    fn a_store_that_is_installed_is_said_and_installed_again() {
        let home = Home(tempfile::tempdir().unwrap());
        let (mine, other) = (home.program("bin"), home.program("old"));
        fs::create_dir_all(home.0.path().join("home")).unwrap();
        // One whose last component is called as the program is.
        let program = |path: &Path| Program::new(path).with_store("s3://bucket/plimsoll").unwrap();
        let plan = plan_install(Agent::Claude, Scope::User, &program(&mine), &home.places()).unwrap();
        apply(&plan, &home.places()).unwrap();
        insta::assert_snapshot!(home.told(&mine), @"Ok hooks: installed in claude, and calls this program, with the store s3://bucket/plimsoll");
        insta::assert_snapshot!(home.told(&other), @"Warn hooks: what is installed in claude calls another program, ~/bin/plimsoll → plimsoll --store 's3://bucket/plimsoll' install claude --apply");
        let settings = home.0.path().join("home/.claude/settings.json");
        let text = fs::read_to_string(&settings).unwrap().replacen(
            "--store s3://bucket/plimsoll ",
            "--store /var/plimsoll ",
            1,
        );
        fs::write(&settings, text).unwrap();
        insta::assert_snapshot!(home.told(&mine), @"Warn hooks: what is installed in claude uses several stores: /var/plimsoll, s3://bucket/plimsoll → plimsoll --store '/var/plimsoll' install claude --apply");
    }

    #[test]
    fn trouble_in_the_log_is_told_while_it_is_news() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let now = SystemTime::now();
        assert!(told(&log(Some(&path), now)).starts_with("Ok"));
        fs::write(&path, "one\ntwo: the disk is full\n").unwrap();
        assert!(told(&log(Some(&path), now)).contains("in the last days: two: the disk is full"));
        assert!(told(&log(Some(&path), now + 2 * NEWS)).starts_with("Ok"));
        assert!(told(&log(Some(folder.path()), now)).starts_with("Fail"));
        assert!(told(&log(None, now)).starts_with("Fail"));
    }
}
