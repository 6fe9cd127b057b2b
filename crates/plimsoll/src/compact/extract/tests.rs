//! Whole extracts: bounds, determinism, what a stranger reads in them.

use proptest::prelude::*;

use super::rounds::session;
use super::*;
use crate::wire::{ParseOptions, parse};

fn rough(text: &str) -> Tokens {
    Tokens::from(text.chars().count().div_ceil(4))
}

fn made(body: &[u8], budget: u64) -> Extract {
    let document = parse(body, &ParseOptions::default()).unwrap();
    let transcript = document.transcript();
    let profile = Profile::default();
    let request = Request {
        budget: Tokens(budget),
        ledger: Ledger::bound(Tokens(budget * 2)),
        count: &rough,
        recall: "s1/~0a1b2c3d4e5f",
        splits_turn: false,
        profile: &profile,
        instructions: None,
    };
    extract(transcript, 0..transcript.messages.len(), &request)
}

#[test]
fn the_nine_sections_stand_in_order() {
    let session = session(3, 12, 2_000);
    let extract = made(&session.body(), 3_000);
    let headings: Vec<&str> = extract
        .summary
        .lines()
        .filter(|line| line.starts_with("## "))
        .collect();
    let numbers: Vec<String> = headings
        .iter()
        .map(|line| line.chars().skip(3).take(2).collect())
        .collect();
    assert_eq!(
        numbers,
        ["1.", "2.", "3.", "4.", "5.", "6.", "7.", "8.", "9."]
    );
    assert_eq!(Ledger::parse(&extract.summary), extract.ledger);
    assert!(extract.carried.constraints > 0);
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    let session = session(5, 10, 1_000);
    assert_eq!(made(&session.body(), 1_500), made(&session.body(), 1_500));
}

#[test]
fn a_transcript_without_a_user_is_summarised_too() {
    let extract = made(
        br#"{"model":"claude-x","messages":[{"role":"assistant","content":"Hello."}]}"#,
        400,
    );
    assert!(extract.summary.contains("Hello."), "{}", extract.summary);
}

#[test]
fn instructions_steer_and_select_nothing_away() {
    let session = session(9, 40, 200);
    let body = session.body();
    let document = parse(&body, &ParseOptions::default()).unwrap();
    let profile = Profile::default();
    let with = |instructions| {
        let request = Request {
            budget: Tokens(900),
            ledger: Tokens(512),
            count: &rough,
            recall: "",
            splits_turn: false,
            profile: &profile,
            instructions,
        };
        extract(
            document.transcript(),
            0..document.transcript().messages.len(),
            &request,
        )
    };
    let plain = with(None);
    let steered = with(Some("keep lib_3.rs and its assertion"));
    assert!(steered.summary.contains("keep lib_3.rs and its assertion"));
    assert!(
        steered.summary.matches("assertion").count() > plain.summary.matches("assertion").count(),
        "{}",
        steered.summary
    );
    assert!(steered.carried.constraints * 10 >= plain.carried.constraints * 7);
}

#[test]
fn a_stranger_can_go_on_from_it() {
    let extract = made(&session(1, 6, 600).body(), 1_200);
    insta::assert_snapshot!(extract.summary, @"");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn the_budget_holds_whatever_it_is(seed in 0_u64..500, turns in 1_usize..14, budget in 0_u64..3_000) {
        let session = session(seed, turns, 400);
        let extract = made(&session.body(), budget);
        prop_assert!(rough(&extract.summary) <= Tokens(budget), "{} > {budget}", rough(&extract.summary));
        prop_assert_eq!(Ledger::parse(&extract.summary), extract.ledger);
    }
}
