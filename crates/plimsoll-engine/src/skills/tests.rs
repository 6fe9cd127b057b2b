//! Reading from folders made for the purpose, and from real ones where there are any.

use std::fs;
use std::path::{Path, PathBuf};

use plimsoll::listing::{Kind, Rule, Source, Visibility};
use tempfile::TempDir;

use super::*;

fn write(root: &Path, path: &str, text: &str) -> PathBuf {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}

fn skill(root: &Path, folder: &str, description: &str) {
    let name = folder.rsplit('/').next().unwrap();
    write(
        root,
        &format!("{folder}/SKILL.md"),
        &format!("---\nname: {name}\ndescription: {description}\n---\nBody.\n"),
    );
}

fn names(skills: &Skills) -> Vec<&str> {
    skills.found.iter().map(|found| found.entry.name.as_str()).collect()
}

fn rules(skills: &Skills) -> Vec<Rule> {
    skills.lint.iter().map(|lint| lint.rule).collect()
}

#[test]
fn a_user_a_project_and_an_organisation_are_read_with_their_precedence() {
    let temp = TempDir::new().unwrap();
    let (home, project) = (temp.path().join("home"), temp.path().join("work/app"));
    skill(&home, ".claude/skills/deploy", "of the user");
    skill(&home, ".claude/skills/alone", "of the user");
    skill(&project, ".claude/skills/deploy", "of the project");
    skill(&project, ".claude/skills/review", "of the project");
    write(&project, ".claude/commands/review.md", "A command of that name.");
    write(&project, ".claude/commands/git/sync.md", "---\ndescription: Syncs.\nname: ignored\n---\n");
    skill(temp.path(), "managed/review", "of the organisation");
    fs::create_dir_all(project.join(".git")).unwrap();
    fs::create_dir_all(project.join("src/deep")).unwrap();

    let mut places = Places::of_project(project.join("src/deep")).with_home(&home);
    places.managed.push(temp.path().join("managed"));
    let skills = read(&places, &[Agent::Claude]);
    assert_eq!(names(&skills), ["review", "alone", "deploy", "git:sync"]);
    let deploy = &skills.found[2].entry;
    assert_eq!((deploy.source, deploy.description.as_str()), (Source::User, "of the user"));
    let shadowed: Vec<(Source, Kind, Source)> =
        skills.shadowed.iter().map(|it| (it.entry.entry.source, it.entry.entry.kind.clone(), it.by)).collect();
    assert_eq!(
        shadowed,
        [
            (Source::Project, Kind::Skill, Source::User),
            (Source::Project, Kind::Skill, Source::Managed),
            (Source::Project, Kind::Command, Source::Managed),
        ],
    );
    assert_eq!(skills.lint, []);
}

#[test]
fn codex_and_opencode_have_folders_of_their_own() {
    let temp = TempDir::new().unwrap();
    let (home, project) = (temp.path().join("home"), temp.path().join("app"));
    skill(&home, ".codex/skills/.system/creator", "comes with Codex");
    skill(&home, ".codex/skills/group/grouped", "lies deeper");
    skill(&home, ".agents/skills/shared", "of all agents");
    skill(&home, ".config/opencode/skills/open", "of OpenCode");
    skill(&project, ".opencode/skill/local", "of OpenCode");
    write(&home, ".codex/prompts/ask.md", "Asks.");
    write(&project, ".opencode/command/test.md", "---\ndescription: Tests.\n---\n");
    let places = Places::of_project(&project).with_home(&home);
    let codex = read(&places, &[Agent::Codex]);
    assert_eq!(names(&codex), ["shared", "creator", "grouped", "ask"]);
    assert_eq!(codex.found[1].entry.source, Source::Bundled);
    assert_eq!(names(&read(&places, &[Agent::OpenCode])), ["open", "shared", "local", "test"]);

    let mut moved = places.clone();
    (moved.codex_home, moved.config_home) = (Some(temp.path().join("c")), Some(temp.path().join("x")));
    skill(temp.path(), "c/skills/elsewhere", "moved");
    skill(temp.path(), "x/opencode/skills/there", "moved");
    assert_eq!(names(&read(&moved, &[Agent::Codex])), ["shared", "elsewhere"]);
    assert_eq!(names(&read(&moved, &[Agent::OpenCode])), ["there", "shared", "local", "test"]);
}

#[test]
fn synced_skills_bear_the_name_of_their_account_and_what_is_under_way_is_passed_over() {
    let temp = TempDir::new().unwrap();
    skill(temp.path(), "skills/synced/0ec7_57a5/pdf", "synced");
    skill(temp.path(), "skills/synced/0ec7_57a5/.staging/pdf", "half written");
    skill(temp.path(), "skills/.trash/old", "thrown away");
    skill(temp.path(), "skills/pdf", "the user's own");
    let skills = read_folders(&[temp.path().join("skills")]);
    assert_eq!(names(&skills), ["pdf", "anthropic-skills:pdf"]);
    assert_eq!(skills.shadowed, []);
}

#[test]
fn nested_skills_take_their_place_into_their_name_only_where_they_clash() {
    let temp = TempDir::new().unwrap();
    let root = temp.path();
    fs::create_dir(root.join(".git")).unwrap();
    skill(root, ".claude/skills/deploy", "at the root");
    skill(root, "apps/web/.claude/skills/deploy", "for the web");
    skill(root, "apps/web/.claude/skills/style", "for the web");
    skill(root, "node_modules/x/.claude/skills/no", "a dependency's");
    let skills = read(&Places::of_project(root), &[Agent::Claude]);
    assert_eq!(names(&skills), ["deploy", "apps/web:deploy", "style"]);
}

#[test]
fn plugins_are_read_under_their_names_unless_disabled() {
    let temp = TempDir::new().unwrap();
    let (home, project) = (temp.path().join("home"), temp.path().join("app"));
    fs::create_dir_all(&project).unwrap();
    for name in ["tools", "off"] {
        let plugin = home.join("cache").join(name);
        skill(&plugin, "skills/pdf", "of a plugin");
        write(&plugin, "commands/db/migrate.md", "Migrates.");
        write(&plugin, ".claude-plugin/plugin.json", &format!("{{\"name\": \"{name}\"}}"));
    }
    let path = |name: &str| home.join("cache").join(name).display().to_string();
    let installed = serde_json::json!({"version": 2, "plugins": {
        "tools@market": [{"scope": "user", "installPath": path("tools")}],
        "off@market": {"installPath": path("off")},
        "gone@market": [{"installPath": path("gone")}],
    }});
    write(&home, ".claude/plugins/installed_plugins.json", &installed.to_string());
    write(&home, ".claude/settings.json", r#"{"enabledPlugins": {"off@market": false}, "model": "x"}"#);
    let skills = read(&Places::of_project(&project).with_home(&home), &[Agent::Claude]);
    assert_eq!(names(&skills), ["tools:pdf", "tools:db:migrate"]);
    assert_eq!(skills.found[0].entry.source, Source::Plugin);
    assert_eq!(names(&read_folders(&[home.join("cache/off")])), ["off:pdf", "off:db:migrate"]);
}

#[cfg(unix)]
#[test]
fn links_are_followed_once_and_never_in_circles() {
    use std::os::unix::fs::symlink;
    let temp = TempDir::new().unwrap();
    let root = temp.path();
    skill(root, "store/real", "lives elsewhere");
    fs::create_dir_all(root.join("skills/group")).unwrap();
    symlink(root.join("store/real"), root.join("skills/linked")).unwrap();
    symlink(root.join("store/real"), root.join("skills/again")).unwrap();
    symlink(root.join("skills"), root.join("skills/group/up")).unwrap();
    symlink("loop-b", root.join("skills/loop-a")).unwrap();
    symlink("loop-a", root.join("skills/loop-b")).unwrap();
    symlink(root.join("nowhere"), root.join("skills/dangling")).unwrap();
    let skills = read_folders(&[root.join("skills")]);
    assert_eq!(names(&skills), ["real"]);
    assert_eq!(rules(&skills), [Rule::Unreadable; 3]);
    assert!(skills.lint.iter().any(|lint| lint.message == "the link leads nowhere"), "{:?}", skills.lint);
}

#[cfg(unix)]
#[test]
fn what_cannot_be_read_is_reported_and_the_rest_is_listed() {
    use std::os::unix::fs::PermissionsExt as _;
    let temp = TempDir::new().unwrap();
    let root = temp.path();
    skill(root, "fine", "is fine");
    fs::create_dir_all(root.join("odd/SKILL.md")).unwrap();
    skill(root, "locked", "is locked");
    fs::set_permissions(root.join("locked"), fs::Permissions::from_mode(0o000)).unwrap();
    let skills = read_folders(&[root.to_owned(), root.join("missing")]);
    fs::set_permissions(root.join("locked"), fs::Permissions::from_mode(0o755)).unwrap();
    let of = |part: &str| skills.lint.iter().filter(|it| it.path.as_deref().unwrap().contains(part)).count();
    assert!(names(&skills).contains(&"fine"));
    assert_eq!((of("odd"), of("missing")), (1, 1));
    // A superuser may read anything.
    assert_eq!(of("locked") == 0, names(&skills).contains(&"locked"));
}

#[cfg(unix)]
#[test]
fn a_pipe_in_place_of_a_file_does_not_block() {
    let temp = TempDir::new().unwrap();
    fs::create_dir(temp.path().join("piped")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(temp.path().join("piped/SKILL.md")).status();
    if made.is_ok_and(|status| status.success()) {
        assert_eq!(rules(&read_folders(&[temp.path()])), [Rule::Unreadable]);
    }
}

#[test]
fn a_file_of_100_mb_is_read_at_its_head() {
    let temp = TempDir::new().unwrap();
    let path = write(temp.path(), "huge/SKILL.md", "---\nname: huge\ndescription: Is large.\n---\n");
    fs::OpenOptions::new().append(true).open(&path).unwrap().set_len(100 << 20).unwrap();
    let path = write(temp.path(), "open/SKILL.md", "---\nname: open\ndescription: Never ends.\n");
    fs::OpenOptions::new().append(true).open(&path).unwrap().set_len(100 << 20).unwrap();
    let started = std::time::Instant::now();
    let skills = read_folders(&[temp.path()]);
    assert!(started.elapsed().as_secs() < 5);
    assert_eq!(names(&skills), ["huge", "open"]);
    assert_eq!(skills.found[1].entry.description, "Never ends.");
    assert_eq!(rules(&skills), [Rule::Frontmatter]);
}

#[test]
fn a_root_skill_is_preferred_to_those_inside_it_and_one_skill_can_be_named() {
    let temp = TempDir::new().unwrap();
    skill(temp.path(), "outer", "is a skill");
    skill(temp.path(), "outer/inner", "belongs to it");
    assert_eq!(names(&read_folders(&[temp.path()])), ["outer"]);
    assert_eq!(names(&read_folders(&[temp.path().join("outer")])), ["outer"]);
}

/// Every skill and command among the real files can be read.
#[test]
fn real_skills_and_commands_can_all_be_read() {
    let Some(data) = std::env::var_os("PLIMSOLL_DATA").map(PathBuf::from) else {
        return;
    };
    let skills = read_folders(&[data.join("skills")]);
    assert_eq!(skills.found.len() + skills.shadowed.len(), 63);
    for found in &skills.found {
        assert!(!found.entry.name.is_empty(), "{}", found.path.display());
        assert_eq!(found.entry.visibility, Visibility::Full);
        assert!(!found.entry.description.is_empty(), "{}", found.path.display());
    }
    assert!(skills.lint.iter().all(|lint| lint.rule == Rule::Frontmatter), "{:?}", skills.lint);
    assert_eq!(skills.lint.len(), 2);

    let commands = read_folders(&[data.join("commands")]);
    assert_eq!((commands.found.len(), commands.lint.len()), (12, 0));
    assert!(commands.found.iter().all(|found| !found.entry.description.is_empty()));
}
