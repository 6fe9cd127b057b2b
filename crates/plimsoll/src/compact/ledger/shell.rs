//! What a shell command touches, as far as plain words tell: reading, writing, deleting files.

use super::items::Touch;

/// Programs that print the files they are given.
const READERS: [&str; 9] = ["cat", "head", "tail", "nl", "less", "more", "bat", "wc", "sed"];

/// Programs that only look, beside those that print the files they are given.
const LOOKERS: [&str; 16] = [
    "grep", "rg", "egrep", "ag", "ls", "find", "tree", "pwd", "cd", "sort", "uniq", "cut", "stat", "file", "which",
    "du",
];

/// A command line without what stands in quotes in it: what is left are programs, plain words and operators.
pub(crate) fn unquoted(command: &str) -> String {
    let mut bare = String::with_capacity(command.len());
    let mut quote: Option<char> = None;
    let mut escaped = false;
    for c in command.chars() {
        match quote {
            Some(open) => {
                if c == open && !escaped {
                    quote = None;
                }
            }
            None if (c == '"' || c == '\'') && !escaped => quote = Some(c),
            None => bare.push(c),
        }
        escaped = c == '\\' && !escaped && quote != Some('\'');
    }
    bare
}

/// A command line cut at its last pipe, if it has one.
pub(crate) fn last_pipe(command: &str) -> Option<(&str, &str)> {
    let mut quote: Option<char> = None;
    let mut before = ' ';
    let mut last = None;
    for (at, c) in command.char_indices() {
        match quote {
            Some(open) if c == open => quote = None,
            None if matches!(c, '"' | '\'') && before != '\\' => quote = Some(c),
            None if c == '|' && before == '|' => last = None,
            None if c == '|' => last = Some(at),
            _ => {}
        }
        before = c;
    }
    let (command, pipe) = command.split_at_checked(last?)?;
    Some((command, pipe.strip_prefix('|')?))
}

/// Whether a command line is one program and its arguments, so that its output is of nothing else.
pub(crate) fn is_simple(command: &str) -> bool {
    let command = command.trim();
    let bare = command.strip_prefix("cd ").and_then(|rest| rest.split_once("&&")).map_or(command, |(_, rest)| rest);
    !bare.contains(['|', ';', '&', '\n', '>', '<', '`', '$'])
}

/// Whether a command line only looks: it prints files, lists or searches them, and changes nothing.
pub(crate) fn only_looks(command: &str) -> bool {
    let bare = unquoted(command).replace("2>/dev/null", "").replace("2>&1", "");
    let changes = [" -delete", " -exec", " -fprint"].iter().any(|flag| bare.contains(flag));
    if changes || bare.contains(['>', '<', '$', '`']) || (bare.contains(" -i") && bare.contains("sed")) {
        return false;
    }
    let mut parts = bare.split(['\n', ';', '|', '&']).map(str::trim).filter(|part| !part.is_empty()).peekable();
    let looks = |part: &str| {
        let program = part.split_whitespace().next().unwrap_or("");
        let program = program.rsplit('/').next().unwrap_or(program);
        READERS.contains(&program) || LOOKERS.contains(&program)
    };
    parts.peek().is_some() && parts.all(looks)
}

/// The files that a command line names, with what becomes of them.
pub(crate) fn touches(command: &str) -> Vec<(String, Touch)> {
    let mut touches = Vec::new();
    // The body of a here-document is data; what follows it is rarely worth the guess.
    let line = command.split_once("<<").map_or(command, |(head, rest)| {
        let first = rest.split('\n').next().unwrap_or("");
        if let Some((_, target)) = first.split_once('>') {
            push(target.split_whitespace().next(), Touch::Created, &mut touches);
        }
        head
    });
    for part in line.split(['\n', ';', '|']).flat_map(|part| part.split("&&")) {
        simple(part, &mut touches);
        if touches.len() >= 20 {
            break;
        }
    }
    touches
}

fn simple(part: &str, touches: &mut Vec<(String, Touch)>) {
    let words = words(part);
    let mut arguments = words
        .iter()
        .map(String::as_str)
        .skip_while(|word| *word == "sudo" || (word.contains('=') && !word.starts_with('-')));
    let Some(program) = arguments.next() else {
        return;
    };
    let program = program.rsplit('/').next().unwrap_or(program);
    let arguments: Vec<&str> = arguments.collect();
    let redirected = arguments.iter().position(|word| word.starts_with('>') || word.starts_with("1>"));
    let (plain, redirect) = arguments.split_at(redirected.unwrap_or(arguments.len()));
    let files = || plain.iter().copied().filter(|word| !word.starts_with('-') && is_path(word));
    match program {
        "rm" | "unlink" => files().for_each(|file| push(Some(file), Touch::Deleted, touches)),
        "touch" => files().for_each(|file| push(Some(file), Touch::Created, touches)),
        "tee" => files().for_each(|file| push(Some(file), Touch::Edited, touches)),
        "mv" | "cp" => {
            if let Some((target, sources)) = files().collect::<Vec<_>>().split_last() {
                let of_source = if program == "mv" { Touch::Deleted } else { Touch::Read };
                for source in sources {
                    push(Some(source), of_source, touches);
                }
                push(Some(target), Touch::Created, touches);
            }
        }
        "sed" if plain.iter().any(|word| word.starts_with("-i")) => {
            files().skip(usize::from(files().count() > 1)).for_each(|file| push(Some(file), Touch::Edited, touches));
        }
        _ if READERS.contains(&program) && redirected.is_none() => {
            // The first word that `sed` is given is its script.
            files()
                .filter(|file| program != "sed" || !file.contains([',', '$', '^']))
                .for_each(|file| push(Some(file), Touch::Read, touches));
        }
        _ => {}
    }
    if let Some(first) = redirect.first() {
        let glued = first.trim_start_matches(['1', '>']);
        let target = if glued.is_empty() { redirect.get(1).copied() } else { Some(glued) };
        let touch = if first.contains(">>") { Touch::Edited } else { Touch::Created };
        push(target.filter(|target| is_path(target)), touch, touches);
    }
}

fn push(path: Option<&str>, touch: Touch, touches: &mut Vec<(String, Touch)>) {
    let path = path.map(|path| path.trim_matches(['"', '\'']));
    if let Some(path) = path
        .filter(|path| !path.is_empty() && path.len() <= 512 && !path.starts_with("/dev/") && !path.starts_with('&'))
    {
        touches.push((path.to_owned(), touch));
    }
}

/// Whether a word looks like a file rather than a flag's value or a script.
fn is_path(word: &str) -> bool {
    let named = word.contains('/')
        || word.rsplit_once('.').is_some_and(|(stem, extension)| {
            !stem.is_empty() && (1..=8).contains(&extension.len()) && extension.chars().all(char::is_alphanumeric)
        });
    // Folders of some frameworks stand in parentheses: `app/(protected)/page.tsx`.
    let parentheses = word.contains(['(', ')']) && !(word.contains("/(") && word.contains(")/"));
    named
        && !parentheses
        && !word.contains(['$', '*', '{', '<', '='])
        && !word.contains("://")
        && word.chars().any(char::is_alphabetic)
}

/// The words of a command line, quotes resolved; a quotation is one word.
fn words(part: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote: Option<char> = None;
    let mut begun = false;
    let mut characters = part.chars();
    while let Some(c) = characters.next() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(c);
                begun = true;
            }
            (None | Some('"'), '\\') => word.extend(characters.next()),
            (None, _) if c.is_whitespace() => {
                if begun || !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                begun = false;
            }
            _ => word.push(c),
        }
    }
    if begun || !word.is_empty() {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_only_looks_is_told_from_one_that_does_something() {
        for looks in [
            "sed -n '1,200p' src/a.rs",
            "nl -ba 'src/(x)/a.rs' | sed -n '1,9p'",
            "rg -n \"a|b && rm\" src 2>/dev/null | head -5",
            "cd /w && ls -la; cat x.md",
            "sed -n '1,9p' 'src/app/(protected)/a.tsx'",
            "find . -name '*.rs' | sort | uniq -c",
        ] {
            assert!(only_looks(looks), "{looks}");
        }
        for does in
            ["cat a > b", "sed -i s/a/b/ x.rs", "cat x.rs && cargo test", "find . -delete", "make", "", "cat $(make)"]
        {
            assert!(!only_looks(does), "{does}");
        }
    }

    #[test]
    fn files_in_command_lines_are_seen() {
        let read = |command| {
            touches(command).into_iter().map(|(path, touch)| format!("{path} {}", touch.name())).collect::<Vec<_>>()
        };
        assert_eq!(read("cd /x && sed -n '1,200p' src/a.rs"), ["src/a.rs read"]);
        assert_eq!(read("cat > src/b.py <<'EOF'\nrm -rf /x/y\nEOF"), ["src/b.py created"]);
        assert_eq!(read("cat <<EOF > src/b.py\nx\nEOF"), ["src/b.py created"]);
        assert_eq!(read("sed -i 's/a/b/' lib/x.js"), ["lib/x.js edited"]);
        assert_eq!(
            read("rm -f \"my dir/a b.txt\" && mv a.rs b.rs"),
            ["my dir/a b.txt deleted", "a.rs deleted", "b.rs created"]
        );
        assert_eq!(read("cargo test 2>&1 | tail -5"), Vec::<String>::new());
        assert_eq!(read("echo hi >> log.txt"), ["log.txt edited"]);
        assert_eq!(read("FOO=1 cat a.md | head -n 3"), ["a.md read"]);
        assert_eq!(read("git log > /dev/null"), Vec::<String>::new());
    }
}
