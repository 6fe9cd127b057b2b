use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::budget::{Capacity, Policy, threshold};
use crate::compact::{Chain, Epoch, Ledger};
use crate::token::Method;
use crate::transcript::BlockKind;
use crate::wire::{Format, ParseOptions, parse, splice};

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

/// One move of a made-up session.
#[derive(Debug, Clone)]
enum Move {
    Ask,
    Say,
    /// A tool's call with its result.
    Call {
        tool: &'static str,
        about: String,
        answer: String,
        fails: bool,
    },
    /// A call whose result has not come.
    Open,
    /// A picture that the user shows.
    Picture,
}

use Move::{Ask, Open, Picture, Say};

fn text(seed: usize, size: usize) -> String {
    let line = format!("line {seed} of \"quoted\" text\n");
    line.repeat(size / line.len() + 1).chars().take(size).collect()
}

fn read(path: &str, size: usize) -> Move {
    read_of(path, path.len(), size)
}

fn read_of(path: &str, seed: usize, size: usize) -> Move {
    Move::Call { tool: "Read", about: path.to_owned(), answer: text(seed, size), fails: false }
}

fn edit(path: &str) -> Move {
    Move::Call { tool: "Edit", about: path.to_owned(), answer: "done".to_owned(), fails: false }
}

fn run(command: &str, size: usize) -> Move {
    Move::Call { tool: "Bash", about: command.to_owned(), answer: text(command.len() + 100, size), fails: false }
}

fn arguments(tool: &str, about: &str) -> Value {
    match tool {
        "Read" => json!({"file_path": about}),
        "Edit" => json!({"file_path": about, "old_string": "a", "new_string": "b"}),
        "Bash" => json!({"command": about}),
        _ => json!({"id": about}),
    }
}

const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// Writes a session in a format; where it thinks, calls and answers are signed.
fn write(moves: &[Move], format: Format, thinks: bool) -> String {
    let mut messages: Vec<Value> = Vec::new();
    for (at, step) in moves.iter().enumerate() {
        let id = format!("c{at}");
        match format {
            Format::Anthropic => {
                let thinking = json!({"type": "thinking", "thinking": format!("hm {at}"), "signature": format!("s{at}")});
                let said = |block: Value| {
                    let blocks = if thinks { vec![thinking.clone(), block] } else { vec![block] };
                    json!({"role": "assistant", "content": blocks})
                };
                match step {
                    Ask => messages.push(json!({"role": "user", "content": format!("Do {at}.")})),
                    Say => messages.push(said(json!({"type": "text", "text": format!("Did {at}.")}))),
                    Picture => messages.push(json!({"role": "user", "content": [{"type": "text", "text": "See"},
                        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}]})),
                    Open => messages.push(said(json!({"type": "tool_use", "id": id, "name": "Bash", "input": {"command": "make"}}))),
                    Move::Call { tool, about, answer, fails } => {
                        messages.push(said(json!({"type": "tool_use", "id": id, "name": tool, "input": arguments(tool, about)})));
                        messages.push(json!({"role": "user", "content": [
                            {"type": "tool_result", "tool_use_id": id, "content": answer, "is_error": fails}]}));
                    }
                }
            }
            Format::OpenaiChat => match step {
                Ask => messages.push(json!({"role": "user", "content": format!("Do {at}.")})),
                Say => messages.push(json!({"role": "assistant", "content": format!("Did {at}.")})),
                Picture => messages.push(json!({"role": "user", "content": [
                    {"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{PIXEL}")}}]})),
                Open => messages.push(json!({"role": "assistant", "content": null, "tool_calls": [
                    {"id": id, "type": "function", "function": {"name": "Bash", "arguments": "{\"command\":\"make\"}"}}]})),
                Move::Call { tool, about, answer, .. } => {
                    messages.push(json!({"role": "assistant", "content": null, "tool_calls": [
                        {"id": id, "type": "function", "function": {"name": tool, "arguments": arguments(tool, about).to_string()}}]}));
                    messages.push(json!({"role": "tool", "tool_call_id": id, "content": answer}));
                }
            },
            Format::OpenaiResponses => {
                if thinks && !matches!(step, Ask | Picture) {
                    messages.push(json!({"type": "reasoning", "id": format!("rs{at}"), "summary": [], "encrypted_content": "abcd"}));
                }
                match step {
                    Ask => messages.push(json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": format!("Do {at}.")}]})),
                    Say => messages.push(json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": format!("Did {at}.")}]})),
                    Picture => messages.push(json!({"type": "message", "role": "user", "content": [
                        {"type": "input_image", "image_url": format!("data:image/png;base64,{PIXEL}")}]})),
                    Open => messages.push(json!({"type": "function_call", "call_id": id, "name": "Bash", "arguments": "{}"})),
                    Move::Call { tool, about, answer, .. } => {
                        messages.push(json!({"type": "function_call", "call_id": id, "name": tool, "arguments": arguments(tool, about).to_string()}));
                        messages.push(json!({"type": "function_call_output", "call_id": id, "output": answer}));
                    }
                }
            }
            _ => match step {
                Ask => messages.push(json!({"role": "user", "parts": [{"text": format!("Do {at}.")}]})),
                Say => messages.push(json!({"role": "model", "parts": [{"text": format!("Did {at}.")}]})),
                Picture => messages.push(json!({"role": "user", "parts": [{"inlineData": {"mimeType": "image/png", "data": PIXEL}}]})),
                Open => messages.push(json!({"role": "model", "parts": [{"functionCall": {"name": "Bash", "args": {"command": "make"}}}]})),
                Move::Call { tool, about, answer, .. } => {
                    messages.push(json!({"role": "model", "parts": [{"functionCall": {"name": tool, "args": arguments(tool, about)}}]}));
                    messages.push(json!({"role": "user", "parts": [{"functionResponse": {"name": tool, "response": {"output": answer}}}]}));
                }
            },
        }
    }
    let whole = match format {
        Format::Anthropic => json!({"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": messages}),
        Format::OpenaiChat => json!({"model": "gpt-4o", "messages": messages}),
        Format::OpenaiResponses => json!({"model": "gpt-5", "input": messages}),
        _ => json!({"contents": messages}),
    };
    whole.to_string()
}

const FORMATS: [Format; 4] = [Format::Anthropic, Format::OpenaiChat, Format::OpenaiResponses, Format::Gemini];

fn view(body: &str, format: Format) -> Document<'_> {
    parse(body.as_bytes(), &ParseOptions::default().with_format(Some(format))).unwrap()
}

fn limits(window: u64) -> Thresholds {
    threshold(&Capacity { context_window: Some(Tokens(window)), ..Capacity::default() }, &Policy::default(), None)
}

fn by_hand(target: u64) -> PlanOptions {
    let mut options = PlanOptions::new(Format::Anthropic, Trigger::Manual);
    options.target_tokens = Some(Tokens(target));
    options
}

fn automatic() -> PlanOptions {
    PlanOptions::new(Format::Anthropic, Trigger::Threshold)
}

fn planned(document: &Document<'_>, options: &PlanOptions, window: u64) -> Plan {
    let mut meter = Meter::new(Characters);
    let measure = meter.measure(document);
    let mut options = options.clone();
    options.format = document.format();
    let obligations = Obligations::of(document.transcript());
    plan_or_reduce(document, &obligations, &measure, &meter, &limits(window), &options)
}

fn reduced(document: &Document<'_>, options: &PlanOptions, window: u64) -> Option<(Reduce, Reduced)> {
    let Plan::Reduce(reduce) = planned(document, options, window) else {
        return None;
    };
    let ids: Vec<_> = reduce.reductions.iter().map(|at| Some(format!("s1/m{}-{}", at.message, at.block))).collect();
    let reduced = apply_reductions(document, &reduce, &ids, &mut Meter::new(Characters)).unwrap();
    Some((reduce, reduced))
}

/// What a plan leaves out: the messages, with the reasons.
fn leaving(moves: &[Move], options: &PlanOptions, window: u64) -> Vec<(usize, Cause)> {
    let body = write(moves, Format::Anthropic, false);
    match planned(&view(&body, Format::Anthropic), options, window) {
        Plan::Reduce(reduce) => reduce.reductions.iter().map(|at| (at.message, at.reason)).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn a_piece_counts_the_same_from_the_measure_as_by_itself() {
    for format in FORMATS {
        let body = write(&[Ask, read("a.rs", 900), Say, run("make", 500), Picture, Ask], format, false);
        let document = view(&body, format);
        let mut meter = Meter::new(Characters);
        let measure = meter.measure(&document);
        let mut pieces = 0;
        for (index, message) in document.transcript().messages.iter().enumerate() {
            for result in message.results() {
                for piece in &result.content {
                    let told = carry_out::piece_tokens(document.transcript(), &measure, &meter, (index, piece));
                    assert_eq!(told, meter.block_tokens(piece), "{format}");
                    pieces += 1;
                }
            }
        }
        assert_eq!(pieces, 2, "{format}");
    }
}

#[test]
fn what_was_read_again_leaves_before_anything_else() {
    let moves = [Ask, read("a.rs", 9_000), run("make all", 9_000), read("./a.rs", 9), read("a.rs", 9_000), Say, Ask];
    assert_eq!(leaving(&moves, &by_hand(20_000), 200_000), [(2, Cause::ReadAgain)]);
    // A command that was run again is no reading: its first outcome is a fact of its own.
    let moves = [Ask, run("make", 9_000), read("b.rs", 9_000), run("make ", 9_000), Say, Ask];
    assert_eq!(leaving(&moves[..], &by_hand(20_000), 200_000), [(2, Cause::Old)]);
}

#[test]
fn what_was_changed_after_it_was_read_leaves() {
    let moves = [Ask, read("src/a.rs", 9_000), read("src/b.rs", 8_000), edit("src/a.rs"), Say, Ask];
    assert_eq!(leaving(&moves, &by_hand(9_000), 200_000), [(2, Cause::Changed)]);
    // A change that failed changed nothing; a command that prints a file reads it.
    let mut moves = [Ask, run("cat src/a.rs", 9_000), run("cat src/a.rs | wc", 8_000), edit("src/a.rs"), Say, Ask];
    assert_eq!(leaving(&moves, &by_hand(9_000), 200_000), [(2, Cause::Changed)]);
    moves[3] = Move::Call { tool: "Edit", about: "src/a.rs".into(), answer: "no such text".into(), fails: true };
    assert_eq!(leaving(&moves, &by_hand(9_000), 200_000), [(2, Cause::Old)]);
}

#[test]
fn the_same_text_is_kept_where_it_stands_last() {
    let same = |tool, about: &str| Move::Call { tool, about: about.into(), answer: text(7, 9_000), fails: false };
    let moves = [Ask, same("Bash", "git diff"), same("Bash", "git diff HEAD"), Say, Ask];
    assert_eq!(leaving(&moves, &by_hand(10_000), 200_000), [(2, Cause::Repeated)]);
}

#[test]
fn large_old_results_leave_the_oldest_first_and_no_more_than_is_needed() {
    let moves = [Ask, run("a", 9_000), run("bb", 900), run("ccc", 9_000), run("dddd", 9_000), Say, Ask];
    assert_eq!(leaving(&moves, &by_hand(20_000), 200_000), [(2, Cause::Old)]);
    assert_eq!(leaving(&moves, &by_hand(11_000), 200_000), [(2, Cause::Old), (6, Cause::Old)]);
    // Where they are not enough, they are left as they are: a summary is made of the whole.
    assert_eq!(leaving(&moves, &by_hand(1_200), 200_000), []);
}

#[test]
fn a_picture_leaves_as_a_line_with_its_kind_and_size() {
    let body = write(&[Ask, Picture, Say, Ask], Format::Anthropic, false);
    let document = view(&body, Format::Anthropic);
    let (reduce, reduced) = reduced(&document, &by_hand(400), 200_000).unwrap();
    assert_eq!(reduce.reductions[0].reason, Cause::Media);
    insta::assert_snapshot!(reduced.replaced[0].text, @"[plimsoll, not part of the content: image, image/png, 72 bytes; left out here to make room; recall id s1/m1-1]");
    assert!(body_of(&document, &reduce).starts_with(b"\x89PNG"));
}

fn body_of<'d>(document: &Document<'d>, reduce: &Reduce) -> std::borrow::Cow<'d, [u8]> {
    body(document, &reduce.reductions[0]).unwrap()
}

#[test]
fn what_the_model_has_not_seen_stays() {
    // The last result has no answer of the model's yet.
    let moves = [Ask, run("a", 9_000), run("bb", 9_000)];
    assert_eq!(leaving(&moves, &by_hand(10_000), 200_000), [(2, Cause::Old)]);
    let moves = [Ask, run("a", 9_000)];
    assert_eq!(leaving(&moves, &by_hand(5_000), 200_000), []);
    let moves = [Ask, Picture];
    assert_eq!(leaving(&moves, &by_hand(400), 200_000), []);
}

#[test]
fn mechanism_53_what_recall_gave_is_never_taken_away_again() {
    let recalled = |tool, answer: String| Move::Call { tool, about: "s1/c3".into(), answer, fails: false };
    let page = text(1, 9_000);
    for step in [
        recalled("mcp__plimsoll__recall", page.clone()),
        recalled("Fetch", format!("{page}\n[bytes 0-9000 of 90000; next offset 9000]")),
        run("plimsoll recall s1/c3 --lines 1:90", 9_000),
    ] {
        assert_eq!(leaving(&[Ask, step, Say, Ask], &by_hand(5_000), 200_000), []);
    }
}

#[test]
fn mechanism_54_a_placeholder_is_not_reduced_again() {
    let body = write(&[Ask, run("a", 9_000), Say, Ask], Format::Anthropic, false);
    let document = view(&body, Format::Anthropic);
    let bytes = reduced(&document, &by_hand(5_000), 200_000).unwrap().1.bytes(&document).unwrap().into_owned();
    let after = String::from_utf8(bytes).unwrap();
    assert!(!matches!(planned(&view(&after, Format::Anthropic), &by_hand(150), 200_000), Plan::Reduce(_)));
}

#[test]
fn mechanism_29_reductions_leave_room_for_many_turns_or_are_not_made() {
    // 200,000 tokens of window: it compacts at 153,000, and a reduction must save 20,000.
    let filled = |large: usize, rest: usize| {
        let mut moves = vec![Ask, run("a", large)];
        moves.extend((0..rest).flat_map(|at| {
            [Ask, Move::Call { tool: "Bash", about: at.to_string(), answer: text(at, 990), fails: false }, Say]
        }));
        moves
    };
    let (little, much) = (filled(15_000, 140), filled(45_000, 105));
    assert_eq!(leaving(&little, &automatic(), 200_000), [], "it would be due again at once");
    assert_eq!(leaving(&much, &automatic(), 200_000), [(2, Cause::Old)]);
    let body = write(&much, Format::Anthropic, false);
    let document = view(&body, Format::Anthropic);
    let (_, done) = reduced(&document, &automatic(), 200_000).unwrap();
    assert!(done.tokens_after + Tokens(20_000) <= Tokens(153_000), "{}", done.tokens_after);
    let after = String::from_utf8(done.bytes(&document).unwrap().into_owned()).unwrap();
    let again = planned(&view(&after, Format::Anthropic), &automatic(), 200_000);
    assert!(matches!(again, Plan::Skipped(Skip::BelowThreshold { .. })), "{again:?}");
}

#[test]
fn after_an_overflow_only_the_target_is_enough() {
    let mut moves = vec![Ask, run("a", 45_000)];
    let small = |at: usize| Move::Call { tool: "Bash", about: at.to_string(), answer: text(at, 990), fails: false };
    moves.extend((0..105).flat_map(|at| [Ask, small(at), Say]));
    let overflow = PlanOptions::new(Format::Anthropic, Trigger::Overflow);
    assert_eq!(leaving(&moves, &automatic(), 200_000), [(2, Cause::Old)]);
    assert_eq!(leaving(&moves, &overflow, 200_000), [], "what overflowed is larger than was counted");
}

#[test]
fn small_gains_at_the_front_do_not_rewrite_the_whole_prefix() {
    // The first result saves little, and everything stands behind it.
    let mut moves = vec![Ask, run("a", 1_300)];
    moves.extend((0..40).flat_map(|at| {
        [Ask, Move::Call { tool: "Bash", about: at.to_string(), answer: text(at, 700), fails: false }, Say]
    }));
    moves.extend([run("bb", 30_000), Say, Ask]);
    let body = write(&moves, Format::Anthropic, false);
    let document = view(&body, Format::Anthropic);
    let (reduce, _) = reduced(&document, &by_hand(42_000), 200_000).unwrap();
    assert_eq!(reduce.reductions.len(), 1, "{:?}", reduce.reductions);
    assert!(reduce.reductions[0].what.contains("`bb`"));
    let expected = break_even(reduce.rewritten_tokens, reduce.removed_tokens, CacheCost::default());
    assert_eq!(reduce.break_even_turns, expected);
    assert!(reduce.break_even_turns <= 3, "{}", reduce.break_even_turns);
}

#[test]
fn the_break_even_follows_the_prices() {
    let body = write(&[Ask, run("a", 9_000), Ask, run("bb", 900), Say, Ask], Format::Anthropic, false);
    let document = view(&body, Format::Anthropic);
    let mut options = by_hand(5_000);
    let turns = |options: &PlanOptions| reduced(&document, options, 200_000).unwrap().0.break_even_turns;
    let usual = turns(&options);
    options.cache = CacheCost { read: 500, write: 1_000 };
    assert!(turns(&options) < usual);
}

#[test]
fn who_asks_for_a_tail_or_for_no_reductions_gets_a_summary() {
    let moves: Vec<Move> = (0..6).flat_map(|at| [Ask, run(&"x".repeat(at + 1), 9_000), Say]).chain([Ask]).collect();
    let mut options = by_hand(30_000);
    assert!(!leaving(&moves, &options, 200_000).is_empty());
    options.keep_tokens = Some(Tokens(1_000));
    assert_eq!(leaving(&moves, &options, 200_000), []);
    options.keep_tokens = None;
    options.reduce = false;
    assert_eq!(leaving(&moves, &options, 200_000), []);
}

#[test]
fn mechanism_27_auto_false_reduces_nothing_either() {
    let moves: Vec<Move> = (0..30).flat_map(|at| [Ask, run(&"x".repeat(at + 1), 9_000), Say]).chain([Ask]).collect();
    for trigger in [Trigger::Threshold, Trigger::Overflow] {
        let mut options = PlanOptions::new(Format::Anthropic, trigger);
        options.auto = false;
        let body = write(&moves, Format::Anthropic, false);
        assert_eq!(planned(&view(&body, Format::Anthropic), &options, 200_000), Plan::Skipped(Skip::AutoOff));
    }
}

#[test]
fn mechanism_8_thinking_stays_byte_for_byte_or_leaves() {
    let mut moves: Vec<Move> = (0..4).flat_map(|at| [Ask, run(&"x".repeat(at + 1), 9_000), Say]).collect();
    moves.push(Ask);
    let body = write(&moves, Format::Anthropic, true);
    let document = view(&body, Format::Anthropic);
    let (_, done) = reduced(&document, &by_hand(20_000), 200_000).unwrap();
    let bytes = done.bytes(&document).unwrap();
    let after = parse(&bytes, &ParseOptions::default()).unwrap();
    let thinking = |document: &Document<'_>| -> Vec<Vec<u8>> {
        let blocks = document.transcript().messages.iter().flat_map(|message| &message.blocks);
        let thinks = blocks.filter(|block| matches!(block.kind, BlockKind::Thinking { .. }));
        thinks.map(|block| block.span.of(document.bytes()).to_vec()).collect()
    };
    let (old, new) = (thinking(&document), thinking(&after));
    // What was signed before the first change stays; what was signed over it is left out, since its turn is over.
    assert_eq!((old.len(), new.len()), (8, 1));
    assert_eq!(old[..1], new);
}

#[test]
fn mechanism_8_inside_a_turn_of_signed_reasoning_nothing_is_reduced() {
    let moves = [Ask, run("a", 9_000), run("bb", 9_000), run("ccc", 90)];
    for format in [Format::Anthropic, Format::OpenaiResponses] {
        let body = write(&moves, format, true);
        assert!(!matches!(planned(&view(&body, format), &by_hand(12_000), 200_000), Plan::Reduce(_)), "{format}");
        let body = write(&moves, format, false);
        assert!(matches!(planned(&view(&body, format), &by_hand(12_000), 200_000), Plan::Reduce(_)), "{format}");
    }
}

#[test]
fn mechanism_9_reasoning_items_stay_with_what_follows_them() {
    let moves: Vec<Move> = (0..4).flat_map(|at| [Ask, run(&"x".repeat(at + 1), 9_000), Say]).chain([Ask]).collect();
    let body = write(&moves, Format::OpenaiResponses, true);
    let document = view(&body, Format::OpenaiResponses);
    let (_, done) = reduced(&document, &by_hand(20_000), 200_000).unwrap();
    let bytes = done.bytes(&document).unwrap();
    let after = parse(&bytes, &ParseOptions::default()).unwrap();
    assert_eq!(after.transcript().messages.len(), document.transcript().messages.len());
    assert_eq!(bytes.windows(9).filter(|part| part == b"reasoning").count(), 8);
}

#[test]
fn files_of_programs_are_summarised_instead() {
    let line = |at: usize, payload: Value| {
        format!(
            "{}\n",
            json!({"timestamp": format!("2026-01-01T00:00:{at:02}Z"), "type": "response_item", "payload": payload})
        )
    };
    let mut rollout =
        format!("{}\n", json!({"timestamp": "2026-01-01T00:00:00Z", "type": "session_meta", "payload": {"id": "x"}}));
    for at in 1..20 {
        rollout +=
            &line(at, json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go"}]}));
        rollout += &line(
            at,
            json!({"type": "function_call", "call_id": format!("c{at}"), "name": "shell", "arguments": "{\"command\":[\"make\"]}"}),
        );
        rollout += &line(
            at,
            json!({"type": "function_call_output", "call_id": format!("c{at}"), "output": text(at, 9_000)}),
        );
        rollout += &line(
            at,
            json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done"}]}),
        );
    }
    let decided = planned(&view(&rollout, Format::Codex), &by_hand(60_000), 200_000);
    assert!(matches!(decided, Plan::Summarise(_)), "{decided:?}");
}

#[test]
fn a_failure_is_still_known_when_its_output_has_left() {
    let failing = Move::Call {
        tool: "Bash",
        about: "cargo test".into(),
        answer: format!("Exit code 101\nerror: assertion `left == right` failed\n{}", text(3, 9_000)),
        fails: true,
    };
    let body = write(&[Ask, failing, Say, Ask], Format::Anthropic, false);
    let document = view(&body, Format::Anthropic);
    let (_, done) = reduced(&document, &by_hand(5_000), 200_000).unwrap();
    let bytes = done.bytes(&document).unwrap();
    let after = parse(&bytes, &ParseOptions::default()).unwrap();
    let ledger = |document: &Document<'_>| Ledger::of(document.transcript(), 0..document.transcript().messages.len());
    let (before, after) = (ledger(&document), ledger(&after));
    assert_eq!(before.commands, after.commands);
    assert_eq!(before.errors, after.errors);
    assert!(!after.errors.is_empty());
    assert_eq!(
        (after.artifacts.len(), after.artifacts[0].id.as_str()),
        (1, "s1/m2-0"),
        "what left is known by its id"
    );
}

#[test]
fn one_that_could_not_be_stored_stays() {
    let body = write(&[Ask, run("a", 9_000), run("bb", 9_000), Say, Ask], Format::Anthropic, false);
    let document = view(&body, Format::Anthropic);
    let Plan::Reduce(reduce) = planned(&document, &by_hand(5_000), 200_000) else { panic!() };
    let ids = [None, Some("s1/c2".to_owned())];
    let done = apply_reductions(&document, &reduce, &ids, &mut Meter::new(Characters)).unwrap();
    assert_eq!(done.replaced.len(), 1);
    assert_eq!(done.replaced[0].message, 4);
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let path = (0_usize..3).prop_map(|at| format!("src/part {at}.rs"));
    let size = prop_oneof![0_usize..300, 900_usize..6_000];
    let step = prop_oneof![
        3 => Just(Ask),
        2 => Just(Say),
        4 => (path.clone(), 0_usize..4, size.clone()).prop_map(|(path, seed, size)| read_of(&path, seed, size)),
        2 => path.prop_map(|path| edit(&path)),
        3 => (0_usize..4, size).prop_map(|(at, size)| run(&"x".repeat(at + 1), size)),
        1 => Just(Open),
        1 => Just(Picture),
    ];
    prop::collection::vec(step, 1..24)
}

fn holds(
    moves: &[Move],
    format: Format,
    thinks: bool,
    options: &PlanOptions,
    window: u64,
) -> Result<(), TestCaseError> {
    let body = write(moves, format, thinks);
    let document = view(&body, format);
    let Some((reduce, done)) = reduced(&document, options, window) else {
        return Ok(());
    };
    prop_assert_eq!(
        &planned(&document, options, window),
        &Plan::Reduce(reduce.clone()),
        "the same input, the same plan"
    );
    let bytes = done.bytes(&document).unwrap().into_owned();
    let after = parse(&bytes, &ParseOptions::default().with_format(Some(format))).unwrap();

    // Never longer, in bytes or tokens, and the count is that of what is there.
    prop_assert!(bytes.len() < body.len());
    prop_assert!(done.tokens_after < done.tokens_before);
    prop_assert_eq!(Meter::new(Characters).measure(&after).total, done.tokens_after);
    prop_assert_eq!(after.transcript().messages.len(), done.messages_after);
    if let Some(target) = options.target_tokens {
        prop_assert!(reduce.tokens_after <= target);
    }

    // Legal: what answers what is as it was, and nothing is orphaned that was not.
    let (before, found) = (Obligations::of(document.transcript()), Obligations::of(after.transcript()));
    prop_assert_eq!(found.new_orphans(&before), Vec::<&crate::transcript::Orphan>::new());
    if !thinks || format != Format::Anthropic {
        prop_assert_eq!(before.answers(), found.answers());
    }
    // What the model has not seen stays byte for byte.
    let spoken = document.transcript().messages.iter().rposition(|message| message.role == Role::Assistant).unwrap();
    prop_assert!(reduce.reductions.iter().all(|at| at.message < spoken));
    let raw = |document: &Document<'_>, back: usize| {
        let messages = &document.transcript().messages;
        messages[messages.len() - back].span().map(|span| span.of(document.bytes()).to_vec())
    };
    for back in 1..document.transcript().messages.len() - spoken {
        prop_assert_eq!(raw(&document, back), raw(&after, back));
    }
    // Nothing is lost: what is stored and what stays make up what there was.
    for reduction in &reduce.reductions {
        prop_assert!(!super::body(&document, reduction).unwrap().is_empty());
    }

    // Again on the result: nothing that is a placeholder already.
    if let Plan::Reduce(again) = planned(&after, options, window) {
        let places: Vec<_> = done.replaced.iter().map(|at| (at.message, at.block, at.part)).collect();
        if !thinks {
            prop_assert!(again.reductions.iter().all(|at| !places.contains(&at.place())), "{:?}", again);
        }
    }

    // Recorded, read back, replayed: the same bytes, on the history grown too.
    let chain = Chain::of(&document);
    let epoch = Epoch::of_reductions(format, &chain, &done).unwrap();
    let epoch = Epoch::from_json(epoch.to_json().unwrap().as_bytes()).unwrap();
    prop_assert!(epoch.is_of_reductions() && epoch.matches(&chain));
    let replayed = splice(body.as_bytes(), &epoch.replay(&document, &chain).unwrap()).unwrap().into_owned();
    prop_assert_eq!(&replayed, &bytes);
    let more: Vec<Move> = moves.iter().cloned().chain([Say, Ask]).collect();
    let grown = write(&more, format, thinks);
    let document = view(&grown, format);
    let replayed = splice(grown.as_bytes(), &epoch.replay(&document, &Chain::of(&document)).unwrap()).unwrap();
    let replayed = parse(&replayed, &ParseOptions::default().with_format(Some(format))).unwrap();
    for piece in &done.replaced {
        prop_assert!(String::from_utf8_lossy(replayed.bytes()).contains(&piece.artifact));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn reductions_are_legal_shorter_idempotent_and_replayed(
        moves in moves(),
        thinks: bool,
        hand in prop::option::of(500_u64..20_000),
        window in 8_000_u64..60_000,
    ) {
        let options = hand.map_or_else(automatic, by_hand);
        for format in FORMATS {
            holds(&moves, format, thinks, &options, window)?;
        }
    }
}
