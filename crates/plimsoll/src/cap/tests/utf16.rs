//! Text in UTF-16: shown as what it says, while all that is said of bytes is about the stored ones.

use proptest::prelude::*;

use super::*;
use crate::utf16::{Decoder, Utf16, encoded};

fn decoded(order: Utf16, raw: &[u8]) -> String {
    let (mut decoder, mut text) = (Decoder::new(order), String::new());
    decoder.decode(raw, &mut text);
    decoder.finish(&mut text);
    text
}

#[test]
fn a_log_in_utf_16_is_shown_as_a_log_and_its_encoding_is_said() {
    let lines = |n: usize| match n {
        1_500 => "10:00:00 error: it brök 😀\r\n".to_owned(),
        n => format!("10:00:00 step {n} of the build\r\n"),
    };
    let text: String = (1..=3_000).map(lines).collect();
    for order in Utf16::ALL {
        let raw = encoded(order, &text);
        let capped = cap(&raw, &Policy::new(Bytes(2_048)), &Naming::unsaved());
        let shown = capped.as_str();
        assert!(shown.starts_with("10:00:00 step 1 of the build\n10:00:00 step 2"), "{shown}");
        assert!(shown.contains("\n1500: 10:00:00 error: it brök 😀\n"), "{shown}");
        assert!(shown.ends_with("step 3000 of the build\n"), "{shown}");
        assert!(shown.contains(&format!(
            "log in {} (shown as UTF-8), {} bytes, 3000 lines",
            order.name(),
            raw.len()
        )));
        assert_eq!((capped.kind, capped.lines, capped.bytes), (Kind::Log, 3_000, Bytes::from(raw.len())));
        // A result within its cap is as it was, and known for what it is.
        let whole = cap(&raw, &Policy::new(Bytes(1 << 20)), &Naming::unsaved());
        assert_eq!((&*whole.text, whole.kind, whole.lines), (&*raw, Kind::Log, 3_000));
    }
}

#[test]
fn a_structure_in_utf_16_is_seen() {
    let json = format!("{{\"items\": [{}], \"error\": \"boom\"}}", "{\"a\": 1}, ".repeat(2_000) + "{\"a\": 1}");
    let raw = encoded(Utf16::Le, &json);
    let capped = cap(&raw, &Policy::new(Bytes(1_024)), &Naming::unsaved());
    assert_eq!(capped.kind, Kind::Json);
    assert!(capped.as_str().contains("2001 elements in all"), "{}", capped.as_str());
}

#[test]
fn what_is_over_its_cap_in_utf_16_only_is_shown_whole() {
    let raw = encoded(Utf16::Le, &"a line\n".repeat(100));
    for shape in [Shape::Default, Shape::Classic] {
        let capped = cap(&raw, &Policy::new(Bytes(1_000)).with_shape(shape), &Naming::unsaved());
        assert!(capped.was_capped && capped.omitted == Bytes(0));
        assert_eq!(capped.as_str().matches("a line\n").count(), 100);
    }
}

fn any_units() -> impl Strategy<Value = Vec<u16>> {
    let piece = prop_oneof![
        4 => "[ -~]{0,60}\n".prop_map(|text| text.encode_utf16().collect::<Vec<u16>>()),
        2 => "[a-z日本語é😀]{0,40}".prop_map(|text| text.encode_utf16().collect()),
        1 => (0xD800..=0xDFFF_u16).prop_map(|half| vec![half]),
    ];
    proptest::collection::vec(piece, 20..200).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn what_is_left_out_is_told_in_stored_bytes(
        units in any_units(), torn: bool, limit in 500..3_000u64, classic: bool,
        sizes in proptest::collection::vec(1..9_000usize, 1..9),
    ) {
        let plain = "plain enough to be taken for text\n".repeat(70);
        let mut raw: Vec<u8> = std::iter::once(0xFEFF).chain(plain.encode_utf16()).chain(units).flat_map(u16::to_le_bytes).collect();
        raw.extend(torn.then_some(b'x'));
        let shape = if classic { Shape::Classic } else { Shape::Default };
        let policy = Policy::new(Bytes(limit)).with_shape(shape).with_kind(Kind::Text);
        let capped = cap(&raw, &policy, &Naming::unsaved());
        holds(&raw, &policy, &Naming::unsaved())?;
        let mut capper = Capper::new(policy);
        let mut at = 0;
        for size in sizes.iter().cycle() {
            if at >= raw.len() {
                break;
            }
            let end = raw.len().min(at + size);
            capper.push(&raw[at..end]);
            at = end;
        }
        prop_assert_eq!(&capper.finish(&Naming::unsaved()), &capped);
        let whole = decoded(Utf16::Le, &raw);
        prop_assert_eq!(capped.lines, whole.lines().count() as u64);
        if let Some(left_out) = capped.marker.as_ref().and_then(|marker| marker.left_out.clone()) {
            let (start, end) = (usize::try_from(left_out.start).unwrap(), usize::try_from(left_out.end).unwrap());
            let (head, tail) = (decoded(Utf16::Le, &raw[..start]), decoded(Utf16::Le, &raw[end..]));
            prop_assert!(capped.as_str().starts_with(&head) && capped.as_str().ends_with(&tail));
            prop_assert_eq!(capped.omitted, Bytes(left_out.end - left_out.start));
        }
    }
}
