use proptest::prelude::*;

use super::*;
use crate::units::Tokens;

const RECORDED: [(&str, Format, &[u8]); 7] = [
    ("anthropic-thinking", Format::Anthropic, include_bytes!("../../../fixtures/streams/anthropic-thinking.sse")),
    ("chat-openai-length", Format::OpenaiChat, include_bytes!("../../../fixtures/streams/chat-openai-length.sse")),
    (
        "chat-openrouter-reasoning",
        Format::OpenaiChat,
        include_bytes!("../../../fixtures/streams/chat-openrouter-reasoning.sse"),
    ),
    ("chat-glm-reasoning", Format::OpenaiChat, include_bytes!("../../../fixtures/streams/chat-glm-reasoning.sse")),
    (
        "responses-tool-calls",
        Format::OpenaiResponses,
        include_bytes!("../../../fixtures/streams/responses-tool-calls.sse"),
    ),
    ("responses-text", Format::OpenaiResponses, include_bytes!("../../../fixtures/streams/responses-text.sse")),
    ("gemini-grounded", Format::Gemini, include_bytes!("../../../fixtures/streams/gemini-grounded.sse")),
];

fn read<'c>(format: Format, chunks: impl IntoIterator<Item = &'c [u8]>) -> Streamed {
    let mut reader = StreamReader::new(format);
    for chunk in chunks {
        reader.push(chunk).unwrap();
    }
    reader.finish()
}

fn whole(format: Format, stream: &str) -> Streamed {
    read(format, [stream.as_bytes()])
}

fn used(usage: Option<Usage>) -> [u64; 4] {
    let usage = usage.unwrap_or_default();
    [usage.input, usage.cache_read, usage.cache_write, usage.output].map(|tokens| tokens.0)
}

fn shown(answer: &Streamed) -> String {
    let text: String = answer.text.chars().take(40).collect();
    format!(
        "{:?} {} … {} bytes | {:?} {:?} | {:?} | {} | calls {:?} unread {}",
        text,
        answer.model.as_deref().unwrap_or("-"),
        answer.text.len(),
        answer.stop,
        answer.end,
        used(answer.usage),
        if answer.usage.is_some() { "usage" } else { "no usage" },
        answer.tool_calls,
        answer.unread,
    )
}

#[test]
fn recorded_streams_come_to_what_was_answered() {
    let lines: Vec<String> =
        RECORDED.iter().map(|(name, format, bytes)| format!("{name}: {}", shown(&read(*format, [*bytes])))).collect();
    insta::assert_snapshot!(lines.join("\n"), @r###"
    anthropic-thinking: "## Setting Up the New Conditions\n\n**\"Hal" claude-sonnet-4-6 … 1706 bytes | End Complete | [746, 0, 0, 4196] | usage | calls [] unread 0
    chat-openai-length: "" gpt-4.1-mini-2025-04-14 … 0 bytes | Length Complete | [101, 0, 0, 32] | usage | calls ["file_report"] unread 0
    chat-openrouter-reasoning: "7" openai/gpt-5.2 … 1 bytes | End Complete | [57, 0, 0, 1030] | usage | calls [] unread 0
    chat-glm-reasoning: "Bash echo capture-test" glm-4.5 … 22 bytes | End Complete | [2026, 0, 0, 30] | usage | calls [] unread 0
    responses-tool-calls: "" gpt-5.2-2025-12-11 … 0 bytes | ToolCall Complete | [144, 0, 0, 62] | usage | calls ["get_weather", "get_weather"] unread 0
    responses-text: "1 USD = 0.92 EUR." gpt-5.4-2026-03-05 … 17 bytes | End Complete | [477, 0, 0, 13] | usage | calls [] unread 0
    gemini-grounded: "{\n  \"city\": \"Mexico City\",\n  \"country\": " gemini-3-flash-preview … 51 bytes | End Complete | [87, 0, 0, 78] | usage | calls [] unread 0
    "###);
}

#[test]
fn every_cut_into_two_gives_the_same_answer() {
    for (name, format, bytes) in RECORDED {
        let expected = read(format, [bytes]);
        // Every place of the smaller ones, and every seventeenth of the others.
        let step = if bytes.len() < 4_000 { 1 } else { 17 };
        for cut in (0..bytes.len()).step_by(step) {
            let (before, after) = bytes.split_at(cut);
            assert_eq!(read(format, [before, after]), expected, "{name} at {cut}");
        }
    }
}

#[test]
fn a_stream_cut_off_is_told_from_one_that_ended() {
    for (name, format, bytes) in RECORDED {
        let end = read(format, [bytes]).end;
        assert_eq!(end, StreamEnd::Complete, "{name}");
        let half = read(format, [&bytes[..bytes.len() / 2]]);
        assert_eq!(half.end, StreamEnd::Truncated, "{name}");
        assert_eq!(half.unread, 0, "{name}: half a frame is none");
    }
    assert_eq!(whole(Format::Anthropic, "").end, StreamEnd::Truncated);
    // The last line end may be missing.
    let last = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: [DONE]";
    assert_eq!(whole(Format::OpenaiChat, last).end, StreamEnd::Complete);
}

#[test]
fn reasons_to_stop_are_told_apart() {
    let anthropic = |reason: &str| {
        format!(
            "data: {{\"type\":\"message_delta\",\"delta\":{{\"stop_reason\":{reason:?}}},\"usage\":{{\"output_tokens\":3}}}}\n\n"
        )
    };
    let chat = |reason: &str| {
        format!("data: {{\"choices\":[{{\"delta\":{{}},\"finish_reason\":{reason:?}}}],\"usage\":null}}\n\n")
    };
    let gemini = |reason: &str| format!("data: {{\"candidates\":[{{\"finishReason\":{reason:?}}}]}}\n\n");
    let other = |reason: &str| Stop::Other(reason.to_owned());
    let cases = [
        (Format::Anthropic, anthropic("end_turn"), Stop::End),
        (Format::Anthropic, anthropic("stop_sequence"), Stop::End),
        (Format::Anthropic, anthropic("max_tokens"), Stop::Length),
        (Format::Anthropic, anthropic("model_context_window_exceeded"), Stop::Length),
        (Format::Anthropic, anthropic("tool_use"), Stop::ToolCall),
        (Format::Anthropic, anthropic("refusal"), Stop::Refusal),
        (Format::Anthropic, anthropic("pause_turn"), other("pause_turn")),
        (Format::OpenaiChat, chat("stop"), Stop::End),
        (Format::OpenaiChat, chat("length"), Stop::Length),
        (Format::OpenaiChat, chat("tool_calls"), Stop::ToolCall),
        (Format::OpenaiChat, chat("function_call"), Stop::ToolCall),
        (Format::OpenaiChat, chat("content_filter"), Stop::Refusal),
        (
            Format::OpenaiChat,
            chat("insufficient_system_resource"),
            other("insufficient_system_resource"),
        ),
        (Format::Gemini, gemini("STOP"), Stop::End),
        (Format::Gemini, gemini("MAX_TOKENS"), Stop::Length),
        (Format::Gemini, gemini("SAFETY"), Stop::Refusal),
        (Format::Gemini, gemini("MALFORMED_FUNCTION_CALL"), Stop::ToolCall),
        (Format::Gemini, "data: {\"promptFeedback\":{\"blockReason\":\"OTHER\"}}\n\n".to_owned(), Stop::Refusal),
        (
            Format::OpenaiResponses,
            "data: {\"type\":\"response.incomplete\",\"response\":{\"status\":\"incomplete\",\"incomplete_details\":{\"reason\":\"max_output_tokens\"}}}\n\n".to_owned(),
            Stop::Length,
        ),
        (
            Format::OpenaiResponses,
            "data: {\"type\":\"response.incomplete\",\"response\":{\"incomplete_details\":{\"reason\":\"content_filter\"}}}\n\n".to_owned(),
            Stop::Refusal,
        ),
        (
            Format::OpenaiResponses,
            "data: {\"type\":\"response.refusal.delta\",\"delta\":\"No.\"}\n\ndata: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\"}}\n\n".to_owned(),
            Stop::Refusal,
        ),
        (
            Format::OpenaiChat,
            "data: {\"choices\":[{\"delta\":{\"refusal\":\"No.\"},\"finish_reason\":\"stop\"}]}\n\n".to_owned(),
            Stop::Refusal,
        ),
        // A server that says `stop` although it called a tool.
        (
            Format::OpenaiChat,
            "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"f\"}}]},\"finish_reason\":\"stop\"}]}\n\n".to_owned(),
            Stop::ToolCall,
        ),
    ];
    for (format, stream, expected) in cases {
        let answer = whole(format, &stream);
        assert_eq!((answer.stop, answer.end), (expected, StreamEnd::Complete), "{stream}");
    }
}

#[test]
fn usage_follows_each_providers_convention() {
    let anthropic = "data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":10,\"cache_read_input_tokens\":900,\"cache_creation_input_tokens\":90,\"output_tokens\":1}}}\n\n\
        data: {\"type\":\"message_delta\",\"delta\":{},\"usage\":{\"output_tokens\":7}}\n\n";
    let chat = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1000,\"completion_tokens\":7,\"prompt_tokens_details\":{\"cached_tokens\":900}}}\n\n";
    let groq = "data: {\"choices\":[],\"x_groq\":{\"usage\":{\"prompt_tokens\":1000,\"completion_tokens\":7}}}\n\n";
    let responses = "data: {\"type\":\"response.completed\",\"response\":{\"usage\":{\"input_tokens\":1000,\"input_tokens_details\":{\"cached_tokens\":900},\"output_tokens\":7}}}\n\n";
    let gemini = "data: {\"usageMetadata\":{\"promptTokenCount\":990,\"toolUsePromptTokenCount\":10,\"cachedContentTokenCount\":900,\"candidatesTokenCount\":4,\"thoughtsTokenCount\":3}}\n\n";
    for (format, stream, expected) in [
        (Format::Anthropic, anthropic, [10, 900, 90, 7]),
        (Format::OpenaiChat, chat, [100, 900, 0, 7]),
        (Format::OpenaiChat, groq, [1000, 0, 0, 7]),
        (Format::OpenaiResponses, responses, [100, 900, 0, 7]),
        (Format::Gemini, gemini, [100, 900, 0, 7]),
    ] {
        let answer = whole(format, stream);
        assert_eq!(used(answer.usage), expected, "{stream}");
        assert_eq!(answer.usage.unwrap().context(), Tokens(1000));
    }
    assert_eq!(whole(Format::OpenaiChat, "data: {\"choices\":[],\"usage\":null}\n\n").usage, None);
}

#[test]
fn a_failure_inside_a_stream_is_no_end_and_no_text() {
    let begun = "data: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"Half\"}}\n\n";
    let cases = [
        (
            Format::Anthropic,
            format!("{begun}event: error\ndata: {{\"type\":\"error\",\"error\":{{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}}}\n\n"),
            "overloaded_error: Overloaded",
        ),
        (
            Format::OpenaiChat,
            "data: {\"error\":{\"code\":502,\"message\":\"provider gone\",\"type\":\"upstream\"},\"choices\":[{\"delta\":{},\"finish_reason\":\"error\"}]}\n\n".to_owned(),
            "upstream: provider gone",
        ),
        (Format::OpenaiChat, "data: {\"error\":\"out of memory\"}\n\ndata: [DONE]\n\n".to_owned(), ": out of memory"),
        (
            Format::OpenaiResponses,
            "data: {\"type\":\"response.failed\",\"response\":{\"status\":\"failed\",\"error\":{\"code\":\"server_error\",\"message\":\"Sorry\"}}}\n\n".to_owned(),
            "server_error: Sorry",
        ),
        (
            Format::OpenaiResponses,
            "data: {\"type\":\"error\",\"code\":\"rate_limit_exceeded\",\"message\":\"Slow down\",\"param\":null}\n\n".to_owned(),
            "rate_limit_exceeded: Slow down",
        ),
        (
            Format::Gemini,
            "data: {\"error\":{\"code\":503,\"message\":\"try later\",\"status\":\"UNAVAILABLE\"}}\n\n".to_owned(),
            "UNAVAILABLE: try later",
        ),
    ];
    for (format, stream, expected) in cases {
        let StreamEnd::Failed(failure) = whole(format, &stream).end else { panic!("{stream}") };
        assert_eq!(format!("{}: {}", failure.kind, failure.said), expected);
        assert_eq!(failure.overflow, None, "{stream}");
    }
    let long = "data: {\"type\":\"response.failed\",\"response\":{\"error\":{\"code\":\"context_length_exceeded\",\"message\":\"Your input exceeds the context window of this model.\"}}}\n\n";
    let StreamEnd::Failed(failure) = whole(Format::OpenaiResponses, long).end else { panic!() };
    assert!(failure.overflow.is_some());
}

#[test]
fn only_the_clients_own_calls_count() {
    let server = "data: {\"type\":\"content_block_start\",\"content_block\":{\"type\":\"server_tool_use\",\"name\":\"web_search\"}}\n\n\
        data: {\"type\":\"content_block_start\",\"content_block\":{\"type\":\"tool_use\",\"name\":\"Bash\"}}\n\n";
    assert_eq!(whole(Format::Anthropic, server).tool_calls, ["Bash"]);
    let items = "data: {\"type\":\"response.output_item.added\",\"item\":{\"type\":\"web_search_call\"}}\n\n\
        data: {\"type\":\"response.output_item.added\",\"item\":{\"type\":\"local_shell_call\"}}\n\n";
    assert_eq!(whole(Format::OpenaiResponses, items).tool_calls, ["local_shell_call"]);
    let gemini = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"name\":\"f\"}}]}}]}\n\n";
    assert_eq!(whole(Format::Gemini, gemini).tool_calls, ["f"]);
}

#[test]
fn other_choices_reasoning_and_what_is_no_json_are_passed_over() {
    let stream = "data: <html>\n\ndata: 5\n\ndata: {\"choices\":[{\"index\":1,\"delta\":{\"content\":\"no\"}},{\"index\":0,\"delta\":{\"content\":\"y\",\"reasoning_content\":\"hm\"}}]}\n\n\
        data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":[{\"type\":\"thinking\",\"thinking\":[]},{\"type\":\"text\",\"text\":\"es\"}]}}]} trailing\n\n\
        data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":[{\"type\":\"thinking\",\"thinking\":[]},{\"type\":\"text\",\"text\":\"es\"}]}}]}\n\n";
    let answer = whole(Format::OpenaiChat, stream);
    assert_eq!((answer.text.as_str(), answer.unread), ("yes", 3));
    let thought = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"thought\":true,\"text\":\"no\"},{\"text\":\"yes\"}]}}]}\n\n";
    assert_eq!(whole(Format::Gemini, thought).text, "yes");
}

#[test]
fn a_text_that_comes_only_with_the_end_is_taken_from_there() {
    let end = "data: {\"type\":\"response.completed\",\"response\":{\"model\":\"m\",\"output\":[{\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"all\"}]}]}}\n\n";
    assert_eq!(whole(Format::OpenaiResponses, end).text, "all");
    let parts = format!(
        "data: {{\"type\":\"response.output_text.delta\",\"delta\":\"al\"}}\n\ndata: {{\"type\":\"response.output_text.delta\",\"delta\":\"l\"}}\n\n{end}"
    );
    assert_eq!(whole(Format::OpenaiResponses, &parts).text, "all");
}

#[test]
fn answers_that_come_whole_are_read_alike() {
    let cases: [(Format, &str); 4] = [
        (
            Format::Anthropic,
            r#"{"model":"m","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"yes"}],"stop_reason":"end_turn","usage":{"input_tokens":10,"output_tokens":7}}"#,
        ),
        (
            Format::OpenaiChat,
            r#"{"model":"m","choices":[{"index":0,"message":{"content":"yes"},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":7}}"#,
        ),
        (
            Format::OpenaiResponses,
            r#"{"model":"m","status":"completed","error":null,"output":[{"type":"message","content":[{"type":"output_text","text":"yes"}]}],"usage":{"input_tokens":10,"output_tokens":7}}"#,
        ),
        (
            Format::Gemini,
            r#"{"modelVersion":"m","candidates":[{"content":{"parts":[{"text":"yes"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":7}}"#,
        ),
    ];
    let expected = Streamed {
        text: "yes".to_owned(),
        stop: Stop::End,
        usage: Some(Usage { input: Tokens(10), output: Tokens(7), ..Usage::default() }),
        model: Some("m".to_owned()),
        end: StreamEnd::Complete,
        ..Streamed::default()
    };
    for (format, body) in cases {
        assert_eq!(read_response(format, body.as_bytes()).unwrap(), expected, "{format}");
    }
    let failed = br#"{"id":"r","status":"failed","error":{"code":"server_error","message":"Sorry"},"output":[]}"#;
    assert!(matches!(read_response(Format::OpenaiResponses, failed).unwrap().end, StreamEnd::Failed(_)));
    assert_eq!(read_response(Format::OpenaiChat, b"[]").unwrap().end, StreamEnd::Truncated);
    assert!(read_response(Format::OpenaiChat, b"<html>").is_err());
}

#[test]
fn text_is_bounded_and_can_be_left_out() {
    let delta = "data: {\"choices\":[{\"delta\":{\"content\":\"0123456789\"}}]}\n\n";
    let mut reader = StreamReader::with_limits(Format::OpenaiChat, Bytes(1000), Bytes(25));
    reader.push(delta.as_bytes()).unwrap();
    reader.push(delta.as_bytes()).unwrap();
    assert_eq!(reader.so_far().text.len(), 20);
    assert_eq!(reader.push(delta.as_bytes()), Err(StreamError::TextTooLarge { limit: Bytes(25) }));
    let mut reader = StreamReader::with_limits(Format::OpenaiChat, Bytes(1000), Bytes(25)).without_text();
    for _ in 0..10 {
        reader.push(delta.as_bytes()).unwrap();
    }
    assert_eq!(reader.finish().text, "");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn any_cuts_give_the_same_answer(
        which in 0..RECORDED.len(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..200),
    ) {
        let (_, format, bytes) = RECORDED[which];
        let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        at.extend([0, bytes.len()]);
        at.sort_unstable();
        let chunks = at.windows(2).map(|pair| &bytes[pair[0]..pair[1]]);
        prop_assert_eq!(read(format, chunks), read(format, [bytes]));
    }

    #[test]
    fn damaged_streams_are_read(
        which in 0..RECORDED.len(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        format in 0_usize..6,
    ) {
        let mut bytes = RECORDED[which].2.to_vec();
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let format = Format::ALL[format];
        prop_assert_eq!(read(format, bytes.chunks(97)), read(format, [&bytes[..]]));
        let _ = read_response(format, &bytes);
    }
}

/// The same on a folder of recorded streams, where `PLIMSOLL_DATA` names one.
#[test]
#[allow(clippy::disallowed_methods, reason = "the library reads no files, this test does")]
fn real_streams_read_alike_however_they_are_cut() {
    let Some(folder) = std::env::var_os("PLIMSOLL_DATA") else { return };
    let mut count = 0;
    for entry in std::fs::read_dir(std::path::Path::new(&folder).join("sse")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let Some(stem) = name.strip_suffix(".sse") else { continue };
        let format = match stem.split('-').next() {
            Some("anthropic") => Format::Anthropic,
            Some("chat") => Format::OpenaiChat,
            Some("responses") => Format::OpenaiResponses,
            _ => Format::Gemini,
        };
        let bytes = std::fs::read(&path).unwrap();
        let expected = read(format, [&bytes[..]]);
        println!("{name}: {}", shown(&expected));
        assert_eq!((expected.unread, &expected.end), (0, &StreamEnd::Complete), "{name}");
        assert!(expected.usage.is_some() && expected.model.is_some(), "{name}");
        for size in [1, 2, 3, 7, 64, 1000, 4096, 65_537] {
            assert_eq!(read(format, bytes.chunks(size)), expected, "{name} by {size}");
        }
        count += 1;
    }
    assert!(count > 5);
}
