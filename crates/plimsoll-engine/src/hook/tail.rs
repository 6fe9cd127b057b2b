//! The end of a session file: which model answered last, and how full its context was, without reading the whole.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use plimsoll::Tokens;
use plimsoll::budget::{Capacity, Policy, threshold};
use plimsoll::cap::{Cap, for_budget};
use plimsoll::model::{Catalogue, DEFAULT_LIMIT, Endpoint, Limits, Lookup, Source, resolve_limits};
use plimsoll::wire::{Tape, Value};

/// How much of the end is read, in bytes.
const TAIL: u64 = 256 * 1024;

/// What the end of a session says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct LastAnswer {
    /// The model.
    pub(super) model: Option<String>,
    /// The context of its last request, in tokens.
    pub(super) context: Option<Tokens>,
    /// The window, where the program says it.
    pub(super) window: Option<Tokens>,
}

impl LastAnswer {
    /// Reads the end of a session file of Claude Code or Codex. What cannot be read says nothing.
    pub(super) fn read(path: &Path) -> Self {
        let text = end_of(path).unwrap_or_default();
        Self::of(&text)
    }

    /// Looks through lines from the last one up. The first line may be cut.
    fn of(text: &[u8]) -> Self {
        let mut found = Self::default();
        let mut tape = Tape::default();
        for line in text.rsplit(|byte| *byte == b'\n') {
            // The cheap look first: most lines are results and attachments.
            let may = |word: &[u8]| line.windows(word.len()).take(1 << 20).any(|window| window == word);
            if !line.starts_with(b"{") || !(may(b"\"model\"") || may(b"\"token_count\"")) {
                continue;
            }
            if tape.parse(line, 0).is_ok()
                && let Some(root) = tape.root(line)
            {
                found.take(root);
            }
            if found.model.is_some() && found.context.is_some() {
                break;
            }
        }
        found
    }

    fn take(&mut self, line: Value<'_, '_>) {
        let text = |value: Option<Value<'_, '_>>| Some(value?.text()?.decode().into_owned());
        let is = |value: Value<'_, '_>, key: &str, word: &str| {
            value.get(key).and_then(Value::text).is_some_and(|text| text.is(word))
        };
        if let Some(message) = line.get("message").filter(|_| is(line, "type", "assistant")) {
            // What the program writes itself carries this in the model's place.
            let model = text(message.get("model")).filter(|model| !model.starts_with('<'));
            if model.is_none() || line.get("isSidechain").and_then(Value::bool) == Some(true) {
                return;
            }
            self.model = self.model.take().or(model);
            self.context = self.context.or_else(|| message.get("usage").map(context_of));
        } else if let Some(payload) = line.get("payload") {
            if is(line, "type", "turn_context") {
                self.model = self.model.take().or_else(|| text(payload.get("model")));
            } else if is(payload, "type", "token_count")
                && let Some(info) = payload.get("info")
            {
                let last = info.get("last_token_usage").and_then(|usage| usage.get("total_tokens")?.u64());
                self.context = self.context.or(last.map(Tokens));
                self.window = self.window.or(info.get("model_context_window").and_then(Value::u64).map(Tokens));
            }
        }
    }
}

/// What a request took of the context: its input, cached or not, and the answer, which is in the next one.
fn context_of(usage: Value<'_, '_>) -> Tokens {
    ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens"]
        .into_iter()
        .filter_map(|key| usage.get(key)?.u64())
        .fold(Tokens::ZERO, |sum, tokens| sum + Tokens(tokens))
}

/// The window of a model: what its program says, else the catalogue, else the fallback. The user's own lines in the
/// catalogue go before what a program says.
pub(super) fn window(catalogue: &Catalogue, model: Option<&str>, said: Option<Tokens>) -> Tokens {
    let limits = limits(catalogue, model, said);
    limits.context_window.or(limits.max_input).map_or(DEFAULT_LIMIT, |limit| limit.tokens)
}

/// The cap that follows from a model's input budget.
pub(super) fn cap(catalogue: &Catalogue, model: Option<&str>, said: Option<Tokens>, policy: &Policy) -> Cap {
    for_budget(threshold(&Capacity::from(&limits(catalogue, model, said)), policy, None).budget)
}

fn limits(catalogue: &Catalogue, model: Option<&str>, said: Option<Tokens>) -> Limits {
    let known = match model.map(|model| catalogue.lookup(model)) {
        Some(Lookup::Known(limits)) => limits,
        _ => Limits::default(),
    };
    let said = Limits::stated(&Source::Server, said.map(|tokens| tokens.0), None, None);
    resolve_limits(None, Some(&said), Some(&known), Endpoint::Public, DEFAULT_LIMIT)
}

/// Opens a regular file for reading. What is a pipe or a device is not waited for.
pub(super) fn open_regular(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
        options.custom_flags(i32::try_from(flags.bits()).unwrap_or(0));
    }
    let file = options.open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(std::io::Error::other("it is no regular file")) }
}

fn end_of(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut file = open_regular(path)?;
    let size = file.metadata()?.len();
    file.seek(SeekFrom::Start(size.saturating_sub(TAIL)))?;
    let mut text = Vec::new();
    file.take(TAIL).read_to_end(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use plimsoll::Bytes;
    use plimsoll::model::UserCatalogue;

    use super::*;

    #[test]
    fn the_last_model_that_answered_is_found_from_the_end() {
        let lines = concat!(
            r#"ut here","message":{"model":"claude-cut"}}"#,
            "\n",
            r#"{"type":"assistant","message":{"model":"claude-sonnet-4-5","usage":{"input_tokens":10,"cache_read_input_tokens":90,"output_tokens":5}}}"#,
            "\n",
            r#"{"type":"user","message":{"content":"the \"model\" said"}}"#,
            "\n",
            r#"{"type":"assistant","isSidechain":true,"message":{"model":"claude-haiku-4-5"}}"#,
            "\n",
            r#"{"type":"assistant","message":{"model":"<synthetic>"}}"#,
            "\n",
        );
        let found = LastAnswer::of(lines.as_bytes());
        assert_eq!(found.model.as_deref(), Some("claude-sonnet-4-5"));
        assert_eq!(found.context, Some(Tokens(105)));
    }

    #[test]
    fn codex_says_model_and_window_on_lines_of_its_own() {
        let lines = concat!(
            r#"{"type":"turn_context","payload":{"model":"gpt-5-codex"}}"#,
            "\n",
            r#"{"type":"event_msg","payload":{"type":"token_count","info":{"last_token_usage":{"total_tokens":7000},"model_context_window":258400}}}"#,
            "\n",
        );
        let found = LastAnswer::of(lines.as_bytes());
        assert_eq!(
            (found.model.as_deref(), found.context, found.window),
            (Some("gpt-5-codex"), Some(Tokens(7_000)), Some(Tokens(258_400)))
        );
    }

    #[test]
    fn the_cap_follows_from_the_model_within_its_bounds() {
        let cap = |model, said| cap(&Catalogue::embedded(), model, said, &Policy::default());
        assert_eq!(cap(Some("claude-sonnet-4-5"), None), Cap::Bytes(Bytes(36_000)));
        assert!(cap(None, None).bytes() < cap(Some("claude-sonnet-4-5"), None).bytes());
        assert!(cap(Some("claude-sonnet-4-5"), Some(Tokens(64_000))).bytes() < Bytes(36_000));
    }

    #[test]
    fn a_window_is_the_users_then_the_programs_then_the_published_one() {
        let window = |catalogue: &Catalogue, said| window(catalogue, Some("gpt-5-codex"), said).0;
        let published = Catalogue::embedded();
        assert_eq!(window(&published, Some(Tokens(258_400))), 258_400);
        assert!(window(&published, None) >= 272_000);
        let (mine, problems) = UserCatalogue::parse(r#"{"model":"gpt-5-codex","context_window":32000}"#);
        assert!(problems.is_empty());
        assert_eq!(window(&published.with_user(mine), Some(Tokens(258_400))), 32_000);
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_file_says_nothing_and_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(LastAnswer::read(folder.path()), LastAnswer::default());
        assert_eq!(LastAnswer::read(Path::new("/dev/zero")), LastAnswer::default());
    }
}
