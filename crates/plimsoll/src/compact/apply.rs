//! `apply`: a plan and a continuation become edits, once it is sure that they break nothing.

use crate::Tokens;
use crate::budget::{Count, MESSAGE_OVERHEAD, Meter};
use crate::transcript::{CallKind, Obligations, OrphanKind, Role, Transcript, Violation};
use crate::wire::{Document, Edit, Format, Rewrite, RewriteError, SpliceError, splice};

use super::Summarise;

/// What came of applying a plan.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Applied {
    /// The edits of the document, ready for [`splice`].
    pub edits: Vec<Edit<'static>>,
    /// What the conversation counts afterwards. Of a program's session that is what the program sends when it resumes: it
    /// drops calls without a result and results without a call, which stay in the file.
    pub tokens_after: Tokens,
    /// What the continuation message counts.
    pub continuation_tokens: Tokens,
}

impl Applied {
    /// Writes the document as it is afterwards.
    ///
    /// # Errors
    /// [`SpliceError`] if the document is another than the one the plan was applied to.
    pub fn bytes<'d>(&self, document: &Document<'d>) -> Result<std::borrow::Cow<'d, [u8]>, SpliceError> {
        splice(document.bytes(), &self.edits)
    }
}

/// Why a plan cannot be applied. Nothing is edited then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ApplyError {
    /// The conversation is shorter than the one that was planned for.
    #[error("the conversation has {messages} messages, but had {planned} when it was planned for; plan it anew")]
    Shrunk {
        /// How many messages there are.
        messages: usize,
        /// How many there were.
        planned: usize,
    },
    /// The conversation has changed so that something would be parted now.
    #[error("this would break {} obligations between messages that hold now; plan it anew", .0.len())]
    Breaks(Vec<Violation>),
    /// The document cannot be rewritten so.
    #[error(transparent)]
    Rewrite(#[from] RewriteError),
}

/// Turns a plan and the text of the continuation message into edits.
///
/// The document may have grown since it was planned for; what would then be parted is refused. `acknowledgement` is
/// what the assistant answers where the format needs an answer.
///
/// # Errors
/// [`ApplyError`] if the conversation has changed otherwise, or the format has no place for a continuation.
///
/// ```
/// use plimsoll::Tokens;
/// use plimsoll::budget::{Capacity, Meter, Policy, Trigger, threshold};
/// use plimsoll::compact::{Plan, PlanOptions, apply, plan};
/// use plimsoll::token::{Counter, Encoding};
/// use plimsoll::transcript::Obligations;
/// use plimsoll::wire::{ParseOptions, parse};
/// let body = br#"{"model":"claude-sonnet-4-5","messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"Hello"},
/// {"role":"user","content":"Go on"}]}"#;
/// let document = parse(body, &ParseOptions::default()).unwrap();
/// let mut meter = Meter::new(Counter::exact(Encoding::O200kBase));
/// let mut options = PlanOptions::new(document.format(), Trigger::Manual);
/// options.force = true;
/// let planned = plan(
///     document.transcript(),
///     &Obligations::of(document.transcript()),
///     &meter.measure(&document),
///     &threshold(&Capacity::default(), &Policy::default(), None),
///     &options,
/// );
/// let Plan::Summarise(summarise) = planned else { panic!("{planned:?}") };
/// let applied = apply(&document, &summarise, "So far: greetings.", "Understood.", &mut meter).unwrap();
/// let bytes = applied.bytes(&document).unwrap();
/// assert_eq!(
///     std::str::from_utf8(&bytes).unwrap(),
///     r#"{"model":"claude-sonnet-4-5","messages":[{"role":"user","content":"So far: greetings."},
/// {"role":"user","content":"Go on"}]}"#,
/// );
/// ```
pub fn apply<C: Count>(
    document: &Document<'_>,
    summarise: &Summarise,
    continuation: &str,
    acknowledgement: &str,
    meter: &mut Meter<C>,
) -> Result<Applied, ApplyError> {
    let transcript = document.transcript();
    let messages = transcript.messages.len();
    if messages < summarise.messages {
        return Err(ApplyError::Shrunk { messages, planned: summarise.messages });
    }
    refuse_breaks(document, summarise.removed.clone(), &summarise.retained)?;

    let measure = meter.measure(document);
    let mut unsent = passed_over(document);
    unsent.retain(|(message, _)| !summarise.removed.contains(message) || summarise.retained.contains(message));
    unsent.extend(&summarise.omitted);
    unsent.sort_unstable();
    unsent.dedup();
    let omitted = omitted_tokens(transcript, &unsent, meter);
    let retained = summarise.retained.iter().map(|index| measure.message(*index)).sum();
    let continuation_tokens = meter.count().text(continuation) + MESSAGE_OVERHEAD;
    let next = summarise.retained.first().unwrap_or(&summarise.removed.end);
    let answers = document.needs_alternation()
        && transcript.messages.get(*next).is_some_and(|message| message.role == Role::User);
    let answer = if answers { meter.count().text(acknowledgement) + MESSAGE_OVERHEAD } else { Tokens::ZERO };
    let stays = measure.total - measure.range(summarise.removed.clone()) + retained;
    let tokens_after = stays - omitted + continuation_tokens + answer;
    let edits = document.rewrite(&Rewrite {
        removed: summarise.removed.clone(),
        retained: &summarise.retained,
        omitted: &summarise.omitted,
        continuation,
        acknowledgement,
        tokens_before: measure.total,
        tokens_after,
    })?;
    Ok(Applied { edits, tokens_after, continuation_tokens })
}

/// The blocks that a program does not send when it resumes from its session, ascending, as (message, block).
///
/// Claude Code drops calls without a result and results without a call; Codex drops the latter, and answers the former.
fn passed_over(document: &Document<'_>) -> Vec<(usize, usize)> {
    let drops_calls = match document.format() {
        Format::ClaudeCode => true,
        Format::Codex => false,
        _ => return Vec::new(),
    };
    let obligations = Obligations::of(document.transcript());
    let orphans = obligations.orphans().iter().filter(|orphan| match orphan.kind {
        OrphanKind::CallWithoutResult => drops_calls,
        OrphanKind::ResultWithoutCall => true,
        OrphanKind::ReasoningAlone => false,
    });
    let open = obligations.open_calls().iter().filter(|call| drops_calls && call.kind == CallKind::Client);
    let open = open.map(|call| (call.message, call.block));
    orphans.map(|orphan| (orphan.message, orphan.block)).chain(open).collect()
}

/// What blocks that are left out count.
pub(super) fn omitted_tokens<C: Count>(
    transcript: &Transcript<'_>,
    omitted: &[(usize, usize)],
    meter: &Meter<C>,
) -> Tokens {
    let mut tokens = Tokens::ZERO;
    for run in omitted.chunk_by(|one, other| one.0 == other.0) {
        let message = run.first().and_then(|(message, _)| transcript.messages.get(*message));
        let Some(message) = message else {
            continue;
        };
        let blocks = run.iter().filter_map(|(_, block)| message.blocks.get(*block));
        tokens += blocks.map(|block| meter.block_tokens(block)).sum();
        if run.len() == message.blocks.len() {
            // Nothing stays of it, so it leaves as a whole.
            tokens += MESSAGE_OVERHEAD;
        }
    }
    tokens
}

/// Refuses what would part something, by the one obligation model.
pub(super) fn refuse_breaks(
    document: &Document<'_>,
    removed: std::ops::Range<usize>,
    retained: &[usize],
) -> Result<(), ApplyError> {
    let stays = |index: usize| !removed.contains(&index) || retained.binary_search(&index).is_ok();
    let violations = Obligations::of(document.transcript()).violations(stays);
    if violations.is_empty() { Ok(()) } else { Err(ApplyError::Breaks(violations)) }
}

#[cfg(test)]
#[path = "apply/tests.rs"]
mod tests;
