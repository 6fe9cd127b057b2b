use plimsoll::wire::Tape;
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::*;

struct Capped {
    response: Json,
    raw: String,
    note: Option<String>,
}

fn capped_with(response: &str, tool: &str, limit: u64, store: &Store, recalled: bool) -> Option<Capped> {
    // The answer stands somewhere inside what the hook is given.
    let document = format!(r#"{{"tool_name":"{tool}","tool_response": {response} , "x":1}}"#);
    let mut tape = Tape::default();
    tape.parse(document.as_bytes(), 0).unwrap();
    let value = tape.root(document.as_bytes()).unwrap().get("tool_response").unwrap();
    let (session, call) = (SessionId::new("s1"), ToolCallId::new("c1"));
    let now = SystemTime::UNIX_EPOCH;
    let answer = Answer { session: &session, call: &call, tool, shape: Shape::Default, recalled, now };
    let capped = cap_answer(document.as_bytes(), value, Bytes(limit).into(), &answer, store).unwrap()?;
    assert!(capped.fault.is_none());
    let raw = String::from_utf8(capped.response).unwrap();
    Some(Capped { response: serde_json::from_str(&raw).unwrap(), raw, note: capped.note })
}

fn capped(response: &Json, tool: &str, limit: u64, store: &Store) -> Option<Capped> {
    capped_with(&response.to_string(), tool, limit, store, false)
}

fn log(lines: usize) -> String {
    (0..lines).map(|n| format!("line {n} of a log\n")).collect()
}

#[test]
fn one_long_text_is_cut_and_stored_and_the_rest_stays_byte_for_byte() {
    let store = Store::memory();
    let output = log(2_000);
    let text = format!(
        r#"{{ "stdout" : {}, "big":123456789012345678901234567890, "interrupted":false,"odd":1.50e+2, "é":"\u00e9" }}"#,
        json!(output)
    );
    let capped = capped_with(&text, "Bash", 4_096, &store, false).unwrap();
    let shown = capped.response["stdout"].as_str().unwrap();
    assert!(shown.len() <= 4_096 && shown.contains("recall id s1/c1"), "{shown}");
    let spelled = serde_json::to_string(shown).unwrap();
    assert_eq!(capped.raw.replacen(&spelled, "CUT", 1), text.replacen(&json!(output).to_string(), "CUT", 1));
    assert_eq!(store.recall(&"s1/c1".parse().unwrap()).unwrap(), output.as_bytes());
}

#[test]
fn the_same_call_shows_the_same_text_whatever_the_cap_is_later() {
    let store = Store::memory();
    let response = json!({ "stdout": log(2_000) });
    let first = capped(&response, "Bash", 4_096, &store).unwrap().raw;
    assert_eq!(capped(&response, "Bash", 4_096, &store).unwrap().raw, first);
    assert_eq!(capped(&response, "Bash", 8_192, &store).unwrap().raw, first);
    let both = json!({ "stdout": log(2_000), "stderr": log(3_000) });
    let first = capped(&both, "Bash", 4_096, &store).unwrap().raw;
    assert_eq!(capped(&both, "Bash", 8_192, &store).unwrap().raw, first);
}

#[test]
fn several_long_texts_share_the_cap_and_one_artifact_that_holds_them_all() {
    let store = Store::memory();
    let (out, err) = (log(3_000), log(2_000).replace("log", "fault"));
    let capped =
        capped(&json!({ "stdout": out, "stderr": err, "interrupted": false }), "Bash", 6_000, &store).unwrap();
    let whole = store.recall(&"s1/c1".parse().unwrap()).unwrap();
    // The fields stand in alphabetical order here.
    assert!(whole == format!("{err}{out}").as_bytes());
    let mut sum = 0;
    for (field, text, start) in [("stderr", &err, 0), ("stdout", &out, err.len())] {
        let shown = capped.response[field].as_str().unwrap();
        sum += shown.len();
        let (span, marker) = Marker::find(shown).unwrap();
        let gap = marker.left_out.unwrap();
        let (from, to) = (usize::try_from(gap.start).unwrap(), usize::try_from(gap.end).unwrap());
        assert!(shown.starts_with(&text[..from - start]), "the head ends where the marker says");
        assert!(shown.ends_with(&*String::from_utf8_lossy(&whole[to..start + text.len()])), "{}", &shown[span.end..]);
        assert_eq!(marker.id.unwrap().to_string(), "s1/c1");
    }
    assert!(sum <= 6_000, "{sum}");
    assert_eq!(store.session_use(&SessionId::new("s1")).unwrap().artifacts.len(), 1);
}

#[test]
fn a_list_of_files_keeps_its_shape() {
    let store = Store::memory();
    let files: Vec<String> = (0..2_000).map(|n| format!("src/deep/module_{n}.rs")).collect();
    let capped = capped(&json!({ "numFiles": 2_000, "filenames": files }), "Glob", 4_096, &store).unwrap();
    let shown = capped.response["filenames"].as_array().unwrap();
    assert_eq!(shown[0], "src/deep/module_0.rs");
    assert!(shown.iter().any(|line| line.as_str().unwrap().contains("recall id s1/c1")));
    assert_eq!(capped.response["numFiles"], 2_000);
    assert_eq!(store.recall(&"s1/c1".parse().unwrap()).unwrap(), (files.join("\n") + "\n").as_bytes());
}

#[test]
fn images_stay_whole_and_answers_within_the_cap_are_left_alone() {
    let store = Store::memory();
    let image = json!([{ "type": "image", "source": { "type": "base64", "data": "A".repeat(100_000) } }]);
    assert!(capped(&image, "mcp__x__shot", 2_048, &store).is_none());
    assert!(capped(&json!({ "stdout": log(100) }), "Bash", 4_096, &store).is_none());
    assert!(store.session_use(&SessionId::new("s1")).unwrap().artifacts.is_empty());
}

#[test]
fn a_recalled_page_is_bounded_and_never_stored_again() {
    let store = Store::memory();
    let page = format!("{}\n[bytes 1000-21000 of 90000; next offset 21000]", "x".repeat(20_000));
    let response = json!([{ "type": "text", "text": page }]).to_string();
    let capped = capped_with(&response, "mcp__plimsoll__recall", 4_096, &store, true).unwrap();
    let shown = capped.response[0]["text"].as_str().unwrap();
    assert!(shown.len() <= 4_096 && shown.ends_with(" of 90000; next offset 5049]"), "{}", &shown[4_000..]);
    assert!(store.session_use(&SessionId::new("s1")).unwrap().artifacts.is_empty());
}

#[test]
fn behind_the_gap_of_a_numbered_file_the_real_line_is_told() {
    let store = Store::memory();
    let content: String = (100..3_100).map(|n| format!("let value_{n} = {n};\n")).collect();
    let response = json!({ "type": "text", "file": {
        "filePath": "/w/a.rs", "content": content, "numLines": 3_000, "startLine": 100, "totalLines": 4_000 } });
    let capped = capped(&response, "Read", 4_096, &store).unwrap();
    let note = capped.note.unwrap();
    let number = |after: &str| -> usize {
        let rest = note.split_once(after).unwrap().1;
        rest.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap()
    };
    let (numbered, real) = (number("shown with number "), number("is line "));
    let shown = capped.response["file"]["content"].as_str().unwrap();
    assert_eq!(shown.lines().nth(numbered - 100).unwrap(), format!("let value_{real} = {real};"), "{note}");
}

#[cfg(unix)]
#[test]
fn a_store_that_refuses_leaves_honest_texts_within_the_cap() {
    let folder = tempfile::tempdir().unwrap();
    let blocked = folder.path().join("file");
    std::fs::write(&blocked, "in the way").unwrap();
    let store = Store::local(blocked.join("store"));
    for response in [json!({ "stdout": log(900) }), json!({ "stdout": log(900), "stderr": log(800) })] {
        let document = format!(r#"{{"tool_response":{response}}}"#);
        let mut tape = Tape::default();
        tape.parse(document.as_bytes(), 0).unwrap();
        let value = tape.root(document.as_bytes()).unwrap().get("tool_response").unwrap();
        let (session, call) = (SessionId::new("s1"), ToolCallId::new("c1"));
        let now = SystemTime::UNIX_EPOCH;
        let answer =
            Answer { session: &session, call: &call, tool: "Bash", shape: Shape::Default, recalled: false, now };
        let capped = cap_answer(document.as_bytes(), value, Bytes(4_096).into(), &answer, &store).unwrap().unwrap();
        assert!(capped.fault.is_some());
        let response: Json = serde_json::from_slice(&capped.response).unwrap();
        let texts: Vec<&str> = response.as_object().unwrap().values().filter_map(Json::as_str).collect();
        assert!(texts.iter().map(|text| text.len()).sum::<usize>() <= 4_096);
        assert!(texts.iter().all(|text| text.contains("could NOT be saved")), "{texts:?}");
    }
}

/// An answer of any shape.
fn answers() -> impl Strategy<Value = Json> {
    let text = prop_oneof![
        3 => "[a-z\"\\\\\n é日]{0,40}".prop_map(Json::from),
        2 => (1_usize..90, "[a-zé\n\"]{1,60}").prop_map(|(times, text)| Json::from(text.repeat(times * 3))),
        1 => any::<i64>().prop_map(Json::from),
        1 => Just(Json::Null),
        1 => proptest::collection::vec("[a-z/]{1,40}", 0..60).prop_map(Json::from),
    ];
    text.prop_recursive(4, 40, 6, |inner| {
        let keys =
            prop_oneof!["[a-z]{1,6}", Just("text".to_owned()), Just("content".to_owned()), Just("data".to_owned())];
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Json::from),
            proptest::collection::hash_map(keys, inner, 0..6)
                .prop_map(|fields| Json::Object(fields.into_iter().collect())),
        ]
    })
}

/// The answer with every text that may be cut taken out, and the sizes of those texts.
fn skeleton(response: &str, over: &mut Vec<usize>) -> String {
    let mut tape = Tape::default();
    tape.parse(response.as_bytes(), 0).unwrap();
    let leaves = Leaves::of(tape.root(response.as_bytes()).unwrap(), "mcp__x__y");
    over.extend(leaves.texts.iter().map(|leaf| leaf.text.len()));
    let edits: Vec<Edit<'_>> = leaves.texts.iter().map(|leaf| Edit::replace(leaf.span, &b"TEXT"[..])).collect();
    String::from_utf8(splice(response.as_bytes(), &edits).unwrap().into_owned()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_shape_stays_and_what_is_cut_stays_within_the_cap(response in answers(), limit in 600_u64..6_000) {
        let text = response.to_string();
        let store = Store::memory();
        let Some(capped) = capped_with(&text, "mcp__x__y", limit, &store, false) else { return Ok(()) };
        let (mut before, mut after) = (Vec::new(), Vec::new());
        let unchanged = skeleton(&text, &mut before);
        // A text can be cut so short that it counts as short afterwards: the shape is compared where none was.
        let changed = skeleton(&capped.raw, &mut after);
        if before.len() == after.len() {
            prop_assert_eq!(unchanged, changed);
            prop_assert!(after.iter().zip(&before).all(|(after, before)| after <= before));
        }
        prop_assert!(after.iter().sum::<usize>() as u64 <= limit);
        prop_assert!(capped.raw.len() < text.len());
    }
}
