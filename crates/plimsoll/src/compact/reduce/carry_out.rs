//! Carrying reductions out: what is to be stored of each piece, and the edits once it is stored.

use std::borrow::Cow;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::placeholder::placeholder;
use super::{Reduce, Reduction};
use crate::Tokens;
use crate::budget::{CALL_OVERHEAD, Count, MESSAGE_OVERHEAD, Measure, Meter};
use crate::compact::apply::omitted_tokens;
use crate::compact::{ApplyError, tail};
use crate::transcript::{Block, BlockKind, Transcript};
use crate::wire::{Document, Edit, Replace, SpliceError, splice};

/// A piece that left, and the text that stands in its place: enough to do it again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Replacement {
    /// The message's index.
    pub message: usize,
    /// The block's index in it.
    pub block: usize,
    /// For a piece of a tool's result: its index in the result's content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<usize>,
    /// What stands there now.
    pub text: String,
    /// The recall id of what stood there.
    pub artifact: String,
}

impl Replacement {
    fn piece(&self) -> Replace<'_> {
        Replace { message: self.message, block: self.block, part: self.part, text: &self.text }
    }
}

/// What came of carrying reductions out.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Reduced {
    /// The edits of the document, ready for [`splice`].
    pub edits: Vec<Edit<'static>>,
    /// What was replaced, ascending by place.
    pub replaced: Vec<Replacement>,
    /// How many messages the prefix has that changed.
    pub prefix: usize,
    /// How many messages the conversation had when this was planned.
    pub messages: usize,
    /// How many it has afterwards: a message whose every block is thinking that cannot stay leaves as a whole.
    pub messages_after: usize,
    /// The bytes of the document that leave, ascending.
    pub removed: Vec<Range<u64>>,
    /// What the conversation counted before.
    pub tokens_before: Tokens,
    /// What it counts afterwards.
    pub tokens_after: Tokens,
}

impl Reduced {
    /// Writes the document as it is afterwards.
    ///
    /// # Errors
    /// [`SpliceError`] if the document is another than the one that was reduced.
    pub fn bytes<'d>(&self, document: &Document<'d>) -> Result<Cow<'d, [u8]>, SpliceError> {
        splice(document.bytes(), &self.edits)
    }
}

/// What is to be stored of a piece before it leaves: a text as it reads, the bytes of a picture or file, or the whole
/// block where its bytes are not in the document.
///
/// `None` if there is no such piece.
pub fn body<'d>(document: &Document<'d>, reduction: &Reduction) -> Option<Cow<'d, [u8]>> {
    let block = piece(document.transcript(), reduction)?;
    match &block.kind {
        BlockKind::Text(text) => Some(match text.decode() {
            Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
            Cow::Owned(text) => Cow::Owned(text.into_bytes()),
        }),
        BlockKind::Media(media) => {
            let decoded = media.data.and_then(|data| from_base64(&data.decode()));
            Some(decoded.map_or_else(|| Cow::Borrowed(block.span.of(document.bytes())), Cow::Owned))
        }
        _ => None,
    }
}

fn piece<'t, 'a>(transcript: &'t Transcript<'a>, reduction: &Reduction) -> Option<&'t Block<'a>> {
    let block = transcript.messages.get(reduction.message)?.blocks.get(reduction.block)?;
    match (&block.kind, reduction.part) {
        (BlockKind::ToolResult(result), Some(part)) => result.content.get(part),
        (_, None) => Some(block),
        _ => None,
    }
}

/// What a piece of a message counts. Where the message is nothing but this one text, its measure says so already.
pub(super) fn piece_tokens<C: Count>(
    transcript: &Transcript<'_>,
    measure: &Measure,
    meter: &Meter<C>,
    (message, piece): (usize, &Block<'_>),
) -> Tokens {
    let blocks = transcript.messages.get(message).map(|message| message.blocks.as_slice());
    let is_alone = match blocks {
        Some([Block { kind: BlockKind::ToolResult(result), .. }]) => result.content.len() == 1,
        _ => false,
    };
    if is_alone && matches!(piece.kind, BlockKind::Text(_)) {
        measure.message(message) - MESSAGE_OVERHEAD - CALL_OVERHEAD
    } else {
        meter.block_tokens(piece)
    }
}

/// Turns reductions into edits. `ids` are the recall ids of what was stored, one for each reduction; a piece without one
/// stays, and so does one whose placeholder would be no shorter.
///
/// The document may have grown since it was planned for.
///
/// # Errors
/// [`ApplyError`] if the conversation is shorter than planned, or a piece is no longer one that can be replaced.
///
/// ```
/// use plimsoll::Tokens;
/// use plimsoll::budget::{Capacity, Meter, Policy, Trigger, threshold};
/// use plimsoll::compact::{Plan, PlanOptions, apply_reductions, body, plan_or_reduce};
/// use plimsoll::token::{Counter, Encoding};
/// use plimsoll::transcript::Obligations;
/// use plimsoll::wire::{ParseOptions, parse};
/// let text = format!(
///     r#"{{"max_tokens":9,"messages":[
///     {{"role":"assistant","content":[{{"type":"tool_use","id":"t1","name":"Bash","input":{{"command":"make"}}}}]}},
///     {{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t1","content":"{}"}}]}},
///     {{"role":"assistant","content":"It builds."}},{{"role":"user","content":"Go on"}}]}}"#,
///     "one two three ".repeat(2_000),
/// );
/// let document = parse(text.as_bytes(), &ParseOptions::default()).unwrap();
/// let mut meter = Meter::new(Counter::exact(Encoding::O200kBase));
/// let measure = meter.measure(&document);
/// let mut options = PlanOptions::new(document.format(), Trigger::Manual);
/// options.target_tokens = Some(Tokens(500));
/// let thresholds = threshold(&Capacity::default(), &Policy::default(), None);
/// let obligations = Obligations::of(document.transcript());
/// let planned = plan_or_reduce(&document, &obligations, &measure, &meter, &thresholds, &options);
/// let Plan::Reduce(reduce) = planned else { panic!("{planned:?}") };
/// // Store the body first, durably; then the line that names it may be seen.
/// assert!(body(&document, &reduce.reductions[0]).unwrap().starts_with(b"one two three"));
/// let ids = [Some("s1/t1".to_owned())];
/// let reduced = apply_reductions(&document, &reduce, &ids, &mut meter).unwrap();
/// let bytes = reduced.bytes(&document).unwrap();
/// let after = std::str::from_utf8(&bytes).unwrap();
/// assert!(after.contains("result of Bash `make`, 28000 bytes, 1 lines; left out here to make room; recall id s1/t1]"));
/// assert!(reduced.tokens_after < Tokens(500));
/// ```
pub fn apply_reductions<C: Count>(
    document: &Document<'_>,
    reduce: &Reduce,
    ids: &[Option<String>],
    meter: &mut Meter<C>,
) -> Result<Reduced, ApplyError> {
    let transcript = document.transcript();
    let messages = transcript.messages.len();
    if messages < reduce.messages {
        return Err(ApplyError::Shrunk { messages, planned: reduce.messages });
    }
    let measure = meter.measure(document);
    let mut replaced = Vec::with_capacity(reduce.reductions.len());
    let mut removed: Vec<Range<u64>> = Vec::new();
    let mut saved = Tokens::ZERO;
    for (reduction, id) in reduce.reductions.iter().zip(ids) {
        let (Some(id), Some(block)) = (id, piece(transcript, reduction)) else {
            continue;
        };
        let text = placeholder(reduction, id);
        let before = piece_tokens(transcript, &measure, meter, (reduction.message, block));
        let after = meter.count().text(&text);
        let span = document.replaceable(reduction.message, reduction.block, reduction.part);
        let Some(span) = span.filter(|span| after < before && text.len() < span.len()) else {
            continue;
        };
        saved += before - after;
        removed.push(span.start() as u64..span.end() as u64);
        let (message, block, part) = reduction.place();
        replaced.push(Replacement { message, block, part, text, artifact: id.clone() });
    }
    removed.sort_by_key(|range| range.start);
    let omitted = omitted(document, &replaced, reduce.messages);
    let edits = edits(document, &replaced, &omitted)?;
    saved += omitted_tokens(transcript, &omitted, meter);
    Ok(Reduced {
        edits,
        prefix: replaced.last().map_or(0, |replaced| replaced.message + 1),
        messages: reduce.messages,
        messages_after: messages - emptied(transcript, &omitted),
        removed,
        tokens_before: measure.total,
        tokens_after: measure.total - saved,
        replaced,
    })
}

/// How many messages are left without a block.
fn emptied(transcript: &Transcript<'_>, omitted: &[(usize, usize)]) -> usize {
    let runs = omitted.chunk_by(|one, other| one.0 == other.0);
    let whole = |run: &&[(usize, usize)]| {
        let message = run.first().and_then(|(message, _)| transcript.messages.get(*message));
        message.is_some_and(|message| message.blocks.len() == run.len())
    };
    runs.filter(whole).count()
}

/// The thinking that was signed over what is replaced, and cannot stay.
pub(in crate::compact) fn omitted(
    document: &Document<'_>,
    replaced: &[Replacement],
    planned: usize,
) -> Vec<(usize, usize)> {
    let first = replaced.first().map(|piece| piece.message);
    first.map_or_else(Vec::new, |first| tail::omitted(document.transcript(), document.format(), first, planned))
}

/// The edits of replaced pieces.
pub(in crate::compact) fn edits(
    document: &Document<'_>,
    replaced: &[Replacement],
    omitted: &[(usize, usize)],
) -> Result<Vec<Edit<'static>>, ApplyError> {
    let pieces: Vec<Replace<'_>> = replaced.iter().map(Replacement::piece).collect();
    Ok(document.replace(&pieces, omitted)?)
}

/// Decodes base64 (RFC 4648, either alphabet, padding optional); `None` for anything else.
fn from_base64(text: &str) -> Option<Vec<u8>> {
    let trimmed = text.trim_end_matches('=');
    if text.len() - trimmed.len() > 2 || trimmed.is_empty() || trimmed.len() % 4 == 1 {
        return None;
    }
    let mut bytes = Vec::with_capacity(trimmed.len() / 4 * 3 + 2);
    let (mut bits, mut held) = (0_u32, 0_u32);
    for byte in trimmed.bytes() {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(six);
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push(u8::try_from((bits >> held) & 0xff).unwrap_or(0));
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_gives_the_bytes_of_a_picture() {
        assert_eq!(from_base64("iVBORw0KGgo=").as_deref(), Some(&b"\x89PNG\r\n\x1a\n"[..]));
        assert_eq!(from_base64("QQ").as_deref(), Some(&b"A"[..]));
        assert_eq!(from_base64("-_-_").as_deref(), from_base64("+/+/").as_deref());
        for broken in ["", "=", "A", "QQ===", "Q Q=", "é"] {
            assert_eq!(from_base64(broken), None, "{broken}");
        }
    }
}
