use proptest::prelude::*;

use super::super::{Plan, PlanOptions, plan};
use super::*;
use crate::budget::{Capacity, Policy, Trigger, threshold};
use crate::token::Method;
use crate::transcript::sample::{Step, anthropic, disorder, responses, session};
use crate::transcript::{BlockKind, Orphan, OrphanKind};
use crate::wire::{Format, ParseOptions, parse};

/// A token a character: no vocabulary needed.
struct Characters;

impl Count for Characters {
    fn text(&self, text: &str) -> Tokens {
        Tokens::from(text.chars().count())
    }

    fn method(&self) -> Method {
        Method::Exact
    }
}

fn read(body: &str, format: Format) -> Document<'_> {
    parse(body.as_bytes(), &ParseOptions::default().with_format(Some(format))).unwrap()
}

fn forced(document: &Document<'_>, keep: u64) -> Plan {
    let mut options = PlanOptions::new(document.format(), Trigger::Manual);
    options.force = true;
    options.keep_tokens = Some(Tokens(keep));
    let transcript = document.transcript();
    let measure = Meter::new(Characters).measure(document);
    let thresholds = threshold(&Capacity::default(), &Policy::default(), None);
    plan(transcript, &Obligations::of(transcript), &measure, &thresholds, &options)
}

#[test]
fn mechanism_71_a_history_that_shrank_is_refused() {
    let script = [Step::Typed, Step::Say, Step::Typed, Step::Say];
    let (body, shorter) = (anthropic(&script), anthropic(&script[..3]));
    let Plan::Summarise(planned) = forced(&read(&body, Format::Anthropic), 10) else { panic!("nothing to do") };
    let refused = apply(&read(&shorter, Format::Anthropic), &planned, "so far", "ok", &mut Meter::new(Characters));
    assert_eq!(refused.unwrap_err(), ApplyError::Shrunk { messages: 3, planned: 4 });
}

#[test]
fn mechanism_1_an_answer_that_comes_late_is_not_orphaned() {
    // The call was given up when this was planned; then its result arrives after all.
    let mut script =
        vec![Step::Typed, Step::Calls { ids: vec![Some(0)], thinks: false }, Step::Typed, Step::Say, Step::Typed];
    let body = anthropic(&script);
    let Plan::Summarise(planned) = forced(&read(&body, Format::Anthropic), 20) else { panic!("nothing to do") };
    script.push(Step::Results { ids: vec![Some(0)], text: false });
    let grown = anthropic(&script);
    let refused = apply(&read(&grown, Format::Anthropic), &planned, "so far", "ok", &mut Meter::new(Characters));
    assert!(matches!(refused, Err(ApplyError::Breaks(_))), "{refused:?}");
}

#[test]
fn what_a_program_drops_when_it_resumes_is_not_counted_afterwards() {
    let line = |n: u32, role: &str, content: &str| {
        let parent = if n == 0 { "null".to_owned() } else { format!("\"u{}\"", n - 1) };
        format!(
            r#"{{"parentUuid":{parent},"isSidechain":false,"type":"{role}","uuid":"u{n}","sessionId":"s1","version":"2.1.197","timestamp":"2026-01-01T00:00:{n:02}Z","message":{{"role":"{role}","content":{content}}}}}"#
        )
    };
    let write = |id: &str, text: &str| {
        format!(r#"[{{"type":"tool_use","id":"{id}","name":"Write","input":{{"content":"{text}"}}}}]"#)
    };
    let lines = [
        line(0, "user", "\"Make a page\""),
        line(1, "assistant", r#"[{"type":"text","text":"First a look."}]"#),
        line(2, "user", "\"Go on\""),
        line(3, "assistant", &write("never-answered", &"x".repeat(900))),
    ];
    let session = lines.join("\n");
    let document = read(&session, Format::ClaudeCode);
    let Plan::Summarise(planned) = forced(&document, 10) else { panic!("nothing to do") };
    let mut meter = Meter::new(Characters);
    let applied = apply(&document, &planned, "So far.", "ok", &mut meter).unwrap();
    let bytes = applied.bytes(&document).unwrap();
    let after = read(std::str::from_utf8(&bytes).unwrap(), Format::ClaudeCode);
    assert_eq!(Obligations::of(after.transcript()).open_calls().len(), 1, "it stays in the file");
    assert_eq!(applied.tokens_after, sent(&after));
    assert!(applied.tokens_after + Tokens(900) <= meter.measure(&after).total, "{}", applied.tokens_after);
}

#[test]
fn mechanism_3_a_chain_of_compactions_never_cuts_into_a_pair() {
    // Each turn holds a parallel batch, and each round grows the history that the round before left.
    let turn = [
        Step::Typed,
        Step::Calls { ids: vec![Some(0), Some(1)], thinks: false },
        Step::Results { ids: vec![Some(0), Some(1)], text: false },
        Step::Say,
    ];
    let more = anthropic(&[turn.clone(), turn.clone()].concat());
    let (_, inner) = more.split_once("\"messages\":[").unwrap();
    let inner = inner.strip_suffix("]}").unwrap();
    for keep in [0, 60, 130, 220] {
        let mut body = anthropic(&std::iter::repeat_n(turn.clone(), 5).flatten().collect::<Vec<_>>());
        for round in 0..5 {
            let document = read(&body, Format::Anthropic);
            let Plan::Summarise(planned) = forced(&document, keep + round) else { panic!("nothing to do") };
            let applied =
                apply(&document, &planned, "What happened so far.", "ok", &mut Meter::new(Characters)).unwrap();
            let bytes = String::from_utf8(applied.bytes(&document).unwrap().into_owned()).unwrap();
            let after = read(&bytes, Format::Anthropic);
            let found = Obligations::of(after.transcript());
            assert_eq!(found.orphans(), [], "keep {keep}, round {round}");
            assert_eq!(found.answers().len() % 2, 0, "a batch stays whole or leaves");
            body = format!("{},\n{inner}]}}", bytes.strip_suffix("]}").unwrap());
        }
    }
}

/// What is sent of a document that was written: all of it, but for what a program drops when it resumes.
fn sent(after: &Document<'_>) -> Tokens {
    let mut meter = Meter::new(Characters);
    let counted = meter.measure(after).total;
    let mut dropped = passed_over(after);
    dropped.sort_unstable();
    counted - omitted_tokens(after.transcript(), &dropped, &meter)
}

fn holds(body: &str, format: Format, keep: u64) -> Result<(), TestCaseError> {
    let document = read(body, format);
    let Plan::Summarise(planned) = forced(&document, keep) else {
        return Ok(());
    };
    let mut meter = Meter::new(Characters);
    let applied = apply(&document, &planned, "What happened so far.", "Understood.", &mut meter).unwrap();
    let bytes = applied.bytes(&document).unwrap().into_owned();
    let after = parse(&bytes, &ParseOptions::default().with_format(Some(format))).unwrap();
    // The count that programs are told is the count of what is there.
    prop_assert_eq!(applied.tokens_after, sent(&after));

    let before = Obligations::of(document.transcript());
    let found = Obligations::of(after.transcript());
    let fresh: Vec<&Orphan> = found
        .new_orphans(&before)
        .into_iter()
        .filter(|orphan| {
            // The continuation is a user's message; reasoning at the very end of a retained group had no item before either.
            orphan.kind != OrphanKind::ReasoningAlone
        })
        .collect();
    prop_assert_eq!(fresh, Vec::<&Orphan>::new(), "{:?}", planned);

    let raw = |document: &Document<'_>, index: usize| {
        let message = &document.transcript().messages[index];
        let entries = message
            .entries
            .iter()
            .map(|entry| document.entries()[*entry as usize].span.of(document.bytes()).to_vec());
        entries.collect::<Vec<_>>()
    };
    // The last message stays as it was, byte for byte, and so does the latest assistant message of an open loop.
    let (last, last_after) = (document.transcript().messages.len() - 1, after.transcript().messages.len() - 1);
    prop_assert_eq!(raw(&document, last), raw(&after, last_after));
    let thinking = |document: &Document<'_>| {
        let messages = document.transcript().messages.iter().rev();
        let latest = messages.clone().find(|message| message.role == Role::Assistant);
        let blocks = latest.into_iter().flat_map(|message| &message.blocks);
        blocks
            .filter(|block| matches!(block.kind, BlockKind::Thinking { .. }))
            .map(|block| block.span.of(document.bytes()).to_vec())
            .collect::<Vec<_>>()
    };
    let messages = &document.transcript().messages;
    let tail = messages.iter().skip(planned.removed.end).rev();
    let since = tail.take_while(|message| message.role != Role::Assistant).collect::<Vec<_>>();
    let turn_over = since.iter().any(|message| message.is_typed() && message.results().next().is_none());
    if since.len() < planned.tail_messages() && !turn_over {
        prop_assert_eq!(thinking(&document), thinking(&after));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn what_is_written_reads_back_whole(
        script in prop_oneof![disorder(1..24), session(1..6)],
        keep in 0_u64..400,
    ) {
        holds(&anthropic(&script), Format::Anthropic, keep)?;
        holds(&responses(&script), Format::OpenaiResponses, keep)?;
    }
}

/// Every transcript of a folder of real ones, if one is given.
#[expect(clippy::disallowed_methods, reason = "real transcripts lie outside of the project")]
fn corpus() -> Vec<(String, Vec<u8>)> {
    let Ok(data) = std::env::var("PLIMSOLL_DATA") else {
        return Vec::new();
    };
    let mut files = Vec::new();
    for folder in ["claude_code", "codex", "chat", "responses", "anthropic", "gemini"] {
        for file in std::fs::read_dir(format!("{data}/{folder}")).unwrap() {
            let path = file.unwrap().path();
            if path.is_file() {
                files.push((path.display().to_string(), std::fs::read(&path).unwrap()));
            }
        }
    }
    files.sort();
    files
}

#[test]
fn real_transcripts_are_compacted_without_breaking_anything() {
    for (name, bytes) in corpus() {
        let Ok(document) = parse(&bytes, &ParseOptions::default()) else {
            eprintln!("{name}: no transcript");
            continue;
        };
        let before = Obligations::of(document.transcript());
        let messages = document.transcript().messages.len();
        let cuts = before.legal_cuts().count();
        let (orphans, open) = (before.orphans().len(), before.open_calls().len());
        eprintln!(
            "{name}: {messages} messages, {cuts} cuts, {orphans} orphans, {open} open, standing {:?}",
            before.standing()
        );
        assert!(messages < 30 || cuts > messages / 20, "{name} can hardly be cut");
        for keep in [0, 2_000, 20_000, 80_000] {
            let Plan::Summarise(planned) = forced(&document, keep) else {
                continue;
            };
            let mut meter = Meter::new(Characters);
            let applied = match apply(&document, &planned, "So far.", "Understood.", &mut meter) {
                Ok(applied) => applied,
                Err(error) => panic!("{name}: {error:?}"),
            };
            let rewritten = applied.bytes(&document).unwrap();
            let options = ParseOptions::default().with_format(Some(document.format()));
            let after = parse(&rewritten, &options).unwrap();
            let found = Obligations::of(after.transcript());
            let fresh = found.new_orphans(&before);
            assert!(fresh.is_empty(), "{name}, keep {keep}, {:?}: {fresh:?}", planned.removed);
            let counted = sent(&after);
            if document.format() == Format::Codex {
                // What the program adds again by itself is left out, but counted.
                assert!(counted <= applied.tokens_after, "{name}");
            } else {
                assert_eq!(counted, applied.tokens_after, "{name}, keep {keep}, {:?}", planned.removed);
            }
        }
    }
}
