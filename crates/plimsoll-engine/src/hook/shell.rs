//! Reading a shell's command line, as far as it is plain: commands, pipes and words. What is more than that is not read.

/// A word, without its quotes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: String,
    /// Whether any of it was quoted.
    quoted: bool,
}

impl Word {
    /// The name of the program that it is, without its directory.
    pub(super) fn program(&self) -> &str {
        self.text.rsplit(['/', '\\']).next().unwrap_or(&self.text)
    }

    /// Whether it sets a variable: `NAME=value`.
    pub(super) fn is_setting(&self) -> bool {
        let name = self.text.split_once('=').map_or("", |(name, _)| name);
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    }
}

/// Commands that are joined by pipes, each a list of words.
pub(super) type Pipeline = Vec<Vec<Word>>;

/// Reads a command line: its pipelines, in order. `None` if it does anything but run them one after the other: a
/// substitution, a redirection other than of standard error, a background job, a quote without end.
#[expect(clippy::match_same_arms, reason = "the rules are read in the order of the shell's characters")]
pub(super) fn read(line: &str) -> Option<Vec<Pipeline>> {
    let mut reading = Reading::default();
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\'' => {
                reading.word().quoted = true;
                loop {
                    match characters.next()? {
                        '\'' => break,
                        inside => reading.word().text.push(inside),
                    }
                }
            }
            '"' => {
                reading.word().quoted = true;
                loop {
                    match characters.next()? {
                        '"' => break,
                        '`' => return None,
                        '$' if characters.peek() == Some(&'(') => return None,
                        '\\' => reading.word().text.push(characters.next()?),
                        inside => reading.word().text.push(inside),
                    }
                }
            }
            '\\' => match characters.next()? {
                '\n' => {}
                escaped => reading.word().text.push(escaped),
            },
            '`' | '(' | ')' | '<' => return None,
            '#' if reading.word.is_none() => while characters.next_if(|next| *next != '\n').is_some() {},
            '>' => {
                // Standard error goes where standard output goes, or nowhere.
                let before = reading.word.take().filter(|word| word.text == "2" && !word.quoted);
                before?;
                let target: String = std::iter::from_fn(|| characters.next_if(|next| !ends_a_word(*next))).collect();
                match target.as_str() {
                    "/dev/null" => {}
                    "" if characters.next_if_eq(&'&').is_some() && characters.next_if_eq(&'1').is_some() => {}
                    _ => return None,
                }
            }
            '|' if characters.next_if_eq(&'|').is_some() => reading.end_pipeline()?,
            '|' => reading.end_command()?,
            '&' if characters.next_if_eq(&'&').is_some() => reading.end_pipeline()?,
            '&' => return None,
            ';' => reading.end_pipeline()?,
            '\n' if reading.is_between() => {}
            '\n' => reading.end_pipeline()?,
            space if space.is_whitespace() => reading.end_word(),
            other => reading.word().text.push(other),
        }
    }
    if !reading.is_between() {
        reading.end_pipeline()?;
    }
    Some(reading.pipelines)
}

fn ends_a_word(character: char) -> bool {
    character.is_whitespace() || matches!(character, ';' | '|' | '&' | '<' | '>' | '(' | ')')
}

/// What was read so far.
#[derive(Debug, Default)]
struct Reading {
    pipelines: Vec<Pipeline>,
    pipeline: Pipeline,
    command: Vec<Word>,
    word: Option<Word>,
}

impl Reading {
    fn word(&mut self) -> &mut Word {
        self.word.get_or_insert_default()
    }

    fn is_between(&self) -> bool {
        self.word.is_none() && self.command.is_empty() && self.pipeline.is_empty()
    }

    fn end_word(&mut self) {
        self.command.extend(self.word.take());
    }

    fn end_command(&mut self) -> Option<()> {
        self.end_word();
        let command = std::mem::take(&mut self.command);
        (!command.is_empty()).then(|| self.pipeline.push(command))
    }

    fn end_pipeline(&mut self) -> Option<()> {
        self.end_command()?;
        self.pipelines.push(std::mem::take(&mut self.pipeline));
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Option<Vec<Vec<Vec<String>>>> {
        let pipelines = read(line)?;
        let texts = |command: Vec<Word>| command.into_iter().map(|word| word.text).collect();
        Some(pipelines.into_iter().map(|pipeline| pipeline.into_iter().map(texts).collect()).collect())
    }

    #[test]
    fn plain_commands_are_read_as_a_shell_reads_them() {
        assert_eq!(
            words("a 'b c' \"d\\\"e\" f\\ g | h 2>&1 && i; j # k | l\n").unwrap(),
            [vec![vec!["a", "b c", "d\"e", "f g"], vec!["h"]], vec![vec!["i"]], vec![vec!["j"]]]
        );
        assert_eq!(words("a 2>/dev/null\n\nb").unwrap(), [[["a"]], [["b"]]]);
        assert_eq!(words("a#b ''").unwrap(), [[["a#b", ""]]]);
    }

    #[test]
    fn what_is_not_plain_is_not_read() {
        for line in
            ["a $(b)", "a \"$(b)\"", "a `b`", "(a)", "a <b", "a >b", "a 2>b", "a &", "a 'b", "a |", "| a", "a;;b"]
        {
            assert_eq!(words(line), None, "{line}");
        }
    }
}
