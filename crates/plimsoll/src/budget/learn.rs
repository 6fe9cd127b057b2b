//! `learned`: what the usage that a document records teaches of its model's counts.

use super::Measure;
use super::anchor::base;
use crate::Tokens;
use crate::token::{Calibration, Script};
use crate::transcript::{Author, BlockKind, Message, Usage};
use crate::wire::Document;

/// A stretch between two reports teaches from this many estimated tokens on: below, the frames of messages weigh too much.
const STRETCH: Tokens = Tokens(2_000);

/// Learns from the usage recorded in a document how its model's counts relate to a measure of it.
///
/// Compared are stretches between two requests of one model: by how much the context grew, and what was estimated of what
/// came in between. What the document does not record, such as a program's system prompt and tools, is in both reports
/// and cancels out. Stretches with thinking, media or sealed content teach nothing: what of them is sent again is not known;
/// nor does a context that shrank.
///
/// ```
/// use plimsoll::budget::{Counting, Meter, learned};
/// use plimsoll::token::Calibration;
/// use plimsoll::wire::{ParseOptions, parse};
/// let body = br#"{"model":"gemini-2.5-pro","messages":[{"role":"user","content":"Hi"}]}"#;
/// let document = parse(body, &ParseOptions::default()).unwrap();
/// let measure = Meter::new(Counting::for_model(Some("gemini-2.5-pro"))).measure(&document);
/// assert_eq!(learned(&document, &measure, "gemini-2.5-pro"), Calibration::default());
/// ```
pub fn learned(document: &Document<'_>, measure: &Measure, model: &str) -> Calibration {
    let mut calibration = Calibration::default();
    let model = base(model);
    let messages = &document.transcript().messages;
    let mut since: Option<(usize, Tokens)> = None;
    for (index, message) in messages.iter().enumerate() {
        let by_other = message.model.is_some_and(|other| base(&other.decode()) != model);
        let reported = message.usage.filter(|_| !by_other).map(Usage::context);
        if let Some(reported) = reported.filter(|tokens| *tokens > Tokens::ZERO) {
            match since {
                Some((start, before)) if reported > before => {
                    let estimated = measure.range(start..index);
                    if estimated >= STRETCH {
                        let stretch = messages.get(start..index).unwrap_or_default();
                        calibration.observe(script(document, stretch), estimated, reported - before);
                        since = Some((index, reported));
                    }
                }
                _ => since = Some((index, reported)),
            }
        }
        // A summary changes everything before what follows it.
        if by_other
            || message.author == Author::Summary
            || message.blocks.iter().any(|block| is_uncertain(&block.kind))
        {
            since = None;
        }
    }
    calibration
}

/// Whether it is not known what of a block is sent with later requests.
fn is_uncertain(kind: &BlockKind<'_>) -> bool {
    match kind {
        BlockKind::Thinking { .. } | BlockKind::Media(_) | BlockKind::Opaque(_) | BlockKind::Compaction(_) => true,
        BlockKind::ToolResult(result) => result.content.iter().any(|inner| !matches!(inner.kind, BlockKind::Text(_))),
        _ => false,
    }
}

/// The scripts of the largest block among messages.
fn script(document: &Document<'_>, messages: &[Message<'_>]) -> Script {
    let blocks = messages.iter().flat_map(|message| &message.blocks);
    let largest = blocks.max_by_key(|block| block.span.len());
    let bytes = largest.map(|block| block.span.of(document.bytes())).unwrap_or_default();
    Script::of(&String::from_utf8_lossy(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::{Counting, Meter};
    use crate::wire::{Format, ParseOptions, parse};

    const MODEL: &str = "claude-sonnet-4-5";

    /// A session of some requests, of which each reports `percent` of what is estimated, and 20,000 tokens that are nowhere.
    fn session(requests: u32, percent: u64, model: &str, extra: &str) -> String {
        let words = "The line a ship may be loaded to, and no further. ".repeat(250);
        let counting = Counting::for_model(Some(MODEL));
        let mut lines = Vec::new();
        let mut told = 20_000;
        let mut line = |n: u32, role: &str, message: String| {
            let parent = if n == 0 { "null".to_owned() } else { format!("\"u{}\"", n - 1) };
            lines.push(format!(
                r#"{{"parentUuid":{parent},"isSidechain":false,"type":"{role}","uuid":"u{n}","sessionId":"s1","message":{message}}}"#
            ));
        };
        for n in 0..requests {
            told += (counting.counter().count(&words).0 + 4) * percent / 100;
            line(2 * n, "user", format!(r#"{{"role":"user","content":"{words}"}}"#));
            let usage = format!(r#"{{"input_tokens":9,"cache_read_input_tokens":{},"output_tokens":1}}"#, told - 9);
            let content = format!(r#"[{extra}{{"type":"text","text":"ok"}}]"#);
            line(
                2 * n + 1,
                "assistant",
                format!(
                    r#"{{"id":"m{n}","role":"assistant","model":"{model}","content":{content},"usage":{usage}}}"#
                ),
            );
        }
        lines.join("\n")
    }

    fn learn(text: &str) -> Calibration {
        let options = ParseOptions::default().with_format(Some(Format::ClaudeCode));
        let document = parse(text.as_bytes(), &options).unwrap();
        let measure = Meter::new(Counting::for_model(Some(MODEL))).measure(&document);
        learned(&document, &measure, MODEL)
    }

    #[test]
    fn mechanism_33_usage_teaches_what_a_stretch_counts_and_not_what_is_recorded_nowhere() {
        let learned = learn(&session(5, 112, MODEL, ""));
        let corrected = learned.apply(Script::Latin, Tokens(10_000)).unwrap();
        assert!((11_150..=11_250).contains(&corrected.0), "{corrected}");
        assert_eq!(learned.margin_percent(Script::Latin), Some(2));
    }

    #[test]
    fn what_is_uncertain_or_of_another_model_teaches_nothing() {
        let thinking = r#"{"type":"thinking","thinking":"hm","signature":"c2ln"},"#;
        for text in [
            session(6, 112, MODEL, thinking),
            session(6, 112, "claude-opus-4-5", ""),
            // Three stretches are needed, and four requests have them between them.
            session(3, 112, MODEL, ""),
        ] {
            assert_eq!(learn(&text).apply(Script::Latin, Tokens(10_000)), None);
        }
    }
}
