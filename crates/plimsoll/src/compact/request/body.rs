//! Request bodies of one message, written as text.

use super::{Api, Summariser, SummaryRequest};
use crate::units::Tokens;
use crate::wire::{Edit, Tape, quote, splice};

/// Writes a request whose only message is `text`.
pub(super) fn body(to: &Summariser<'_>, text: &str, output: Tokens) -> Vec<u8> {
    let (model, text, stream) = (quote(to.model), quote(text), to.stream);
    let output = output.0;
    match to.api {
        Api::Anthropic => format!(
            r#"{{"model":{model},"max_tokens":{output},"stream":{stream},"messages":[{{"role":"user","content":{text}}}]}}"#
        ),
        Api::OpenaiChat => {
            let limit = output_key(to.model);
            let usage = if stream { r#","stream_options":{"include_usage":true}"# } else { "" };
            format!(
                r#"{{"model":{model},"{limit}":{output},"stream":{stream}{usage},"messages":[{{"role":"user","content":{text}}}]}}"#
            )
        }
        Api::OpenaiResponses => format!(
            r#"{{"model":{model},"max_output_tokens":{output},"stream":{stream},"store":false,"input":[{}]}}"#,
            item(&text)
        ),
    }
    .into_bytes()
}

/// A message of the user among the items of Responses; `text` is a JSON string.
pub(super) fn item(text: &str) -> String {
    format!(r#"{{"type":"message","role":"user","content":[{{"type":"input_text","text":{text}}}]}}"#)
}

impl SummaryRequest {
    /// Calls the limit of the answer by another name: of Chat Completions' two, some servers know only one, and say so.
    pub fn name_output(&mut self, name: &str) {
        let mut tape = Tape::with_max_depth(usize::MAX);
        if self.api != Api::OpenaiChat || tape.parse(&self.body, 0).is_err() {
            return;
        }
        let Some(root) = tape.root(&self.body) else { return };
        let is_limit = |key: &str| matches!(key, "max_tokens" | "max_completion_tokens");
        let keys = root.members().map(|(key, _)| key);
        let keys = keys.filter(|key| key.text().is_some_and(|key| is_limit(&key.decode())));
        let edits: Vec<Edit<'_>> = keys.map(|key| Edit::replace(key.span(), quote(name).into_bytes())).collect();
        if let Ok(body) = splice(&self.body, &edits) {
            self.body = body.into_owned();
        }
    }
}

/// How the output limit of a chat completion is called: `OpenAI`'s reasoning models refuse the old name, and other
/// servers may not know the new one.
pub(super) fn output_key(model: &str) -> &'static str {
    let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
    let open = name.starts_with("gpt-oss");
    let own = ["gpt-", "chatgpt-", "o1", "o3", "o4"].iter().any(|start| name.starts_with(start));
    if own && !open { "max_completion_tokens" } else { "max_tokens" }
}
