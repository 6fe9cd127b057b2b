//! The published collections, read into one form.

use serde_json::Value;

use super::super::name::Name;
use super::super::normalise::normalise;
use super::super::prices::Prices;
use super::CollectError;

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
    pub(super) prices: Option<Prices>,
}

/// A collection of published limits and prices. Its letter stands, in capitals, behind what makers state; in small,
/// behind what most hosts do.
pub struct Collection {
    pub(super) letter: char,
    pub(super) title: &'static str,
    pub(super) version: String,
    pub(super) date: String,
    pub(super) stated: Vec<Stated>,
}

impl Collection {
    /// Reads litellm's price map, `model_prices_and_context_window_backup.json`, of a version and a day (`YYYY-MM-DD`).
    ///
    /// # Errors
    /// [`CollectError::Json`] for what is no JSON, [`CollectError::Empty`] if no chat model is in it.
    ///
    /// ```
    /// use plimsoll::model::collect::Collection;
    /// let map = br#"{"m-1": {"mode": "chat", "litellm_provider": "x", "max_input_tokens": 8000}}"#;
    /// assert!(Collection::litellm(map, "1.0", "2026-11-30").is_ok());
    /// assert!(Collection::litellm(b"{}", "1.0", "2026-11-30").is_err());
    /// ```
    pub fn litellm(json: &[u8], version: &str, date: &str) -> Result<Self, CollectError> {
        Self::read(json, 'L', "litellm", version, date, litellm_models)
    }

    /// Reads models.dev's `api.json`.
    ///
    /// # Errors
    /// As for [`Self::litellm`].
    ///
    /// ```
    /// use plimsoll::model::collect::Collection;
    /// let api = br#"{"x": {"models": {"m-1": {"limit": {"context": 8000, "output": 2000},
    ///     "modalities": {"output": ["text"]}, "cost": {"input": 1, "output": 2}}}}}"#;
    /// assert!(Collection::models_dev(api, "api.json", "2026-11-30").is_ok());
    /// ```
    pub fn models_dev(json: &[u8], version: &str, date: &str) -> Result<Self, CollectError> {
        Self::read(json, 'M', "models.dev", version, date, models_dev_models)
    }

    fn read(
        json: &[u8],
        letter: char,
        title: &'static str,
        version: &str,
        date: &str,
        read: fn(&Value) -> Vec<Stated>,
    ) -> Result<Self, CollectError> {
        let value = serde_json::from_slice(json).map_err(|source| CollectError::Json { title, source })?;
        let stated = read(&value);
        if stated.is_empty() {
            return Err(CollectError::Empty { title });
        }
        Ok(Self { letter, title, version: version.to_owned(), date: date.to_owned(), stated })
    }
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
            let dollars = |field: &str| Some(entry.get(field)?.as_f64()? * 1e6);
            let prices = dollars("input_cost_per_token").zip(dollars("output_cost_per_token"));
            let prices = prices.and_then(|(input, output)| {
                let cached = dollars("cache_read_input_token_cost");
                Prices::from_dollars(input, cached, dollars("cache_creation_input_token_cost"), output)
            });
            let chat = ["chat", "responses", "completion"].contains(&mode.as_str());
            chat.then(|| stated(key, &provider, limits, prices))?
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
                let dollars = |field: &str| model.get("cost")?.get(field)?.as_f64();
                let prices = dollars("input").zip(dollars("output"));
                let prices = prices.and_then(|(input, output)| {
                    Prices::from_dollars(input, dollars("cache_read"), dollars("cache_write"), output)
                });
                all.extend(stated(key, provider, limits, prices));
            }
        }
    }
    all
}

fn number(object: &Value, field: &str) -> u64 {
    object.get(field).and_then(Value::as_u64).unwrap_or(0)
}

fn stated(key: &str, provider: &str, limits: [u64; 3], prices: Option<Prices>) -> Option<Stated> {
    let name = normalise(key);
    let chat = !name.base.split(['-', '/']).any(|word| NOT_CHAT.contains(&word));
    // What normalisation leaves beside letters, digits and separators is a host's own switch: `name:thinking:low`.
    let plain = name.key().bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._+".contains(&byte));
    // A price row for a context size or a fine-tune is no model.
    let usable = plain && name.context.is_none() && !key.starts_with("ft:") && limits != [0; 3];
    (chat && usable).then(|| Stated {
        name,
        provider: provider.to_owned(),
        limits,
        prices: prices.filter(|prices| prices.input > 0),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn prices_are_dollars_for_a_million_tokens_in_both() {
        let map = json!({"m-1": {"mode": "chat", "litellm_provider": "x", "max_input_tokens": 9, "input_cost_per_token": 3e-06,
            "cache_read_input_token_cost": 3e-07, "cache_creation_input_token_cost": 3.75e-06, "output_cost_per_token": 1.5e-05}});
        let api = json!({"x": {"models": {"m-1": {"limit": {"context": 9}, "modalities": {"output": ["text"]},
            "cost": {"input": 3, "output": 15, "cache_read": 0.3, "cache_write": 3.75}}}}});
        for stated in [litellm_models(&map), models_dev_models(&api)] {
            assert_eq!(stated[0].prices.unwrap().to_string(), "3/0.3/3.75/15");
        }
    }

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
