//! Parsing and splicing a 2 MB body, beside what the same work costs by way of `serde_json::Value`.

use divan::counter::BytesCount;
use plimsoll::Tokens;
use plimsoll::wire::{ParseOptions, Rewrite, Tape, parse, splice};
use plimsoll_benches::body;

const SIZE: usize = 2_000_000;

fn main() {
    divan::main();
}

#[divan::bench]
fn tape(bencher: divan::Bencher<'_, '_>) {
    let body = body::anthropic(SIZE);
    let mut tape = Tape::default();
    bencher.counter(BytesCount::of_slice(&body)).bench_local(|| tape.parse(&body, 0).is_ok());
}

#[divan::bench]
fn view(bencher: divan::Bencher<'_, '_>) {
    let body = body::anthropic(SIZE);
    let options = ParseOptions::default();
    bencher
        .counter(BytesCount::of_slice(&body))
        .bench(|| parse(&body, &options).map(|document| document.transcript().messages.len()));
}

#[divan::bench]
fn view_and_splice(bencher: divan::Bencher<'_, '_>) {
    let body = body::anthropic(SIZE);
    let options = ParseOptions::default();
    bencher.counter(BytesCount::of_slice(&body)).bench(|| {
        let document = parse(&body, &options).ok()?;
        let rewrite = Rewrite {
            removed: 1..3,
            retained: &[],
            omitted: &[],
            continuation: "Summary of the earlier conversation.",
            acknowledgement: "Understood.",
            tokens_before: Tokens(500_000),
            tokens_after: Tokens(499_000),
        };
        let edits = document.rewrite(&rewrite).ok()?;
        splice(&body, &edits).ok().map(std::borrow::Cow::into_owned)
    });
}

#[divan::bench]
fn serde_json_value_round_trip(bencher: divan::Bencher<'_, '_>) {
    let body = body::anthropic(SIZE);
    bencher.counter(BytesCount::of_slice(&body)).bench(|| {
        let value: serde_json::Value = serde_json::from_slice(&body).ok()?;
        serde_json::to_vec(&value).ok()
    });
}
