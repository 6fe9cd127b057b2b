//! `cargo xtask tidy`: rules of the house that no compiler checks.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// The floors of `docs/architecture.md`: a crate depends only on crates of lower floors.
const FLOORS: [(&str, u8); 6] = [
    ("plimsoll", 0),
    ("plimsoll-store", 1),
    ("plimsoll-agent", 1),
    ("plimsoll-engine", 2),
    ("plimsoll-server", 3),
    ("plimsoll-cli", 4),
];

/// Crates that would make the core impure.
const IMPURE: [&str; 12] = [
    "tokio",
    "async-std",
    "smol",
    "futures-executor",
    "hyper",
    "reqwest",
    "mio",
    "rustix",
    "tempfile",
    "chrono",
    "getrandom",
    "rand",
];

/// Non-test lines a source file may have.
const MAX_LINES: usize = 400;

/// Words that say nothing about what a file holds.
const EMPTY_NAMES: [&str; 6] = ["manager", "helper", "utils", "common", "misc", "_v2"];

/// Words that no file of the project holds: they name a machine, not the project.
///
/// Written in pieces, so that this file does not hold them either.
const STRAY_WORDS: [&str; 5] = [
    concat!("/ro", "ot/"),
    concat!("/wo", "rk/"),
    concat!("crates.", "io/api"),
    concat!("py", "pi.org/simple"),
    concat!("registry.", "npmjs.org"),
];

pub(crate) fn run() -> Result<()> {
    let root = root()?;
    let mut faults = Vec::new();
    floors(&root, &mut faults)?;
    purity(&root, &mut faults)?;
    let files = tracked(&root)?;
    for file in &files {
        if file.extension().is_some_and(|extension| extension == "rs") {
            source(&root, file, &files, &mut faults)?;
        }
        stray_words(&root, file, &mut faults);
    }
    links(&root, &files, &mut faults)?;
    if faults.is_empty() {
        say(&format!("tidy: {} files, no faults", files.len()));
        return Ok(());
    }
    for fault in &faults {
        say(fault);
    }
    bail!("tidy: {} faults", faults.len())
}

fn say(line: &str) {
    use std::io::Write as _;
    // A closed pipe is no reason to fail a check.
    let _ = writeln!(std::io::stdout(), "{line}");
}

fn root() -> Result<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().map(Path::to_path_buf).context("xtask stands in the workspace")
}

fn output(root: &Path, program: &str, arguments: &[&str]) -> Result<String> {
    let output = Command::new(program).args(arguments).current_dir(root).output()?;
    if !output.status.success() {
        bail!("{program} {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Files git tracks or would track, relative to the root.
fn tracked(root: &Path) -> Result<Vec<PathBuf>> {
    let list = output(root, "git", &["ls-files", "--cached", "--others", "--exclude-standard"])?;
    Ok(list.lines().map(PathBuf::from).filter(|file| root.join(file).is_file()).collect())
}

fn floors(root: &Path, faults: &mut Vec<String>) -> Result<()> {
    for (name, floor) in FLOORS {
        if !root.join("crates").join(name).exists() {
            continue;
        }
        let tree =
            output(root, "cargo", &["tree", "--package", name, "--edges", "normal,build", "--prefix", "none"])?;
        let below: BTreeSet<&str> = tree.lines().skip(1).filter_map(|line| line.split(' ').next()).collect();
        for (other, other_floor) in FLOORS {
            if below.contains(other) && other_floor >= floor {
                faults.push(format!("crate {name} (floor {floor}) depends on {other} (floor {other_floor})"));
            }
        }
    }
    Ok(())
}

fn purity(root: &Path, faults: &mut Vec<String>) -> Result<()> {
    let features = ["tree", "--package", "plimsoll", "--edges", "normal", "--prefix", "none", "--all-features"];
    let tree = output(root, "cargo", &features)?;
    for line in tree.lines() {
        let name = line.split(' ').next().unwrap_or("");
        if IMPURE.contains(&name) {
            faults.push(format!("the core pulls in {name}: it has no clock, files, network or async runtime"));
        }
    }
    Ok(())
}

fn source(root: &Path, file: &Path, files: &[PathBuf], faults: &mut Vec<String>) -> Result<()> {
    let text = std::fs::read_to_string(root.join(file)).with_context(|| file.display().to_string())?;
    let shown = file.display();
    let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or("");
    let in_src = file.components().any(|part| part.as_os_str() == "src");
    let is_test = stem == "tests" || file.components().any(|part| part.as_os_str() == "tests");
    if in_src && !is_test && !text.starts_with("//!") {
        faults.push(format!("{shown}: open it with a `//!` line that says what lives there"));
    }
    // Tests stand at the end of a file, so what precedes them is its code.
    let code = text.lines().take_while(|line| !line.starts_with("#[cfg(test)]")).count();
    if in_src && !is_test && code > MAX_LINES {
        faults.push(format!("{shown}: {code} lines of code, over {MAX_LINES}: split it"));
    }
    if EMPTY_NAMES.iter().any(|word| stem.contains(word)) {
        faults.push(format!("{shown}: the name does not say what lives there"));
    }
    if in_src && !declared(root, file, files)? {
        faults.push(format!("{shown}: no `mod` names it, so it is never compiled"));
    }
    Ok(())
}

/// Whether some file declares this one as a module; targets need no declaration.
fn declared(root: &Path, file: &Path, files: &[PathBuf]) -> Result<bool> {
    let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or("");
    let folder = file.parent().unwrap_or(Path::new(""));
    let folder_name = folder.file_name().and_then(|name| name.to_str()).unwrap_or("");
    if matches!(stem, "lib" | "main" | "build") || folder_name == "bin" {
        return Ok(true);
    }
    let (name, home) = if stem == "mod" { (folder_name, folder.parent().unwrap_or(folder)) } else { (stem, folder) };
    let beside = home.with_extension("rs");
    let parents = ["mod.rs", "lib.rs", "main.rs"].map(|parent| home.join(parent));
    for parent in parents.iter().chain([&beside]).filter(|parent| files.contains(parent)) {
        let text = std::fs::read_to_string(root.join(parent))?;
        let is_declaration = |line: &str| {
            let line = line.trim().trim_start_matches("pub(crate) ").trim_start_matches("pub(super) ");
            line.trim_start_matches("pub ")
                .strip_prefix("mod ")
                .is_some_and(|rest| rest.trim_end() == format!("{name};"))
        };
        if text.lines().any(is_declaration) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn stray_words(root: &Path, file: &Path, faults: &mut Vec<String>) {
    // Lock files name registries by their nature.
    if file.extension().is_some_and(|extension| extension == "lock") {
        return;
    }
    let Ok(text) = std::fs::read_to_string(root.join(file)) else {
        return;
    };
    for word in STRAY_WORDS {
        if text.contains(word) {
            faults.push(format!("{}: holds `{word}`, which names a machine", file.display()));
        }
    }
}

/// Relative links of the documentation lead to files.
fn links(root: &Path, files: &[PathBuf], faults: &mut Vec<String>) -> Result<()> {
    for file in files.iter().filter(|file| file.extension().is_some_and(|extension| extension == "md")) {
        let text = std::fs::read_to_string(root.join(file))?;
        let folder = root.join(file.parent().unwrap_or(Path::new("")));
        for rest in text.split("](").skip(1) {
            let target = rest.split([')', '#', ' ']).next().unwrap_or("");
            let outside = target.is_empty() || target.contains("://") || target.starts_with("mailto:");
            if !outside && !folder.join(target).exists() {
                faults.push(format!("{}: the link to `{target}` leads nowhere", file.display()));
            }
        }
    }
    Ok(())
}
