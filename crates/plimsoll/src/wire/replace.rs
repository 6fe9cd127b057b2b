//! `Replace`: a text of a result, or a picture, gives way to a shorter text; everything around it stays byte for byte.

use super::document::Layout;
use super::{Document, Edit, Format, Kind, Rewrite, RewriteError, Span, Tape, Text, quote};
use crate::transcript::{BlockKind, CallKind, Role};
use crate::units::Tokens;

/// A piece of a message that gives way to a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Replace<'p> {
    /// The message's index.
    pub message: usize,
    /// The block's index in it.
    pub block: usize,
    /// For a piece of a tool's result: its index in the result's content.
    pub part: Option<usize>,
    /// What stands there afterwards.
    pub text: &'p str,
}

/// The types of content blocks that hold media and stand in a list in which a text may stand too.
const MEDIA_TYPES: [&str; 8] =
    ["image", "document", "image_url", "file", "input_audio", "audio", "input_image", "input_file"];

impl Document<'_> {
    /// Turns replaced pieces into edits of this document, in ascending order, ready for [`splice`](super::splice).
    ///
    /// A text of a tool's result keeps its place and its quotes, whatever stands around it; a picture or file becomes a
    /// text block in the format's own words. `omitted` are blocks that are left out besides, as (message, block),
    /// ascending: thinking that was signed over what changes. Files that a program resumes from are appended to only,
    /// so nothing in them is replaced.
    ///
    /// # Errors
    /// [`RewriteError`] if a piece is none that a text may stand for, or the document is only appended to.
    ///
    /// ```
    /// use plimsoll::wire::{ParseOptions, Replace, parse, splice};
    /// let body = br#"{"model":"claude-sonnet-4-5","messages":[
    ///   {"role":"assistant","content":[{"type":"tool_use","id":"a","name":"ls","input":{}}]},
    ///   {"role":"user","content":[{"type":"tool_result", "content":"one\ntwo", "tool_use_id":"a"}]}]}"#;
    /// let document = parse(body, &ParseOptions::default()).unwrap();
    /// let edits = document.replace(&[Replace { message: 1, block: 0, part: Some(0), text: "\"gone\"" }], &[]).unwrap();
    /// let after = splice(body, &edits).unwrap();
    /// assert!(after.ends_with(br#"{"type":"tool_result", "content":"\"gone\"", "tool_use_id":"a"}]}]}"#));
    /// ```
    pub fn replace(
        &self,
        pieces: &[Replace<'_>],
        omitted: &[(usize, usize)],
    ) -> Result<Vec<Edit<'static>>, RewriteError> {
        let unsupported = |reason| RewriteError::Unsupported { format: self.format, reason };
        match &self.layout {
            Layout::Array | Layout::Lines => {}
            Layout::Single => return Err(unsupported("its conversation is a single string")),
            Layout::ClaudeCode(_) | Layout::Codex(_) => {
                return Err(unsupported("its program reads what is appended, and nothing in it is changed"));
            }
        }
        let mut edits = Vec::with_capacity(pieces.len());
        for piece in pieces {
            let refused = || RewriteError::Piece { message: piece.message, block: piece.block };
            let place = self.place(piece.message, piece.block, piece.part).ok_or_else(refused)?;
            edits.push(Edit::replace(place.span(), self.written_as(place, piece.text)));
        }
        let rewrite = Rewrite {
            removed: 0..0,
            retained: &[],
            omitted,
            continuation: "",
            acknowledgement: "",
            tokens_before: Tokens::ZERO,
            tokens_after: Tokens::ZERO,
        };
        self.omit(&rewrite, &mut edits);
        Ok(edits)
    }

    /// The bytes of a piece that [`replace`](Self::replace) takes: of a text what stands between its quotes, of media the
    /// whole block. `None` for every other piece.
    pub fn replaceable(&self, message: usize, block: usize, part: Option<usize>) -> Option<Span> {
        match &self.layout {
            Layout::Array | Layout::Lines => self.place(message, block, part).map(Place::span),
            _ => None,
        }
    }

    fn place(&self, message: usize, block: usize, part: Option<usize>) -> Option<Place> {
        let message = self.transcript.messages.get(message)?;
        if !matches!(message.role, Role::User | Role::Tool) {
            return None;
        }
        let outer = message.blocks.get(block)?;
        let Some(part) = part else {
            let is_media = matches!(outer.kind, BlockKind::Media(_)) && self.may_be_text(outer.span);
            return is_media.then_some(Place::Media(outer.span));
        };
        let BlockKind::ToolResult(result) = &outer.kind else {
            return None;
        };
        // What a provider's own tool returned is the provider's.
        if result.kind != CallKind::Client {
            return None;
        }
        let inner = result.content.get(part)?;
        match &inner.kind {
            BlockKind::Text(text) => self.inside(*text).map(Place::Text),
            // Gemini takes only media beside a response.
            BlockKind::Media(_) if self.format != Format::Gemini && self.may_be_text(inner.span) => {
                Some(Place::Media(inner.span))
            }
            _ => None,
        }
    }

    /// Where a text stands in this document, if it is the inside of one of its strings.
    fn inside(&self, text: Text<'_>) -> Option<Span> {
        // A text borrows its bytes from the document that it was read from, so its place is told by its address.
        let start = text.raw().as_ptr().addr().checked_sub(self.bytes.as_ptr().addr())?;
        let end = start.checked_add(text.raw().len())?;
        let quoted = self.bytes.get(start.checked_sub(1)?) == Some(&b'"') && self.bytes.get(end) == Some(&b'"');
        Span::new(start, end).filter(|span| quoted && span.of(self.bytes) == text.raw())
    }

    /// Whether a block of media stands where a block of text may stand.
    fn may_be_text(&self, span: Span) -> bool {
        let mut tape = Tape::with_max_depth(usize::MAX);
        if tape.parse(self.bytes, span.start()).is_err() {
            return false;
        }
        let Some(value) = tape.root(self.bytes).filter(|value| value.kind() == Kind::Object) else {
            return false;
        };
        if let Some(kind) = value.get("type").and_then(super::Value::text) {
            return MEDIA_TYPES.iter().any(|name| kind.is(name));
        }
        let keys = ["inlineData", "inline_data", "fileData", "file_data"];
        self.format == Format::Gemini && keys.iter().any(|key| value.get(key).is_some())
    }

    fn written_as(&self, place: Place, text: &str) -> Vec<u8> {
        let quoted = quote(text);
        let span = match place {
            Place::Text(_) => {
                let inside = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
                return inside.unwrap_or(&quoted).as_bytes().to_vec();
            }
            Place::Media(span) => span,
        };
        match self.format {
            Format::Gemini => format!(r#"{{"text":{quoted}}}"#).into_bytes(),
            Format::OpenaiResponses | Format::Codex => {
                format!(r#"{{"type":"input_text","text":{quoted}}}"#).into_bytes()
            }
            Format::Anthropic | Format::OpenaiChat | Format::ClaudeCode => {
                let mut block = format!(r#"{{"type":"text","text":{quoted}"#).into_bytes();
                // A mark of the cache on it marks the place, not the picture.
                let mut tape = Tape::with_max_depth(usize::MAX);
                if tape.parse(self.bytes, span.start()).is_ok()
                    && let Some(mark) = tape.root(self.bytes).and_then(|value| value.get("cache_control"))
                {
                    block.extend_from_slice(br#","cache_control":"#);
                    block.extend_from_slice(mark.raw());
                }
                block.push(b'}');
                block
            }
        }
    }
}

/// Where a piece stands, and what it is.
#[derive(Debug, Clone, Copy)]
enum Place {
    /// The inside of a string.
    Text(Span),
    /// A block of media.
    Media(Span),
}

impl Place {
    const fn span(self) -> Span {
        match self {
            Self::Text(span) | Self::Media(span) => span,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ParseOptions, parse, splice};
    use super::*;

    fn replaced(body: &str, format: Format, message: usize, block: usize, part: Option<usize>) -> Option<String> {
        let document = parse(body.as_bytes(), &ParseOptions::default().with_format(Some(format))).unwrap();
        let edits = document.replace(&[Replace { message, block, part, text: "a\n\"b\"" }], &[]).ok()?;
        assert!(document.replaceable(message, block, part).is_some());
        let spliced = splice(body.as_bytes(), &edits).unwrap().into_owned();
        Some(String::from_utf8(spliced).unwrap())
    }

    #[test]
    fn a_text_of_a_result_gives_way_in_every_shape_and_nothing_around_it() {
        let cases = [
            (
                Format::Anthropic,
                r#"{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"text":"x\n" , "type":"text","cache_control":{}}],"is_error":true}]}],"max_tokens":1}"#,
                r#"{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"text":"a\n\"b\"" , "type":"text","cache_control":{}}],"is_error":true}]}],"max_tokens":1}"#,
            ),
            (
                Format::OpenaiChat,
                r#"{"messages":[{"role":"tool","content" : "x","tool_call_id":"c"}]}"#,
                r#"{"messages":[{"role":"tool","content" : "a\n\"b\"","tool_call_id":"c"}]}"#,
            ),
            (
                Format::OpenaiResponses,
                r#"{"input":[{"type":"function_call_output","call_id":"c","output":"x"}]}"#,
                r#"{"input":[{"type":"function_call_output","call_id":"c","output":"a\n\"b\""}]}"#,
            ),
            (
                Format::OpenaiResponses,
                r#"{"input":[{"type":"shell_call_output","call_id":"c","output":[{"stdout":"x","stderr":"","outcome":{"type":"exit","exit_code":0}}]}]}"#,
                r#"{"input":[{"type":"shell_call_output","call_id":"c","output":[{"stdout":"a\n\"b\"","stderr":"","outcome":{"type":"exit","exit_code":0}}]}]}"#,
            ),
            (
                Format::Gemini,
                r#"{"contents":[{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":"x"}}}]}]}"#,
                r#"{"contents":[{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":"a\n\"b\""}}}]}]}"#,
            ),
        ];
        for (format, body, expected) in cases {
            assert_eq!(replaced(body, format, 0, 0, Some(0)).as_deref(), Some(expected), "{format}");
        }
    }

    #[test]
    fn a_picture_becomes_a_text_block_of_its_format() {
        let of = |format, body: &str, block, part| replaced(body, format, 0, block, part).unwrap();
        insta::assert_snapshot!(of(Format::Anthropic, r#"{"messages":[{"role":"user","content":[{"type":"text","text":"see"}, {"type":"image","source":{"type":"base64","media_type":"image/png","data":"QUJD"},"cache_control":{"type":"ephemeral"}}]}],"max_tokens":1}"#, 1, None), @r#"{"messages":[{"role":"user","content":[{"type":"text","text":"see"}, {"type":"text","text":"a\n\"b\"","cache_control":{"type":"ephemeral"}}]}],"max_tokens":1}"#);
        insta::assert_snapshot!(of(Format::OpenaiChat, r#"{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,QUJD"}}]}]}"#, 0, None), @r#"{"messages":[{"role":"user","content":[{"type":"text","text":"a\n\"b\""}]}]}"#);
        insta::assert_snapshot!(of(Format::OpenaiResponses, r#"{"input":[{"type":"function_call_output","call_id":"c","output":[{"type":"input_image","image_url":"data:image/png;base64,QUJD"}]}]}"#, 0, Some(0)), @r#"{"input":[{"type":"function_call_output","call_id":"c","output":[{"type":"input_text","text":"a\n\"b\""}]}]}"#);
        insta::assert_snapshot!(of(Format::Gemini, r#"{"contents":[{"role":"user","parts":[{"inlineData":{"mimeType":"image/png","data":"QUJD"}}]}]}"#, 0, None), @r#"{"contents":[{"role":"user","parts":[{"text":"a\n\"b\""}]}]}"#);
    }

    #[test]
    fn what_no_text_may_stand_for_is_refused() {
        for (format, body, block, part) in [
            // The user's own words, and the model's.
            (Format::Anthropic, r#"{"max_tokens":1,"messages":[{"role":"user","content":"x"}]}"#, 0, None),
            (Format::Anthropic, r#"{"max_tokens":1,"messages":[{"role":"assistant","content":"x"}]}"#, 0, None),
            // A screenshot must stay one; a provider's result is the provider's; nothing is there.
            (
                Format::OpenaiResponses,
                r#"{"input":[{"type":"computer_call_output","call_id":"c","output":{"type":"computer_screenshot","image_url":"data:image/png;base64,QUJD"}}]}"#,
                0,
                Some(0),
            ),
            (
                Format::OpenaiResponses,
                r#"{"input":[{"type":"mcp_call","id":"m","name":"f","arguments":"{}","output":"x"}]}"#,
                1,
                Some(0),
            ),
            (Format::OpenaiChat, r#"{"messages":[{"role":"tool","content":"x","tool_call_id":"c"}]}"#, 0, Some(1)),
            (Format::OpenaiChat, r#"{"messages":[{"role":"tool","content":"x","tool_call_id":"c"}]}"#, 0, None),
            (
                Format::Gemini,
                r#"{"contents":[{"role":"model","parts":[{"inlineData":{"mimeType":"image/png","data":"QUJD"}}]}]}"#,
                0,
                None,
            ),
        ] {
            assert_eq!(replaced(body, format, 0, block, part), None, "{body}");
        }
    }

    #[test]
    fn files_of_programs_are_only_appended_to() {
        let rollout = concat!(
            r#"{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"x"}}"#,
            "\n",
            r#"{"timestamp":"2026-01-01T00:00:01Z","type":"response_item","payload":{"type":"function_call_output","call_id":"c","output":"x"}}"#,
            "\n"
        );
        let document = parse(rollout.as_bytes(), &ParseOptions::default()).unwrap();
        assert_eq!(document.format(), Format::Codex);
        let refused = document.replace(&[Replace { message: 0, block: 0, part: Some(0), text: "y" }], &[]);
        assert!(matches!(refused, Err(RewriteError::Unsupported { .. })), "{refused:?}");
        assert_eq!(document.replaceable(0, 0, Some(0)), None);
    }
}
