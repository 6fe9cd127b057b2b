use std::time::Duration;

use super::*;

const MESSAGE: &str = "{\"type\":\"user\",\"cwd\":\"/p\"}\n";

/// A home with the programs' directories below it.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// Writes a file that was changed so many seconds after the beginning of its time.
    fn write(&self, name: &str, text: &str, seconds: u64) -> PathBuf {
        let path = self.0.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 + seconds);
        fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        path
    }

    fn find(&self, name: &str, project: &str) -> Result<PathBuf, FindError> {
        let home = self.0.path().as_os_str().to_owned();
        let places = SessionPlaces::of(|name| (name == "HOME").then(|| home.clone()), project.as_ref());
        places.find(&name.parse()?)
    }

    /// An error as it is shown, without this home's path.
    fn error(&self, name: &str, project: &str) -> String {
        self.find(name, project).unwrap_err().to_string().replace(&self.0.path().display().to_string(), "~")
    }
}

#[test]
fn the_last_session_of_a_project_is_the_one_written_to_last() {
    let home = Home::new();
    let path = home.write(".claude/projects/-p/bbbb.jsonl", MESSAGE, 5);
    home.write(".claude/projects/-p/aaaa.jsonl", MESSAGE, 3);
    home.write(".claude/projects/-other/cccc.jsonl", MESSAGE, 9);
    home.write(".claude/projects/-p/agent-dddd.jsonl", MESSAGE, 9);
    home.write(".claude/projects/-p/bbbb/subagents/agent-1.jsonl", MESSAGE, 9);
    home.write(".claude/projects/-p/eeee.jsonl", "{\"type\":\"file-history-snapshot\"}\n", 9);
    home.write(".claude/projects/-p/bbbb.jsonl.plimsoll-backup", MESSAGE, 9);
    assert_eq!(home.find("claude:last", "/p").unwrap(), path);
    let same = home.write(".claude/projects/-p/ffff.jsonl", MESSAGE, 5);
    assert_eq!(home.find("claude:last", "/p").unwrap(), same, "equal times are decided by name");
}

#[test]
fn a_project_with_a_long_path_is_known_by_what_its_sessions_say() {
    let home = Home::new();
    let project = format!("/{}", "deep/".repeat(60));
    let project = project.trim_end_matches('/');
    let cut = format!("{:.200}", project.replace('/', "-"));
    let line = format!("{{\"type\":\"user\",\"cwd\":\"{project}\"}}\n");
    let path = home.write(&format!(".claude/projects/{cut}-p2numa/aaaa.jsonl"), &line, 1);
    home.write(&format!(".claude/projects/{cut}-z9zzzz/bbbb.jsonl"), MESSAGE, 5);
    assert_eq!(home.find("claude:last", project).unwrap(), path);
}

#[test]
fn a_rollout_is_of_the_directory_that_it_names() {
    let home = Home::new();
    let meta = |cwd: &str, source: &str| {
        format!("{{\"type\":\"session_meta\",\"payload\":{{\"cwd\":\"{cwd}\",\"source\":{source}}}}}\n")
    };
    let of = |day: &str, id: &str| format!(".codex/sessions/2026/11/{day}/rollout-2026-11-{day}T09-12-40-{id}.jsonl");
    // Resumed later than the one that began after it.
    let path = home.write(&of("02", "01a2-old"), &meta("/p", "\"cli\""), 7);
    let newer = home.write(&of("03", "01a2-new"), &meta("/p", "\"exec\""), 5);
    home.write(&of("03", "01a2-other"), &meta("/q", "\"cli\""), 9);
    home.write(&of("03", "01a2-review"), &meta("/p", "{\"subagent\":\"review\"}"), 9);
    home.write(&of("03", "01a2-torn"), "{\"type\":", 9);
    home.write(".codex/sessions/notes/01/01/rollout-2026-11-03T09-12-40-none.jsonl", &meta("/p", "1"), 9);
    assert_eq!(home.find("codex:last", "/p").unwrap(), path);
    assert_eq!(home.find("codex:01a2-new", "/elsewhere").unwrap(), newer);
    insta::assert_snapshot!(home.error("codex:last", "/none"), @"codex has no session of /none: there is none in ~/.codex/sessions; there are some of other directories: run it in the one that codex was started in, or name a file");
}

#[test]
fn an_id_is_found_in_every_project_and_may_be_cut_short() {
    let home = Home::new();
    let path = home.write(".claude/projects/-p/1552b1ee-c66d.jsonl", MESSAGE, 1);
    let longer = home.write(".claude/projects/-q/1552b1ee-c66d-4a9f.jsonl", MESSAGE, 1);
    home.write(".claude/projects/-q/1552b1ff.jsonl", MESSAGE, 1);
    assert_eq!(home.find("claude:1552b1ee-c66d", "/p").unwrap(), path, "a whole id is that one");
    assert_eq!(home.find("claude:1552b1ee-c66d-", "/p").unwrap(), longer);
    insta::assert_snapshot!(home.error("claude:1552", "/p"), @"`1552` begins the ids of 3 sessions, ~/.claude/projects/-p/1552b1ee-c66d.jsonl and ~/.claude/projects/-q/1552b1ee-c66d-4a9f.jsonl among them; write more of it");
    insta::assert_snapshot!(home.error("claude:9999", "/p"), @"claude has no session `9999`: no file of that name is below ~/.claude/projects; `claude:last` names the last one of this directory");
}

#[test]
fn an_error_says_where_was_looked_and_what_to_do() {
    let home = Home::new();
    insta::assert_snapshot!(home.error("claude:last", "/p/q"), @"claude has no session of /p/q: there is none in ~/.claude/projects/-p-q; run it in the directory that claude was started in, or name a file");
    home.write(".claude/projects/-p/aaaa.jsonl", MESSAGE, 1);
    insta::assert_snapshot!(home.error("claude:last", "/p/q"), @"claude has no session of /p/q: there is none in ~/.claude/projects/-p-q; there are some of /p: run it there, or name a file");
    insta::assert_snapshot!(home.error("codex:last", "/p"), @"codex has no session of /p: there is none in ~/.codex/sessions; set CODEX_HOME if it keeps them elsewhere, or name a file");
    let nowhere = SessionPlaces::of(|_| None, "/p".as_ref()).find(&"codex:last".parse().unwrap()).unwrap_err();
    insta::assert_snapshot!(nowhere, @"where codex keeps its sessions is not known: set HOME, or CODEX_HOME, to an absolute path");
}

#[test]
fn the_programs_own_variables_say_where_to_look() {
    let home = Home::new();
    let path = home.write("elsewhere/projects/-p/aaaa.jsonl", MESSAGE, 1);
    let root = home.0.path().join("elsewhere").into_os_string();
    let places = SessionPlaces::of(|name| (name == "CLAUDE_CONFIG_DIR").then(|| root.clone()), "/p".as_ref());
    assert_eq!(places.find(&"claude:last".parse().unwrap()).unwrap(), path);
    let relative = SessionPlaces::of(|_| Some("relative".into()), "/p".as_ref());
    assert!(matches!(relative.find(&"claude:last".parse().unwrap()), Err(FindError::NoHome { .. })));
}

#[cfg(unix)]
#[test]
fn no_link_is_followed_to_a_session() {
    use std::os::unix::fs::symlink;
    let home = Home::new();
    let secret = home.write("secret.jsonl", MESSAGE, 1);
    home.write(".claude/projects/-p/aaaa.jsonl", MESSAGE, 1);
    let link = home.0.path().join(".claude/projects/-p/bbbb.jsonl");
    symlink(&secret, &link).unwrap();
    // The link is the newest: another session in its place would be the wrong one.
    assert!(matches!(home.find("claude:last", "/p"), Err(FindError::Link { path }) if path == link));
    assert!(matches!(home.find("claude:bbbb", "/p"), Err(FindError::Link { .. })));
    symlink(home.0.path().join(".claude/projects/-p"), home.0.path().join(".claude/projects/-q")).unwrap();
    assert!(matches!(home.find("claude:last", "/q"), Err(FindError::Link { .. })));
    fs::create_dir_all(home.0.path().join(".codex/sessions/2026")).unwrap();
    symlink("/", home.0.path().join(".codex/sessions/2026/11")).unwrap();
    assert!(matches!(home.find("codex:last", "/p"), Err(FindError::Link { .. })));
}

#[test]
fn a_name_is_no_path() {
    for wrong in [
        "claude:",
        "claude:..",
        "claude:../x",
        "claude:a/b",
        "codex:abc",
        "claude:a b c d",
        "claude:LAST\n",
        "other:last",
    ] {
        assert!(wrong.parse::<SessionName>().is_err(), "{wrong}");
    }
    assert!("claude:LAST".parse::<SessionName>().is_ok_and(|name| name.id.as_deref() == Some("LAST")));
    assert!(!SessionName::is_one("./claude:last") && !SessionName::is_one("claude"));
}
