//! What threads used, and how large a compaction found and left the context.
//!
//! The server reports the thread's total since it began, and reports it again without anything new. So what counts is by
//! how much it rose; what a resumed thread used in earlier runs is none of this run's.

use std::collections::BTreeMap;

use plimsoll::Tokens;
use serde_json::Value;

use crate::event::Usage;
use crate::json::tokens;

/// How many threads (the main one and those of subagents) are followed.
const MOST: usize = 256;

/// The totals of the threads.
#[derive(Debug, Default)]
pub(super) struct Meters(BTreeMap<String, Option<Usage>>);

/// A report.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reading {
    /// What is new in it.
    pub(super) rose: Usage,
    /// What fills the context.
    pub(super) context: Option<Tokens>,
    /// What it can hold.
    pub(super) window: Option<Tokens>,
    /// The context was counted without a model's answer.
    pub(super) counted: bool,
}

impl Meters {
    /// A thread is begun, or gone on with: then its total until now is not known.
    pub(super) fn open(&mut self, thread: &str, resumed: bool) {
        self.0.insert(thread.to_owned(), (!resumed).then(Usage::default));
    }

    /// Reads a report. `spoke`: the model answered since the thread was opened.
    pub(super) fn read(&mut self, thread: &str, report: &Value, spoke: bool) -> Reading {
        let last = report.get("last").unwrap_or(&Value::Null);
        let (total, latest) = (usage(report.get("total").unwrap_or(&Value::Null)), usage(last));
        if self.0.len() >= MOST && !self.0.contains_key(thread) {
            self.0.pop_first();
        }
        let known = self.0.entry(thread.to_owned()).or_insert_with(|| Some(Usage::default()));
        let rose = match *known {
            Some(before) => minus(total, before),
            None if spoke => latest,
            None => Usage::default(),
        };
        *known = Some(total);
        Reading {
            rose,
            context: tokens(last, "totalTokens"),
            window: tokens(report, "modelContextWindow").filter(|window| *window > Tokens(0)),
            counted: latest == Usage::default(),
        }
    }
}

/// A compaction under way: the sizes are told between its beginning and its end.
#[derive(Debug, Default)]
pub(super) struct Compacting {
    before: Option<Tokens>,
    told: u64,
    /// The first report only repeated what was known.
    repeated: Option<Tokens>,
    after: Option<Tokens>,
}

impl Compacting {
    pub(super) fn begin(context: Option<Tokens>) -> Self {
        Self { before: context, ..Self::default() }
    }

    pub(super) fn read(&mut self, reading: Reading) {
        self.told += 1;
        if self.told == 1 && reading.rose == Usage::default() {
            self.repeated = reading.context;
        } else if reading.counted {
            self.after = reading.context;
        } else if self.before.is_none() {
            // The summary's own request: what came before it was the context as it was.
            self.before = self.repeated;
        }
    }

    /// Gives the context's size before and after, as far as it was told.
    pub(super) fn sizes(&self) -> (Option<Tokens>, Option<Tokens>) {
        (self.before, self.after)
    }
}

fn usage(part: &Value) -> Usage {
    let of = |field| tokens(part, field).unwrap_or_default();
    let (read, written) = (of("cachedInputTokens"), of("cacheWriteInputTokens"));
    // The input is all of it, what caches held too.
    let input = of("inputTokens").0.saturating_sub(read.0).saturating_sub(written.0);
    Usage::new(Tokens(input), of("outputTokens"), read, written)
}

fn minus(total: Usage, before: Usage) -> Usage {
    let less = |a: Tokens, b: Tokens| Tokens(a.0.saturating_sub(b.0));
    Usage::new(
        less(total.input, before.input),
        less(total.output, before.output),
        less(total.cache_read, before.cache_read),
        less(total.cache_write, before.cache_write),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn report(total: (u64, u64), last: (u64, u64), context: u64) -> Value {
        let part = |(input, output): (u64, u64), all: u64| {
            json!({ "totalTokens": all, "inputTokens": input, "cachedInputTokens": 0,
                    "cacheWriteInputTokens": 0, "outputTokens": output, "reasoningOutputTokens": 0 })
        };
        json!({ "total": part(total, total.0 + total.1), "last": part(last, context), "modelContextWindow": 1000 })
    }

    #[test]
    fn a_report_that_is_repeated_counts_once() {
        let mut meters = Meters::default();
        meters.open("t", false);
        let first = meters.read("t", &report((100, 9), (100, 9), 109), true);
        let again = meters.read("t", &report((100, 9), (100, 9), 109), true);
        assert_eq!((first.rose.total(), again.rose.total()), (Tokens(109), Tokens(0)));
    }

    #[test]
    fn what_a_resumed_thread_used_before_is_not_this_runs() {
        let mut meters = Meters::default();
        meters.open("t", true);
        assert_eq!(meters.read("t", &report((5_000, 90), (100, 9), 109), true).rose.total(), Tokens(109));
        meters.open("u", true);
        assert_eq!(meters.read("u", &report((5_000, 90), (100, 9), 109), false).rose.total(), Tokens(0));
        assert_eq!(meters.read("u", &report((5_100, 99), (100, 9), 109), true).rose.total(), Tokens(109));
    }

    #[test]
    fn what_a_cache_held_is_told_apart() {
        let part =
            json!({ "inputTokens": 100, "cachedInputTokens": 60, "cacheWriteInputTokens": 10, "outputTokens": 1 });
        assert_eq!(usage(&part), Usage::new(Tokens(30), Tokens(1), Tokens(60), Tokens(10)));
    }

    #[test]
    fn the_sizes_of_a_compaction_are_read_from_the_reports_within_it() {
        // As recorded: in a running thread, in a resumed one, and in an empty one.
        let mut meters = Meters::default();
        meters.open("t", true);
        let mut resumed = Compacting::begin(None);
        resumed.read(meters.read("t", &report((40_776, 36), (0, 0), 6_949), false));
        resumed.read(meters.read("t", &report((47_652, 45), (6_876, 9), 6_885), false));
        resumed.read(meters.read("t", &report((47_652, 45), (0, 0), 6_953), false));
        assert_eq!(resumed.sizes(), (Some(Tokens(6_949)), Some(Tokens(6_953))));
        meters.open("e", false);
        let mut empty = Compacting::begin(None);
        empty.read(meters.read("e", &report((4_945, 9), (4_945, 9), 4_954), false));
        empty.read(meters.read("e", &report((4_945, 9), (0, 0), 6_065), false));
        assert_eq!(empty.sizes(), (None, Some(Tokens(6_065))));
    }
}
