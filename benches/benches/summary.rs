//! The parts of a compaction by a model that surround its call, on a conversation of a million tokens. The promise is
//! 100 ms for all of them together.

use divan::Bencher;
use plimsoll::Tokens;
use plimsoll::budget::{Capacity, Counting, Meter, Policy, Trigger, threshold};
use plimsoll::compact::{
    Answer, Api, Ledger, PlanOptions, Profile, Request, Summariser, SummaryJob, extract, extract_summary,
    plan_or_reduce,
};
use plimsoll::transcript::Obligations;
use plimsoll_benches::body;
use plimsoll_benches::summary::{MODEL, Planned, answer, planned};

const SIZE: usize = 3_600_000;
/// A window that makes the request fit, and one that makes it shrink.
const WINDOWS: [u64; 2] = [2_000_000, 200_000];

fn main() {
    divan::main();
}

/// Measures what is done with a conversation that is planned.
fn with(bencher: Bencher<'_, '_>, work: impl Fn(&Planned<'_>, Bencher<'_, '_>)) {
    let body = body::anthropic_unsigned(SIZE);
    let Some(planned) = planned(&body) else {
        return;
    };
    work(&planned, bencher);
}

fn with_job(bencher: Bencher<'_, '_>, work: impl Fn(&SummaryJob<'_>, &Planned<'_>, Bencher<'_, '_>)) {
    with(bencher, |planned, bencher| {
        let (profile, count) = (Profile::default(), |text: &str| planned.count(text));
        let job = SummaryJob::new(&planned.document, &planned.summarise, &profile, None, &count);
        work(&job, planned, bencher);
    });
}

fn to(window: u64, continues: bool) -> Summariser<'static> {
    Summariser {
        api: Api::Anthropic,
        model: if continues { MODEL } else { "claude-haiku-4-5" },
        window: Tokens(window),
        max_output: Some(Tokens(20_000)),
        carries_conversation: continues,
        stream: true,
    }
}

#[divan::bench]
fn looking_for_reductions(bencher: Bencher<'_, '_>) {
    with(bencher, |planned, bencher| {
        let obligations = Obligations::of(planned.document.transcript());
        let meter = Meter::new(Counting::for_model(Some(MODEL)));
        let capacity = Capacity { context_window: Some(Tokens(1_000_000)), ..Capacity::default() };
        let thresholds = threshold(&capacity, &Policy::default(), None);
        let options = PlanOptions::new(planned.document.format(), Trigger::Threshold);
        bencher.bench(|| {
            plan_or_reduce(&planned.document, &obligations, &planned.measure, &meter, &thresholds, &options)
        });
    });
}

#[divan::bench]
fn ledger(bencher: Bencher<'_, '_>) {
    with(bencher, |planned, bencher| {
        bencher.bench(|| Ledger::of(planned.document.transcript(), planned.summarise.removed.clone()));
    });
}

#[divan::bench]
fn job(bencher: Bencher<'_, '_>) {
    with(bencher, |planned, bencher| {
        let (profile, count) = (Profile::default(), |text: &str| planned.count(text));
        bencher.bench(|| SummaryJob::new(&planned.document, &planned.summarise, &profile, None, &count).bound);
    });
}

#[divan::bench]
fn request_as_the_conversation(bencher: Bencher<'_, '_>) {
    with_job(bencher, |job, planned, bencher| {
        bencher.bench(|| job.request(&planned.measure, &to(2_000_000, true), None, &|text| planned.count(text)));
    });
}

#[divan::bench(args = WINDOWS)]
fn request_as_text(bencher: Bencher<'_, '_>, window: u64) {
    with_job(bencher, |job, planned, bencher| {
        bencher.bench(|| job.request(&planned.measure, &to(window, false), None, &|text| planned.count(text)));
    });
}

#[divan::bench]
fn reading_the_answer(bencher: Bencher<'_, '_>) {
    let answer = answer();
    bencher.bench(|| extract_summary(&answer));
}

#[divan::bench]
fn judging_the_answer(bencher: Bencher<'_, '_>) {
    let answer = answer();
    with_job(bencher, |job, _, bencher| bencher.bench(|| job.accept(&Answer::finished(&answer))));
}

#[divan::bench]
fn continuation(bencher: Bencher<'_, '_>) {
    let answer = answer();
    with_job(bencher, |job, _, bencher| {
        bencher.bench(|| job.continuation(&answer, "s1/~0a1b2c3d4e5f", Some("s1/~0a1b2c3d4e5f")));
    });
}

#[divan::bench]
fn the_extract(bencher: Bencher<'_, '_>) {
    with(bencher, |planned, bencher| {
        let profile = Profile::default();
        let request = Request {
            budget: planned.summarise.continuation_budget,
            ledger: planned.summarise.ledger_budget,
            count: &|text| planned.count(text),
            recall: "s1/~0a1b2c3d4e5f",
            splits_turn: false,
            profile: &profile,
            instructions: None,
        };
        bencher.bench_local(|| extract(planned.document.transcript(), planned.summarise.removed.clone(), &request));
    });
}
