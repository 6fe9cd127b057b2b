use super::super::tests::render;
use super::super::{ParseOptions, Rewrite, parse, splice};
use crate::units::Tokens;

#[test]
fn messages_of_every_kind() {
    insta::assert_snapshot!(render(r#"{"model": "gpt-4o", "max_completion_tokens": 9,
        "tools": [{"type": "function", "function": {"name": "ls"}}],
        "messages": [
            {"role": "developer", "content": "Be brief."},
            {"role": "user", "content": [
                {"type": "text", "text": "See"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}},
                {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
                {"type": "input_audio", "input_audio": {"data": "UklG", "format": "wav"}},
                {"type": "file", "file": {"file_data": "data:application/pdf;base64,JVBE", "filename": "a.pdf"}}
            ]},
            {"role": "assistant", "content": null, "reasoning_content": "Hm", "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{\"a\":1}"}},
                {"id": "c2", "type": "function", "function": {"name": "ls", "arguments": {"a": 1}}},
                {"id": "c3", "type": "custom", "custom": {"name": "sh", "input": "ls"}}
            ]},
            {"role": "tool", "tool_call_id": "c1", "content": "a.rs"},
            {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": "b.rs"}]},
            {"role": "tool", "tool_call_id": "c3", "content": ""},
            {"role": "assistant", "content": "", "refusal": "No.",
                "reasoning": "Why", "reasoning_details": [{"type": "reasoning.encrypted", "data": "x"}]},
            {"role": "assistant", "content": null, "function_call": {"name": "old", "arguments": "{}"}},
            {"role": "function", "name": "old", "content": "done"},
            {"role": "exit", "content": "Submitted"}
        ]}"#), @r#"
    openai-chat model=gpt-4o max=9 tool=ls
    system (Operator): "Be brief."
    user (User): "See" Image(image/png QUJD) Image(- -) Audio(- UklG) Document(application/pdf JVBE)
    assistant (Model): think(Hm) call[Client c1](ls {"a":1}) call[Client c2](ls {"a": 1}) call[Client c3](sh ls)
    tool (Tool): result[Client c1]("a.rs")
    tool (Tool): result[Client c2]("b.rs")
    tool (Tool): result[Client c3]("")
    assistant (Model): think(Why sealed) "" "No."
    assistant (Model): call[Client -](old {})
    tool (Tool): result[Client -]("done")
    other (Machinery): "Submitted"
    odd: message of unknown role {"role": "exit", "content": "Submitted"}
    "#);
}

#[test]
fn logs_of_other_programs() {
    // SWE-agent: the list is called `history`, and one message may answer several calls.
    insta::assert_snapshot!(render(r#"{"trajectory": [{"action": "ls", "observation": "a"}], "history": [
            {"role": "assistant", "content": "I look.", "thought": "I look.", "tool_calls": [
                {"id": "a", "function": {"name": "ls", "arguments": "{}"}}, {"id": "b", "function": {"name": "ls", "arguments": "{}"}}]},
            {"role": "tool", "content": "x", "tool_call_ids": ["a", "b"]}
        ]}"#), @r#"
    openai-chat
    assistant (Model): "I look." call[Client a](ls {}) call[Client b](ls {})
    tool (Tool): result[Client a]("x") result[Client b]()
    "#);
    // LangChain: constructors, calls in the content and beside it.
    insta::assert_snapshot!(render(r#"[
            {"lc": 1, "type": "constructor", "id": ["HumanMessage"], "kwargs": {"content": "Hi", "type": "human"}},
            {"lc": 1, "type": "constructor", "id": ["AIMessage"], "kwargs": {"type": "ai",
                "content": [{"type": "tool_use", "id": "t", "name": "ls", "input": {}}],
                "tool_calls": [{"id": "t", "name": "ls", "args": {}}, {"id": "u", "name": "ls", "args": {"p": 1}}]}},
            {"lc": 1, "type": "constructor", "id": ["ToolMessage"], "kwargs": {"type": "tool", "content": "x",
                "tool_call_id": "t", "status": "success"}}
        ]"#), @r#"
    openai-chat
    user (User): "Hi"
    assistant (Model): call[Client t](ls {}) call[Client u](ls {"p": 1})
    tool (Tool): result[Client t ok]("x")
    "#);
    // A recorded exchange around the body, and a log with one sample.
    insta::assert_snapshot!(render(r#"{"method": "POST", "model": "outer", "body": {"messages": [{"role": "user", "content": "Hi"}]}}"#), @r#"
    openai-chat model=outer
    user (User): "Hi"
    "#);
    insta::assert_snapshot!(render(r#"{"samples": [{"messages": [{"role": "tool", "tool_call_id": "c", "function": "f", "content": "x",
        "error": {"type": "timeout"}}]}]}"#), @r#"
    openai-chat
    tool (Tool): result[Client c error]("x")
    "#);
}

#[test]
fn what_is_not_as_it_should_be_is_carried() {
    insta::assert_snapshot!(render(r#"{"response_format": {}, "messages": [7, {"role": "assistant", "content": 5, "tool_calls": [
        "stray", {"function": {"name": "nameless"}}]}, {"role": "tool"}, {"role": "user", "content": [{"type": "hologram"}]}]}"#), @r#"
    openai-chat
    other (Machinery): opaque()
    assistant (Model): opaque(5) opaque() call[Client -](nameless )
    tool (Tool): result[Client -]()
    user (Machinery): opaque(hologram)
    odd: content of unexpected shape 7
    odd: content of unexpected shape 5
    odd: content of unexpected shape "stray"
    odd: tool call without id {"function": {"name": "nameless"}}
    odd: block of unknown type {"type": "hologram"}
    "#);
}

#[test]
fn what_holds_no_messages_is_refused() {
    let bodies = [
        r#"{"history": [{"action": "run", "args": {}}]}"#,
        r#"[{"name": "bash", "input_schema": {}}]"#,
        r#"{"samples": [{"messages": [{"role": "user"}]}, {"messages": [{"role": "user"}]}]}"#,
        r#""text""#,
    ];
    let errors: Vec<_> = bodies.into_iter().map(render).collect();
    insta::assert_snapshot!(errors.join("\n"), @r#"
    error: no transcript found: a JSON object whose messages have no roles; known formats are anthropic, openai-chat, openai-responses, gemini, claude-code and codex
    error: no transcript found: a JSON array whose elements are no messages; known formats are anthropic, openai-chat, openai-responses, gemini, claude-code and codex
    error: no transcript found: a JSON object without `messages`, `input` or `contents`; known formats are anthropic, openai-chat, openai-responses, gemini, claude-code and codex
    error: no transcript found: a JSON value that is neither an object nor an array; known formats are anthropic, openai-chat, openai-responses, gemini, claude-code and codex
    "#);
}

const SESSION: &str = concat!(
    r#"{"type":"session","id":"s-1","modelId":"m"}"#,
    "\n",
    r#"{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"Fix it","timestamp":1}}"#,
    "\n",
    r#"{"type":"message","id":"b","parentId":"a","message":{"role":"assistant","model":"n","content":[{"type":"thinking","thinking":"Hm","thinkingSignature":"s"},{"type":"toolCall","id":"t","name":"read","arguments":{"p":1}}],"usage":{"input":1,"cacheRead":8,"cacheWrite":1,"output":5}}}"#,
    "\n",
    r#"{"type":"message","id":"c","parentId":"b","message":{"role":"toolResult","toolCallId":"t","content":[{"type":"text","text":"x"}],"isError":false}}"#,
    "\n",
    r#"{"type":"thinking_level_change","id":"d","parentId":"c"}"#,
    "\n",
    r#"{"type":"message","id":"e","parentId":"d","message":{"role":"bashExecution","command":"ls","output":"a.rs"}}"#,
    "\n",
    r#"{"type":"message","id":"f","parentId":"e","message":{"role":"user","content":[{"type":"text","text":"Go on"}]}}"#,
);

#[test]
fn a_session_of_records() {
    insta::assert_snapshot!(render(SESSION), @r#"
    openai-chat model=n session=s-1
    user (User): "Fix it"
    assistant (Model): think(Hm sealed) call[Client t](read {"p":1}) usage=10+5
    tool (Tool): result[Client t ok]("x")
    user (Machinery): "ls" "a.rs"
    user (User): "Go on"
    odd: no final newline
    "#);
}

#[test]
fn a_record_that_is_written_takes_its_place_in_the_chain() {
    let document = parse(SESSION.as_bytes(), &ParseOptions::default()).unwrap();
    let rewrite = Rewrite {
        removed: 0..4,
        retained: &[],
        omitted: &[],
        continuation: "So far.",
        acknowledgement: "",
        tokens_before: Tokens(0),
        tokens_after: Tokens(0),
    };
    let spliced = splice(SESSION.as_bytes(), &document.rewrite(&rewrite).unwrap()).unwrap();
    insta::assert_snapshot!(String::from_utf8_lossy(&spliced), @r#"
    {"type":"session","id":"s-1","modelId":"m"}
    {"type":"message","id":"e","parentId":null,"message":{"role":"user","content":[{"type":"text","text":"So far."}]}}
    {"type":"thinking_level_change","id":"d","parentId":"c"}
    {"type":"message","id":"f","parentId":"e","message":{"role":"user","content":[{"type":"text","text":"Go on"}]}}
    "#);
}

#[test]
fn lines_of_bare_messages_keep_what_is_torn_between_them() {
    let log = "{\"role\":\"user\",\"content\":\"a\"}\n{\"role\":\"assis\n// note\r\n{\"role\":\"assistant\",\"content\":\"b\"}{\"role\":\"user\",\"content\":\"c\"}\n\n[1]\n{\"role\":\"user\",\"content\":\"d\"}\n";
    insta::assert_snapshot!(render(log), @r#"
    openai-chat
    user (User): "a"
    assistant (Model): "b"
    user (User): "c"
    user (User): "d"
    odd: line that is not complete JSON {"role":"assis
    odd: comment line // note
    odd: objects glued on one line {"role":"user","content":"c"}
    odd: line that is no object [1]
    "#);
    let document = parse(log.as_bytes(), &ParseOptions::default()).unwrap();
    let rewrite = Rewrite {
        removed: 0..3,
        retained: &[1],
        omitted: &[],
        continuation: "So far.",
        acknowledgement: "",
        tokens_before: Tokens(0),
        tokens_after: Tokens(0),
    };
    let spliced = splice(log.as_bytes(), &document.rewrite(&rewrite).unwrap()).unwrap();
    insta::assert_snapshot!(String::from_utf8_lossy(&spliced), @r#"
    {"role":"user","content":"So far."}
    {"role":"assis
    // note
    {"role":"assistant","content":"b"}

    [1]
    {"role":"user","content":"d"}
    "#);
}
