use super::super::tests::render;

#[test]
fn blocks_of_every_kind() {
    insta::assert_snapshot!(render(r#"{
        "model": "claude-sonnet-4-5", "max_tokens": 64, "system": [{"type": "text", "text": "Be brief."}],
        "tools": [{"name": "bash", "input_schema": {}}, {"type": "web_search_20250305", "name": "web_search"}],
        "messages": [
            {"role": "user", "content": "Hi"},
            {"role": "system", "content": "Note the date."},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "Hm", "signature": "sig"},
                {"type": "thinking", "thinking": "plain", "signature": ""},
                {"type": "redacted_thinking", "data": "xx"},
                {"type": "text", "text": "Let me see."},
                {"type": "tool_use", "id": "t1", "name": "bash", "input": {"command": "ls"}}
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "t1", "is_error": true, "content": [
                    {"type": "text", "text": "a.rs"},
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"}}
                ]},
                {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "A text."}},
                {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBE"}},
                {"type": "document", "source": {"type": "content", "content": "Inline."}},
                {"type": "container_upload", "file_id": "f1"},
                {"type": "file", "path": "a.rs", "content": "fn a() {}"}
            ]}
        ]}"#), @r#"
    anthropic model=claude-sonnet-4-5 max=64 tool=bash tool=web_search
    system: "Be brief."
    user (User): "Hi"
    system (Operator): "Note the date."
    assistant (Model): think(Hm sealed) think(plain) think(- sealed) "Let me see." call[Client t1](bash {"command": "ls"})
    user (User): result[Client t1 error]("a.rs" Image(image/png QUJD)) "A text." Document(application/pdf JVBE) "Inline." File(- -) "fn a() {}"
    "#);
}

#[test]
fn a_providers_own_tools_and_compaction() {
    insta::assert_snapshot!(render(r#"{"anthropic_version": "x", "messages": [
            {"role": "assistant", "content": [
                {"type": "compaction", "content": "Earlier: all went well."},
                {"type": "compaction", "content": null},
                {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "q"}},
                {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [
                    {"type": "web_search_result", "url": "u", "encrypted_content": "e"}]},
                {"type": "server_tool_use", "id": "s2", "name": "web_fetch", "input": {}},
                {"type": "web_fetch_tool_result", "tool_use_id": "s2",
                    "content": {"type": "web_fetch_tool_result_error", "error_code": "unavailable"}},
                {"type": "mcp_tool_use", "id": "m1", "name": "ask", "server_name": "s", "input": {}},
                {"type": "mcp_tool_result", "tool_use_id": "m1", "is_error": false, "content": "pong"},
                {"type": "server_tool_use", "id": "s3", "name": "web_search", "input": {}}
            ]}
        ]}"#), @r#"
    anthropic
    assistant (Model): compaction(Earlier: all went well.) compaction(-) call[Server s1](web_search {"query": "q"}) result[Server s1](opaque(web_search_result)) call[Server s2](web_fetch {}) result[Server s2 error](opaque(web_fetch_tool_result_error)) call[Server m1](ask {}) result[Server m1 ok]("pong") call[Server s3](web_search {})
    "#);
}

#[test]
fn what_is_not_as_it_should_be_is_carried() {
    insta::assert_snapshot!(render(r#"{"system": null, "messages": [
            "stray", null, {"role": "user"}, {"role": "user", "content": null}, {"role": "user", "content": 7},
            {"role": "owner", "content": "Whose?"}, {"content": []},
            {"role": "user", "content": ["bare", 5, {"text": "untyped"}, {"type": "hologram", "data": "x"}, {"type": "text"}]},
            {"role": "assistant", "content": [{"type": "tool_use", "name": "bash"}]},
            {"role": "user", "content": [{"type": "tool_result"}, {"type": "tool_result", "tool_use_id": "t", "content": ""}]}
        ]}"#), @r#"
    anthropic
    other (Machinery): opaque()
    other (Machinery): opaque()
    user (Machinery):
    user (Machinery):
    user (Machinery): opaque(7)
    other (Machinery): "Whose?"
    other (Machinery):
    user (User): "bare" opaque() "untyped" opaque(hologram) opaque(text)
    assistant (Model): call[Client -](bash )
    user (Tool): result[Client -]() result[Client t]("")
    odd: content of unexpected shape "stray"
    odd: content of unexpected shape null
    odd: content of unexpected shape 7
    odd: message of unknown role {"role": "owner", "content": "Whose?"}
    odd: message of unknown role {"content": []}
    odd: block of unknown type 5
    odd: block of unknown type {"type": "hologram", "data": "x"}
    odd: block of unknown type {"type": "text"}
    odd: tool call without id {"type": "tool_use", "name": "bash"}
    "#);
}
