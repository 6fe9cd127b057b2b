//! The published collections, read into one form.

use std::fs;

use anyhow::{Context as _, Result, bail};
use plimsoll::model::{Name, normalise};
use serde_json::Value;

/// Words in a name that tell that it is no chat model, whatever its entry states.
const NOT_CHAT: [&str; 14] = [
    "embed",
    "embedding",
    "rerank",
    "reranker",
    "whisper",
    "tts",
    "ocr",
    "asr",
    "image",
    "moderation",
    "guard",
    "transcribe",
    "imagine",
    "lyria",
];

/// One model as one provider has it in one collection.
pub(super) struct Stated {
    pub(super) name: Name,
    /// As the collection names it.
    pub(super) provider: String,
    /// Context window, input and output limit; zero is not stated.
    pub(super) limits: [u64; 3],
}

/// A collection. Its letter stands, in capitals, behind what makers state; in small, behind what most hosts do.
pub(super) struct Collection {
    pub(super) letter: char,
    pub(super) title: &'static str,
    pub(super) version: String,
    pub(super) date: String,
    pub(super) stated: Vec<Stated>,
}

/// Reads litellm's price map from `FILE,VERSION,DATE`.
pub(super) fn litellm(argument: &str) -> Result<Collection> {
    collection(argument, 'L', "litellm", litellm_models)
}

/// Reads models.dev's `api.json` from `FILE,VERSION,DATE`.
pub(super) fn models_dev(argument: &str) -> Result<Collection> {
    collection(argument, 'M', "models.dev", models_dev_models)
}

fn collection(
    argument: &str,
    letter: char,
    title: &'static str,
    read: fn(&Value) -> Vec<Stated>,
) -> Result<Collection> {
    let mut parts = argument.rsplitn(3, ',');
    let (Some(date), Some(version), Some(file)) = (parts.next(), parts.next(), parts.next()) else {
        bail!("{argument}: want FILE,VERSION,DATE");
    };
    let bytes = fs::read(file).with_context(|| format!("reading {file}"))?;
    let value: Value = serde_json::from_slice(&bytes).with_context(|| format!("parsing {file}"))?;
    let stated = read(&value);
    if stated.is_empty() {
        bail!("{file} holds no chat model: is it {title}'s?");
    }
    Ok(Collection { letter, title, version: version.to_owned(), date: date.to_owned(), stated })
}

fn litellm_models(map: &Value) -> Vec<Stated> {
    let text = |entry: &Value, field: &str| entry.get(field).and_then(Value::as_str).map(str::to_owned);
    let models = map.as_object().into_iter().flatten();
    models
        .filter_map(|(key, entry)| {
            let mode = text(entry, "mode")?;
            let provider = text(entry, "litellm_provider")?;
            // Its input limit says nothing of the window, and its `max_tokens` means now this, now that.
            let limits = [0, number(entry, "max_input_tokens"), number(entry, "max_output_tokens")];
            ["chat", "responses", "completion"].contains(&mode.as_str()).then(|| stated(key, &provider, limits))?
        })
        .collect()
}

fn models_dev_models(providers: &Value) -> Vec<Stated> {
    let mut all = Vec::new();
    for (provider, entry) in providers.as_object().into_iter().flatten() {
        for (key, model) in entry.get("models").and_then(Value::as_object).into_iter().flatten() {
            let output = model.get("modalities").and_then(|kinds| kinds.get("output")).and_then(Value::as_array);
            // A model that writes no text is no chat model.
            let writes_text = output.is_some_and(|kinds| kinds.iter().any(|kind| kind == "text"));
            if let Some(limit) = model.get("limit").filter(|_| writes_text) {
                let limits = [number(limit, "context"), number(limit, "input"), number(limit, "output")];
                all.extend(stated(key, provider, limits));
            }
        }
    }
    all
}

fn number(object: &Value, field: &str) -> u64 {
    object.get(field).and_then(Value::as_u64).unwrap_or(0)
}

fn stated(key: &str, provider: &str, limits: [u64; 3]) -> Option<Stated> {
    let name = normalise(key);
    let chat = !name.base.split(['-', '/']).any(|word| NOT_CHAT.contains(&word));
    // What normalisation leaves beside letters, digits and separators is a host's own switch: `name:thinking:low`.
    let plain = name.key().bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._+".contains(&byte));
    // A price row for a context size or a fine-tune is no model.
    let usable = plain && name.context.is_none() && !key.starts_with("ft:") && limits != [0; 3];
    (chat && usable).then(|| Stated { name, provider: provider.to_owned(), limits })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn keys(stated: &[Stated]) -> Vec<(String, [u64; 3])> {
        stated.iter().map(|stated| (stated.name.key(), stated.limits)).collect()
    }

    #[test]
    fn only_chat_models_are_taken_from_litellm() {
        let map = json!({
            "sample_spec": {"mode": "one of: chat", "litellm_provider": "x", "max_input_tokens": "text"},
            "gpt-x": {"mode": "chat", "litellm_provider": "openai", "max_tokens": 5, "max_input_tokens": 10, "max_output_tokens": 4},
            "emb": {"mode": "embedding", "litellm_provider": "openai", "max_input_tokens": 10},
            "ft:gpt-x": {"mode": "chat", "litellm_provider": "openai", "max_input_tokens": 10},
            "qwen-ocr": {"mode": "chat", "litellm_provider": "x", "max_input_tokens": 10},
            "nothing": {"mode": "chat", "litellm_provider": "x"},
        });
        assert_eq!(keys(&litellm_models(&map)), [("gpt-x".to_owned(), [0, 10, 4])]);
    }

    #[test]
    fn only_models_that_write_text_are_taken_from_models_dev() {
        let text = json!({"output": ["text"]});
        let providers = json!({"p": {"models": {
            "a": {"limit": {"context": 9, "output": 2}, "modalities": text},
            "b": {"limit": {"context": 9, "input": 8, "output": 2}, "modalities": {"output": ["image"]}},
            "c:thinking:low": {"limit": {"context": 9}, "modalities": text},
            "d": {"limit": {"context": 0, "input": 0, "output": 0}, "modalities": text},
        }}, "q": {}});
        assert_eq!(keys(&models_dev_models(&providers)), [("a".to_owned(), [9, 0, 2])]);
    }
}
