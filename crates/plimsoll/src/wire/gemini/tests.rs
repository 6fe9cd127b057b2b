use super::super::tests::render;

#[test]
fn parts_of_every_kind() {
    insta::assert_snapshot!(render(r#"{"model": "gemini-2.5-pro", "request": {
        "system_instruction": {"parts": [{"text": "Be brief."}]}, "generationConfig": {"maxOutputTokens": 5},
        "tools": [{"functionDeclarations": [{"name": "ls"}, {"name": "cat"}], "codeExecution": null}, {"googleSearch": {}}],
        "contents": [
            {"role": "user", "parts": [{"text": "See"}, {"inlineData": {"mimeType": "image/png", "data": "QUJD"}},
                {"file_data": {"mime_type": "application/pdf", "file_uri": "gs://b/a.pdf"}}]},
            {"role": "model", "parts": [
                {"text": "Hm", "thought": true, "thoughtSignature": "s"},
                {"text": "Let me see.", "thought": false},
                {"functionCall": {"name": "ls", "args": {"p": 1}}, "thoughtSignature": "s"},
                {"functionCall": {"id": "x", "name": "cat", "args": {}}}]},
            {"role": "user", "parts": [
                {"functionResponse": {"name": "ls", "response": {"output": "a.rs", "count": 1}}},
                {"functionResponse": {"id": "x", "name": "cat", "response": {"error": "no"},
                    "parts": [{"inlineData": {"mimeType": "audio/wav", "data": "UklG"}}]}}]},
            {"role": "model", "parts": [
                {"executableCode": {"language": "PYTHON", "code": "print(1)"}},
                {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
                {"toolCall": {"id": "g", "toolType": "GOOGLE_SEARCH_WEB", "args": {"q": 1}}},
                {"toolResponse": {"id": "g", "toolType": "GOOGLE_SEARCH_WEB", "response": {"hits": []}}}]},
            {"parts": [{"text": "Go on"}]},
            {"role": "robot", "parts": [{"hologram": {}, "thought": true}, 7, "bare"]},
            {"role": "model"}, null
        ]}}"#), @r#"
    gemini model=gemini-2.5-pro max=5 tool=ls tool=cat tool=googleSearch
    system: "Be brief."
    user (User): "See" Image(image/png QUJD) Document(application/pdf -)
    assistant (Model): think(Hm sealed) "Let me see." call[Client -](ls {"p": 1}) call[Client x](cat {})
    user (Tool): result[Client -]("a.rs" opaque(count)) result[Client x error]("no" Audio(audio/wav UklG))
    assistant (Model): call[Server -](code_execution print(1)) result[Server - ok]("1") call[Server g](GOOGLE_SEARCH_WEB {"q": 1}) result[Server g](opaque(hits))
    user (User): "Go on"
    other (Machinery): opaque(hologram) opaque() "bare"
    assistant (Model):
    other (Machinery): opaque()
    odd: message of unknown role {"role": "robot", "parts": [{"hologram":
    odd: block of unknown type {"hologram": {}, "thought": true}
    odd: block of unknown type 7
    odd: content of unexpected shape null
    "#);
}

#[test]
fn sessions_of_programs() {
    insta::assert_snapshot!(render(r#"{"sessionId": "s", "messages": [
            {"id": "1", "type": "user", "content": "Read it"},
            {"id": "2", "type": "gemini", "content": "", "model": "gemini-3-pro", "toolCalls": [
                {"id": "c", "name": "read_file", "args": {"p": "a"}, "status": "success",
                    "result": [{"functionResponse": {"id": "c", "name": "read_file", "response": {"output": "text"}}}]},
                {"id": "d", "name": "rm", "args": {}, "status": "cancelled"}]},
            {"id": "3", "type": "info", "content": "Request cancelled."}
        ]}"#), @r#"
    gemini model=gemini-3-pro session=s
    user (User): "Read it"
    assistant (Model): "" call[Server c](read_file {"p": "a"}) result[Server c ok]("text") call[Server d](rm {})
    other (Machinery): "Request cancelled."
    "#);
    insta::assert_snapshot!(render(r#"{"id": "s", "events": [
            {"author": "user", "content": {"role": "user", "parts": [{"text": "Hi"}]}},
            {"author": "agent", "content": {"role": "model", "parts": [{"function_call": {"name": "ls", "args": {}}}]}},
            {"author": "agent", "content": {"role": "user", "parts": [{"function_response": {"name": "ls", "response": {"result": "a"}}}]}}
        ]}"#), @r#"
    gemini
    user (User): "Hi"
    assistant (Model): call[Client -](ls {})
    user (Tool): result[Client -]("a")
    "#);
    insta::assert_snapshot!(render(r#"[{"role": "user", "parts": [{"text": "Hi"}]}]"#), @r#"
    gemini
    user (User): "Hi"
    "#);
}
