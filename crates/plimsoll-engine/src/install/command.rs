//! The commands that are written into other programs' files: how they are quoted, and how ours are known again.

use std::fmt::Write as _;
use std::path::PathBuf;

use plimsoll_store::Location;

use super::InstallError;

/// The option by which a store is named.
const STORE: &str = "--store";

/// The program that is installed, and the store that it is to use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    path: PathBuf,
    store: Option<String>,
}

impl Program {
    /// Takes the absolute path of the running program. It finds its store by the configuration.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), store: None }
    }

    /// Has every command that is written name a store.
    ///
    /// ```
    /// use plimsoll_engine::install::Program;
    /// assert!(Program::new("/usr/bin/plimsoll").with_store("s3://bucket/prefix").is_ok());
    /// // What is written stays: keys belong into the environment.
    /// assert!(Program::new("/usr/bin/plimsoll").with_store("s3://key:secret@bucket").is_err());
    /// ```
    ///
    /// # Errors
    /// [`InstallError::Store`] if the URL names no store, or none that several processes share; if it holds a user or a key;
    /// if agent programs would replace a part of it.
    pub fn with_store(self, url: &str) -> Result<Self, InstallError> {
        let refused = |reason: String| Err(InstallError::Store { reason });
        let url = match url.parse::<Location>() {
            Err(error) => return refused(error.to_string()),
            Ok(Location::Memory) => {
                return refused("`memory:` ends with each hook, so nothing could be recalled".to_owned());
            }
            // As it was given, unless a program or a shell might read something into it.
            Ok(Location::Local(path)) if !url.chars().all(is_plain) => match path.to_str() {
                Some(path) => encoded(path),
                None => return refused("its path is no UTF-8".to_owned()),
            },
            Ok(_) => url.to_owned(),
        };
        if let Some(odd) = url.chars().find(|c| c.is_control() || matches!(c, '$' | '{' | '}' | '"')) {
            let says = format!("`{}` in it may be replaced by the agent program", odd.escape_default());
            return refused(format!("{says}; set store.url in the configuration instead"));
        }
        Ok(Self { store: Some(url), ..self })
    }

    /// The path as text.
    pub(super) fn text(&self) -> String {
        self.path.to_string_lossy().into_owned()
    }

    /// The store that is named.
    pub(super) fn store(&self) -> Option<&str> {
        self.store.as_deref()
    }

    /// What is given to the program before a command of its own.
    fn options(&self) -> Vec<String> {
        self.store.iter().flat_map(|url| [STORE.to_owned(), url.clone()]).collect()
    }

    /// What is given to it so that it is an MCP server.
    pub(super) fn server_arguments(&self) -> Vec<String> {
        let mut arguments = self.options();
        arguments.push("mcp".to_owned());
        arguments
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

/// A path as a URL in which nothing is special to a shell, nor to an agent program.
fn encoded(path: &str) -> String {
    let mut url = "file://".to_owned();
    // `C:/Users` is written `/C:/Users`.
    let path = if cfg!(windows) { format!("/{}", path.replace('\\', "/")) } else { path.to_owned() };
    for byte in path.bytes() {
        if is_plain(char::from(byte)) {
            url.push(char::from(byte));
        } else {
            let _ = write!(url, "%{byte:02X}");
        }
    }
    url
}

/// A call of this program as it stands in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) program: String,
    /// What stands between the program and its command.
    pub(super) options: Vec<String>,
}

impl Call {
    /// Reads the words of a call that ends with a command of ours.
    pub(super) fn of(words: &[String], command: &[&str]) -> Option<Self> {
        let (program, rest) = words.split_first()?;
        let options = rest.get(..rest.len().checked_sub(command.len())?)?;
        let ends = rest.iter().skip(options.len()).map(String::as_str).eq(command.iter().copied());
        let optional = options.first().is_none_or(|first| first.starts_with('-'));
        (names_program(program) && ends && optional)
            .then(|| Self { program: program.clone(), options: options.to_vec() })
    }

    /// The store that it names.
    pub(super) fn store(&self) -> Option<&str> {
        let after = self.options.iter().skip_while(|option| *option != STORE).nth(1).map(String::as_str);
        after.or_else(|| self.options.iter().find_map(|option| option.strip_prefix(STORE)?.strip_prefix('=')))
    }

    /// Whether it has other options than are written: somebody added them.
    fn is_changed(&self) -> bool {
        let store = |option: &String| option.strip_prefix(STORE).is_some_and(|rest| rest.starts_with('='));
        match self.options.as_slice() {
            [] => false,
            [one] => !store(one),
            [one, _] => one != STORE,
            _ => true,
        }
    }

    /// Whether it is as it would be written of this program.
    fn is_of(&self, program: &Program) -> bool {
        self.program == program.text() && self.options == program.options()
    }

    /// What is to become of it where this program is installed.
    pub(super) fn update(&self, program: &Program) -> Update {
        match () {
            () if self.is_of(program) => Update::Nothing,
            () if self.is_changed() => Update::Leave,
            () => Update::Replace,
        }
    }
}

/// What becomes of a call of ours when it is installed again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Update {
    /// It is as it should be.
    Nothing,
    /// It is brought up to date.
    Replace,
    /// It has options of somebody's own.
    Leave,
}

/// Whether a command in a file is ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ours {
    /// It is this program with our command, whatever options stand between them.
    Call(Call),
    /// It calls plimsoll for this event in another way: somebody wrote it.
    ByHand,
    /// It is something else.
    No,
}

impl Ours {
    pub(super) fn call(self) -> Option<Call> {
        match self {
            Self::Call(call) => Some(call),
            Self::ByHand | Self::No => None,
        }
    }
}

/// The command of a hook, for a shell.
pub(super) fn hook_command(program: &Program, event: &str) -> String {
    let mut command = quoted(&program.text());
    for word in program.options() {
        command.push(' ');
        command.push_str(&quoted(&word));
    }
    format!("{command} hook {event}")
}

/// Judges a command of a hook.
pub(super) fn judge(command: &str, event: &str) -> Ours {
    if let Some(call) = words(command).and_then(|words| Call::of(&words, &["hook", event])) {
        return Ours::Call(call);
    }
    let Some(call) = command.trim_end().strip_suffix(&format!(" hook {event}")) else {
        return Ours::No;
    };
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

/// A character that is nothing special in a shell or in a file.
fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "/._-+@:%".contains(c)
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else if cfg!(windows) {
        format!("\"{word}\"")
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Takes a command apart into words as [`quoted`] writes them, and as people do that mean the same; `None` if it does
/// anything else than run one program.
fn words(command: &str) -> Option<Vec<String>> {
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = command.trim_end().chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match characters.next()? {
                        end if end == c => break,
                        '`' | '$' if c == '"' => return None,
                        inside => word.push(inside),
                    }
                }
            }
            '\\' if characters.peek() == Some(&'\'') => word.get_or_insert_default().extend(characters.next()),
            '\n' | ';' | '|' | '&' | '<' | '>' | '(' | ')' | '$' | '`' | '#' => return None,
            space if space.is_whitespace() => words.extend(word.take()),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(command: &str) -> Option<Call> {
        judge(command, "X").call()
    }

    #[test]
    fn a_command_is_one_word_of_a_shell_and_known_again() {
        for path in ["/usr/bin/plimsoll", "/home/o'neil/my bin/plimsoll", "/a b/plimsoll", "/ü/plimsoll"] {
            for store in [None, Some("s3://bucket/o'neil's team/ü"), Some("file:///srv/x")] {
                let program = Program::new(path);
                let program = store.map_or(program.clone(), |store| program.with_store(store).unwrap());
                let command = hook_command(&program, "PreCompact");
                let Ours::Call(call) = judge(&command, "PreCompact") else { panic!("{command}") };
                assert_eq!((&*call.program, call.store(), call.update(&program)), (path, store, Update::Nothing));
                assert_eq!(judge(&command, "PostToolUse"), Ours::No);
            }
        }
        assert_eq!(hook_command(&Program::new("/o'n/plimsoll"), "X"), r"'/o'\''n/plimsoll' hook X");
    }

    #[test]
    fn whatever_options_stand_between_the_program_and_its_command_it_is_ours() {
        let program = Program::new("plimsoll");
        for (command, store, update) in [
            ("plimsoll hook X", None, Update::Nothing),
            ("/old/plimsoll hook X", None, Update::Replace),
            ("plimsoll --store file:///s hook X", Some("file:///s"), Update::Replace),
            ("plimsoll --store=file:///s hook X", Some("file:///s"), Update::Replace),
            ("\"plimsoll\" --log '/a b' hook X", None, Update::Leave),
            ("plimsoll --log /x --store /s hook X", Some("/s"), Update::Leave),
        ] {
            let call = call(command).unwrap();
            assert_eq!((call.store(), call.update(&program)), (store, update), "{command}");
        }
        for command in
            ["env A=1 /usr/bin/plimsoll hook X", "plimsoll run hook X", "true; plimsoll hook X", "plimsoll $A hook X"]
        {
            assert_eq!(judge(command, "X"), Ours::ByHand, "{command}");
        }
        for command in ["/usr/bin/other hook X", "my-plimsoll hook X", "plimsoll hook X && other"] {
            assert_eq!(judge(command, "X"), Ours::No, "{command}");
        }
    }

    #[test]
    fn a_store_is_written_so_that_nobody_reads_anything_into_it_or_it_is_refused() {
        let of = |url: &str| Program::new("/plimsoll").with_store(url).map(|program| program.store.unwrap());
        assert_eq!(of("file:///srv/store").unwrap(), "file:///srv/store");
        assert_eq!(of("s3://bucket/a b").unwrap(), "s3://bucket/a b");
        if cfg!(unix) {
            assert_eq!(of("/srv/$HOME/{env:X} \"é\"").unwrap(), "file:///srv/%24HOME/%7Benv:X%7D%20%22%C3%A9%22");
        }
        for url in ["s3://key:secret@bucket/p", "https://user:secret@host/x", "file://user:secret@host/x"] {
            let error = of(url).unwrap_err().to_string();
            assert!(!error.contains("secret"), "{error}");
        }
        for url in ["memory:", "s3://bucket/${HOME}", "s3://bucket/{env:X}", "relative", "", "gs://b/x"] {
            assert!(matches!(of(url), Err(InstallError::Store { .. })), "{url}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn the_shell_reads_the_words_back() {
        for word in ["/home/o'neil/my $HOME `x`/plimsoll", "/a\\b\"c/plimsoll", "s3://b/o'n & co; x", "%20"] {
            let script = format!("printf %s {}", quoted(word));
            let output = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&output.stdout), word);
            assert_eq!(words(&format!("a {} b", quoted(word))).unwrap(), ["a", word, "b"]);
        }
    }
}
