use super::super::tests::render;
use super::super::{ParseOptions, Rewrite, RewriteError, parse};
use crate::units::Tokens;

#[test]
fn messages_and_reasoning() {
    insta::assert_snapshot!(render(r#"{"model": "gpt-5", "max_output_tokens": 7, "previous_response_id": "resp_1", "instructions": "Be brief.",
        "tools": [{"type": "function", "name": "ls"}, {"type": "namespace", "name": "agents", "tools": []}, {"type": "web_search"}],
        "input": [
            {"role": "user", "content": "Hi"},
            {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Mind the gap."}]},
            {"type": "message", "role": "user", "content": [
                {"type": "input_image", "image_url": "data:image/png;base64,QUJD"},
                {"type": "input_image", "file_id": "f"},
                {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBE"}]},
            {"type": "reasoning", "id": "r1", "encrypted_content": "xx", "summary": []},
            {"type": "reasoning", "id": "r2", "encrypted_content": null,
                "summary": [{"type": "summary_text", "text": "One"}, {"type": "summary_text", "text": "Two"}]},
            {"type": "message", "role": "assistant", "id": "m1", "content": [
                {"type": "output_text", "text": "Hello", "annotations": []}, {"type": "refusal", "refusal": "No."}]},
            {"type": "compaction", "id": "c1", "encrypted_content": "yy"},
            {"type": "compaction_trigger"},
            {"type": "additional_tools", "tools": []},
            {"type": "item_reference", "id": "m0"}
        ]}"#), @r#"
    openai-responses model=gpt-5 previous=resp_1 max=7 tool=ls tool=agents tool=
    system: "Be brief."
    user (User): "Hi"
    system (Operator): "Mind the gap."
    user (User): Image(image/png QUJD) Image(- -) Document(application/pdf JVBE)
    assistant (Model): think(- sealed)
    assistant (Model): think(One) think(Two)
    assistant (Model): "Hello" "No."
    assistant (Summary): compaction(-)
    user (Machinery): opaque(compaction_trigger)
    system (Operator): opaque(additional_tools)
    assistant (Model): opaque(item_reference)
    "#);
}

#[test]
fn calls_that_the_client_runs() {
    insta::assert_snapshot!(render(r#"{"input": [
            {"type": "function_call", "call_id": "a", "id": "fc", "name": "ls", "arguments": "{\"p\":1}"},
            {"type": "function_call_output", "call_id": "a", "output": "x"},
            {"type": "function_call_output", "call_id": "a", "output": [{"type": "input_text", "text": "y"}, {"type": "input_image", "image_url": "data:image/png;base64,QUJD"}]},
            {"type": "function_call_output", "call_id": "a", "output": {"content": "z", "success": true}},
            {"type": "function_call_output", "call_id": "a", "output": null},
            {"type": "function_call", "name": "idless", "arguments": "{"},
            {"type": "custom_tool_call", "call_id": "b", "name": "patch", "input": "*** Begin"},
            {"type": "custom_tool_call_output", "call_id": "b", "output": "Done"},
            {"type": "local_shell_call", "id": "l", "call_id": "c", "action": {"type": "exec", "command": ["ls"]}},
            {"type": "local_shell_call_output", "id": "c", "output": "{}"},
            {"type": "shell_call", "call_id": "d", "action": {"commands": ["ls"]}},
            {"type": "shell_call_output", "call_id": "d", "output": [{"stdout": "out", "stderr": "err", "outcome": {"type": "exit", "exit_code": 0}}]},
            {"type": "apply_patch_call", "call_id": "e", "operation": {"type": "delete_file", "path": "a"}},
            {"type": "apply_patch_call_output", "call_id": "e", "status": "failed", "output": "no such file"},
            {"type": "computer_call", "call_id": "f", "action": {"type": "screenshot"}},
            {"type": "computer_call_output", "call_id": "f", "output": {"type": "computer_screenshot", "image_url": "data:image/png;base64,QUJD"}},
            {"type": "tool_search_call", "call_id": "g", "execution": "client", "arguments": {"q": "x"}},
            {"type": "tool_search_output", "call_id": "g", "execution": "client", "tools": [{"name": "found"}]}
        ]}"#), @r#"
    openai-responses
    assistant (Model): call[Client a](ls {"p":1})
    tool (Tool): result[Client a]("x")
    tool (Tool): result[Client a]("y" Image(image/png QUJD))
    tool (Tool): result[Client a]("z")
    tool (Tool): result[Client a]()
    assistant (Model): call[Client -](idless {)
    assistant (Model): call[Client b](patch *** Begin)
    tool (Tool): result[Client b]("Done")
    assistant (Model): call[Client c](local_shell {"type": "exec", "command": ["ls"]})
    tool (Tool): result[Client c]("{}")
    assistant (Model): call[Client d](shell {"commands": ["ls"]})
    tool (Tool): result[Client d]("out" "err")
    assistant (Model): call[Client e](apply_patch {"type": "delete_file", "path": "a"})
    tool (Tool): result[Client e error]("no such file")
    assistant (Model): call[Client f](computer {"type": "screenshot"})
    tool (Tool): result[Client f](Image(image/png QUJD))
    assistant (Model): call[Client g](tool_search {"q": "x"})
    tool (Tool): result[Client g](opaque(tools))
    odd: tool call without id {"type": "function_call", "name": "idles
    "#);
}

#[test]
fn calls_that_the_provider_runs_and_approvals() {
    insta::assert_snapshot!(render(r#"{"input": [
            {"type": "web_search_call", "id": "w", "status": "completed", "action": {"type": "search", "query": "q"}},
            {"type": "file_search_call", "id": "f", "queries": ["q"], "results": [{"text": "found"}]},
            {"type": "code_interpreter_call", "id": "c", "code": "print(1)", "outputs": [{"type": "logs", "logs": "1"}]},
            {"type": "image_generation_call", "id": "i", "result": "QUJD"},
            {"type": "mcp_list_tools", "id": "l", "server_label": "s", "tools": []},
            {"type": "mcp_approval_request", "id": "q", "name": "rm", "arguments": "{}", "server_label": "s"},
            {"type": "mcp_approval_response", "approval_request_id": "q", "approve": false, "reason": "Too risky."},
            {"type": "mcp_call", "id": "m", "name": "ask", "arguments": "{}", "output": "pong"},
            {"type": "mcp_call", "id": "n", "name": "ask", "arguments": "{}", "output": null, "error": "refused"},
            {"type": "tool_search_call", "execution": "server", "arguments": {}},
            {"type": "hologram", "id": "h"},
            {"type": "message", "role": "owner", "content": [{"type": "hologram"}, 7]},
            null
        ]}"#), @r#"
    openai-responses
    assistant (Model): call[Server w](web_search {"type": "search", "query": "q"}) result[Server w]()
    assistant (Model): call[Server f](file_search ["q"]) result[Server f]("found")
    assistant (Model): call[Server c](code_interpreter print(1)) result[Server c]("1")
    assistant (Model): call[Server i](image_generation ) result[Server i](Image(- QUJD))
    assistant (Model): opaque(mcp_list_tools)
    assistant (Model): call[Approval q](rm {})
    user (Tool): result[Approval q]("Too risky.")
    assistant (Model): call[Server m](ask {}) result[Server m]("pong")
    assistant (Model): call[Server n](ask {}) result[Server n error]("refused")
    assistant (Model): call[Server -](tool_search {})
    other (Machinery): opaque(hologram)
    other (Machinery): opaque(hologram) opaque()
    other (Machinery): opaque()
    odd: entry of unknown type {"type": "hologram", "id": "h"}
    odd: message of unknown role {"type": "message", "role": "owner", "co
    odd: block of unknown type {"type": "hologram"}
    odd: content of unexpected shape 7
    odd: entry of unknown type null
    "#);
}

#[test]
fn a_single_string_is_read_but_has_nothing_to_compact() {
    let body = r#"{"model": "gpt-5", "input": "Hi", "conversation": {"id": "conv_1"}}"#;
    insta::assert_snapshot!(render(body), @r#"
    openai-responses model=gpt-5 previous=conv_1
    user (User): "Hi"
    "#);
    let document = parse(body.as_bytes(), &ParseOptions::default()).unwrap();
    let rewrite = Rewrite {
        removed: 0..1,
        retained: &[],
        omitted: &[],
        continuation: "",
        acknowledgement: "",
        tokens_before: Tokens(0),
        tokens_after: Tokens(0),
    };
    assert!(matches!(document.rewrite(&rewrite), Err(RewriteError::Unsupported { .. })));
}
