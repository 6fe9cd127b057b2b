use std::time::{Duration, SystemTime};

use plimsoll::compact::Epoch;
use plimsoll::wire::ParseOptions;
use plimsoll_store::Store;

use super::*;
use crate::{CompactOptions, Compacted, Outcome, compact};

fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000)
}

/// A session of an agent that reads much and says little.
fn body_of(turns: usize) -> String {
    let messages: Vec<String> = (0..turns)
        .map(|turn| {
            let text = format!("{turn}: one two three four\\n").repeat(900);
            format!(
                r#"{{"role":"user","content":"Step {turn}: never touch part {turn}."}},
{{"role":"assistant","content":[{{"type":"tool_use","id":"t{turn}","name":"Bash","input":{{"command":"make part{turn}"}}}}]}},
{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t{turn}","content":"{text}"}}]}},
{{"role":"assistant","content":"Part {turn} is made."}}"#
            )
        })
        .collect();
    format!(
        r#"{{"model":"claude-sonnet-4-5", "max_tokens": 1024, "messages":[{},{{"role":"user","content":"Go on."}}]}}"#,
        messages.join(",\n")
    )
}

fn done(body: &str, options: &CompactOptions, store: Option<&Store>) -> (Compacted, String) {
    let document = parse(body.as_bytes(), &ParseOptions::default()).unwrap();
    let compacted = compact(&document, options, store, now(), &|_| ()).unwrap();
    let bytes = splice(document.bytes(), &compacted.edits).unwrap().into_owned();
    (compacted, String::from_utf8(bytes).unwrap())
}

fn target(tokens: u64) -> CompactOptions {
    CompactOptions { target_tokens: Some(Tokens(tokens)), ..CompactOptions::default() }
}

#[test]
fn where_old_results_are_enough_no_summary_is_written_and_all_comes_back() {
    let store = Store::memory();
    let original = body_of(6);
    let (Compacted { report, .. }, after) = done(&original, &target(25_000), Some(&store));
    assert_eq!(report.outcome, Outcome::Applied);
    assert!(report.tokens_after <= Tokens(25_000), "{report:?}");
    assert_eq!((report.summarizer, report.messages_after), (None, 25));
    let reductions = report.reductions.unwrap();
    assert!(reductions.large > 0 && reductions.superseded == 0 && reductions.media == 0);
    assert!(after.contains("Step 0: never touch part 0."), "the user's words stay");
    assert!(report.break_even_turns.is_some());

    // Each piece by its own id, the pieces together by the epoch's, and the document as it was.
    let epoch: EpochId = report.epoch.unwrap().parse().unwrap();
    for piece in &reductions.pieces {
        assert!(after.contains(&format!("recall id {}", piece.artifact)), "{after}");
        let id: ArtifactId = piece.artifact.parse().unwrap();
        let recalled = String::from_utf8(store.recall(&id.into()).unwrap()).unwrap();
        assert!(recalled.contains(": one two three four\n"), "{recalled}");
    }
    let document = store.document(&epoch).unwrap();
    assert_eq!(document.pieces().collect::<Result<Vec<_>, _>>().unwrap().concat(), original.as_bytes());
    let removed = String::from_utf8(store.recall(&epoch.clone().into()).unwrap()).unwrap();
    assert!(original.contains(removed.split("0: one").next().unwrap()) && removed.contains("0: one two three four"));
    let record = Epoch::from_json(&store.epoch_record(&epoch).unwrap().unwrap()).unwrap();
    assert!(record.is_of_reductions());
}

#[test]
fn mechanism_71_what_leaves_is_stored_before_the_line_that_names_it_is_seen() {
    // Nothing is stored without a store, and the edits of a dry run are the same but for ids that the store gives.
    let original = body_of(6);
    let (dry, dry_text) = done(&original, &target(25_000), None);
    assert_eq!(dry.report.epoch, None);
    let store = Store::memory();
    let (wet, text) = done(&original, &target(25_000), Some(&store));
    assert_eq!(text, dry_text);
    assert_eq!(wet.report.tokens_after, dry.report.tokens_after);
}

#[test]
fn mechanism_70_the_same_history_is_reduced_to_the_same_bytes_ever_after() {
    let store = Store::memory();
    let original = body_of(6);
    let (first, once) = done(&original, &target(25_000), Some(&store));
    let (second, twice) = done(&original, &target(25_000), Some(&store));
    assert_eq!(once, twice);
    assert_eq!(first.report.epoch, second.report.epoch);
    // Another target leaves out something else: an epoch of its own, and the first stays as it is.
    let (other, less) = done(&original, &target(15_000), Some(&store));
    assert_ne!(other.report.epoch, first.report.epoch);
    assert!(less.len() < once.len());
    assert_eq!(done(&original, &target(25_000), Some(&store)).1, once);
    // Written with other white space, it is the same history.
    let spaced = original.replace("\"role\":\"assistant\"", "\"role\" : \"assistant\"");
    let (same, text) = done(&spaced, &target(25_000), Some(&store));
    assert_eq!(text.replace("\"role\" : \"assistant\"", "\"role\":\"assistant\""), once);
    assert!(same.report.epoch.unwrap().starts_with(&first.report.epoch.unwrap()));
}

#[test]
fn where_they_are_not_enough_or_not_meant_a_summary_is_made() {
    let store = Store::memory();
    let original = body_of(6);
    let summarised = |options: &CompactOptions| done(&original, options, Some(&store)).0.report.summarizer;
    let many = done(&body_of(30), &target(2_500), Some(&store)).0.report;
    assert_eq!(many.summarizer.as_deref(), Some("extract"), "{many:?}");
    assert_eq!(
        summarised(&CompactOptions { instructions: Some("keep part 2".into()), ..target(25_000) }),
        Some("extract".to_owned())
    );
    assert_eq!(summarised(&CompactOptions { summary_only: true, ..target(25_000) }), Some("extract".to_owned()));
    assert_eq!(
        summarised(&CompactOptions { keep_tokens: Some(Tokens(2_000)), ..target(25_000) }),
        Some("extract".to_owned())
    );
    assert_eq!(summarised(&target(25_000)), None);
}

#[test]
fn a_piece_over_the_quota_stays_rather_than_being_kept_in_part() {
    let quotas = plimsoll_store::Quotas { max_artifact: 100, ..plimsoll_store::Quotas::default() };
    let store = Store::memory().with_quotas(quotas);
    let (compacted, after) = done(&body_of(6), &target(25_000), Some(&store));
    assert_eq!(compacted.report.summarizer.as_deref(), Some("extract"));
    assert!(!after.contains("left out here to make room"), "{after}");
}
