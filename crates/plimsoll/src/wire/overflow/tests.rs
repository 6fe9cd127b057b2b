use proptest::prelude::*;

use super::*;

/// What an answer is judged as, compactly.
fn judge(status: u16, body: &str) -> String {
    match overflow(status, body.as_bytes()) {
        None => "no".to_owned(),
        Some(Overflow { tokens, limit, kind }) => {
            let show = |count: Option<Tokens>| count.map_or("?".to_owned(), |count| count.0.to_string());
            format!("{} > {} {kind:?}", show(tokens), show(limit))
        }
    }
}

/// An error as most providers wrap it.
fn error(status: u16, message: &str) -> String {
    let body = serde_json::json!({"error": {"message": message, "type": "invalid_request_error"}});
    judge(status, &body.to_string())
}

#[test]
fn anthropic() {
    assert_eq!(error(400, "prompt is too long: 200251 tokens > 200000 maximum"), "200251 > 200000 Tokens");
    assert_eq!(
        error(
            400,
            "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length"
        ),
        "210000 > 200000 Tokens"
    );
    let large =
        r#"{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#;
    assert_eq!(judge(413, large), "? > ? Bytes");
    let stop = r#"{"type":"message_delta","delta":{"stop_reason":"model_context_window_exceeded"},"usage":{"output_tokens":5}}"#;
    assert_eq!(judge(200, stop), "? > ? Tokens");
}

#[test]
fn bedrock() {
    assert_eq!(judge(400, r#"{"message":"Input is too long for requested model."}"#), "? > ? Tokens");
    assert_eq!(judge(400, r#"{"message":"Too many tokens, please wait before trying again."}"#), "no");
}

#[test]
fn openai_and_azure() {
    assert_eq!(
        error(
            400,
            "This model's maximum context length is 128000 tokens. However, your messages resulted in 130,001 tokens. Please reduce the length of the messages."
        ),
        "130001 > 128000 Tokens"
    );
    assert_eq!(
        error(
            400,
            "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (8000 in the messages, 1000 in the completion)."
        ),
        "9000 > 8192 Tokens"
    );
    let coded = r#"{"error":{"code":"context_length_exceeded","message":"Demasiado largo: 140.000 tokens, pero el máximo es 131.072."}}"#;
    assert_eq!(judge(400, coded), "140000 > 131072 Tokens");
}

#[test]
fn openai_responses_also_inside_a_stream() {
    let message = "Your input exceeds the context window of this model. Please adjust your input and try again.";
    assert_eq!(error(400, message), "? > ? Tokens");
    let failed = format!(
        r#"{{"type":"response.failed","response":{{"error":{{"code":"context_length_exceeded","message":"{message}"}}}}}}"#
    );
    assert_eq!(judge(200, &failed), "? > ? Tokens");
    let event = format!(r#"{{"type":"error","code":"context_length_exceeded","message":"{message}"}}"#);
    assert_eq!(judge(200, &event), "? > ? Tokens");
}

#[test]
fn gemini_and_vertex() {
    assert_eq!(
        error(400, "The input token count (1200345) exceeds the maximum number of tokens allowed (1048576)."),
        "1200345 > 1048576 Tokens"
    );
    assert_eq!(
        error(400, "The input token count exceeds the maximum number of tokens allowed 1048576."),
        "? > 1048576 Tokens"
    );
}

#[test]
fn groq_and_its_limit_per_minute() {
    assert_eq!(error(400, "Please reduce the length of the messages or completion."), "? > ? Tokens");
    let minute = r#"{"error":{"message":"Request too large for model `m` on tokens per minute (TPM): Limit 6000, Requested 9000","type":"tokens","code":"rate_limit_exceeded"}}"#;
    assert_eq!(judge(413, minute), "no");
}

#[test]
fn mistral() {
    assert_eq!(
        error(
            400,
            "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length"
        ),
        "40000 > 32768 Tokens"
    );
}

#[test]
fn xai() {
    assert_eq!(
        error(400, "This model's maximum prompt length is 131072 but the request contains 140000 tokens."),
        "140000 > 131072 Tokens"
    );
}

#[test]
fn deepseek_and_vllm() {
    assert_eq!(
        error(
            400,
            "This model's maximum context length is 65536 tokens. However, you requested 70000 tokens (69000 in the messages, 1000 in the completion)."
        ),
        "70000 > 65536 Tokens"
    );
    assert_eq!(
        error(
            400,
            "You passed 5000 input tokens and requested 100 output tokens. However, the model's context length is only 4096 tokens"
        ),
        "5000 > 4096 Tokens"
    );
    assert_eq!(error(400, "The context length is only 4096 tokens"), "? > 4096 Tokens");
    assert_eq!(
        error(400, "Input length (5000) exceeds model's maximum context length (4096)."),
        "5000 > 4096 Tokens"
    );
}

#[test]
fn openrouter_passes_on_what_it_was_told() {
    let nested = r#"{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"This endpoint's maximum context length is 131072 tokens. However, you requested about 135000 tokens (130000 of text input, 5000 in the output).\"}}"}}}"#;
    assert_eq!(judge(400, nested), "135000 > 131072 Tokens");
}

#[test]
fn together_and_text_generation_inference() {
    assert_eq!(
        error(
            422,
            "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000 `inputs` tokens and 512 `max_new_tokens`"
        ),
        "9512 > 8193 Tokens"
    );
    assert_eq!(error(422, "`inputs` must have less than 4096 tokens. Given: 5000"), "5000 > 4096 Tokens");
}

#[test]
fn cerebras_says_nothing() {
    assert_eq!(judge(400, ""), "? > ? Tokens");
    assert_eq!(judge(413, " \n"), "? > ? Tokens");
    assert_eq!(judge(500, ""), "no");
}

#[test]
fn copilot() {
    assert_eq!(error(400, "prompt token count of 70000 exceeds the limit of 64000"), "70000 > 64000 Tokens");
}

#[test]
fn moonshot() {
    assert_eq!(
        error(400, "Invalid request: Your request exceeded model token limit: 131072 (requested: 140000)"),
        "140000 > 131072 Tokens"
    );
    assert_eq!(error(400, "Your request exceeded model token limit: 131072"), "? > 131072 Tokens");
}

#[test]
fn minimax() {
    assert_eq!(error(400, "invalid params, context window exceeds limit (2013)"), "? > ? Tokens");
}

#[test]
fn alibaba() {
    assert_eq!(
        error(400, "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]"),
        "? > 30720 Tokens"
    );
}

#[test]
fn zai() {
    assert_eq!(judge(400, r#"{"error":{"code":"1261","message":"Prompt exceeds max length"}}"#), "? > ? Tokens");
    assert_eq!(
        judge(200, r#"{"choices":[{"finish_reason":"model_context_window_exceeded","message":{"content":""}}]}"#),
        "? > ? Tokens"
    );
}

#[test]
fn llama_cpp() {
    let body = r#"{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens": 9001, "n_ctx": 8192}}"#;
    assert_eq!(judge(400, body), "9001 > 8192 Tokens");
}

#[test]
fn lm_studio() {
    assert_eq!(
        error(400, "The number of tokens to keep from the initial prompt is greater than the context length."),
        "? > ? Tokens"
    );
}

#[test]
fn servers_that_count_bytes() {
    assert_eq!(judge(413, "<html><h1>413 Request Entity Too Large</h1></html>"), "? > ? Bytes");
    assert_eq!(judge(413, "Failed to buffer the request body: length limit exceeded"), "? > ? Bytes");
}

#[test]
fn separators_of_thousands() {
    for spelled in ["200,251", "200.251", "200_251", "200'251", "200\u{202f}251", "200251"] {
        let message = format!("prompt is too long: {spelled} tokens > 200000 maximum");
        assert_eq!(error(400, &message), "200251 > 200000 Tokens", "{spelled}");
    }
}

#[test]
fn what_only_sounds_like_it() {
    assert_eq!(judge(429, r#"{"error":{"message":"prompt is too long: 5 tokens > 4 maximum"}}"#), "no");
    assert_eq!(error(400, "max_tokens: must be at least 1"), "no");
    assert_eq!(error(503, "Overloaded"), "no");
    // What a model wrote.
    let said =
        r#"{"content":[{"type":"text","text":"The error says: prompt is too long"}],"stop_reason":"end_turn"}"#;
    assert_eq!(judge(200, said), "no");
    assert_eq!(judge(200, r#"{"response":{"output":"context_length_exceeded"},"error":null}"#), "no");
    assert_eq!(judge(200, ""), "no");
}

proptest! {
    #[test]
    fn judging_is_total(status: u16, body: Vec<u8>) {
        let _ = overflow(status, &body);
    }

    #[test]
    fn words_in_any_order_never_panic(
        words in prop::collection::vec(prop_oneof![
            "[0-9]{1,25}", "[ ,.'_:{}\"\\\\]{1,3}",
            Just("maximum context length is ".to_owned()), Just("prompt is too long: ".to_owned()),
            Just("context_length_exceeded".to_owned()), Just("é".to_owned()),
        ], 0..12),
    ) {
        let _ = overflow(400, words.concat().as_bytes());
    }
}
