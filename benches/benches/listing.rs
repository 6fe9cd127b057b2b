//! How long it takes to list ten thousand entries, by strategy and unit. The promise is 50 ms each.

use divan::{Bencher, black_box};
use plimsoll::Tokens;
use plimsoll::listing::{Budget, Entry, Options, Strategy, list};
use plimsoll::token::{Counter, Encoding};

fn main() {
    divan::main();
}

const ENTRIES: usize = 10_000;
/// Budgets in characters: names do not fit; names and the least of most descriptions; two thirds of everything.
const ROOMS: [u64; 3] = [8_000, 600_000, 1_500_000];

/// Entries with descriptions of 40 to some 380 characters, used unevenly.
fn entries() -> Vec<Entry> {
    let words =
        ["reads", "the", "change", "and", "plans", "releases,", "tests.", "Writes", "notes", "for", "deploys"];
    (0..ENTRIES)
        .map(|at| {
            let length = 8 + at * 7919 % 60;
            let text: Vec<&str> =
                (0..length).filter_map(|word| words.get((at + word * word) % words.len()).copied()).collect();
            Entry {
                uses: (at * 31 % 700) as u64,
                pinned: at % 500 == 0,
                when_to_use: (at % 5 == 0).then(|| "the user says \"go\" or \"plan it\"".to_owned()),
                ..Entry::new(format!("skill-{at:05}"), text.join(" "))
            }
        })
        .collect()
}

fn bytes_by_four(text: &str) -> Tokens {
    Tokens::from(text.len() / 4)
}

#[divan::bench(args = ROOMS)]
fn fair_in_characters(bencher: Bencher<'_, '_>, room: u64) {
    let entries = entries();
    bencher.bench(|| list(black_box(&entries), &Budget::characters(room), &Options::default()));
}

#[divan::bench(args = ROOMS)]
fn fair_in_tokens(bencher: Bencher<'_, '_>, room: u64) {
    let entries = entries();
    bencher
        .bench(|| list(black_box(&entries), &Budget::tokens(Tokens(room / 4), &bytes_by_four), &Options::default()));
}

#[divan::bench(args = ROOMS)]
fn fair_in_exact_tokens(bencher: Bencher<'_, '_>, room: u64) {
    let entries = entries();
    let counter = Counter::exact(Encoding::O200kBase);
    let count = |text: &str| counter.count(text);
    bencher.bench(|| list(black_box(&entries), &Budget::tokens(Tokens(room / 5), &count), &Options::default()));
}

#[divan::bench(args = ROOMS)]
fn fair_in_both(bencher: Bencher<'_, '_>, room: u64) {
    let entries = entries();
    bencher.bench(|| {
        let budget = Budget::characters(room).and_tokens(Tokens(room / 5), &bytes_by_four);
        list(black_box(&entries), &budget, &Options::default())
    });
}

#[divan::bench(args = ROOMS)]
fn classic(bencher: Bencher<'_, '_>, room: u64) {
    let entries = entries();
    bencher.bench(|| list(black_box(&entries), &Budget::characters(room), &Options::with(Strategy::Classic)));
}

#[divan::bench(args = ROOMS)]
fn least_used_in_tokens(bencher: Bencher<'_, '_>, room: u64) {
    let entries = entries();
    let options = Options::with(Strategy::LeastUsed);
    bencher.bench(|| list(black_box(&entries), &Budget::tokens(Tokens(room / 4), &bytes_by_four), &options));
}
