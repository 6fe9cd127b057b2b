use proptest::prelude::*;

use super::super::{Plan, PlanOptions, apply, plan};
use super::*;
use crate::budget::{Capacity, Count, Meter, Policy, Trigger, threshold};
use crate::token::Method;
use crate::transcript::Obligations;
use crate::transcript::sample::{Step, anthropic, session};
use crate::wire::{ParseOptions, parse, splice};

struct Characters;

impl Count for Characters {
    fn text(&self, text: &str) -> Tokens {
        Tokens::from(text.chars().count())
    }

    fn method(&self) -> Method {
        Method::Exact
    }
}

fn read(body: &str) -> Document<'_> {
    parse(body.as_bytes(), &ParseOptions::default().with_format(Some(Format::Anthropic))).unwrap()
}

/// Compacts a body; gives the record and the compacted body.
fn compacted(body: &str, keep: u64) -> Option<(Epoch, Vec<u8>)> {
    let document = read(body);
    let mut options = PlanOptions::new(document.format(), Trigger::Manual);
    options.force = true;
    options.keep_tokens = Some(Tokens(keep));
    let transcript = document.transcript();
    let mut meter = Meter::new(Characters);
    let measure = meter.measure(&document);
    let thresholds = threshold(&Capacity::default(), &Policy::default(), None);
    let decided = plan(transcript, &Obligations::of(transcript), &measure, &thresholds, &options);
    let Plan::Summarise(summarise) = decided else {
        return None;
    };
    let applied = apply(&document, &summarise, "So far.", "Understood.", &mut meter).unwrap();
    let bytes = applied.bytes(&document).unwrap().into_owned();
    let chain = Chain::of(&document);
    let (text, answer) = ("So far.".to_owned(), "Understood.".to_owned());
    let mut epoch = Epoch::new(Format::Anthropic, &chain, &summarise, text, answer, applied.tokens_after).unwrap();
    epoch.summary = "So far.".to_owned();
    epoch.ledger = serde_json::json!({"errors": []});
    Some((epoch, bytes))
}

fn replayed(epoch: &Epoch, body: &str) -> Result<Vec<u8>, ReplayError> {
    let document = read(body);
    let edits = epoch.replay(&document, &Chain::of(&document))?;
    Ok(splice(body.as_bytes(), &edits).unwrap().into_owned())
}

fn talk(turns: usize) -> Vec<Step> {
    (0..turns).flat_map(|_| [Step::Typed, Step::Say]).collect()
}

#[test]
fn an_epoch_is_named_by_the_prefix_it_replaces() {
    let (epoch, _) = compacted(&anthropic(&talk(5)), 40).unwrap();
    let session = SessionId::new("s1");
    let id = epoch.id(&session).to_string();
    assert!(id.starts_with("s1/~") && id.len() == "s1/~".len() + 12, "{id}");
    // What comes after the cut has no part in the name.
    let (later, _) = compacted(&anthropic(&[talk(5), vec![Step::Typed]].concat()), 50).unwrap();
    if later.prefix == epoch.prefix {
        assert_eq!(later.id(&session), epoch.id(&session));
    }
    assert_eq!(compacted(&anthropic(&talk(5)), 40).unwrap().0, epoch);
}

#[test]
fn mechanism_70_an_epoch_of_another_history_does_not_match() {
    let body = anthropic(&talk(5));
    let (epoch, _) = compacted(&body, 40).unwrap();
    assert!(epoch.prefix >= 4);
    let edited = body.replacen("yes 1", "no 1", 1);
    let undone = anthropic(&talk(1));
    for other in [edited, undone] {
        assert!(!epoch.matches(&Chain::of(&read(&other))));
        assert_eq!(replayed(&epoch, &other), Err(ReplayError::OtherHistory { prefix: epoch.prefix }));
    }
}

#[test]
fn thinking_signed_before_leaves_when_its_turn_is_over_and_later_thinking_stays() {
    let exchange =
        || [Step::Calls { ids: vec![Some(0)], thinks: true }, Step::Results { ids: vec![Some(0)], text: false }];
    let mut script = talk(4);
    script.push(Step::Typed);
    script.extend(exchange());
    let (epoch, bytes) = compacted(&anthropic(&script), 80).unwrap();
    assert_eq!(epoch.prefix, 8);
    let count = |bytes: &[u8]| String::from_utf8_lossy(bytes).matches("\"thinking\":").count();
    assert_eq!(count(&bytes), 1, "the loop that goes on keeps its thinking");
    script.extend([Step::Say, Step::Typed]);
    script.extend(exchange());
    assert_eq!(count(&replayed(&epoch, &anthropic(&script)).unwrap()), 1, "only the new turn's");
    script.extend([Step::Say, Step::Typed]);
    assert_eq!(count(&replayed(&epoch, &anthropic(&script)).unwrap()), 1, "which was signed over the new prefix");
}

#[test]
fn a_record_reads_back_and_a_strange_one_is_refused() {
    let (epoch, _) = compacted(&anthropic(&talk(5)), 40).unwrap();
    let json = epoch.to_json().unwrap();
    assert_eq!(Epoch::from_json(json.as_bytes()).unwrap(), epoch);
    let later = json.replacen("\"version\":1", "\"version\":2", 1);
    assert!(matches!(Epoch::from_json(later.as_bytes()), Err(EpochError::Version { found: 2 })));
    assert!(matches!(Epoch::from_json(b"{}"), Err(EpochError::Shape(_))));
    let mut wrong = epoch;
    wrong.prefix += 1;
    let wrong = wrong.to_json().unwrap();
    assert!(matches!(Epoch::from_json(wrong.as_bytes()), Err(EpochError::Contradiction { .. })));
}

proptest! {
    #[test]
    fn a_replay_is_the_same_bytes_and_goes_on_as_they_do(
        script in session(2..6),
        more in session(1..3),
        keep in 0_u64..300,
    ) {
        let Some((epoch, bytes)) = compacted(&anthropic(&script), keep) else {
            return Ok(());
        };
        prop_assert_eq!(&replayed(&epoch, &anthropic(&script)).unwrap(), &bytes);
        // Restarted, from the stored record.
        let stored = Epoch::from_json(epoch.to_json().unwrap().as_bytes()).unwrap();
        prop_assert_eq!(&replayed(&stored, &anthropic(&script)).unwrap(), &bytes);
        let grown: Vec<Step> = script.iter().chain(&more).cloned().collect();
        let grown = anthropic(&grown);
        match replayed(&epoch, &grown) {
            Ok(again) => {
                prop_assert_eq!(&again, &replayed(&stored, &grown).unwrap());
                let head = epoch.messages - epoch.prefix;
                prop_assert!(again.len() > bytes.len() / 2, "the tail of {} messages is there", head);
                let again = String::from_utf8(again).unwrap();
                prop_assert!(again.contains("So far."));
            }
            Err(error) => prop_assert!(matches!(error, ReplayError::Apply(ApplyError::Breaks(_))), "{}", error),
        }
    }
}
