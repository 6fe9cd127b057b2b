use std::ffi::OsString;
use std::fs;
use std::path::Path;

use super::*;

/// Odd settings files that people have.
const ODD: &[&str] = &[
    "{}",
    "{}\n",
    "{\n}\n",
    "",
    "\n",
    "{\n  \"model\": \"opus\"\n}\n",
    "{\n  \"model\": \"opus\"\n}",
    "{\n\t\"model\": \"opus\",\n\t\"env\": {\n\t\t\"A\": \"1\"\n\t}\n}\n",
    "{\r\n    \"model\": \"opus\"\r\n}\r\n",
    "\u{feff}{\n  \"a\": 1\n}\n",
    "{\"a\":1,\"big\":12345678901234567890123,\"f\":1.50e+2}",
    "{\n  // why\n  \"a\": 1, /* and */\n  \"b\": [1, 2,], // trailing\n}\n",
    "{\n  \"hooks\": {}\n}\n",
    "{\n  \"hooks\": {\n    \"PostToolUse\": []\n  },\n  \"mcpServers\": {}\n}\n",
    "{\n  \"hooks\": {\n    \"PostToolUse\": [\n      {\n        \"matcher\": \"Edit\",\n        \"hooks\": [{ \"type\": \"command\", \"command\": \"fmt\" }]\n      }\n    ],\n    \"Stop\": []\n  },\n  \"statusLine\": { \"type\": \"command\", \"command\": \"mine\" },\n  \"mcpServers\": { \"other\": { \"command\": \"x\" } },\n  \"mcp\": { \"other\": { \"type\": \"remote\", \"url\": \"https://example.org\" } }\n}\n",
    "{\n  \"mcpServers\": {\n    \"plimsoll\": { \"command\": \"npx\", \"args\": [\"plimsoll\"] }\n  },\n  \"hooks\": {\n    \"PreCompact\": [{ \"hooks\": [{ \"type\": \"command\", \"command\": \"PLIMSOLL_LOG=/x plimsoll hook PreCompact\" }] }]\n  }\n}\n",
];

struct House {
    folder: tempfile::TempDir,
    places: InstallPlaces,
}

impl House {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        fs::create_dir(&home).unwrap();
        let places =
            InstallPlaces::of(|name| (name == "HOME").then(|| OsString::from(&home)), &folder.path().join("project"));
        Self { folder, places }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join("home").join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn install(&self, agent: Agent) -> InstallPlan {
        let plan = plan_install(agent, Scope::User, &Program::new("/opt/bin/plimsoll"), &self.places).unwrap();
        apply(&plan, &self.places).unwrap();
        plan
    }

    fn uninstall(&self, agent: Agent) -> InstallPlan {
        let plan = plan_uninstall(agent, Scope::User, &self.places).unwrap();
        apply(&plan, &self.places).unwrap();
        plan
    }
}

/// All files below a folder with their content, but what is remembered.
fn everything(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.ends_with(".local") {
                continue;
            }
            if path.is_dir() {
                found.push((path.display().to_string(), Vec::new()));
                open.push(path);
            } else {
                found.push((path.display().to_string(), fs::read(&path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

fn files(agent: Agent) -> &'static [&'static str] {
    match agent {
        Agent::Claude => &[".claude/settings.json", ".claude.json"],
        Agent::Codex => &[".codex/hooks.json"],
        Agent::OpenCode => &[".config/opencode/opencode.jsonc"],
    }
}

/// Installs with a store whose name takes quoting everywhere.
fn install_with(house: &House, agent: Agent, store: Option<&str>) -> InstallPlan {
    let program = Program::new("/opt/bin/plimsoll");
    let program = store.map_or(program.clone(), |store| program.with_store(store).unwrap());
    let plan = plan_install(agent, Scope::User, &program, &house.places).unwrap();
    apply(&plan, &house.places).unwrap();
    plan
}

#[test]
fn a_store_is_named_in_every_command_and_such_commands_are_known_again() {
    let store = "s3://bucket/o'neil's team";
    for (_, agent) in Agent::ALL {
        let house = House::new();
        let first = install_with(&house, agent, Some(store));
        for change in &first.changes {
            let text = String::from_utf8(change.after.clone().unwrap()).unwrap();
            assert_eq!(
                text.matches("plimsoll --store").count() + text.matches("\"--store\"").count(),
                text.matches("/opt/bin/plimsoll").count(),
                "{text}"
            );
            assert!(
                text.contains(r"'s3://bucket/o'\\''neil'\\''s team'")
                    || text.contains("\"s3://bucket/o'neil's team\""),
                "{text}"
            );
        }
        assert!(!install_with(&house, agent, Some(store)).is_change(), "once is enough");
        // Also where the files have changed since, and nothing is remembered of them.
        fs::remove_dir_all(house.path(".local")).unwrap();
        assert!(!install_with(&house, agent, Some(store)).is_change());
        let without = install_with(&house, agent, None);
        assert!(without.is_change());
        let texts = without.changes.iter().map(|change| String::from_utf8(change.after.clone().unwrap()).unwrap());
        assert!(texts.clone().all(|text| !text.contains("--store") && text.contains("/opt/bin/plimsoll")));
        install_with(&house, agent, Some("/srv/store"));
        let taken = house.uninstall(agent);
        assert!(taken.calls.iter().all(|call| call.store.as_deref() == Some("/srv/store")), "{:?}", taken.calls);
        // But for copies of files that were there, as far as anybody remembers.
        let left = everything(house.folder.path()).into_iter().filter(|(path, _)| !path.contains("-backup"));
        let ours = |text: &[u8]| String::from_utf8_lossy(text).contains("plimsoll");
        assert_eq!(left.filter(|(_, text)| ours(text)).collect::<Vec<_>>(), []);
    }
}

#[test]
fn what_was_installed_twice_with_a_change_between_is_taken_out_all_the_same() {
    for (_, agent) in Agent::ALL {
        let house = House::new();
        house.install(agent);
        for change in plan_uninstall(agent, Scope::User, &house.places).unwrap().changes {
            let end = if change.path.extension().is_some_and(|end| end == "toml") { "a = 1\n" } else { "" };
            let text = fs::read_to_string(&change.path).unwrap();
            fs::write(&change.path, format!("{end}{text}\n")).unwrap();
        }
        install_with(&house, agent, Some("/srv/store"));
        house.uninstall(agent);
        let taken = plan_uninstall(agent, Scope::User, &house.places).unwrap();
        assert!(!taken.is_change() && taken.calls.is_empty(), "{:?}", taken.calls);
    }
}

#[test]
fn options_that_somebody_added_stay_when_it_is_installed_again_and_go_when_it_is_taken_out() {
    let house = House::new();
    house.install(Agent::Claude);
    let text = house.read(".claude/settings.json").replacen("plimsoll hook Pre", "plimsoll --log /x hook Pre", 1);
    house.write(".claude/settings.json", &text);
    let again = house.install(Agent::Claude);
    assert!(house.read(".claude/settings.json").contains("--log /x"));
    assert!(again.changes[0].notes[0].contains("options of its own"), "{:?}", again.changes[0].notes);
    house.uninstall(Agent::Claude);
    assert!(!house.read(".claude/settings.json").contains("plimsoll"));
}

#[test]
fn what_was_installed_is_taken_out_byte_for_byte_whatever_the_file_looked_like() {
    for (_, agent) in Agent::ALL {
        for text in ODD {
            let house = House::new();
            for file in files(agent) {
                house.write(file, text);
            }
            let before = everything(house.folder.path());
            house.install(agent);
            assert_ne!(everything(house.folder.path()), before, "{agent:?} {text:?}");
            let installed = everything(house.folder.path());
            assert!(!house.install(agent).is_change(), "once is enough: {agent:?} {text:?}");
            assert_eq!(everything(house.folder.path()), installed);
            house.uninstall(agent);
            assert_eq!(everything(house.folder.path()), before, "{agent:?} {text:?}");
            assert!(!house.uninstall(agent).is_change());
        }
    }
}

#[test]
fn files_and_directories_that_were_not_there_are_gone_again() {
    for (_, agent) in Agent::ALL {
        let house = House::new();
        let before = everything(house.folder.path());
        house.install(agent);
        house.uninstall(agent);
        let left: Vec<_> =
            everything(house.folder.path()).into_iter().filter(|file| !before.contains(file)).collect();
        // `.config` is the user's, though it was made for the first program that needed it.
        assert!(left.iter().all(|(path, _)| path.ends_with("/.config")), "{agent:?}: {left:?}");
    }
}

#[test]
fn what_others_wrote_since_stays_and_only_our_parts_go() {
    for text in ODD {
        let house = House::new();
        let name = ".claude/settings.json";
        house.write(name, text);
        house.install(Agent::Claude);
        let installed = house.read(name);
        let Some((head, tail)) = installed.rsplit_once('}') else { panic!("{installed}") };
        // Somebody adds a member at the end, as an editor would.
        let comma = if tail_has_comma(head) { "" } else { "," };
        house.write(name, &format!("{head}{comma}\n  \"mine\": [1, 2]\n}}{tail}"));
        house.uninstall(Agent::Claude);
        let left = house.read(name);
        let file = json::JsonFile::parse(left.as_bytes()).unwrap_or_else(|error| panic!("{text:?}: {left}: {error}"));
        assert!(file.at(&["mine"]).is_some(), "{left}");
        assert!(!left.contains("/opt/bin/plimsoll"), "{text:?}: {left}");
        let first = json::JsonFile::parse(text.as_bytes()).unwrap();
        for (key, value) in first.root().into_iter().flat_map(plimsoll::wire::Value::fields) {
            let key = key.decode();
            // An empty list of hooks may have gone with the hook that was put into it.
            let kept = file.at(&[&key]).map(|value| value.raw().to_vec());
            assert!(kept.as_deref() == Some(value.raw()) || key == "hooks", "{key} of {text:?}: {left}");
        }
    }
}

fn tail_has_comma(head: &str) -> bool {
    let mut text = head.to_owned();
    while let Some(at) =
        text.rfind("//").filter(|at| !text[*at..].contains('\n') || text[*at..].trim_end().lines().count() == 1)
    {
        text.truncate(at);
    }
    text.trim_end().ends_with([',', '{'])
}

#[test]
fn a_moved_program_is_brought_up_to_date_and_still_comes_out_byte_for_byte() {
    let house = House::new();
    let text = "{\n  \"model\": \"opus\"\n}";
    house.write(".claude/settings.json", text);
    house.install(Agent::Claude);
    let moved = Program::new("/new place/plimsoll");
    let plan = plan_install(Agent::Claude, Scope::User, &moved, &house.places).unwrap();
    apply(&plan, &house.places).unwrap();
    let now = house.read(".claude/settings.json");
    assert!(now.contains("'/new place/plimsoll' hook PostToolUse") && !now.contains("/opt/bin"), "{now}");
    assert_eq!(now.matches("hook PostToolUse").count(), 1);
    house.uninstall(Agent::Claude);
    assert_eq!(house.read(".claude/settings.json"), text);
}

#[test]
fn what_is_by_hand_is_left_and_said() {
    let house = House::new();
    house.write(".claude/settings.json", ODD.last().unwrap());
    house.write(".claude.json", ODD.last().unwrap());
    let plan = house.install(Agent::Claude);
    let notes: Vec<&str> = plan.changes.iter().flat_map(|change| &change.notes).map(String::as_str).collect();
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(house.read(".claude.json").contains("\"npx\""));
    assert_eq!(house.read(".claude/settings.json").matches("hook PreCompact").count(), 1);
    house.write(".claude/settings.json", &format!("{}\n", house.read(".claude/settings.json")));
    house.uninstall(Agent::Claude);
    assert!(house.read(".claude/settings.json").contains("PLIMSOLL_LOG=/x plimsoll hook PreCompact"));
}

#[test]
fn a_status_line_of_ones_own_is_kept() {
    let house = House::new();
    house.write(".claude/settings.json", r#"{"statusLine":{"type":"command","command":"mine"}}"#);
    let plan = house.install(Agent::Claude);
    assert!(plan.changes[0].notes.iter().any(|note| note.contains("status line")), "{plan:?}");
    assert!(house.read(".claude/settings.json").contains("\"mine\""));
}

#[test]
fn a_file_that_changed_after_the_plan_is_left_as_it_is() {
    let house = House::new();
    house.write(".claude/settings.json", "{}");
    let plan = plan_install(Agent::Claude, Scope::User, &Program::new("/opt/bin/plimsoll"), &house.places).unwrap();
    house.write(".claude/settings.json", "{\"new\":1}");
    assert!(matches!(apply(&plan, &house.places), Err(InstallError::Changed { .. })));
    assert_eq!(house.read(".claude/settings.json"), "{\"new\":1}");
}

#[test]
fn a_broken_file_is_refused_by_name_and_not_touched() {
    for text in ["{", "[]", "{\"hooks\": []}", "{\"hooks\": {\"PostToolUse\": {}}}"] {
        let house = House::new();
        house.write(".claude/settings.json", text);
        let error =
            plan_install(Agent::Claude, Scope::User, &Program::new("/opt/bin/plimsoll"), &house.places).unwrap_err();
        let shown = error.to_string();
        assert!(shown.contains("settings.json") && shown.contains("run the command again"), "{shown}");
    }
}

#[cfg(unix)]
#[test]
fn a_link_is_followed_to_a_file_and_stays_a_link_and_modes_stay() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let house = House::new();
    house.write("dotfiles/settings.json", "{}\n");
    fs::set_permissions(house.path("dotfiles/settings.json"), fs::Permissions::from_mode(0o640)).unwrap();
    fs::create_dir(house.path(".claude")).unwrap();
    symlink(house.path("dotfiles/settings.json"), house.path(".claude/settings.json")).unwrap();
    let plan = house.install(Agent::Claude);
    assert!(plan.changes[0].leads_to.as_ref().unwrap().ends_with("dotfiles/settings.json"));
    assert!(fs::symlink_metadata(house.path(".claude/settings.json")).unwrap().is_symlink());
    assert!(house.read("dotfiles/settings.json").contains("hook PostToolUse"));
    let mode = fs::metadata(house.path("dotfiles/settings.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    house.uninstall(Agent::Claude);
    assert_eq!(house.read("dotfiles/settings.json"), "{}\n");
    assert!(fs::symlink_metadata(house.path(".claude/settings.json")).unwrap().is_symlink());

    fs::remove_file(house.path("dotfiles/settings.json")).unwrap();
    let error =
        plan_install(Agent::Claude, Scope::User, &Program::new("/opt/bin/plimsoll"), &house.places).unwrap_err();
    assert!(error.to_string().contains("leads nowhere"), "{error}");
}

#[test]
fn codex_has_its_table_and_its_hooks() {
    let house = House::new();
    house.write(".codex/config.toml", "model = \"gpt-5\" # mine\n");
    let plan = house.install(Agent::Codex);
    insta::assert_snapshot!(house.read(".codex/config.toml"), @r#"
    model = "gpt-5" # mine

    [mcp_servers.plimsoll]
    command = "/opt/bin/plimsoll"
    args = ["mcp"]
    "#);
    let hooks = house.read(".codex/hooks.json");
    assert!(
        hooks.contains("hook PreCompact") && hooks.contains("\"compact\"") && !hooks.contains("PostToolUse"),
        "{hooks}"
    );
    assert!(plan.notes.iter().any(|note| note.contains("/hooks")));
    house.uninstall(Agent::Codex);
    assert_eq!(house.read(".codex/config.toml"), "model = \"gpt-5\" # mine\n");
    assert!(!house.path(".codex/hooks.json").exists());
}

#[test]
fn what_is_remembered_is_private_and_forgotten_in_the_end() {
    let house = House::new();
    house.write(".claude.json", "{\"secret\":1}");
    house.install(Agent::Claude);
    let folder = house.path(".local/state/plimsoll/installed");
    assert!(fs::read_dir(&folder).unwrap().count() >= 3);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&folder), 0o700);
        assert!(fs::read_dir(&folder).unwrap().all(|file| mode(&file.unwrap().path()) == 0o600));
    }
    house.uninstall(Agent::Claude);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
}
