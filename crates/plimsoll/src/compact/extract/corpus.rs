//! Extracts of real sessions, where `PLIMSOLL_DATA` names a folder of them: bounds, reading back, time.
//!
//! `PLIMSOLL_SHOW=part-of-a-name` prints the extracts of matching files, to be read as a stranger reads them.

#![allow(clippy::disallowed_methods, reason = "the library reads no files and no clock, this test does")]

use std::time::Instant;

use super::*;
use crate::token::{Counter, Encoding};
use crate::wire::{ParseOptions, parse};

#[test]
fn real_sessions_are_summarised_within_bounds() {
    let Some(folder) = std::env::var_os("PLIMSOLL_DATA") else {
        return;
    };
    let show = std::env::var("PLIMSOLL_SHOW").ok();
    let counter = Counter::exact(Encoding::O200kBase);
    let count = |text: &str| counter.count(text);
    let mut read = 0;
    for kind in ["claude_code", "codex", "chat", "anthropic", "responses", "gemini"] {
        let mut paths: Vec<_> = std::fs::read_dir(std::path::Path::new(&folder).join(kind))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        paths.sort();
        for path in paths {
            let bytes = std::fs::read(&path).unwrap();
            let Ok(document) = parse(&bytes, &ParseOptions::default()) else {
                continue;
            };
            read += 1;
            let transcript = document.transcript();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let shown = show.as_ref().is_some_and(|part| name.contains(part.as_str()));
            for budget in [60, 400, 1_500, 8_000] {
                let profile = Profile::default();
                let request = Request {
                    budget: Tokens(budget),
                    ledger: crate::compact::ledger_bound(Tokens(budget * 2)),
                    count: &count,
                    recall: "s1/~0a1b2c3d4e5f",
                    splits_turn: false,
                    profile: &profile,
                    instructions: None,
                };
                let removed = 0..transcript.messages.len() * 9 / 10;
                let begun = Instant::now();
                let made = extract(transcript, removed, &request);
                let taken = begun.elapsed();
                let cost = count(&made.summary);
                if budget == 8_000 || shown {
                    println!(
                        "{kind}/{name}: {} bytes, {} of {budget} tokens in {taken:?}, {:?}",
                        bytes.len(),
                        cost,
                        made.carried
                    );
                }
                if shown && budget >= 1_500 {
                    println!("{}\n", made.summary);
                }
                assert!(cost <= Tokens(budget), "{name}: {cost} > {budget}");
                assert_eq!(Ledger::parse(&made.summary), made.ledger, "{name}");
            }
        }
    }
    assert!(read > 20);
}
