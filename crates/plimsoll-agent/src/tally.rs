//! Adds up what messages used, each once however often it is reported.

use std::collections::VecDeque;

use crate::event::Usage;

/// How many messages are remembered. A message is reported again right after itself, or between those of a few
/// subagents; what is older is done.
const REMEMBERED: usize = 64;

#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Turns that ended.
    ended: Usage,
    /// Of this turn, messages that are not remembered any more.
    settled: Usage,
    /// Of this turn, the latest messages.
    recent: VecDeque<(String, Usage)>,
}

impl Tally {
    /// Takes a report. The same message reported again counts once, by the larger of each part.
    pub(crate) fn add(&mut self, message: Option<String>, usage: Usage) {
        let Some(message) = message else {
            self.settled = self.settled.plus(usage);
            return;
        };
        if let Some((_, known)) = self.recent.iter_mut().rev().find(|(id, _)| *id == message) {
            *known = known.max(usage);
            return;
        }
        if self.recent.len() >= REMEMBERED
            && let Some((_, oldest)) = self.recent.pop_front()
        {
            self.settled = self.settled.plus(oldest);
        }
        self.recent.push_back((message, usage));
    }

    /// Ends a turn; `reported` is what the program says it used in all, and counts where it is more.
    pub(crate) fn end_turn(&mut self, reported: Option<Usage>) {
        let turn = self.turn().max(reported.unwrap_or_default());
        self.ended = self.ended.plus(turn);
        self.settled = Usage::default();
        self.recent.clear();
    }

    pub(crate) fn total(&self) -> Usage {
        self.ended.plus(self.turn())
    }

    fn turn(&self) -> Usage {
        self.recent.iter().fold(self.settled, |sum, (_, usage)| sum.plus(*usage))
    }
}

#[cfg(test)]
mod tests {
    use plimsoll::Tokens;

    use super::*;

    fn usage(input: u64, output: u64) -> Usage {
        Usage::new(Tokens(input), Tokens(output), Tokens(0), Tokens(0))
    }

    #[test]
    fn a_message_reported_block_by_block_counts_once() {
        let mut tally = Tally::default();
        for output in [1, 1, 9] {
            tally.add(Some("msg_1".to_owned()), usage(100, output));
        }
        tally.add(Some("msg_2".to_owned()), usage(110, 4));
        assert_eq!(tally.total(), usage(210, 13));
    }

    #[test]
    fn a_command_that_reports_zero_takes_nothing_away() {
        let mut tally = Tally::default();
        tally.add(Some("msg_1".to_owned()), usage(100, 1));
        tally.end_turn(Some(usage(100, 9)));
        tally.end_turn(Some(usage(0, 0)));
        assert_eq!(tally.total(), usage(100, 9));
    }

    #[test]
    fn a_long_turn_takes_no_more_memory_than_a_short_one() {
        let mut tally = Tally::default();
        for message in 0..10_000 {
            tally.add(Some(format!("msg_{message}")), usage(1, 1));
        }
        assert_eq!(tally.total(), usage(10_000, 10_000));
        assert!(tally.recent.len() <= REMEMBERED);
    }
}
