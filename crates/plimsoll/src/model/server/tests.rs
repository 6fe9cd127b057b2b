//! Answers of servers, shaped as each of them documents.

use proptest::prelude::*;

use super::*;

fn numbers(served: Option<Served>) -> Option<[Option<u64>; 4]> {
    let Served { limits, trained } = served?;
    let [window, input, output] = [limits.context_window, limits.max_input, limits.max_output].map(|limit| {
        limit.map(|limit| {
            assert_eq!(limit.source, Source::Server);
            limit.tokens.0
        })
    });
    Some([window, input, output, trained.map(|tokens| tokens.0)])
}

#[test]
fn model_objects_of_every_kind_are_read() {
    for (model, json, expected) in [
        (
            "m",
            r#"{"data": [{"id": "x", "max_model_len": 1}, {"id": "m", "max_model_len": 32768}]}"#,
            [Some(32_768), None, None, None],
        ),
        ("m", r#"{"id": "m", "max_model_len": 4096, "object": "model"}"#, [Some(4_096), None, None, None]),
        (
            "a/m",
            r#"{"data": [{"id": "a/m", "context_length": 200000, "top_provider": {"context_length": 180000, "max_completion_tokens": 64000}}]}"#,
            [Some(180_000), None, Some(64_000), None],
        ),
        (
            "m",
            r#"{"id": "m", "context_window": 131072, "max_completion_tokens": 8192}"#,
            [Some(131_072), None, Some(8_192), None],
        ),
        (
            "m",
            r#"{"id": "m", "state": "loaded", "max_context_length": 131072, "loaded_context_length": 4096}"#,
            [Some(4_096), None, None, Some(131_072)],
        ),
        ("m", r#"{"id": "m", "max_context_length": 32000}"#, [Some(32_000), None, None, None]),
        (
            "claude-x",
            r#"{"type": "model", "id": "claude-x", "max_input_tokens": 200000, "max_tokens": 64000}"#,
            [None, Some(200_000), Some(64_000), None],
        ),
        (
            "gemini-x",
            r#"{"models": [{"name": "models/gemini-x", "inputTokenLimit": 1048576, "outputTokenLimit": 65536}]}"#,
            [None, Some(1_048_576), Some(65_536), None],
        ),
        ("m", r#"{"data": [{"id": "m", "meta": {"n_ctx_train": 131072}}]}"#, [None, None, None, Some(131_072)]),
    ] {
        assert_eq!(numbers(models(json.as_bytes(), model)), Some(expected), "{json}");
    }
}

#[test]
fn what_states_nothing_is_nothing() {
    for json in [
        "",
        "[]",
        "null",
        "{",
        r#"{"id": "gpt-5", "object": "model", "created": 1, "owned_by": "openai"}"#,
        r#"{"data": [{"id": "another", "max_model_len": 5}]}"#,
        r#"{"id": "another", "max_model_len": 5}"#,
        r#"{"data": [{"id": "gpt-5", "max_model_len": 0}]}"#,
        r#"{"data": [{"id": "gpt-5", "max_model_len": -1, "max_tokens": 4}]}"#,
        r#"{"error": {"message": "no"}}"#,
    ] {
        assert_eq!(models(json.as_bytes(), "gpt-5"), None, "{json}");
    }
}

#[test]
fn llama_cpp_states_the_context_of_a_slot() {
    let props = br#"{"default_generation_settings": {"id": 0, "n_ctx": 4096, "params": {}}, "total_slots": 4}"#;
    assert_eq!(numbers(llama_props(props)), Some([Some(4_096), None, None, None]));
    assert_eq!(llama_props(br#"{"total_slots": 4}"#), None);
}

#[test]
fn mechanism_36_ollamas_trained_length_is_no_window() {
    let show = br#"{"model_info": {"general.architecture": "llama", "llama.context_length": 131072}}"#;
    let served = ollama_show(show).unwrap();
    assert_eq!(numbers(Some(served.clone())), Some([None, None, None, Some(131_072)]));
    assert_eq!(served.fallback(Tokens(128_000)), Tokens(128_000));
    let small = ollama_show(br#"{"model_info": {"gemma.context_length": 8192}}"#).unwrap();
    assert_eq!(small.fallback(Tokens(128_000)), Tokens(8_192));
    let set = br#"{"model_info": {"llama.context_length": 131072}, "parameters": "stop  \"num_ctx 1\"\nnum_ctx      16384\n"}"#;
    assert_eq!(numbers(ollama_show(set)), Some([Some(16_384), None, None, Some(131_072)]));
}

#[test]
fn ollama_states_how_a_model_is_loaded() {
    let ps = br#"{"models": [{"name": "a:7b", "context_length": 1}, {"name": "b:latest", "model": "b:latest", "context_length": 4096}]}"#;
    assert_eq!(numbers(ollama_ps(ps, "b")), Some([Some(4_096), None, None, None]));
    assert_eq!(ollama_ps(ps, "c"), None);
    assert_eq!(ollama_ps(br#"{"models": []}"#, "b"), None);
}

proptest! {
    #[test]
    fn any_bytes_are_read(json in prop::collection::vec(any::<u8>(), 0..200)) {
        models(&json, "m");
        llama_props(&json);
        ollama_show(&json);
        ollama_ps(&json, "m");
    }
}
