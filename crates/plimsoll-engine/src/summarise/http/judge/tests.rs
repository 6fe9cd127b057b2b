use plimsoll::Tokens;

use super::*;

fn refuse(status: u16, body: &str, key: Option<&Secret>) -> Failure {
    let source = Key::of_environment("OPENAI_API_KEY", None);
    let judge = Judge {
        endpoint: "https://h.example/v1/chat/completions",
        model: "m",
        secrets: key.map_or(&[], std::slice::from_ref),
        source: &source,
    };
    let refusal = Refusal {
        status,
        location: Some("https://other.example/login?key=canary"),
        retry_after: Some("7"),
        retry_after_ms: None,
        body: body.as_bytes(),
    };
    let base = Url::parse("https://h.example/v1/chat/completions").unwrap();
    *judge.refused(&refusal, &base, SystemTime::UNIX_EPOCH)
}

/// Which variant an error is.
fn kind(error: &SummariserError) -> String {
    format!("{error:?}").split([' ', '{']).next().unwrap_or_default().to_owned()
}

#[test]
fn refusals_are_told_apart_and_only_what_may_pass_is_tried_again() {
    let key = Secret::new("sk-canary");
    let cases: &[(u16, &str, &str, bool)] = &[
        (
            401,
            r#"{"error":{"message":"Incorrect API key provided: sk-canary.","code":"invalid_api_key"}}"#,
            "KeyRefused",
            false,
        ),
        (403, r#"{"type":"error","error":{"type":"permission_error","message":"no"}}"#, "KeyRefused", false),
        (404, r#"{"type":"error","error":{"type":"not_found_error","message":"model: m"}}"#, "NotFound", false),
        (404, "404 page not found", "NotFound", false),
        (400, r#"{"error":{"message":"The model `m` does not exist","code":"model_not_found"}}"#, "NotFound", false),
        (400, r#"{"error":{"message":"m is not a valid model ID","code":400}}"#, "NotFound", false),
        (400, r#"{"error":{"message":"messages: at least one message is required"}}"#, "Refused", false),
        // One provider says no more than that of a request that is too long.
        (400, "", "Overflow", false),
        (402, r#"{"error":{"message":"Insufficient credits"}}"#, "Unpaid", false),
        (429, r#"{"error":{"type":"rate_limit_error","message":"slow down"}}"#, "RateLimited", true),
        (
            429,
            r#"{"error":{"code":"insufficient_quota","message":"You exceeded your current quota"}}"#,
            "Unpaid",
            false,
        ),
        (
            413,
            r#"{"error":{"code":"rate_limit_exceeded","message":"Request too large for model on tokens per minute (TPM)"}}"#,
            "RateLimited",
            true,
        ),
        (500, "", "Unavailable", true),
        (502, "<html><head><title>502 Bad Gateway</title></head></html>", "Unavailable", true),
        (503, "{}", "Unavailable", true),
        (529, r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#, "Unavailable", true),
        (501, "", "Refused", false),
        (302, "", "Redirected", false),
        (307, "", "Redirected", false),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9000 tokens > 8192 maximum"}}"#,
            "Overflow",
            false,
        ),
        (
            400,
            r#"{"error":{"code":400,"message":"request (9000 tokens) exceeds the available context size (8192 tokens)","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":8192}}"#,
            "Overflow",
            false,
        ),
        (413, r#"{"type":"error","error":{"type":"request_too_large","message":"too large"}}"#, "Overflow", false),
    ];
    for (status, body, expected, passing) in cases {
        let failure = refuse(*status, body, Some(&key));
        assert_eq!((kind(&failure.error).as_str(), failure.passing), (*expected, *passing), "{status} {body}");
        let told = format!("{} {:?}", failure.error, failure.error);
        assert!(!told.contains("canary"), "{told}");
        assert!(told.contains("https://h.example/v1/chat/completions"));
        let asks = matches!(failure.error, SummariserError::RateLimited { .. } | SummariserError::Unavailable { .. });
        assert_eq!(failure.asked, asks.then_some(Duration::from_secs(7)), "{status}");
    }
    let without = refuse(401, "{}", None).error;
    assert_eq!(kind(&without), "NoKey");
    assert!(without.to_string().contains("set OPENAI_API_KEY"), "{without}");
}

#[test]
fn overflows_keep_their_numbers() {
    let body = r#"{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.","code":"context_length_exceeded"}}"#;
    let SummariserError::Overflow { overflow, .. } = refuse(400, body, None).error else { panic!() };
    assert_eq!((overflow.tokens, overflow.limit), (Some(Tokens(9_000)), Some(Tokens(8_192))));
}

#[test]
fn what_a_server_says_is_one_bounded_line() {
    for (body, expected) in [
        (r#"{"error":{"message":"a\n\tb"}}"#.to_owned(), "a b".to_owned()),
        (r#"{"error":"plain"}"#.to_owned(), "plain".to_owned()),
        (r#"{"detail":"not allowed"}"#.to_owned(), "not allowed".to_owned()),
        (r#"{"other":1}"#.to_owned(), r#"{"other":1}"#.to_owned()),
        ("<!DOCTYPE html><title>Sorry</title>".to_owned(), "a web page, “Sorry”".to_owned()),
        ("<html>".to_owned(), "a web page".to_owned()),
        ("no \u{1b}[31mcolours".to_owned(), "no [31mcolours".to_owned()),
        ("turned \u{202e}round\u{2066}".to_owned(), "turned round".to_owned()),
        ("x".repeat(1_000), format!("{}…", "x".repeat(300))),
    ] {
        let SummariserError::Refused { said, .. } = refuse(418, &body, None).error else { panic!("{body}") };
        assert_eq!(said, expected);
    }
}

/// A key of a few characters is no secret, and would be taken out of the midst of words.
#[test]
fn a_short_key_mangles_nothing() {
    let said = |key: &str| refuse(418, "the key is local-key", Some(&Secret::new(key))).error.to_string();
    assert!(said("k").contains("the key is local-key") && said("key").contains("the key is local-key"));
    assert!(said("local-key").contains("the key is [key]"));
}

#[test]
fn a_failure_in_mid_stream_is_only_tried_again_where_no_text_had_come() {
    let source = Key::of_environment("V", None);
    let judge = Judge { endpoint: "http://h", model: "m", secrets: &[], source: &source };
    let stream = |body: &str| {
        let answer = plimsoll::wire::read_response(plimsoll::wire::Format::Anthropic, body.as_bytes()).unwrap();
        let plimsoll::wire::StreamEnd::Failed(failure) = answer.end else { panic!() };
        failure
    };
    let overloaded = stream(r#"{"error":{"type":"overloaded_error","message":"Overloaded"}}"#);
    assert!(judge.failed(&overloaded, true).passing && !judge.failed(&overloaded, false).passing);
    let quota = stream(r#"{"error":{"type":"insufficient_quota","message":"no"}}"#);
    assert!(!judge.failed(&quota, true).passing);
    assert_eq!(
        judge.failed(&quota, true).error.to_string(),
        "http://h says that what the key may spend is used up (status 200): insufficient_quota: no; check the account, or give another --summarizer"
    );
    let long =
        stream(r#"{"error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 8 maximum"}}"#);
    assert_eq!(kind(&judge.failed(&long, true).error), "Overflow");
}
