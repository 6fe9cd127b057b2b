//! `Line`: what one scan of a session's line tells, before its content is read.

use super::super::{Kind, Span, Text, Value};

/// What a line is to the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineKind {
    /// A message of the user's side: typed, results, or machinery.
    User,
    /// One block (older versions: several) of a response.
    Assistant,
    /// The mark that an earlier part was compacted: the chain stops at the last one.
    Boundary,
    /// Everything else. It may still be a link of the chain.
    Other,
}

/// One line of a session.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a field of the line, as the program writes it")]
pub(super) struct Line<'a> {
    pub(super) kind: LineKind,
    pub(super) span: Span,
    pub(super) uuid: Option<Text<'a>>,
    pub(super) parent: Option<Text<'a>>,
    pub(super) sidechain: bool,
    /// Written by the program for the model, unseen by the user.
    pub(super) meta: bool,
    /// Written by another agent of a team.
    pub(super) teammate: bool,
    pub(super) summary: bool,
    /// A response that never was: the program shows the provider's error, and does not send it.
    pub(super) error: bool,
    /// Where the message stands in the line.
    pub(super) message: Option<Span>,
    /// The id that the lines of one response share.
    pub(super) response: Option<Text<'a>>,
    /// The calls it makes, or the calls it answers: a range of [`Scan::call_ids`].
    pub(super) calls: (u32, u32),
}

/// A compaction's tail by reference, as a boundary names it.
#[derive(Debug, Clone, Default)]
pub(super) struct Preserved<'a> {
    /// The line after which the tail stands.
    pub(super) anchor: Option<Text<'a>>,
    /// The tail's lines in the order in which they are sent; `None` where only its ends are named.
    pub(super) lines: Option<Vec<Text<'a>>>,
    /// First and last line of the tail, to be walked by parents.
    pub(super) ends: Option<(Text<'a>, Text<'a>)>,
}

/// The fields that every line of a session repeats and that an appended line repeats too, as they stand.
pub(super) const BASE_FIELDS: [&str; 8] =
    ["userType", "entrypoint", "cwd", "sessionId", "version", "gitBranch", "slug", "agentId"];

/// What the first pass over a session gathers.
#[derive(Debug, Default)]
pub(super) struct Scan<'a> {
    pub(super) lines: Vec<Line<'a>>,
    /// The ids of calls made and answered, by the lines' ranges.
    pub(super) call_ids: Vec<Text<'a>>,
    /// What the last boundary preserves, with the boundary's line.
    pub(super) preserved: Option<(u32, Preserved<'a>)>,
    /// The last value of each base field, whole: `BASE_FIELDS` names them.
    pub(super) base: [Option<&'a [u8]>; BASE_FIELDS.len()],
    pub(super) session: Option<Text<'a>>,
    /// The latest time, in milliseconds since 1970.
    pub(super) latest: Option<i64>,
}

/// Entry types that are known to be no messages. New ones come with every version of the program.
const SILENT_TYPES: [&str; 30] = [
    "system",
    "attachment",
    "summary",
    "progress",
    "queue-operation",
    "file-history-snapshot",
    "file-history-delta",
    "permission-mode",
    "mode",
    "agent-name",
    "agent-color",
    "agent-setting",
    "custom-title",
    "ai-title",
    "last-prompt",
    "frame-link",
    "pr-link",
    "started",
    "result",
    "relocated",
    "worktree-state",
    "bridge-session",
    "atis-latch",
    "tag",
    "task-summary",
    "content-replacement",
    "attribution-snapshot",
    "marble-origami-commit",
    "marble-origami-snapshot",
    "speculation-accept",
];

impl<'a> Scan<'a> {
    /// Takes in a line's object. Says whether its type is known.
    pub(super) fn take(&mut self, span: Span, value: Value<'_, 'a>) -> bool {
        let mut line = Line {
            kind: LineKind::Other,
            span,
            uuid: None,
            parent: None,
            sidechain: false,
            meta: false,
            teammate: false,
            summary: false,
            error: false,
            message: None,
            response: None,
            calls: (0, 0),
        };
        let (mut kind, mut subtype, mut message, mut compact) = (None, None, None, None);
        let mut base: [Option<&'a [u8]>; BASE_FIELDS.len()] = Default::default();
        for (key, field) in value.fields() {
            let is_true = || field.bool() == Some(true);
            match key.decode().as_ref() {
                "type" => kind = field.text(),
                "subtype" => subtype = field.text(),
                "uuid" => line.uuid = field.text().filter(|uuid| !uuid.is_empty()),
                "parentUuid" => line.parent = field.text().filter(|uuid| !uuid.is_empty()),
                "isSidechain" => line.sidechain = is_true(),
                "isMeta" => line.meta = is_true(),
                "isCompactSummary" => line.summary = is_true(),
                "isApiErrorMessage" => line.error = is_true(),
                "agentName" => line.teammate = field.text().is_some_and(|name| !name.is_empty()),
                "message" => message = Some(field),
                "compactMetadata" => compact = Some(field),
                "timestamp" => self.time(field),
                other => {
                    if let Some(at) = BASE_FIELDS.iter().position(|name| *name == other)
                        && let Some(slot) = base.get_mut(at)
                        && matches!(field.kind(), Kind::String | Kind::Null)
                    {
                        *slot = Some(field.raw());
                        if other == "sessionId" {
                            self.session = field.text().or(self.session);
                        }
                    }
                }
            }
        }
        let is = |name: &str| kind.is_some_and(|kind| kind.is(name));
        let known = if is("user") {
            line.kind = LineKind::User;
            true
        } else if is("assistant") {
            line.kind = LineKind::Assistant;
            true
        } else if is("system") && subtype.is_some_and(|subtype| subtype.is("compact_boundary")) {
            line.kind = LineKind::Boundary;
            true
        } else {
            kind.is_some_and(|kind| SILENT_TYPES.iter().any(|name| kind.is(name)))
        };
        if matches!(line.kind, LineKind::User | LineKind::Assistant) {
            self.message(&mut line, message);
        }
        if line.kind != LineKind::Other || self.base.iter().all(Option::is_none) {
            for (slot, value) in self.base.iter_mut().zip(base) {
                *slot = value.or(*slot);
            }
        }
        if line.kind == LineKind::Boundary {
            let index = u32::try_from(self.lines.len()).unwrap_or(u32::MAX);
            self.preserved = Some((index, preserved(compact)));
        }
        self.lines.push(line);
        known
    }

    /// The calls that a line makes or answers.
    pub(super) fn calls_of(&self, line: &Line<'a>) -> &[Text<'a>] {
        let (start, end) = line.calls;
        self.call_ids.get(start as usize..end as usize).unwrap_or(&[])
    }

    fn time(&mut self, field: Value<'_, 'a>) {
        let Some(text) = field.text() else { return };
        let Some(time) = super::super::stamp::parse(&text.decode()) else {
            return;
        };
        self.latest = self.latest.max(Some(time));
    }

    fn message(&mut self, line: &mut Line<'a>, message: Option<Value<'_, 'a>>) {
        let Some(message) = message.filter(|message| message.kind() == Kind::Object) else {
            return;
        };
        line.message = Some(message.span());
        let start = self.call_ids.len();
        let (wanted, name) = match line.kind {
            LineKind::Assistant => ("tool_use", "id"),
            _ => ("tool_result", "tool_use_id"),
        };
        for (key, field) in message.fields() {
            match key.decode().as_ref() {
                "id" if line.kind == LineKind::Assistant => {
                    line.response = field.text().filter(|id| !id.is_empty());
                }
                "content" => {
                    for block in field.elements() {
                        let kind = block.get("type").and_then(Value::text);
                        if kind.is_some_and(|kind| kind.is(wanted)) {
                            self.call_ids.extend(block.get(name).and_then(Value::text));
                        }
                    }
                }
                _ => {}
            }
        }
        let index = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        line.calls = (index(start), index(self.call_ids.len()));
    }
}

fn preserved<'a>(compact: Option<Value<'_, 'a>>) -> Preserved<'a> {
    let part = |name| compact.and_then(|compact| compact.get(name));
    let text = |value: Option<Value<'_, 'a>>, name| value.and_then(|value| value.get(name)).and_then(Value::text);
    let messages = part("preservedMessages").filter(|value| value.kind() == Kind::Object);
    let segment = part("preservedSegment").filter(|value| value.kind() == Kind::Object);
    let lines = messages
        .and_then(|messages| messages.get("uuids"))
        .filter(|uuids| uuids.kind() == Kind::Array)
        .map(|uuids| uuids.elements().filter_map(Value::text).collect());
    Preserved {
        anchor: text(messages, "anchorUuid").or_else(|| text(segment, "anchorUuid")),
        lines,
        ends: text(segment, "headUuid").zip(text(segment, "tailUuid")),
    }
}
