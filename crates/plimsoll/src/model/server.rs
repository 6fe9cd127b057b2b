//! What servers say of the models they serve, as pure functions from the bytes of their answers.
//!
//! Each reads only what states a limit of the *running* model. The context length with which a model was trained is
//! kept apart: servers mostly run it with less.

use serde::Deserialize;
use serde_json::Value;

use super::limits::{Limits, Source};
use crate::Tokens;

/// What a server says of one model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Served {
    /// The limits under which it is served.
    pub limits: Limits,
    /// The context length with which the model was trained: an upper bound of the window, no statement of it.
    pub trained: Option<Tokens>,
}

impl Served {
    /// The fallback to use when the served window is unknown: never above the trained context length.
    pub fn fallback(&self, default: Tokens) -> Tokens {
        self.trained.map_or(default, |trained| default.min(trained))
    }

    fn stated(window: Option<u64>, input: Option<u64>, output: Option<u64>, trained: Option<u64>) -> Option<Self> {
        let limits = Limits::stated(&Source::Server, window, input, output);
        let trained = trained.filter(|tokens| *tokens > 0).map(Tokens);
        (!limits.is_empty() || trained.is_some()).then_some(Self { limits, trained })
    }
}

/// Reads a model object, or the object of `model` in a model list: `GET /v1/models`, `GET /v1/models/MODEL`.
///
/// Known fields: `max_model_len` (`vLLM`, `SGLang`), `context_length` with `top_provider` (`OpenRouter`), `context_window`
/// and `max_completion_tokens` (Groq), `max_context_length` and `loaded_context_length` (LM Studio, Mistral),
/// `max_input_tokens` and `max_tokens` (Anthropic), `inputTokenLimit` and `outputTokenLimit` (Gemini), `meta.n_ctx` and
/// `meta.n_ctx_train` (llama.cpp). OpenAI's own objects state no limit.
///
/// ```
/// use plimsoll::{Tokens, model::server};
/// let answer = br#"{"object": "list", "data": [{"id": "qwen3", "max_model_len": 40960}]}"#;
/// let served = server::models(answer, "qwen3").expect("stated");
/// assert_eq!(served.limits.context_window.map(|limit| limit.tokens), Some(Tokens(40_960)));
/// ```
pub fn models(json: &[u8], model: &str) -> Option<Served> {
    let answer: Value = serde_json::from_slice(json).ok()?;
    let list = answer.get("data").or_else(|| answer.get("models")).and_then(Value::as_array);
    let Some(list) = list else {
        return if names(&answer, model) || id(&answer).is_none() { object(&answer) } else { None };
    };
    list.iter().find(|entry| names(entry, model)).and_then(object)
}

/// Reads llama.cpp's `GET /props`: the context of one slot, which is what one request may use.
///
/// ```
/// use plimsoll::{Tokens, model::server};
/// let served = server::llama_props(br#"{"default_generation_settings": {"n_ctx": 8192}, "total_slots": 4}"#);
/// assert_eq!(served.and_then(|served| served.limits.context_window).map(|limit| limit.tokens), Some(Tokens(8_192)));
/// ```
pub fn llama_props(json: &[u8]) -> Option<Served> {
    let answer: Value = serde_json::from_slice(json).ok()?;
    let window = number(answer.get("default_generation_settings")?, "n_ctx");
    Served::stated(window, None, None, None)
}

/// Reads Ollama's `POST /api/show`. Its `model_info` tells only how the model was trained; the served window is known
/// when the model's own parameters set `num_ctx`. Prefer [`ollama_ps`] for a model that is loaded.
///
/// ```
/// use plimsoll::{Tokens, model::server};
/// let served = server::ollama_show(br#"{"model_info": {"llama.context_length": 131072}, "parameters": "stop \"x\""}"#);
/// let served = served.expect("trained");
/// assert_eq!((served.limits.context_window, served.trained), (None, Some(Tokens(131_072))));
/// ```
pub fn ollama_show(json: &[u8]) -> Option<Served> {
    #[derive(Deserialize)]
    struct Show {
        #[serde(default)]
        model_info: serde_json::Map<String, Value>,
        parameters: Option<Value>,
    }
    let show: Show = serde_json::from_slice(json).ok()?;
    let trained = show
        .model_info
        .iter()
        .find(|(key, _)| key.ends_with(".context_length"))
        .and_then(|(_, value)| value.as_u64());
    let parameters = show.parameters.as_ref().and_then(Value::as_str).unwrap_or_default();
    // One parameter a line, name and value apart by white space; the last one is in force.
    let mut set = parameters.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        (words.next() == Some("num_ctx")).then(|| words.next()?.parse().ok()).flatten()
    });
    Served::stated(set.next_back(), None, None, trained)
}

/// Reads Ollama's `GET /api/ps`: the context with which `model` is loaded now.
///
/// ```
/// use plimsoll::{Tokens, model::server};
/// let answer = br#"{"models": [{"name": "llama3.2:latest", "model": "llama3.2:latest", "context_length": 4096}]}"#;
/// let served = server::ollama_ps(answer, "llama3.2").expect("loaded");
/// assert_eq!(served.limits.context_window.map(|limit| limit.tokens), Some(Tokens(4_096)));
/// ```
pub fn ollama_ps(json: &[u8], model: &str) -> Option<Served> {
    let answer: Value = serde_json::from_slice(json).ok()?;
    let loaded = answer.get("models")?.as_array()?.iter().find(|entry| names(entry, model))?;
    Served::stated(number(loaded, "context_length"), None, None, None)
}

fn object(entry: &Value) -> Option<Served> {
    let meta = entry.get("meta");
    let top = entry.get("top_provider");
    let nested = |object: Option<&Value>, field| object.and_then(|object| number(object, field));
    let first = |fields: &[&str]| fields.iter().find_map(|field| number(entry, field));
    // What is loaded goes before what is possible; LM Studio states both.
    let window = first(&["loaded_context_length", "max_model_len", "context_window"])
        .or_else(|| nested(top, "context_length"))
        .or_else(|| first(&["context_length"]))
        .or_else(|| nested(meta, "n_ctx"))
        .or_else(|| if entry.get("state").is_some() { None } else { first(&["max_context_length"]) });
    let trained = nested(meta, "n_ctx_train")
        .or_else(|| if entry.get("state").is_some() { first(&["max_context_length"]) } else { None });
    let input = first(&["max_input_tokens", "inputTokenLimit"]);
    let output = first(&["max_output_tokens", "max_completion_tokens", "outputTokenLimit"])
        .or_else(|| nested(top, "max_completion_tokens"))
        // Anthropic's `max_tokens` is the output limit; elsewhere the word means many things.
        .or_else(|| number(entry, "max_tokens").filter(|_| entry.get("max_input_tokens").is_some()));
    Served::stated(window, input, output, trained)
}

fn number(object: &Value, field: &str) -> Option<u64> {
    object.get(field)?.as_u64().filter(|tokens| *tokens > 0)
}

fn id(entry: &Value) -> Option<&str> {
    ["id", "model", "name"].into_iter().find_map(|field| entry.get(field).and_then(Value::as_str))
}

/// Whether an object is that of `model`: Gemini writes `models/` before it, Ollama `:latest` behind it.
fn names(entry: &Value, model: &str) -> bool {
    let plain = |name: &str| {
        let name = name.strip_prefix("models/").unwrap_or(name);
        name.strip_suffix(":latest").unwrap_or(name).to_owned()
    };
    ["id", "model", "name"]
        .into_iter()
        .filter_map(|field| entry.get(field).and_then(Value::as_str))
        .any(|name| name == model || plain(name) == plain(model))
}

#[cfg(test)]
#[path = "server/tests.rs"]
mod tests;
