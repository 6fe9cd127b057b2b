//! What a report tells of a compaction that was carried out, or cannot be.

use plimsoll::Tokens;
use plimsoll::compact::{Reduce, Summarise};

use super::CompactOptions;
use super::write::Made;
use crate::reduce;
use crate::report::{Outcome, Report};

/// Tells of a summary that takes its place.
pub(super) fn finish(report: &mut Report, made: &Made, summarise: &Summarise) {
    report.outcome = Outcome::Applied;
    report.tokens_after = made.applied.tokens_after;
    report.messages_after = summarise.messages - summarise.removed.len() + summarise.retained.len() + 1;
    report.kept_tail_messages = summarise.tail_messages();
    report.summarizer = Some(made.by.clone());
    report.summary_tokens = Some(made.summary_tokens);
    report.carried = Some(made.carried);
}

/// Tells of reductions that were enough.
pub(super) fn reduced(report: &mut Report, reduce: &Reduce, done: &reduce::Done) {
    report.outcome = Outcome::Applied;
    report.tokens_after = done.tokens_after;
    report.messages_after = done.messages_after;
    report.kept_tail_messages = reduce.messages.saturating_sub(done.prefix);
    report.reductions = Some(done.reductions.clone());
    report.break_even_turns = Some(reduce.break_even_turns);
    report.epoch = done.epoch.as_ref().map(ToString::to_string);
    report.artifact.clone_from(&report.epoch);
}

/// Says why it cannot fit, and what to give.
pub(super) fn infeasible(irreducible: Tokens, limit: Tokens, options: &CompactOptions) -> String {
    let next = if options.target_tokens.is_some() {
        "give a larger --target-tokens, or a smaller --keep-tokens"
    } else {
        "give a model with a larger window, or --window if it is larger than assumed"
    };
    format!(
        "the system prompt, the tools, the last request and the latest step are {} tokens together, and with a summary \
         they cannot be brought under {} tokens; {next}",
        irreducible.0, limit.0
    )
}
