//! `Command`: a command line that was run, how often, and how it ended last.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::line::one_line;
use super::outcome::Outcome;

/// How long a command line may be, in characters; a longer one ends in an ellipsis.
pub(crate) const COMMAND: usize = 160;

/// A command line that was run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// The command line, in one line.
    pub line: String,
    /// How often it was run.
    pub runs: u32,
    /// How it ended the last time.
    pub outcome: Outcome,
    /// The user's message that was being worked on then.
    pub turn: u32,
}

/// A command line as it is shown and compared.
pub(crate) fn shown(line: &str) -> String {
    // Where a program is told to go first is not what it is told to do.
    let line = line.trim();
    let bare = line.strip_prefix("cd ").and_then(|rest| rest.split_once("&&")).map_or(line, |(_, rest)| rest.trim());
    let shortened = without_body(bare);
    let mut bare = shortened.trim();
    // Where the second stream goes says nothing about what was done.
    while let Some(rest) = ["2>&1", "2>/dev/null"].iter().find_map(|quiet| bare.strip_suffix(quiet)) {
        bare = rest.trim_end();
    }
    one_line(bare, COMMAND)
}

/// A command line with its here-document told by the first and the last line: the rest is data, and what is done with
/// it stands behind it.
fn without_body(command: &str) -> Cow<'_, str> {
    let shortened = || {
        let (head, rest) = command.split_once("<<")?;
        let (opening, body) = rest.split_once('\n')?;
        let mark: String = opening
            .trim_start_matches(['-', ' ', '\'', '"', '\\'])
            .chars()
            .take_while(|c| c.is_alphanumeric() || *c == '_')
            .collect();
        let lines: Vec<&str> = body.lines().collect();
        let end = lines.iter().position(|line| line.trim() == mark).filter(|_| !mark.is_empty())?;
        let body: Vec<&str> = lines.iter().take(end).copied().filter(|line| !line.trim().is_empty()).collect();
        let (first, last) = (body.first()?, body.last()?);
        let after: Vec<&str> = lines.iter().skip(end + 1).copied().collect();
        let after = after.join("\n");
        (body.len() > 3).then(|| format!("{head}<<{opening} {} … {} {mark} {after}", cut(first), cut(last)))
    };
    shortened().map_or(Cow::Borrowed(command), Cow::Owned)
}

/// A line of a here-document, as far as it helps to tell one from another.
fn cut(line: &str) -> String {
    one_line(line, 48)
}

/// The commands of a history, in the order in which each was last run.
#[derive(Debug, Default)]
pub(super) struct Commands {
    list: Vec<Command>,
    order: Vec<u64>,
    places: HashMap<String, usize>,
    clock: u64,
}

impl Commands {
    pub(super) fn of(list: Vec<Command>) -> Self {
        let mut commands = Self::default();
        commands.merge(list);
        commands
    }

    pub(super) fn ran(&mut self, line: &str, outcome: Outcome, turn: u32) {
        self.merge(vec![Command { line: line.to_owned(), runs: 1, outcome, turn }]);
    }

    pub(super) fn merge(&mut self, newer: Vec<Command>) {
        for command in newer {
            self.clock += 1;
            let place = *self.places.entry(command.line.clone()).or_insert(self.list.len());
            if let (Some(known), Some(order)) = (self.list.get_mut(place), self.order.get_mut(place)) {
                known.runs = known.runs.saturating_add(command.runs);
                (known.outcome, known.turn, *order) = (command.outcome, command.turn, self.clock);
            } else {
                self.list.push(command);
                self.order.push(self.clock);
            }
        }
    }

    pub(super) fn into_list(self) -> Vec<Command> {
        let mut ordered: Vec<(u64, Command)> = self.order.into_iter().zip(self.list).collect();
        ordered.sort_by_key(|(order, _)| *order);
        ordered.into_iter().map(|(_, command)| command).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_here_document_is_told_by_its_ends() {
        let command = "cat > t.py << 'EOF'\nimport os\n\nx = 1\ny = 2\nprint(x)\nEOF\npython t.py 2>&1";
        assert_eq!(shown(command), "cat > t.py << 'EOF' import os … print(x) EOF python t.py");
        let short = "git commit -m \"$(cat <<'EOF'\nfix: the tide\nEOF\n)\"";
        assert_eq!(shown(short), "git commit -m \"$(cat <<'EOF' fix: the tide EOF )\"");
        assert_eq!(shown("cat <<< word"), "cat <<< word");
        assert_eq!(shown("cat << EOF\nnever closed\na\nb\nc"), "cat << EOF never closed a b c");
        assert_eq!(shown("cd /w && cargo test 2>&1"), "cargo test");
    }

    #[test]
    fn a_command_stands_where_it_was_last_run() {
        let mut commands = Commands::default();
        commands.ran("a", Outcome::Exit(1), 1);
        commands.ran("b", Outcome::Ok, 1);
        commands.ran("a", Outcome::Exit(0), 2);
        let list = commands.into_list();
        assert_eq!(list.iter().map(|command| command.line.as_str()).collect::<Vec<_>>(), ["b", "a"]);
        assert_eq!((list[1].runs, list[1].outcome), (2, Outcome::Exit(0)));
    }

    #[test]
    fn going_somewhere_first_makes_no_other_command() {
        assert_eq!(shown("cd /x/y && cargo  test"), "cargo test");
        assert_eq!(shown("cargo test\n"), "cargo test");
    }
}
