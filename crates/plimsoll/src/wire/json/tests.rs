use proptest::prelude::*;

use super::*;

fn parse(bytes: &[u8]) -> Result<(Tape, usize), JsonError> {
    let mut tape = Tape::default();
    let end = tape.parse(bytes, 0)?;
    Ok((tape, end))
}

/// Rebuilds a `serde_json::Value` from a tape: the oracle's own type, by our index.
fn rebuild(value: Value<'_, '_>) -> serde_json::Value {
    match value.kind() {
        Kind::Object => value.fields().map(|(key, value)| (key.decode().into_owned(), rebuild(value))).collect(),
        Kind::Array => value.elements().map(rebuild).collect(),
        Kind::String => value.text().unwrap().decode().into_owned().into(),
        _ => serde_json::from_slice(value.raw()).unwrap(),
    }
}

#[test]
fn integers_beyond_64_bits_exponents_and_odd_space_keep_their_bytes() {
    let bytes = b" {\t\"a\" : 123456789012345678901234567890123456789 ,\r\n\"b\":-1.5E+300,\"b\":[ ] } ";
    let (tape, end) = parse(bytes).unwrap();
    let root = tape.root(bytes).unwrap();
    assert_eq!(end, bytes.len() - 1);
    assert_eq!(root.get("a").unwrap().raw(), b"123456789012345678901234567890123456789");
    assert_eq!(root.get("b").unwrap().raw(), b"[ ]", "of duplicate keys the last counts");
    assert_eq!(root.fields().count(), 3);
}

#[test]
fn keys_spelled_with_escapes_are_found() {
    let bytes = br#"{"r\u006fle":"user"}"#;
    let (tape, _) = parse(bytes).unwrap();
    assert!(tape.root(bytes).unwrap().get("role").unwrap().text().unwrap().is("user"));
}

#[test]
fn a_second_value_glued_behind_the_first_is_left_for_the_next_call() {
    let bytes = br#"{"a":1}{"b":2}"#;
    let mut tape = Tape::default();
    assert_eq!(tape.parse(bytes, 0).unwrap(), 7);
    assert_eq!(tape.parse(bytes, 7).unwrap(), 14);
    assert_eq!(tape.root(bytes).unwrap().get("b").unwrap().u64(), Some(2));
}

#[test]
fn not_a_number_is_tolerated() {
    let bytes = br"[NaN, Infinity, -Infinity]";
    assert_eq!(parse(bytes).unwrap().0.root(bytes).unwrap().elements().count(), 3);
}

#[test]
fn errors_name_the_byte() {
    let error = |bytes: &[u8]| parse(bytes).unwrap_err().to_string();
    insta::assert_snapshot!(error(b"{\"a\":1,}"), @"unexpected `}` at byte 7: not JSON");
    insta::assert_snapshot!(error(b"[1 2]"), @"unexpected `2` at byte 3: not JSON");
    insta::assert_snapshot!(error(b"{\"a\":[1"), @"the JSON ends at byte 7, inside a value");
    insta::assert_snapshot!(error(b"\"abc"), @"the JSON ends at byte 4, inside a value");
    insta::assert_snapshot!(error(b"tru"), @"the JSON ends at byte 3, inside a value");
    insta::assert_snapshot!(error(b"[\x00]"), @"unexpected byte 0x00 at byte 1: not JSON");
    insta::assert_snapshot!(error(b"[1}"), @"unexpected `}` at byte 2: not JSON");
    insta::assert_snapshot!(error(b"hello"), @"unexpected `h` at byte 0: not JSON");
}

#[test]
fn depth_is_counted_inside_values_nobody_reads() {
    let deep = |levels: usize| [vec![b'['; levels], vec![b']'; levels]].concat();
    assert!(parse(&deep(MAX_DEPTH)).is_ok());
    assert!(matches!(parse(&deep(10_000)), Err(JsonError::TooDeep { limit: MAX_DEPTH, offset: MAX_DEPTH })));
}

fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<String>().prop_map(Into::into),
    ];
    leaf.prop_recursive(5, 64, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
            prop::collection::vec((any::<String>(), inner), 0..6).prop_map(|fields| fields.into_iter().collect()),
        ]
    })
}

proptest! {
    #[test]
    fn reads_what_serde_json_reads(value in json(), pretty: bool) {
        let bytes = if pretty { serde_json::to_vec_pretty(&value) } else { serde_json::to_vec(&value) }.unwrap();
        let (tape, end) = parse(&bytes).unwrap();
        prop_assert_eq!(end, bytes.len());
        prop_assert_eq!(rebuild(tape.root(&bytes).unwrap()), value);
    }

    #[test]
    fn any_bytes_end_in_a_value_or_an_error_and_what_serde_takes_we_take(bytes in "[\\[\\]{}:,\"\\\\0-9aeEtrunlfs. +-]{0,24}") {
        let bytes = bytes.as_bytes();
        let ours = parse(bytes).is_ok_and(|(_, end)| bytes[end..].iter().all(u8::is_ascii_whitespace));
        if serde_json::from_slice::<serde_json::Value>(bytes).is_ok() {
            prop_assert!(ours);
        }
    }

    #[test]
    fn a_string_ends_at_the_first_quote_that_no_odd_run_of_backslashes_escapes(
        text in "[\\\\\"a\n]{0,200}", tail in "[\\\\\"a]{0,20}",
    ) {
        let quoted = super::super::quote(&text);
        let bytes = [quoted.as_bytes(), b",", tail.as_bytes()].concat();
        let (tape, end) = parse(&bytes).unwrap();
        prop_assert_eq!(end, quoted.len());
        prop_assert_eq!(tape.root(&bytes).unwrap().text().unwrap().decode(), text);
        // Without its closing quote it is torn.
        let torn = &quoted.as_bytes()[..quoted.len() - 1];
        prop_assert_eq!(parse(torn).unwrap_err(), JsonError::Truncated { offset: torn.len() });
    }
}
