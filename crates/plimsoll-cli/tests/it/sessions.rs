//! Sessions by name, the page, the look over the set-up and the manual pages: from outside.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::{Bench, Ran, body, example};

/// The command with a home of its own.
fn at_home(bench: &Bench) -> Command {
    let mut command = bench.command();
    command.env("HOME", bench.path("home")).env("PATH", "/nowhere");
    command
}

fn run(bench: &Bench, arguments: &[&str]) -> Ran {
    Ran(at_home(bench).args(arguments).output().unwrap())
}

/// Puts a session where Claude Code would have written it for the working directory.
fn session(bench: &Bench, name: &str) -> PathBuf {
    let project = fs::canonicalize(bench.folder.path()).unwrap();
    let munged: String =
        project.to_str().unwrap().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let folder = bench.path("home/.claude/projects").join(munged);
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(format!("{name}.jsonl"));
    fs::copy(example(), &path).unwrap();
    path
}

#[test]
fn the_last_session_of_the_directory_is_named_without_its_path() {
    let bench = Bench::new();
    let path = session(&bench, "4f1c2a9e-6d0b-4c57-9a31-b7e2d05c8f14");
    let original = fs::read(&path).unwrap();
    let counted = run(&bench, &["count", "claude:last", "--json"]).code(0).json();
    assert_eq!(counted["format"], "claude-code");
    assert_eq!(
        run(&bench, &["context", "claude:4f1c2a9e", "--json"]).code(0).json()["messages"],
        counted["messages"]
    );
    let ran = run(&bench, &["compact", "claude:last", "--in-place", "--json"]);
    let report = ran.code(0).json();
    assert_eq!(report["outcome"], "applied");
    let compacted = fs::read(&path).unwrap();
    assert!(compacted.starts_with(&original) && compacted.len() > original.len());
    assert_eq!(run(&bench, &["restore", report["epoch"].as_str().unwrap()]).code(0).bytes(), original);
}

#[test]
fn a_name_that_names_nothing_says_where_was_looked() {
    let bench = Bench::new();
    let ran = run(&bench, &["compact", "claude:last"]);
    assert!(ran.code(1).err().contains(".claude/projects/") && ran.err().contains("or name a file"), "{}", ran.err());
    assert!(run(&bench, &["context", "claude:../../x"]).code(2).err().contains("names no session"));
    assert!(run(&bench, &["count", "codex:last"]).code(1).err().contains(".codex/sessions"));
    // A file of that name is still a file.
    bench.write("claude:last", "some words");
    assert_eq!(run(&bench, &["count", "./claude:last"]).code(0).out().split(' ').next(), Some("2"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_session_that_a_program_has_open_is_not_changed() {
    let bench = Bench::new();
    let path = session(&bench, "4f1c2a9e-6d0b-4c57-9a31-b7e2d05c8f14");
    let original = fs::read(&path).unwrap();
    let open = fs::File::options().append(true).open(&path).unwrap();
    let ran = run(&bench, &["compact", "claude:last", "--in-place"]);
    assert!(ran.code(1).err().contains("open for writing") && ran.err().contains("--force"), "{}", ran.err());
    assert_eq!(fs::read(&path).unwrap(), original);
    // To read it is no harm, and who insists is obeyed.
    run(&bench, &["compact", "claude:last", "-o", "out.jsonl"]).code(0);
    run(&bench, &["compact", "claude:last", "--in-place", "--force"]).code(0);
    assert!(fs::read(&path).unwrap().len() > original.len());
    drop(open);
}

#[test]
fn a_page_is_written_beside_the_transcript_and_never_over_it() {
    let bench = Bench::new();
    bench.write("t.json", body(6));
    let ran = bench.run(["context", "t.json", "--html", "-o", "page.html"]);
    assert!(ran.code(0).out().starts_with("wrote page.html"), "{}", ran.out());
    let page = fs::read_to_string(bench.path("page.html")).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    assert!(page.contains("Step 3: look into file_3.txt"));
    assert_eq!(bench.run(["context", "t.json", "--html"]).code(0).out(), page);
    bench.run(["context", "t.json", "--html", "-o", "t.json"]).code(2);
    bench.run(["context", "t.json", "-o", "x.html"]).code(2);
    bench.run(["context", "t.json", "--html", "--json"]).code(2);
    assert!(!bench.stored(), "a page stores nothing");
}

#[test]
fn doctor_says_what_to_do_and_fails_for_what_does_not_work() {
    let bench = Bench::new();
    fs::create_dir_all(bench.path("home/.config/plimsoll")).unwrap();
    let ran = run(&bench, &["doctor", "--json"]);
    let report = ran.code(0).json();
    assert_eq!(report["ok"], true);
    let areas: Vec<&str> = report["checks"].as_array().unwrap().iter().map(|c| c["area"].as_str().unwrap()).collect();
    for area in ["environment", "config", "store", "agents", "hooks", "clock"] {
        assert!(areas.contains(&area), "{area}: {areas:?}");
    }
    for check in report["checks"].as_array().unwrap() {
        let fields: Vec<&str> = check.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(fields, ["area", "fix", "level", "says"]);
    }
    assert!(!bench.stored(), "looking makes nothing");

    fs::write(bench.path("home/.config/plimsoll/config.toml"), "[cap]\nmax_bites = 3\n").unwrap();
    let ran = run(&bench, &["doctor", "--quiet"]);
    let out = ran.code(1).out();
    assert!(out.contains("config.toml:2") && out.contains("cap.max_bytes"), "{out}");
    assert!(out.contains("→ mend that line") && !out.contains("  ok "), "{out}");
}

#[cfg(unix)]
#[test]
fn doctor_finds_agents_and_their_versions() {
    use std::os::unix::fs::PermissionsExt as _;
    let bench = Bench::new();
    fs::create_dir_all(bench.path("bin")).unwrap();
    let program = bench.path("bin/claude");
    fs::write(&program, "#!/bin/sh\necho '2.1.197 (Claude Code)'\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let out = at_home(&bench).env("PATH", bench.path("bin")).arg("doctor").output().unwrap();
    let ran = Ran(out);
    assert!(ran.code(0).out().contains("claude 2.1.197 is "), "{}", ran.out());
}

#[test]
fn manual_pages_are_written_for_every_command() {
    let bench = Bench::new();
    bench.run(["man", "--out", "man/man1"]).code(0);
    let page = fs::read_to_string(bench.path("man/man1/plimsoll-compact.1")).unwrap();
    assert!(page.contains(".TH plimsoll-compact 1"), "{page}");
    assert_eq!(bench.run(["man", "compact"]).code(0).out(), page);
    assert!(bench.path("man/man1/plimsoll-store-ls.1").exists());
    assert!(bench.run(["man", "nothing"]).code(2).err().contains("no command `nothing`"));
}
