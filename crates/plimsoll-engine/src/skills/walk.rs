//! Walks folders of skills and commands: in name order, through links, never in circles.

use std::collections::HashSet;
use std::fs::DirEntry;
use std::io;
use std::path::{Path, PathBuf};

use plimsoll::listing::{Kind, Lint, Rule, Source};

use super::Found;
use super::file::{Naming, entry_of, read_head};

/// Folders below a root in which skills are looked for.
const DEEPEST: usize = 8;
/// Folders that hold dependencies and build products, never an agent's skills.
const SKIPPED: [&str; 6] = ["node_modules", "target", "vendor", "dist", "build", "__pycache__"];

/// Collects what a walk finds, and what went wrong.
#[derive(Default)]
pub(super) struct Walk {
    pub(super) found: Vec<Found>,
    pub(super) lints: Vec<Lint>,
    /// Files read, by their real path: one file reached by several links is one entry.
    files: HashSet<PathBuf>,
    /// Folders on the way down, by their real path.
    trail: Vec<PathBuf>,
    /// Names found with a namespace because they come from a nested folder: it is dropped where nothing clashes.
    pub(super) nested: Vec<usize>,
}

impl Walk {
    /// Reads the skills under a folder, which may be a skill itself. A missing folder is no problem.
    pub(super) fn skills(&mut self, root: &Path, source: Source, namespace: Option<&str>) {
        let Some(real) = self.real(root) else { return };
        self.skill_or_folder(root, &real, source, namespace, 0);
    }

    /// Reads the command files under a folder; the folders between make up the namespace.
    pub(super) fn commands(&mut self, root: &Path, source: Source, namespace: Option<&str>) {
        let Some(real) = self.real(root) else { return };
        self.commands_in(root, &real, source, namespace, 0);
    }

    fn skill_or_folder(&mut self, dir: &Path, real: &Path, source: Source, namespace: Option<&str>, depth: usize) {
        if self.trail.iter().any(|above| above == real) {
            return;
        }
        if self.skill(dir, "SKILL.md", real, source, namespace) || depth >= DEEPEST {
            return;
        }
        let Some(children) = self.children(dir) else {
            return;
        };
        // A file system that ignores case has found it already; on others `skill.md` is meant all the same.
        let other = children.iter().find(|name| name.eq_ignore_ascii_case("SKILL.md") && *name != "SKILL.md");
        if let Some(other) = other
            && self.skill(dir, other, real, source, namespace)
        {
            return;
        }
        self.trail.push(real.to_owned());
        for name in children {
            // Hidden folders hold what is being synced or was thrown away; Codex keeps its own skills in `.system`.
            let is_system = name == ".system";
            if (name.starts_with('.') && !is_system) || SKIPPED.contains(&name.as_str()) {
                continue;
            }
            let Some((path, real)) = self.folder(dir, real, &name) else {
                continue;
            };
            let source = if is_system { Source::Bundled } else { source };
            // Skills that Claude Code syncs from an account are called after it.
            let namespace = if name == "synced" && depth == 0 { Some("anthropic-skills") } else { namespace };
            self.skill_or_folder(&path, &real, source, namespace, depth + 1);
        }
        self.trail.pop();
    }

    /// Reads one skill file, if it is there.
    fn skill(&mut self, dir: &Path, file: &str, real: &Path, source: Source, namespace: Option<&str>) -> bool {
        let path = dir.join(file);
        let head = match read_head(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => {
                return false;
            }
            head => head,
        };
        // A link to a folder keeps the name it was given; where there is none, that of the folder it leads to.
        let folder = dir.file_name().or_else(|| real.file_name());
        let folder = folder.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let naming = Naming { kind: Kind::Skill, source, namespace, fallback: &folder, folder: Some(&folder) };
        self.take(&path, real.join(file), head, &naming);
        true
    }

    fn commands_in(&mut self, dir: &Path, real: &Path, source: Source, namespace: Option<&str>, depth: usize) {
        if self.trail.iter().any(|above| above == real) || depth > DEEPEST {
            return;
        }
        let Some(children) = self.children(dir) else {
            return;
        };
        self.trail.push(real.to_owned());
        for name in children {
            if name.starts_with('.') || SKIPPED.contains(&name.as_str()) {
                continue;
            }
            let stem = name.strip_suffix(".md").filter(|stem| !stem.is_empty());
            if let Some(stem) = stem {
                let path = dir.join(&name);
                let head = read_head(&path);
                let naming = Naming { kind: Kind::Command, source, namespace, fallback: stem, folder: None };
                self.take(&path, real.join(&name), head, &naming);
            } else if let Some((path, real)) = self.folder(dir, real, &name) {
                let inner = namespace.map_or_else(|| name.clone(), |outer| format!("{outer}:{name}"));
                self.commands_in(&path, &real, source, Some(&inner), depth + 1);
            }
        }
        self.trail.pop();
    }

    fn take(&mut self, path: &Path, real: PathBuf, head: io::Result<(String, bool)>, naming: &Naming<'_>) {
        let real = if path.is_symlink() { std::fs::canonicalize(path).unwrap_or(real) } else { real };
        if !self.files.insert(real) {
            return;
        }
        match head {
            Ok((text, is_all)) => {
                let (found, lints) = entry_of(&text, is_all, path, naming);
                self.found.push(found);
                self.lints.extend(lints);
            }
            Err(error) => self.unreadable(naming.fallback, path, &error),
        }
    }

    /// The names in a folder, sorted: what a listing says does not depend on how a file system keeps them.
    fn children(&mut self, dir: &Path) -> Option<Vec<String>> {
        let name = |entry: DirEntry| entry.file_name().to_string_lossy().into_owned();
        let listed = std::fs::read_dir(dir).and_then(|entries| entries.map(|entry| entry.map(name)).collect());
        match listed {
            Ok(names) => {
                let mut names: Vec<String> = names;
                names.sort();
                Some(names)
            }
            Err(error) => {
                self.unreadable("", dir, &error);
                None
            }
        }
    }

    /// A child that is a folder or a link to one, with its real path.
    fn folder(&mut self, dir: &Path, real: &Path, name: &str) -> Option<(PathBuf, PathBuf)> {
        let path = dir.join(name);
        let kind = std::fs::symlink_metadata(&path).ok()?.file_type();
        if kind.is_dir() {
            return Some((path, real.join(name)));
        }
        if !kind.is_symlink() {
            return None;
        }
        match std::fs::canonicalize(&path) {
            Ok(target) if target.is_dir() => Some((path, target)),
            Ok(_) => None,
            Err(error) => {
                self.unreadable(name, &path, &error);
                None
            }
        }
    }

    fn real(&mut self, root: &Path) -> Option<PathBuf> {
        match std::fs::canonicalize(root) {
            Ok(real) if real.is_dir() => Some(real),
            Err(error) if error.kind() != io::ErrorKind::NotFound || root.is_symlink() => {
                self.unreadable("", root, &error);
                None
            }
            _ => None,
        }
    }

    fn unreadable(&mut self, name: &str, path: &Path, error: &io::Error) {
        let message = match error.kind() {
            io::ErrorKind::NotFound => "the link leads nowhere".to_owned(),
            _ => format!("it cannot be read: {error}"),
        };
        self.lints.push(Lint::new(name, Rule::Unreadable, message).at(path.display().to_string()));
    }
}

/// Finds folders that hold an agent's own folder (`.claude`) below a project, nearest first.
pub(super) fn nested(root: &Path, own: &str, deepest: usize) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut level = vec![root.to_owned()];
    for _ in 0..deepest {
        let mut next = Vec::new();
        for dir in level {
            let Ok(entries) = std::fs::read_dir(&dir) else {
                continue;
            };
            let mut folders: Vec<PathBuf> = entries
                .flatten()
                .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
                .filter(|entry| {
                    let name = entry.file_name();
                    let name = name.to_string_lossy();
                    !name.starts_with('.') && !SKIPPED.contains(&name.as_ref())
                })
                .map(|entry| entry.path())
                .collect();
            folders.sort();
            found.extend(folders.iter().filter(|folder| folder.join(own).is_dir()).cloned());
            next.extend(folders);
        }
        level = next;
    }
    found
}
