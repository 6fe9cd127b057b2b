//! Any text as a model's answer and as a continuation message: reading is total, and what is read is stable.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll::Tokens;
use plimsoll::compact::{
    Answer, ContinuationParts, Expected, Language, Ledger, Profile, Verdict, accept, continuation,
    extract_summary, parse_continuation,
};
use plimsoll::wire::Stop;

fuzz_target!(|text: &str| {
    let read = extract_summary(text);
    if let Ok(summary) = &read {
        assert!(!summary.trim().is_empty(), "an empty summary is a failure");
    }
    let _ = parse_continuation(text);
    let ledger = Ledger::parse(text);
    let count = |text: &str| Tokens::from(text.len());
    let _ = ledger.bounded(Tokens(512), &count);
    let profile = Profile::default();
    for language in [None, Some(Language::English), Some(Language::Japanese)] {
        let expected = Expected {
            bound: Tokens(2_000),
            previous: Some(Tokens(100)),
            laid_down: &[],
            fresh: Tokens(400),
            language,
            profile: &profile,
            ledger: &ledger,
            count: &count,
        };
        let answer = Answer::finished(text);
        if let Verdict::Accepted(accepted) = accept(&answer, &expected) {
            assert_eq!(Ok(&accepted.summary), read.as_ref(), "what is judged is what is read");
            assert!(accepted.tokens <= Tokens(1_124), "the bounds hold");
            let cut = Answer { stop: Stop::Length, ..answer };
            assert!(matches!(accept(&cut, &expected), Verdict::Rejected(_)), "what was cut off is never taken");
        }
    }
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
