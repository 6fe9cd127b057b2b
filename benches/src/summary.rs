//! What a compaction of a large conversation is made from, to measure its parts with.

use plimsoll::Tokens;
use plimsoll::budget::{Capacity, Count as _, Counting, Measure, Meter, Policy, Trigger, threshold};
use plimsoll::compact::{Plan, PlanOptions, Profile, Summarise, plan};
use plimsoll::transcript::Obligations;
use plimsoll::wire::{Document, ParseOptions, parse};

/// The model that the bodies of [`body`](crate::body) name.
pub const MODEL: &str = "claude-sonnet-4-5";

/// A whole answer of a model to a summary request: nine sections that name what the work was about.
pub fn answer() -> String {
    let mut text = "<analysis>\nThe files were read one by one.\n</analysis>\n\n<summary>\n".to_owned();
    let profile = Profile::default();
    for (number, heading) in (1..).zip(profile.headings()) {
        text.push_str(&format!("## {number}. {heading}\n"));
        for file in 0..30 {
            text.push_str(&format!("- `src/file_{file}.rs` was read, and what stands in it was noted.\n"));
        }
        text.push('\n');
    }
    text + "</summary>"
}

/// A conversation that was read, measured and planned.
#[derive(Debug)]
pub struct Planned<'b> {
    /// The conversation.
    pub document: Document<'b>,
    /// What it counts.
    pub measure: Measure,
    /// What of it leaves.
    pub summarise: Summarise,
    counting: Counting,
}

impl Planned<'_> {
    /// Counts a text as the conversation's model does.
    pub fn count(&self, text: &str) -> Tokens {
        self.counting.text(text)
    }
}

/// Reads, measures and plans a body; `None` if there is nothing to compact in it.
pub fn planned(body: &[u8]) -> Option<Planned<'_>> {
    let document = parse(body, &ParseOptions::default()).ok()?;
    let counting = Counting::for_model(Some(MODEL));
    let measure = Meter::new(counting.clone()).measure(&document);
    let obligations = Obligations::of(document.transcript());
    let capacity = Capacity { context_window: Some(Tokens(1_000_000)), ..Capacity::default() };
    let thresholds = threshold(&capacity, &Policy::default(), None);
    let options = PlanOptions::new(document.format(), Trigger::Manual);
    let Plan::Summarise(summarise) = plan(document.transcript(), &obligations, &measure, &thresholds, &options)
    else {
        return None;
    };
    Some(Planned { document, measure, summarise, counting })
}
