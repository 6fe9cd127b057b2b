//! Any text as a model's answer and as a continuation message: reading is total, and what is read is stable.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll::Tokens;
use plimsoll::compact::{ContinuationParts, Ledger, continuation, extract_summary, parse_continuation};

fuzz_target!(|text: &str| {
    if let Ok(summary) = extract_summary(text) {
        assert!(!summary.trim().is_empty(), "an empty summary is a failure");
    }
    let _ = parse_continuation(text);
    let ledger = Ledger::parse(text);
    let count = |text: &str| Tokens::from(text.len());
    let _ = ledger.bounded(Tokens(512), &count);
    let framed = continuation(&ContinuationParts {
        epoch: "s/~0123456789ab",
        summary: text,
        ledger: None,
        keeps_tail: true,
        recall: Some("s/~0123456789ab"),
    });
    let read = parse_continuation(&framed).expect("our own message reads back");
    assert_eq!(read.epoch, "s/~0123456789ab");
    assert!(read.rest.is_empty(), "nothing in a summary ends the message early");
});
