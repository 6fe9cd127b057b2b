//! The conversation as it is: its bytes up to the cut, the instruction as the last message, and only what must be
//! otherwise for the answer to be a summary.
//!
//! What the provider caches is the prefix: tools, system prompt, messages. None of it is touched. What is changed
//! besides has no part in it: how much may be written, whether it is streamed, what would cut the answer short or force
//! it into another shape.

use std::fmt;

use serde::Serialize;

use super::body::{item, output_key};
use super::{Api, Room, Summariser};
use crate::transcript::{Obligations, OrphanKind, Role};
use crate::units::Tokens;
use crate::wire::{Document, Edit, Format, Kind, Span, Tape, Text, Value, quote, splice, without};

/// What the assistant answers where a format takes no two messages of the user in a row, nor one after a result.
const BETWEEN: &str = "I stop here for a summary.";

/// How many blocks of a request Anthropic caches up to.
const CACHE_MARKS: usize = 4;

/// The least that a thinking budget may be (Anthropic).
const LEAST_THINKING: Tokens = Tokens(1_024);

/// Why a conversation cannot be sent as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Obstacle {
    /// Another model, API or endpoint writes the summary.
    OtherModel,
    /// The document is the record of a program's session: what the program sends is not in it as it is sent.
    Session,
    /// The document is no request body of the API as it is sent.
    NotARequest,
    /// The cut would part a call from its result.
    PartsAPair,
    /// A call or a result before the cut lacks its counterpart, so that the provider would refuse it.
    Orphan,
    /// The conversation is kept on the provider's server, and the request would become a part of it.
    OnTheServer,
    /// It does not fit the window together with the instruction and an answer.
    TooLong,
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OtherModel => "another model writes the summary",
            Self::Session => "a program's session is no request: its system prompt and tools are not in it",
            Self::NotARequest => "the document is no request body of that API",
            Self::PartsAPair => "the cut would part a call from its result",
            Self::Orphan => "a call before the cut has no result, or a result no call",
            Self::OnTheServer => "the conversation is kept on the provider's server",
            Self::TooLong => "the conversation up to the cut leaves no room for the instruction and an answer",
        })
    }
}

/// A conversation that can be sent as it is.
pub(super) struct Conversation<'d, 'a> {
    document: &'d Document<'a>,
    cut: usize,
    tape: Tape,
    api: Api,
    /// Messages before the cut that are left out: open questions, which stay where they are.
    standing: Vec<usize>,
    stream: bool,
}

/// Looks whether a conversation can be sent as it is up to a cut.
pub(super) fn conversation<'d, 'a>(
    document: &'d Document<'a>,
    cut: usize,
    to: &Summariser<'_>,
) -> Result<Conversation<'d, 'a>, Obstacle> {
    let same_model = document.model().is_some_and(|model| model.is(to.model));
    if !to.carries_conversation || !same_model {
        return Err(Obstacle::OtherModel);
    }
    match (Api::of(document.format()), document.format()) {
        (Some(api), _) if api == to.api => {}
        (None, Format::ClaudeCode) if to.api == Api::Anthropic => return Err(Obstacle::Session),
        (None, Format::Codex) if to.api == Api::OpenaiResponses => return Err(Obstacle::Session),
        _ => return Err(Obstacle::OtherModel),
    }
    let mut tape = Tape::with_max_depth(usize::MAX);
    tape.parse(document.bytes(), mark(document.bytes())).map_err(|_| Obstacle::NotARequest)?;
    let root = tape.root(document.bytes()).ok_or(Obstacle::NotARequest)?;
    let list = root.get(list_key(to.api)).ok_or(Obstacle::NotARequest)?;
    let entries = document.entries();
    let spans = list.elements().map(Value::span);
    if list.kind() != Kind::Array || !spans.eq(entries.iter().map(|entry| entry.span)) {
        return Err(Obstacle::NotARequest);
    }
    if root.get("conversation").is_some_and(|conversation| !conversation.is_null()) {
        return Err(Obstacle::OnTheServer);
    }
    let obligations = Obligations::of(document.transcript());
    if !obligations.is_legal_cut(cut) {
        return Err(Obstacle::PartsAPair);
    }
    let is_pair = |kind| matches!(kind, OrphanKind::CallWithoutResult | OrphanKind::ResultWithoutCall);
    if obligations.orphans().iter().any(|orphan| orphan.message < cut && is_pair(orphan.kind)) {
        return Err(Obstacle::Orphan);
    }
    let mut standing = obligations.standing();
    standing.retain(|message| *message < cut);
    Ok(Conversation { document, cut, tape, api: to.api, standing, stream: to.stream })
}

/// A byte order mark stands before the body.
fn mark(bytes: &[u8]) -> usize {
    if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 }
}

const fn list_key(api: Api) -> &'static str {
    match api {
        Api::Anthropic | Api::OpenaiChat => "messages",
        Api::OpenaiResponses => "input",
    }
}

impl Conversation<'_, '_> {
    /// Writes the request; gives it with the answer's limit, which thinking at a fixed budget may move.
    pub(super) fn body(&self, instruction: &str, input: Tokens, output: Tokens, room: &Room) -> (Vec<u8>, Tokens) {
        let bytes = self.document.bytes();
        let Some(root) = self.tape.root(bytes) else {
            return (Vec::new(), output);
        };
        let mut settings = Settings { root, edits: Vec::new(), added: String::new(), gone: Vec::new() };
        let output = self.settings(&mut settings, input, output, room);
        let mut edits = settings.finish();
        edits.extend(self.leave_out_standing());
        edits.push(self.append(root, instruction));
        edits.extend(Span::new(0, mark(bytes)).filter(|mark| !mark.is_empty()).map(Edit::remove));
        edits.sort_by_key(|edit| (edit.span.start(), edit.span.end()));
        // The spans come from one reading of the document, so they lie in it and apart.
        let spliced = splice(bytes, &edits).map(std::borrow::Cow::into_owned).unwrap_or_default();
        (spliced, output)
    }

    /// The instruction takes the place of everything after the cut.
    fn append(&self, root: Value<'_, '_>, instruction: &str) -> Edit<'static> {
        let messages = &self.document.transcript().messages;
        let entries = self.document.entries();
        let before = messages.get(self.cut.saturating_sub(1)).and_then(|message| message.entries.last());
        let end = before.and_then(|entry| entries.get(*entry as usize)).map_or(0, |entry| entry.span.end());
        let last = entries.last().map_or(end, |entry| entry.span.end());
        let text = quote(instruction);
        let written = match self.api {
            Api::Anthropic => {
                let cache = if self.may_mark(root, end) { r#","cache_control":{"type":"ephemeral"}"# } else { "" };
                format!(r#"{{"role":"user","content":[{{"type":"text","text":{text}{cache}}}]}}"#)
            }
            Api::OpenaiChat => {
                let message = format!(r#"{{"role":"user","content":{text}}}"#);
                let stands = |index: &usize| self.standing.binary_search(index).is_err();
                let previous = (0..self.cut).rev().find(stands).and_then(|index| messages.get(index));
                if previous.is_some_and(|message| matches!(message.role, Role::User | Role::Tool)) {
                    format!(r#"{{"role":"assistant","content":{}}},{message}"#, quote(BETWEEN))
                } else {
                    message
                }
            }
            Api::OpenaiResponses => item(&text),
        };
        let all_left_out = self.standing.len() >= self.cut;
        let separator = if all_left_out { "" } else { "," };
        let span = Span::new(end, last.max(end)).unwrap_or_default();
        Edit::replace(span, format!("{separator}{written}").into_bytes())
    }

    /// Questions that wait for an answer stay in the conversation; here they would be asked of nobody.
    fn leave_out_standing(&self) -> Vec<Edit<'static>> {
        if self.standing.is_empty() {
            return Vec::new();
        }
        let messages = &self.document.transcript().messages;
        let of = |index: &usize| messages.get(*index).map(|message| message.entries.as_slice()).unwrap_or_default();
        let gone: Vec<u32> = self.standing.iter().flat_map(of).copied().collect();
        let last = messages.get(self.cut.saturating_sub(1)).and_then(|message| message.entries.last());
        let kept = last.map_or(0, |last| *last as usize + 1);
        let spans: Vec<Span> = self.document.entries().iter().take(kept).map(|entry| entry.span).collect();
        if gone.len() >= spans.len() {
            let all = spans.iter().copied().reduce(Span::join);
            return all.map(Edit::remove).into_iter().collect();
        }
        let is_gone = |index: usize| gone.iter().any(|entry| *entry as usize == index);
        without(&spans, is_gone).into_iter().map(Edit::remove).collect()
    }

    /// Whether the instruction may carry a mark of its own up to which the provider caches: where the client marks at
    /// all, the marks of what is cut off are free. Without one, nothing after the last mark that is left is read from the
    /// cache.
    fn may_mark(&self, root: Value<'_, '_>, end: usize) -> bool {
        if root.get("cache_control").is_some() {
            // The provider places a mark by itself.
            return false;
        }
        let list = root.get(list_key(self.api)).map(Value::span).unwrap_or_default();
        let (mut all, mut kept) = (0, 0);
        let mut open = vec![root];
        while let Some(value) = open.pop() {
            for (key, field) in value.fields() {
                if key.is("cache_control") && !field.is_null() {
                    all += 1;
                    let at = field.span().start();
                    kept += usize::from(at < end || at > list.end());
                } else {
                    open.push(field);
                }
            }
            open.extend(value.elements());
        }
        all > 0 && kept < CACHE_MARKS
    }

    /// Changes the settings that must be otherwise; gives the answer's limit.
    fn settings(&self, settings: &mut Settings<'_, '_>, input: Tokens, output: Tokens, room: &Room) -> Tokens {
        let root = settings.root;
        settings.set("stream", if self.stream { "true" } else { "false" });
        let mut limit = output;
        match self.api {
            Api::Anthropic => {
                limit = Self::thinking(settings, input, output, room);
                settings.set("max_tokens", &limit.0.to_string());
                settings.remove("stop_sequences");
                settings.remove("output_format");
                // What it says of effort stays.
                settings.remove_from("output_config", "format");
                if forces_call(root.get("tool_choice")) {
                    settings.set("tool_choice", r#"{"type":"auto"}"#);
                }
            }
            Api::OpenaiChat => {
                let model = self.document.model().map(Text::decode).unwrap_or_default();
                let present = ["max_completion_tokens", "max_tokens"].into_iter().find(|key| root.get(key).is_some());
                settings.set(present.unwrap_or_else(|| output_key(&model)), &limit.0.to_string());
                if present == Some("max_completion_tokens") {
                    settings.remove("max_tokens");
                }
                if self.stream {
                    settings.set("stream_options", r#"{"include_usage":true}"#);
                } else {
                    settings.remove("stream_options");
                }
                for key in ["stop", "response_format", "n", "prediction", "logprobs", "top_logprobs"] {
                    settings.remove(key);
                }
                for key in ["tool_choice", "function_call"] {
                    if forces_call(root.get(key)) {
                        settings.set(key, r#""auto""#);
                    }
                }
            }
            Api::OpenaiResponses => {
                settings.set("max_output_tokens", &limit.0.to_string());
                // Kept by nobody, run at once, never cut in the middle by the provider.
                settings.set("store", "false");
                settings.remove("background");
                settings.remove("truncation");
                if let Some(format) = root.get("text").and_then(|text| text.get("format")) {
                    settings.replace(format, r#"{"type":"text"}"#);
                }
                if forces_call(root.get("tool_choice")) {
                    settings.set("tool_choice", r#""auto""#);
                }
            }
        }
        limit
    }

    /// Anthropic takes a thinking budget below the answer's limit only. The limit is raised above it where the model and
    /// the window allow, since a changed budget costs the cache; otherwise the budget is lowered.
    fn thinking(settings: &mut Settings<'_, '_>, input: Tokens, output: Tokens, room: &Room) -> Tokens {
        let thinking = settings.root.get("thinking");
        let budget =
            thinking.and_then(|thinking| thinking.get("budget_tokens")).filter(|budget| budget.u64().is_some());
        let Some((thinking, budget)) = thinking.zip(budget) else {
            return output;
        };
        let tokens = Tokens(budget.u64().unwrap_or(0));
        if tokens.0 * 2 <= output.0 {
            return output;
        }
        let raised = tokens + Tokens(output.0 / 2);
        if raised <= room.max_output.unwrap_or(Tokens::MAX) && raised <= room.window - input {
            return raised.max(output);
        }
        let half = Tokens(output.0 / 2);
        if half >= LEAST_THINKING {
            settings.replace(budget, &half.0.to_string());
        } else {
            settings.replace(thinking, r#"{"type":"disabled"}"#);
        }
        output
    }
}

/// Whether a choice of tools leaves the model no way to answer in words.
fn forces_call(choice: Option<Value<'_, '_>>) -> bool {
    let Some(choice) = choice else {
        return false;
    };
    if let Some(word) = choice.text() {
        return word.is("required") || word.is("any");
    }
    let kind = choice.get("type").and_then(Value::text);
    let of =
        |key: &str| choice.get(key).and_then(|allowed| allowed.get("mode").or(Some(allowed))).and_then(Value::text);
    match kind.map(Text::decode).as_deref() {
        Some("auto" | "none") => false,
        Some("allowed_tools") => of("allowed_tools").or_else(|| of("mode")).is_some_and(|mode| mode.is("required")),
        // A named function, in the older spelling without a type too.
        Some(_) => true,
        None => choice.get("name").is_some() || choice.get("function").is_some(),
    }
}

/// Edits of a body's own settings: the members of its outermost object.
struct Settings<'t, 'a> {
    root: Value<'t, 'a>,
    edits: Vec<Edit<'static>>,
    added: String,
    gone: Vec<String>,
}

impl<'t, 'a> Settings<'t, 'a> {
    fn replace(&mut self, value: Value<'t, 'a>, with: &str) {
        if value.raw() != with.as_bytes() {
            self.edits.push(Edit::replace(value.span(), with.as_bytes().to_vec()));
        }
    }

    /// Sets a member: where it stands, every time, or at the end.
    fn set(&mut self, key: &str, value: &str) {
        let mut found = false;
        for (name, field) in self.root.fields() {
            if name.is(key) {
                found = true;
                if field.raw() != value.as_bytes() {
                    self.edits.push(Edit::replace(field.span(), value.as_bytes().to_vec()));
                }
            }
        }
        if !found {
            self.added.push_str(&format!(r#","{key}":{value}"#));
        }
    }

    fn remove(&mut self, key: &str) {
        self.gone.push(key.to_owned());
    }

    /// Removes a member of a member; of one that holds nothing else, all of it.
    fn remove_from(&mut self, key: &str, inner: &str) {
        let Some(object) = self.root.get(key) else {
            return;
        };
        let members: Vec<(Span, bool)> = object
            .members()
            .map(|(name, field)| (name.span().join(field.span()), name.text().is_some_and(|name| name.is(inner))))
            .collect();
        if members.iter().all(|(_, leaves)| *leaves) {
            self.remove(key);
            return;
        }
        let spans: Vec<Span> = members.iter().map(|(span, _)| *span).collect();
        let leaves = |index: usize| members.get(index).is_some_and(|(_, leaves)| *leaves);
        self.edits.extend(without(&spans, leaves).into_iter().map(Edit::remove));
    }

    fn finish(self) -> Vec<Edit<'static>> {
        let Self { root, mut edits, added, gone } = self;
        let members: Vec<(Span, bool)> = root
            .members()
            .map(|(key, field)| {
                let leaves = key.text().is_some_and(|key| gone.iter().any(|gone| key.is(gone)));
                (key.span().join(field.span()), leaves)
            })
            .collect();
        let spans: Vec<Span> = members.iter().map(|(span, _)| *span).collect();
        let leaves = |index: usize| members.get(index).is_some_and(|(_, leaves)| *leaves);
        edits.extend(without(&spans, leaves).into_iter().map(Edit::remove));
        if !added.is_empty() {
            let end = root.span().end().saturating_sub(1);
            if let Some(place) = Span::new(end, end) {
                edits.push(Edit::replace(place, added.into_bytes()));
            }
        }
        edits
    }
}
