//! What parses as a marker is written back the same; what is found in a text stands there.

#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll::Bytes;
use plimsoll::cap::{Kind, Marker, RecallFooter, Saved, cap_recalled};
use plimsoll::utf16::Utf16;

fuzz_target!(|input: (u8, u64, u64, Option<(u64, u64)>, u64, bool, Option<&str>, &str)| {
    let (kind, bytes, lines, left_out, first, whole, path, text) = input;
    let marker = Marker {
        kind: Kind::ALL[usize::from(kind) % Kind::ALL.len()],
        encoding: [None, Some(Utf16::Le), Some(Utf16::Be)][usize::from(kind) % 3],
        bytes: Bytes(bytes),
        lines,
        left_out: left_out.map(|(start, end)| start..end),
        saved: if whole { Saved::Whole } else { Saved::First(Bytes(first)) },
        id: text.parse().ok(),
        path: path.map(str::to_owned),
    };
    let line = marker.render();
    assert!(!line.contains('\n'));
    assert_eq!(Marker::parse(&line), Some(marker));

    if let Some(parsed) = Marker::parse(text) {
        assert_eq!(parsed.render(), text);
    }
    if let Some((span, marker)) = Marker::find(text) {
        assert_eq!(text[span], marker.render());
    }
    if let Some(footer) = RecallFooter::parse(text) {
        assert_eq!(footer.render(), text);
    }
    let most = usize::from(kind) * 4;
    let capped = cap_recalled(text, Bytes(most as u64));
    assert!(capped.text.len() <= most || !capped.was_capped);
});
