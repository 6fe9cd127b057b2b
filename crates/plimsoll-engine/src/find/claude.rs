//! Where Claude Code keeps its sessions: a directory a project, named by the project's path.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;

use memchr::memmem;

use super::{Candidate, FindError, GLANCE, Writer, folders, newest_first, only, sessions};

/// The program cuts longer names here, and adds a hash of its own.
const LONGEST: usize = 200;

/// The directory of a project, as the program names it: every character that is no ASCII letter or digit is a dash, and
/// one outside of Unicode's first plane is two.
fn munged(project: &Path) -> String {
    let units = project.to_string_lossy();
    units
        .encode_utf16()
        .map(|unit| match u8::try_from(unit) {
            Ok(byte) if byte.is_ascii_alphanumeric() => char::from(byte),
            _ => '-',
        })
        .collect()
}

/// The session of a project that was written to last.
pub(super) fn last(root: &Path, project: &Path) -> Result<Candidate, FindError> {
    let projects = root.join("projects");
    let name = munged(project);
    let long = name.len() > LONGEST;
    let short: String = name.chars().take(LONGEST).collect();
    let begins = format!("{short}-");
    let mut found = Vec::new();
    for folder in folders(&projects, |folder| if long { folder.starts_with(&begins) } else { folder == name })? {
        found.extend(sessions(&folder, |name| !name.starts_with("agent-"))?);
    }
    newest_first(&mut found);
    // The program also makes files that hold no conversation: of a prompt that was never sent, say. And a name that was
    // cut may be that of another project.
    let is_one =
        |candidate: &Candidate| candidate.link || glance(&candidate.path, long.then_some(project)).unwrap_or(false);
    found.into_iter().find(is_one).ok_or_else(|| {
        // A hint only: what cannot be read here has nothing to add.
        let near = project.ancestors().skip(1).find(|above| {
            let name = munged(above);
            folders(&projects, |folder| folder == name).is_ok_and(|found| !found.is_empty())
        });
        let next = match near {
            Some(near) => format!("there are some of {}: run it there, or name a file", near.display()),
            None => "run it in the directory that claude was started in, or name a file".to_owned(),
        };
        FindError::NoSession {
            writer: Writer::Claude,
            project: project.to_path_buf(),
            looked: projects.join(if long { &short } else { &name }),
            next,
        }
    })
}

/// The session of an id, of whatever project.
pub(super) fn by_id(root: &Path, id: &str) -> Result<Candidate, FindError> {
    let projects = root.join("projects");
    let mut found = Vec::new();
    for folder in folders(&projects, |_| true)? {
        for candidate in sessions(&folder, |name| name.starts_with(id))? {
            let name = candidate.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            found.push((name, candidate));
        }
    }
    only(found, Writer::Claude, id, &projects)
}

/// Whether a file holds a message, and, if a project is given, a line of that project. It is read as far as that takes.
fn glance(path: &Path, project: Option<&Path>) -> std::io::Result<bool> {
    let cwd = project.map(|project| serde_json::to_string(&project.to_string_lossy()).unwrap_or_default());
    let (mut message, mut of_project) = (false, cwd.is_none());
    let mut lines = BufReader::new(File::open(path)?.take(GLANCE));
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line)? > 0 {
        message |= has_field(&line, "type", "\"user\"") || has_field(&line, "type", "\"assistant\"");
        of_project |= cwd.as_ref().is_some_and(|cwd| has_field(&line, "cwd", cwd));
        if message && of_project {
            return Ok(true);
        }
        line.clear();
    }
    Ok(false)
}

/// Whether a line of JSON holds a field of this name and value, however it is spaced.
fn has_field(line: &[u8], name: &str, value: &str) -> bool {
    let name = format!("\"{name}\"");
    memmem::find_iter(line, &name).any(|at| {
        let after = line.get(at + name.len()..).unwrap_or_default().trim_ascii_start();
        let after = after.strip_prefix(b":").map(<[u8]>::trim_ascii_start);
        after.is_some_and(|after| after.starts_with(value.as_bytes()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_is_named_as_the_program_names_it() {
        // As the directories that the program made were seen to be named.
        assert_eq!(munged("/home/me/w".as_ref()), "-home-me-w");
        assert_eq!(munged("/w/deep-folder-with-ä-𝒳-00".as_ref()), "-w-deep-folder-with------00");
        assert_eq!(munged("/home/a.b/My Project_2".as_ref()), "-home-a-b-My-Project-2");
    }

    #[test]
    fn a_session_is_known_whatever_its_first_line_holds_and_however_it_is_spaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        let first = format!("{{\"type\":\"system\",\"content\":\"{}\"}}\n", "x".repeat(3 << 20));
        std::fs::write(&path, format!("{first}{{ \"type\" : \"user\", \"cwd\" : \"/w/a\" }}\n")).unwrap();
        assert!(glance(&path, None).unwrap());
        assert!(glance(&path, Some("/w/a".as_ref())).unwrap());
        assert!(!glance(&path, Some("/w/b".as_ref())).unwrap());
        std::fs::write(&path, first).unwrap();
        assert!(!glance(&path, None).unwrap());
    }
}
