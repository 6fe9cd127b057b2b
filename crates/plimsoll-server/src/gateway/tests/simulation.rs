//! Conversations of hundreds of turns at the socket: three formats, two gateways on one store, requests at the same time,
//! marks that move, clients that edit, rewind and repeat, gateways that die. What goes out extends what went out.
//!
//! `PLIMSOLL_SIMULATION=20` runs as many seeds as it says; a failure names its seed.

#[path = "../../../../plimsoll-engine/src/session/simulation/chance.rs"]
mod chance;
mod model;
#[path = "../../../../plimsoll-engine/src/session/simulation/talk.rs"]
mod talk;
mod world;

use world::{Scenario, Tally, World};

async fn simulate(scenario: Scenario) -> Tally {
    let seeds = std::env::var("PLIMSOLL_SIMULATION").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(1);
    let mut all = Tally::default();
    for seed in 1..=seeds {
        let mut world = World::new(scenario, seed).await;
        for _ in 0..scenario.steps {
            world.step().await;
        }
        all.add(&world.end().await);
    }
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_request_extends_what_was_sent_through_hundreds_of_turns() {
    let tally = simulate(Scenario { steps: 220, ..Scenario::default() }).await;
    assert!(tally.requests > 250 && tally.epochs > 10 && tally.capped > 3, "{tally:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_gateways_on_one_store_go_on_with_each_others_conversations() {
    let tally = simulate(Scenario { replicas: 2, remote: true, steps: 160, ..Scenario::default() }).await;
    assert!(tally.epochs > 10 && tally.found > 5, "{tally:?}");
    let tally = simulate(Scenario { replicas: 2, steps: 100, ..Scenario::default() }).await;
    assert!(tally.epochs > 5 && tally.found > 3, "{tally:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn signed_reasoning_leaves_between_turns_only() {
    let tally = simulate(Scenario { thinks: true, steps: 120, ..Scenario::default() }).await;
    assert!(tally.epochs > 5, "{tally:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_that_takes_less_than_is_believed_is_recovered_from() {
    let tally = simulate(Scenario { window: 30_000, really: Some(6_000), steps: 120, ..Scenario::default() }).await;
    assert!(tally.recovered > 0 && tally.epochs > 3, "{tally:?}");
}
