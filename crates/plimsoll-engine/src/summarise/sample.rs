//! A conversation that can be compacted, and a summary of it, for tests.

use plimsoll::Tokens;
use plimsoll::budget::{Capacity, Count as _, Counting, Meter, Policy, Trigger, threshold};
use plimsoll::compact::{Plan, PlanOptions, Profile, plan};
use plimsoll::transcript::Obligations;
use plimsoll::wire::{ParseOptions, parse};

use super::Job;

fn body(model: &str) -> String {
    let mut messages = vec![r#"{"role":"user","content":"Mend the widget. Never touch `main`."}"#.to_owned()];
    for turn in 0..12 {
        messages.push(format!(
            r#"{{"role":"assistant","content":null,"tool_calls":[{{"id":"c{turn}","type":"function","function":{{"name":"Bash","arguments":"{{\"command\":\"cargo test widget_{turn}\"}}"}}}}]}}"#
        ));
        let output = format!("running widget_{turn}: ok. ").repeat(60);
        messages.push(format!(r#"{{"role":"tool","tool_call_id":"c{turn}","content":"{output}"}}"#));
        messages.push(format!(r#"{{"role":"assistant","content":"Step {turn} of the widget is done."}}"#));
        messages.push(format!(r#"{{"role":"user","content":"Go on with widget {turn}."}}"#));
    }
    format!(r#"{{"model":"{model}","max_tokens":1000,"messages":[{}]}}"#, messages.join(","))
}

/// A whole summary, as a model writes one, with these words in each section.
pub(crate) fn summary(words: &str) -> String {
    let profile = Profile::default();
    let sections: String = (1..)
        .zip(profile.headings())
        .map(|(number, heading)| format!("## {number}. {heading}\n{words}\n\n"))
        .collect();
    format!("<analysis>\nnotes\n</analysis>\n\n<summary>\n{sections}</summary>")
}

/// A summary of the conversation that is given here.
pub(super) fn good() -> String {
    summary("The widget is being mended, step by step, with tests.")
}

/// Lets a test work on the job of a conversation.
pub(super) fn with_job<T>(model: &str, work: impl FnOnce(&Job<'_>) -> T) -> T {
    let body = body(model);
    let document = parse(body.as_bytes(), &ParseOptions::default()).unwrap();
    let counting = Counting::for_model(Some("gpt-4o"));
    let measure = Meter::new(counting.clone()).measure(&document);
    let capacity = Capacity { context_window: Some(Tokens(16_000)), ..Capacity::default() };
    let thresholds = threshold(&capacity, &Policy::default(), None);
    let mut options = PlanOptions::new(document.format(), Trigger::Manual);
    options.keep_tokens = Some(Tokens(400));
    let obligations = Obligations::of(document.transcript());
    let Plan::Summarise(plan) = plan(document.transcript(), &obligations, &measure, &thresholds, &options) else {
        panic!("it can be compacted")
    };
    work(&Job {
        document: &document,
        measure: &measure,
        plan: &plan,
        profile: &Profile::default(),
        instructions: None,
        recall: "s1/~0a1b2c3d4e5f",
        count: &|text| counting.text(text),
    })
}
