//! Thousands of random turns against scripted models, stores and clients; the invariants hold at every step.
//!
//! `PLIMSOLL_SIMULATION=500` runs as many seeds of each kind as it says; a failure names its seed.

mod chance;
mod hold;
pub(crate) mod script;
pub(crate) mod talk;
mod world;

use plimsoll::wire::Format;

use script::Mood;
use world::{Scenario, Tally, World};

/// How many seeds of each kind are run.
fn seeds() -> u64 {
    std::env::var("PLIMSOLL_SIMULATION").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(1)
}

fn simulate(scenario: Scenario) -> Tally {
    let mut all = Tally::default();
    for seed in 1..=seeds() {
        let tally = World::new(scenario, seed * 7_919 + scenario.window).run();
        all.requests += tally.requests;
        all.epochs += tally.epochs;
        all.reduced += tally.reduced;
        all.capped += tally.capped;
        all.recovered += tally.recovered;
        all.refused += tally.refused;
        all.repeated += tally.repeated;
        all.found += tally.found;
        all.summaries += tally.summaries;
    }
    all
}

const FORMATS: [Format; 3] = [Format::Anthropic, Format::OpenaiChat, Format::OpenaiResponses];

#[test]
fn sessions_go_on_whatever_the_summariser_does() {
    for format in FORMATS {
        // Each mood in one format; the rest in all of them, where more than a look is asked for.
        let all = format == Format::Anthropic || seeds() > 1;
        for mood in [Mood::Moody, Mood::Good, Mood::Inflated, Mood::Fails].into_iter().take(if all { 4 } else { 1 }) {
            let tally = simulate(Scenario::new(format, mood));
            assert!(tally.epochs > 0 && tally.capped > 0 && tally.refused == 0, "{format} {mood:?} {tally:?}");
        }
    }
}

#[test]
fn sessions_with_bound_reasoning_change_their_past_between_turns() {
    for format in [Format::Anthropic, Format::OpenaiResponses] {
        let tally = simulate(Scenario { thinks: true, ..Scenario::new(format, Mood::Moody) });
        assert!(tally.epochs > 0, "{format} {tally:?}");
    }
}

#[test]
fn sessions_that_are_full_of_results_reduce_before_they_summarise() {
    let full = |format| Scenario { large: 90, window: 20_000, ..Scenario::new(format, Mood::Moody) };
    let mut reduced = 0;
    for format in FORMATS {
        let tally = simulate(full(format));
        assert!(tally.epochs > 0 && tally.refused == 0, "{format} {tally:?}");
        reduced += tally.reduced;
    }
    assert!(reduced > 0);
    let tally = simulate(Scenario { thinks: true, ..full(Format::Anthropic) });
    assert!(tally.epochs > 0, "{tally:?}");
    let tally = simulate(Scenario { replicas: 2, ..full(Format::OpenaiChat) });
    assert!(tally.epochs > 0, "{tally:?}");
}

#[test]
fn sessions_outlive_a_model_that_takes_less_than_is_believed() {
    for format in FORMATS {
        let tally = simulate(Scenario { window: 30_000, really: Some(5_000), ..Scenario::new(format, Mood::Moody) });
        assert!(tally.recovered > 0 && tally.epochs > 0, "{format} {tally:?}");
        // A conversation is given up only where nothing can help.
        assert!(tally.refused * 20 <= tally.requests, "{format} {tally:?}");
    }
}

#[test]
fn two_processes_on_one_store_send_the_same() {
    for format in FORMATS {
        let tally = simulate(Scenario { replicas: 2, ..Scenario::new(format, Mood::Good) });
        assert!(tally.epochs > 0 && tally.found > 0, "{format} {tally:?}");
    }
}

#[test]
fn sessions_go_on_while_the_store_comes_and_goes() {
    for format in FORMATS {
        let tally = simulate(Scenario { store_fails: 8, ..Scenario::new(format, Mood::Moody) });
        assert!(tally.epochs > 0 && tally.refused == 0, "{format} {tally:?}");
    }
}
