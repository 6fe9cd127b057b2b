//! Any bytes, in every format: parsing is total, spans are sound, and what no edit names stays.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll::wire::{Format, ParseOptions, Rewrite, parse, splice};

fuzz_target!(|bytes: &[u8]| {
    // The first byte picks the format, so that one corpus serves all of them.
    let Some((pick, bytes)) = bytes.split_first() else { return };
    let format = Format::ALL.get(usize::from(*pick)).copied();
    let options = ParseOptions::default().with_format(format);
    let Ok(document) = parse(bytes, &options) else { return };
    assert_eq!(splice(bytes, &[]).unwrap().as_ref(), bytes);
    for entry in document.entries() {
        assert!(entry.span.end() <= bytes.len());
    }
    let messages = document.transcript().messages.len();
    for cut in [1, messages / 2, messages] {
        let rewrite = Rewrite {
            removed: 0..cut,
            retained: &[],
            omitted: &[],
            continuation: "carried on",
            acknowledgement: "yes",
            tokens_before: plimsoll::Tokens(2),
            tokens_after: plimsoll::Tokens(1),
        };
        if let Ok(edits) = document.rewrite(&rewrite) {
            let spliced = splice(bytes, &edits).unwrap();
            assert!(parse(&spliced, &options).is_ok(), "what was rewritten parses again");
        }
    }
});
