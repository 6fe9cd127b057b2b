use serde_json::json;

use super::*;

fn setup(store: &Store) -> HookSetup<'_> {
    HookSetup {
        store,
        cap: None,
        shape: Shape::Default,
        policy: Policy::default(),
        catalogue: CatalogueFiles::default(),
        now: SystemTime::UNIX_EPOCH,
    }
}

fn said(event: HookEvent, input: &serde_json::Value, setup: &HookSetup<'_>) -> String {
    String::from_utf8(answer(event, input.to_string().as_bytes(), setup).unwrap().output).unwrap()
}

#[test]
fn events_are_known_by_any_spelling_and_others_are_a_fault() {
    for name in ["PostToolUse", "post-tool-use", "POSTTOOLUSE", "post_tool_use"] {
        assert_eq!(name.parse::<HookEvent>().unwrap(), HookEvent::PostToolUse, "{name}");
    }
    let fault = "Stop".parse::<HookEvent>().unwrap_err().to_string();
    assert!(fault.contains("`Stop`") && fault.contains("PostToolUse"), "{fault}");
}

#[test]
fn what_is_no_object_or_lacks_its_fields_is_a_fault_and_never_a_panic() {
    let store = Store::memory();
    for (event, input) in [
        (HookEvent::PostToolUse, String::new()),
        (HookEvent::PostToolUse, "[]".to_owned()),
        (HookEvent::PostToolUse, "{\"tool_response\":".to_owned()),
        (HookEvent::PostToolUse, json!({ "tool_response": "x".repeat(200_000) }).to_string()),
        (HookEvent::PreCompact, "{}".to_owned()),
        (HookEvent::PreCompact, r#"{"session_id":"s","transcript_path":"/nowhere/at/all"}"#.to_owned()),
        (HookEvent::SessionStart, r#"{"source":"compact"}"#.to_owned()),
    ] {
        assert!(answer(event, input.as_bytes(), &setup(&store)).is_err(), "{input:.60}");
    }
    for input in ["{}", r#"{"tool_response":null}"#, r#"{"tool_response":"short"}"#] {
        assert!(answer(HookEvent::PostToolUse, input.as_bytes(), &setup(&store)).unwrap().output.is_empty());
    }
}

#[test]
fn the_cap_follows_from_the_model_at_the_end_of_the_session_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let store = Store::memory();
    let input = |text: &str| {
        json!({ "session_id": "s1", "tool_use_id": "t1", "tool_name": "Bash", "transcript_path": path,
            "tool_response": { "stdout": text } })
    };
    let text = "words and words\n".repeat(3_000);
    for (model, most) in [("claude-sonnet-4-5", 36_000), ("unheard-of", 21_600)] {
        std::fs::write(&path, format!(r#"{{"type":"assistant","message":{{"model":"{model}"}}}}"#)).unwrap();
        let said = said(HookEvent::PostToolUse, &input(&text), &setup(&store));
        let said: serde_json::Value = serde_json::from_str(&said).unwrap();
        let shown = said["hookSpecificOutput"]["updatedToolOutput"]["stdout"].as_str().unwrap().len();
        assert!(shown <= most && shown > most * 9 / 10, "{model}: {shown}");
        assert!(
            answer(HookEvent::PostToolUse, input(&text[..most]).to_string().as_bytes(), &setup(&store))
                .unwrap()
                .output
                .is_empty()
        );
    }
}

#[test]
fn only_a_start_after_a_compaction_is_answered() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    std::fs::write(&path, "{\"type\":\"user\"}\n").unwrap();
    let store = Store::memory();
    let input = |source: &str| json!({ "session_id": "s1", "source": source, "transcript_path": path });
    assert_eq!(said(HookEvent::SessionStart, &input("compact"), &setup(&store)), "", "nothing is stored");
    assert_eq!(said(HookEvent::PreCompact, &input("x"), &setup(&store)), "", "what it prints would be instructions");
    for source in ["startup", "resume", "clear"] {
        assert_eq!(said(HookEvent::SessionStart, &input(source), &setup(&store)), "");
    }
    let said = said(HookEvent::SessionStart, &input("compact"), &setup(&store));
    let said: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["hookSpecificOutput"]["hookEventName"], "SessionStart");
    assert!(said["hookSpecificOutput"]["additionalContext"].as_str().unwrap().contains("plimsoll restore 's1/~"));
}

#[test]
fn a_stored_file_that_is_read_is_recalled_text() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::local(folder.path().join("store"));
    let file = folder.path().join("store/results/s1/t0.txt");
    let input = json!({ "session_id": "s1", "tool_use_id": "t1", "tool_name": "Read", "tool_input": { "file_path": file },
        "tool_response": { "type": "text", "file": { "content": "a line\n".repeat(20_000), "startLine": 1 } } });
    let setup = HookSetup { cap: Some(Bytes(4_096)), ..setup(&store) };
    let said = said(HookEvent::PostToolUse, &input, &setup);
    assert!(said.contains("ask for less at a time]"), "{said:.300}");
    assert!(!folder.path().join("store").exists(), "nothing was stored");
}

#[test]
fn recorded_answers_keep_their_shape() {
    let read = include_str!("../../fixtures/hook-read.json");
    let store = Store::memory();
    let setup = HookSetup { cap: Some(Bytes(200)), ..setup(&store) };
    let said = answer(HookEvent::PostToolUse, read.as_bytes(), &setup).unwrap().output;
    let said: serde_json::Value = serde_json::from_slice(&said).unwrap();
    let mut shown = said["hookSpecificOutput"]["updatedToolOutput"].clone();
    let mut before = serde_json::from_str::<serde_json::Value>(read).unwrap()["tool_response"].clone();
    let content = before["file"]["content"].take();
    let cut = shown["file"]["content"].take();
    assert_eq!(shown, before, "but for the content it is the same");
    assert!(cut.as_str().unwrap().len() <= 200 && cut != content, "{cut}");
    // A short text, and an answer that the model is not shown.
    for other in [include_str!("../../fixtures/hook-bash.json"), include_str!("../../fixtures/hook-write.json")] {
        assert!(answer(HookEvent::PostToolUse, other.as_bytes(), &setup).unwrap().output.is_empty());
    }
}
