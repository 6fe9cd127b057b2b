//! The commands that are written into other programs' files: how they are quoted, and how ours are known again.

use std::path::PathBuf;

/// The program that is installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    path: PathBuf,
}

impl Program {
    /// Takes the absolute path of the running program.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// The path as text.
    pub(super) fn text(&self) -> String {
        self.path.to_string_lossy().into_owned()
    }

    /// What is wrong with installing it from where it lies, if anything.
    pub(super) fn hint(&self) -> Option<String> {
        let parts: Vec<_> =
            self.path.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
        let built = parts.iter().any(|part| part == "target")
            && parts.iter().any(|part| matches!(&**part, "debug" | "release"));
        let passing = self.path.starts_with(std::env::temp_dir());
        (built || passing).then(|| {
            format!(
                "{} lies in a directory that is built or cleared anew; install plimsoll elsewhere (`cargo install`), and \
                 run that one's `plimsoll install` again",
                self.path.display()
            )
        })
    }
}

/// Whether a command in a file is ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ours {
    /// As [`hook_command`] writes it, whatever the path.
    Exactly,
    /// It calls plimsoll for this event in another way: somebody wrote it.
    ByHand,
    /// It is something else.
    No,
}

/// The command of a hook, for a shell.
pub(super) fn hook_command(program: &Program, event: &str) -> String {
    format!("{} hook {event}", quoted(&program.text()))
}

/// Judges a command of a hook.
pub(super) fn judge(command: &str, event: &str) -> Ours {
    let Some(call) = command.trim_end().strip_suffix(&format!(" hook {event}")) else {
        return Ours::No;
    };
    let unquoted = unquoted(call);
    if unquoted.as_deref().is_some_and(names_program) {
        return Ours::Exactly;
    }
    if call.split(|c: char| c.is_whitespace() || matches!(c, '\'' | '"')).any(names_program) {
        Ours::ByHand
    } else {
        Ours::No
    }
}

/// Whether a path or name is that of this program.
pub(super) fn names_program(path: &str) -> bool {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    name == "plimsoll" || name == "plimsoll.exe"
}

/// A path as one word of a shell.
fn quoted(path: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@:".contains(c);
    if !path.is_empty() && path.chars().all(plain) {
        path.to_owned()
    } else if cfg!(windows) {
        format!("\"{path}\"")
    } else {
        format!("'{}'", path.replace('\'', r"'\''"))
    }
}

/// The word that [`quoted`] wrote; `None` if it is none.
fn unquoted(word: &str) -> Option<String> {
    let inside = |quote: char| word.strip_prefix(quote)?.strip_suffix(quote);
    if let Some(inside) = inside('\'') {
        let plain = inside.replace(r"'\''", "\u{0}");
        return (!plain.contains('\'')).then(|| plain.replace('\u{0}', "'"));
    }
    if let Some(inside) = inside('"') {
        return (!inside.contains('"')).then(|| inside.to_owned());
    }
    (!word.contains(|c: char| c.is_whitespace() || matches!(c, '\'' | '"'))).then(|| word.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_one_word_of_a_shell_and_known_again() {
        for path in ["/usr/bin/plimsoll", "/home/o'neil/my bin/plimsoll", "/a b/plimsoll", "/ü/plimsoll"] {
            let command = hook_command(&Program::new(path), "PreCompact");
            assert_eq!(judge(&command, "PreCompact"), Ours::Exactly, "{command}");
            assert_eq!(judge(&command, "PostToolUse"), Ours::No);
        }
        assert_eq!(hook_command(&Program::new("/o'n/plimsoll"), "X"), r"'/o'\''n/plimsoll' hook X");
        assert_eq!(judge("plimsoll hook X", "X"), Ours::Exactly);
        assert_eq!(judge("plimsoll --store file:///s hook X", "X"), Ours::ByHand);
        assert_eq!(judge("env A=1 /usr/bin/plimsoll hook X", "X"), Ours::ByHand);
        assert_eq!(judge("/usr/bin/other hook X", "X"), Ours::No);
        assert_eq!(judge("my-plimsoll hook X", "X"), Ours::No);
    }

    #[cfg(unix)]
    #[test]
    fn the_shell_reads_the_path_back() {
        for path in ["/home/o'neil/my $HOME `x`/plimsoll", "/a\\b\"c/plimsoll"] {
            let script = format!("printf %s {}", quoted(path));
            let output = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&output.stdout), path);
        }
    }
}
