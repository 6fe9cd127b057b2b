//! Raw answers, each read and judged: one row a case.

#![allow(clippy::string_slice, clippy::format_collect, reason = "a test may stop at once, and be slow")]

use std::sync::LazyLock;

use proptest::prelude::*;

use super::*;
use crate::compact::ledger::{Command, Failure, Item, Outcome, Status, Todo, Touch, Words};
use crate::compact::prompt::{Form, Prompt, prompt};

/// Nine sections as they are asked for.
const GOOD: &str = "## 1. Primary request and intent
Fix the flaky test in `src/net/retry.rs`; never touch `main`.

## 2. Key technical concepts
- Retries with backoff

## 3. Files and code
- `src/net/retry.rs`: the jitter was added.

## 4. Errors and fixes
- `assertion failed: left == 3`: the clock was real; fixed with a fake one.

## 5. Problem solving
The flakiness came from the clock.

## 6. All user messages
1. Fix the flaky test. Never touch main.
2. And keep the log.

## 7. Pending tasks
- Run the whole suite.

## 8. Current work
`cargo test -p net` was run last, and passed.

## 9. Context for continuing
The user asked: \"Fix the flaky test.\" It is fixed; the suite is still to be run.";

const GERMAN: &str = "## 1. Anliegen und Absicht
Der Test in `src/net/retry.rs` soll nicht mehr flackern, und die Datei ist nicht zu ändern.

## 2. Begriffe
- Wiederholungen mit Abstand

## 3. Dateien und Code
- `src/net/retry.rs`: der Zufall wurde ergänzt.

## 4. Fehler und Lösungen
- Die Uhr war echt, und das ist jetzt nicht mehr so.

## 5. Problemlösung
Das Flackern kam von der Uhr.

## 6. Nachrichten
1. Mach den Test stabil.

## 7. Offenes
- Die ganze Suite ist noch zu prüfen.

## 8. Stand
Der letzte Lauf war grün.

## 9. Weiter
Es fehlt nur noch der Lauf der Suite.";

fn rough(text: &str) -> Tokens {
    Tokens::from(text.chars().count().div_ceil(4))
}

fn said(turn: u32, text: &str) -> Words {
    Words { turn, part: false, text: text.to_owned(), changed_by: None }
}

fn ledger() -> Ledger {
    Ledger {
        turns: 2,
        words: vec![said(1, "Fix the flaky test. Never touch main."), said(2, "And keep the log.")],
        items: vec![Item {
            path: "src/net/retry.rs".into(),
            touches: vec![(Touch::Edited, 1)],
            last: Touch::Edited,
            outcome: Outcome::Ok,
            turn: 1,
        }],
        commands: vec![Command { line: "cargo test -p net".into(), outcome: Outcome::Exit(0), runs: 1, turn: 2 }],
        errors: vec![Failure {
            signature: "assertion failed".into(),
            source: "cargo test".into(),
            times: 1,
            turn: 1,
            fix: None,
        }],
        todos: vec![Todo::new("run the suite", Status::Open)],
        names: vec!["retry.rs".into()],
        ..Ledger::default()
    }
}

fn judge_with<'e>(answer: &Answer<'_>, change: impl FnOnce(&mut Expected<'e>)) -> Verdict {
    static KNOWN: LazyLock<(Profile, Ledger)> = LazyLock::new(|| (Profile::default(), ledger()));
    let (profile, ledger) = &*KNOWN;
    let mut expected = Expected {
        laid_down: &[],
        bound: Tokens(2_000),
        previous: None,
        fresh: Tokens(20_000),
        language: Some(Language::English),
        profile,
        ledger,
        count: &rough,
    };
    change(&mut expected);
    accept(answer, &expected)
}

/// What `extract_summary` makes of an answer.
#[derive(Debug, Clone, Copy)]
enum Read {
    /// It is exactly this.
    Is(&'static str),
    /// The nine sections as they stand.
    Whole,
    /// Something that holds this.
    Holds(&'static str),
    /// Nothing is left.
    Empty,
    /// It ends in its draft.
    Draft,
}

/// What `accept` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    Taken,
    Warned(&'static str),
    Not(&'static str),
}

fn name<T: serde::Serialize>(of: &T, tag: &str) -> String {
    serde_json::to_value(of).unwrap()[tag].as_str().unwrap().to_owned()
}

fn in_tags(summary: &str) -> String {
    format!("<analysis>\nThe user asked for …\n</analysis>\n\n<summary>\n{summary}\n</summary>")
}

/// The case's name, the answer, how it is read, what is said of it.
type Row = (&'static str, String, Read, Said);

#[expect(clippy::too_many_lines, reason = "a table")]
fn rows() -> Vec<Row> {
    use Read::{Draft, Empty, Holds, Is, Whole};
    use Said::{Not, Taken, Warned};
    let heading = |from: &str, to: &str| GOOD.replace(from, to);
    vec![
        // Well-formed, and nearly so.
        ("as asked for", in_tags(GOOD), Whole, Taken),
        ("without a draft", format!("<summary>{GOOD}</summary>"), Whole, Taken),
        ("without tags", format!("\n\n{GOOD}\n"), Whole, Taken),
        ("with words around the blocks", format!("Here it is.\n{}\nI hope it helps!", in_tags(GOOD)), Whole, Taken),
        ("with several empty lines", in_tags(&GOOD.replace("\n\n", "\n\n\n\n")), Whole, Taken),
        ("with other line ends", in_tags(GOOD).replace('\n', "\r\n"), Whole, Taken),
        ("bold numbers", in_tags(&bold(GOOD)), Holds("**1. Primary"), Taken),
        ("numbers in brackets", in_tags(&heading(". ", ") ")), Holds("## 1) Primary"), Taken),
        ("plain headings", in_tags(&GOOD.replace("## ", "")), Holds("1. Primary"), Taken),
        ("headings of other words", in_tags(&heading("Files and code", "What was touched")), Holds("touched"), Taken),
        // Tags where they do not belong.
        (
            "tags inside the draft",
            format!("<analysis>I write <summary> and </summary> below.</analysis><summary>{GOOD}</summary>"),
            Whole,
            Taken,
        ),
        (
            "tags quoted in the draft",
            format!("<analysis>`</analysis>` ends this.</analysis><summary>{GOOD}</summary>"),
            Whole,
            Taken,
        ),
        (
            "a closer quoted in a code span",
            in_tags(&heading("Retries with backoff", "The tag `</summary>` ends it")),
            Holds("`</summary>` ends it\n\n## 3."),
            Taken,
        ),
        (
            "a closer quoted in a block of code",
            in_tags(&heading("- Retries with backoff", "```xml\n<summary>\n</summary>\n```")),
            Holds("```xml\n<summary>\n</summary>\n```\n\n## 3."),
            Taken,
        ),
        (
            "a closer in plain words",
            in_tags(&heading("Retries with backoff", "ends in </summary>, mostly")),
            Holds("ends in , mostly\n\n## 3."),
            Taken,
        ),
        (
            "a draft's opener in plain words",
            in_tags(&heading("Retries with backoff", "looks for <analysis> first")),
            Holds("looks for  first\n\n## 3."),
            Taken,
        ),
        (
            "attributes and odd case",
            format!("<Analysis type=\"draft\">x</ANALYSIS >\n< SUMMARY lang='en' >{GOOD}</ Summary>"),
            Whole,
            Taken,
        ),
        ("an unclosed summary", format!("<analysis>x</analysis>\n<summary>\n{GOOD}"), Whole, Taken),
        ("an orphaned closer", format!("{GOOD}\n</summary>"), Whole, Taken),
        ("an orphaned closer of a draft", format!("</analysis>\n{GOOD}"), Whole, Taken),
        ("an unclosed draft and a summary", format!("<analysis>x\n<summary>{GOOD}</summary>"), Whole, Taken),
        (
            "several blocks",
            {
                let (one, two) = GOOD.split_at(GOOD.find("\n\n## 5.").unwrap());
                format!("<summary>{one}</summary>\n<summary>{}</summary>", two.trim())
            },
            Whole,
            Taken,
        ),
        ("two drafts", format!("<analysis>a</analysis><analysis>b</analysis><summary>{GOOD}</summary>"), Whole, Taken),
        ("one big fence", format!("```markdown\n{}\n```", in_tags(GOOD)), Whole, Taken),
        ("one big fence without tags", format!("```\n{GOOD}\n```"), Whole, Taken),
        ("a fence around the sections only", format!("<summary>\n```markdown\n{GOOD}\n```\n</summary>"), Whole, Taken),
        (
            "a draft and then a fence",
            format!("<analysis>a</analysis>\n```xml\n<summary>\n{GOOD}\n</summary>\n```"),
            Whole,
            Taken,
        ),
        (
            "draft and summary in a fence each",
            format!("```\n<analysis>a</analysis>\n```\n\n```\n<summary>\n{GOOD}\n</summary>\n```"),
            Whole,
            Taken,
        ),
        ("words and then a fence", format!("Here is the summary:\n\n```markdown\n{GOOD}\n```"), Whole, Taken),
        (
            "a fence between words",
            format!("Here is the summary:\n\n```\n<summary>\n{GOOD}\n</summary>\n```\n\nI hope it helps!"),
            Whole,
            Taken,
        ),
        (
            "a fence around code that is fenced alike",
            format!(
                "```markdown\n{}\n```",
                in_tags(&heading("- Retries with backoff", "```\n</summary>\n```\n- Retries"))
            ),
            Holds("```\n</summary>\n```\n- Retries"),
            Taken,
        ),
        (
            "code that ends the sections",
            in_tags(&format!("{GOOD}\n\n```html\n</summary>\n```")),
            Holds("```html\n</summary>\n```"),
            Taken,
        ),
        (
            "sections in a fence among others",
            format!("```sh\nls\n```\n\n```\n{GOOD}\n```\n\n```sh\nls\n```"),
            Holds("## 9."),
            Not("in_code"),
        ),
        // Reasoning that stands in the answer.
        (
            "reasoning before the blocks",
            format!("<think>\nFirst <analysis>, then <summary>. ## 1. …\n</think>\n{}", in_tags(GOOD)),
            Whole,
            Taken,
        ),
        ("reasoning that was opened for the model", format!("I write <summary> …\n</think>\n\n{}", in_tags(GOOD)), Whole, Taken),
        ("reasoning that was opened for the model, without tags", format!("So.\n</think>\n\n{GOOD}"), Whole, Taken),
        ("reasoning about the tags", format!("<think>plan: <summary> here </summary></think>\n{GOOD}"), Whole, Taken),
        ("reasoning of another name", format!("<Thinking>my plan</thinking>\n{GOOD}"), Whole, Taken),
        (
            "reasoning with half a code span",
            format!("<think>\nThere is a ` too many.\n</think>\n`x` is it.\n{}", in_tags(GOOD)),
            Whole,
            Taken,
        ),
        ("reasoning and then a fence", format!("<think>x</think>\n```markdown\n{}\n```", in_tags(GOOD)), Whole, Taken),
        (
            "reasoning quoted in code",
            in_tags(&heading("- Retries with backoff", "`<think>` and:\n```\n</think>\n```")),
            Holds("`<think>` and:\n```\n</think>\n```\n\n## 3."),
            Taken,
        ),
        (
            "reasoning spoken of in the sections",
            in_tags(&heading("Retries with backoff", "what is before </think> goes")),
            Holds("what is before  goes\n\n## 3."),
            Taken,
        ),
        ("an unclosed reasoning and a summary", format!("<think>x\n<summary>{GOOD}</summary>"), Whole, Taken),
        ("an unclosed reasoning", "<think>First, the user asked".into(), Draft, Not("draft_only")),
        ("reasoning only", "<think>First</think>\n".into(), Empty, Not("empty")),
        ("headings without numbers", GOOD.lines().map(|line| line.split_once(". ").filter(|_| line.starts_with("##")).map_or(line.to_owned(), |(_, words)| format!("## {words}"))).collect::<Vec<_>>().join("\n"), Holds("## Pending"), Not("headings")),
        (
            "a fence that is never closed",
            in_tags(&heading("- `src/net/retry.rs`: the jitter was added.", "`src/net/retry.rs`:\n```rust\nlet x = 1;")),
            Holds("## 9."),
            Taken,
        ),
        // Nothing, and too little.
        ("nothing", String::new(), Empty, Not("empty")),
        ("white space", "  \n\t\n".into(), Empty, Not("empty")),
        ("an empty block", "<analysis>a</analysis><summary>\n\n</summary>".into(), Empty, Not("empty")),
        ("tags only", "</analysis><summary></summary></summary>".into(), Empty, Not("empty")),
        ("a draft only", format!("<analysis>{GOOD}</analysis>"), Empty, Not("empty")),
        ("an unclosed draft", "<analysis>First, the user asked".into(), Draft, Not("draft_only")),
        ("an unclosed draft with headings", format!("<analysis>{GOOD}"), Draft, Not("draft_only")),
        ("the beginning only", in_tags(&GOOD[..GOOD.find("## 5.").unwrap()]), Holds("## 4."), Not("headings")),
        ("a heading left out", in_tags(&heading("## 5. Problem solving\n", "")), Holds("## 6."), Not("headings")),
        (
            "headings out of order",
            in_tags(&heading("## 7.", "## 0.").replace("## 8.", "## 7.").replace("## 0.", "## 8.")),
            Holds("## 8. Pending"),
            Not("headings"),
        ),
        ("prose", in_tags("The user wanted a test fixed, and I fixed it."), Holds("wanted"), Not("continued")),
        (
            "all sections empty",
            in_tags(&skeleton(|_| "None.")),
            Holds("## 9."),
            Not("skeleton"),
        ),
        ("the skeleton sent back", in_tags(&skeleton(|_| "[…]")), Holds("[…]"), Not("skeleton")),
        (
            "most sections empty",
            in_tags(&skeleton(|number| if number == 1 { "Fix `retry.rs`." } else { "No prior history." })),
            Holds("No prior"),
            Warned("sections"),
        ),
        // Something else than a summary.
        ("a call in the vendor's markup", "<function_calls>\n<invoke name=\"Bash\">\n<parameter name=\"command\">ls</parameter>\n</invoke>\n</function_calls>".into(), Holds("invoke"), Not("tool_markup")),
        ("a call in an open model's markup", "Let me check.\n<tool_call>\n{\"name\": \"Bash\", \"arguments\": {}}\n</tool_call>".into(), Holds("tool_call"), Not("tool_markup")),
        ("a call as JSON", "{\"name\": \"Bash\", \"arguments\": {\"command\": \"ls\"}}".into(), Holds("Bash"), Not("tool_markup")),
        ("a call inside a draft only", "<analysis>x</analysis>\n<summary>\n<tool_call>{}</tool_call>\n</summary>".into(), Holds("tool_call"), Not("tool_markup")),
        ("a call after the summary", format!("{}\n<tool_call>\n{{}}\n</tool_call>", in_tags(GOOD)), Whole, Not("tool_markup")),
        ("a call quoted in code", in_tags(&heading("- Retries with backoff", "```\n<tool_call>\n{}\n```")), Holds("<tool_call>"), Taken),
        ("a call spoken of", in_tags(&heading("Retries with backoff", "the parser of <tool_call> blocks")), Holds("parser"), Taken),
        ("the conversation continued", "Sure! I'll run the whole suite now and report back.".into(), Is("Sure! I'll run the whole suite now and report back."), Not("continued")),
        ("a plan of nine steps", (1..=9).map(|n| format!("{n}. Do step {n} of it.\n")).collect(), Holds("9. Do"), Not("continued")),
        ("the conversation continued after it", format!("{GOOD}\n\nHuman: go on\n\nAssistant: I run it."), Holds("Human:"), Not("continued")),
        ("a template's roles after it", format!("{GOOD}\n<|im_start|>user\ngo on"), Holds("im_start"), Not("continued")),
        ("an error's text", "API Error: 529 {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}".into(), Holds("529"), Not("provider_error")),
        ("an error's JSON", "{\"error\": {\"message\": \"Rate limit reached\", \"code\": 429}}".into(), Holds("429"), Not("provider_error")),
        ("an error's page", "<html><head><title>502 Bad Gateway</title></head></html>".into(), Holds("502"), Not("provider_error")),
        ("an overflow's text", "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.".into(), Holds("8192"), Not("provider_error")),
        ("a summary that tells of errors", in_tags(&heading("The flakiness came from the clock.", "Error: 429 Too Many Requests came from the proxy.")), Holds("429"), Taken),
        ("a refusal", "I'm sorry, but I can't help with that.".into(), Holds("sorry"), Not("continued")),
        ("a refusal in a summary", in_tags(&heading("The flakiness came from the clock.", "I'm unable to share the details.")), Holds("unable"), Warned("refusal")),
        ("a refusal that is quoted", in_tags(&heading("The flakiness came from the clock.", "The model had said \"I'm unable to share\" before.")), Holds("unable"), Taken),
        // Too much.
        ("ten times as long", in_tags(&heading("The flakiness came from the clock.", &"It was the clock, and again the clock. ".repeat(400))), Holds("again"), Not("too_long")),
        // Doubtful.
        ("another language", in_tags(GERMAN), Holds("Flackern"), Warned("language")),
        ("without the names", in_tags(&GOOD.replace("src/net/retry.rs", "the file")), Holds("the file"), Warned("identifiers")),
    ]
}

fn bold(summary: &str) -> String {
    let line = |line: &str| line.strip_prefix("## ").map_or(line.to_owned(), |heading| format!("**{heading}**"));
    summary.lines().map(line).collect::<Vec<_>>().join("\n")
}

fn skeleton(content: impl Fn(usize) -> &'static str) -> String {
    let headings = GOOD.lines().filter(|line| line.starts_with("## "));
    headings.zip(1..).map(|(heading, number)| format!("{heading}\n{}\n", content(number))).collect()
}

#[test]
fn answers_are_read_and_judged() {
    let rows = rows();
    assert!(rows.len() >= 40, "{}", rows.len());
    for (case, raw, read, said) in rows {
        let summary = extract_summary(&raw);
        match (read, &summary) {
            (Read::Is(whole), Ok(summary)) => assert_eq!(summary, whole, "{case}"),
            (Read::Whole, Ok(summary)) => assert_eq!(summary, GOOD, "{case}"),
            (Read::Holds(part), Ok(summary)) => assert!(summary.contains(part), "{case}: {summary}"),
            (Read::Empty, Err(SummaryError::Empty)) | (Read::Draft, Err(SummaryError::DraftOnly)) => {}
            _ => panic!("{case}: {summary:?}"),
        }
        let verdict = judge_with(&Answer::finished(&raw), |_| {});
        let found = match &verdict {
            Verdict::Accepted(accepted) => {
                assert_eq!(Ok(&accepted.summary), summary.as_ref(), "{case}");
                let warnings: Vec<String> =
                    accepted.warnings.iter().map(|warning| name(warning, "warning")).collect();
                match said {
                    Said::Warned(wanted) => assert_eq!(warnings, [wanted], "{case}"),
                    _ => assert_eq!(warnings, Vec::<String>::new(), "{case}"),
                }
                continue;
            }
            Verdict::Rejected(reason) => name(reason, "reason"),
        };
        assert_eq!(Said::Not(Box::leak(found.into_boxed_str())), said, "{case}: {verdict:?}");
    }
}

/// The error text of a failed call becomes the summary; the summary is cut mid-word; the cap is eaten by reasoning.
#[test]
fn a_summary_stopped_by_length_is_rejected_however_complete_it_looks() {
    let whole = in_tags(GOOD);
    let verdict = judge_with(&Answer { stop: Stop::Length, ..Answer::finished(&whole) }, |_| {});
    assert_eq!(verdict, Verdict::Rejected(Reason::Length));
    // Reasoning used up everything that was allowed: no text at all.
    let verdict = judge_with(&Answer { stop: Stop::Length, ..Answer::finished("") }, |_| {});
    assert_eq!(verdict, Verdict::Rejected(Reason::Length));
    for (said, stop) in [
        ("max_tokens", Stop::Length),
        ("length", Stop::Length),
        ("max_output_tokens", Stop::Length),
        ("model_context_window_exceeded", Stop::Length),
        ("MAX_TOKENS", Stop::Length),
        ("end_turn", Stop::End),
        ("stop", Stop::End),
        ("completed", Stop::End),
        ("tool_use", Stop::ToolCall),
        ("tool_calls", Stop::ToolCall),
        ("refusal", Stop::Refusal),
        ("content_filter", Stop::Refusal),
        ("pause_turn", Stop::Other("pause_turn".to_owned())),
    ] {
        assert_eq!(Stop::read(Some(said)), stop, "{said}");
        // A format that does not know the word hands it on: it is judged by what it means.
        let verdict = |stop: &Stop| judge_with(&Answer { stop: stop.clone(), ..Answer::finished(&whole) }, |_| {});
        assert_eq!(verdict(&Stop::Other(said.to_owned())), verdict(&stop), "{said}");
    }
}

#[test]
fn the_text_of_a_failed_call_is_no_summary() {
    for error in [
        "API Error: Request timed out.",
        "API Error (529 {\"type\":\"error\"}) · Retrying",
        "Error code: 429 - {'error': {'message': 'Rate limit reached'}}",
        "429 Too Many Requests",
        "HTTP/1.1 503 Service Unavailable",
        "503: upstream unavailable",
        "Internal Server Error",
        "upstream connect error or disconnect/reset before headers",
        "Prompt is too long",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "Credit balance is too low",
        "Invalid API key · Please run /login",
        "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}",
        "```json\n{\"error\": \"model not found\"}\n```",
        "<!DOCTYPE html><html><body>Bad gateway</body></html>",
        "You exceeded your current quota, please check your plan and billing details.",
        "the request exceeds the available context size. exceed_context_size_error",
    ] {
        let verdict = judge_with(&Answer::finished(error), |_| {});
        let Verdict::Rejected(Reason::ProviderError { error: shown }) = verdict else {
            panic!("{error}: {verdict:?}")
        };
        assert!(shown.chars().count() <= 160 && !shown.is_empty());
    }
    // Numbers and errors at the start of a summary are none.
    for start in ["4 errors were fixed.", "404 pages were checked for dead links.", "Errors came from the proxy."] {
        let raw = format!("<summary>{start}\n\n{GOOD}</summary>");
        assert!(matches!(judge_with(&Answer::finished(&raw), |_| {}), Verdict::Accepted(_)), "{start}");
        let raw = format!("{start}\n\n{GOOD}");
        assert!(matches!(judge_with(&Answer::finished(&raw), |_| {}), Verdict::Accepted(_)), "{start}");
    }
}

/// The model continues the conversation, or calls a tool, instead of summarising.
#[test]
fn calling_a_tool_is_no_summary_whatever_stands_beside_the_call() {
    let whole = in_tags(GOOD);
    let verdict = judge_with(&Answer { tool_calls: 1, ..Answer::finished(&whole) }, |_| {});
    assert_eq!(verdict, Verdict::Rejected(Reason::ToolCall));
    let verdict = judge_with(&Answer { stop: Stop::ToolCall, ..Answer::finished(&whole) }, |_| {});
    assert_eq!(verdict, Verdict::Rejected(Reason::ToolCall));
    let verdict = judge_with(&Answer { stop: Stop::Refusal, ..Answer::finished(&whole) }, |_| {});
    assert_eq!(verdict, Verdict::Rejected(Reason::Refused));
    let verdict = judge_with(&Answer { stop: Stop::Unsaid, ..Answer::finished(&whole) }, |_| {});
    assert!(matches!(verdict, Verdict::Accepted(_)), "a server that names no reason is believed");
}

/// The summary drifts to another language.
#[test]
fn a_summary_in_another_language_is_taken_with_a_warning() {
    let (german, english) = (in_tags(GERMAN), in_tags(GOOD));
    let of = |verdict| match verdict {
        Verdict::Accepted(accepted) => accepted.warnings,
        Verdict::Rejected(reason) => panic!("{reason:?}"),
    };
    // Headings in the user's language are headings.
    let warnings = of(judge_with(&Answer::finished(&german), |expected| expected.language = Some(Language::German)));
    assert_eq!(warnings, []);
    let warnings = of(judge_with(&Answer::finished(&english), |expected| expected.language = Some(Language::German)));
    assert_eq!(warnings, [Warning::Language { asked: Language::German, found: Language::English }]);
    // With the headings as they were asked for, drifting prose is noticed too.
    let mixed: String = GOOD
        .lines()
        .zip(GERMAN.lines())
        .map(|(good, german)| format!("{}\n", if good.starts_with("## ") { good } else { german }))
        .collect();
    let mixed = in_tags(&mixed);
    let warnings = of(judge_with(&Answer::finished(&mixed), |_| {}));
    assert!(
        warnings.contains(&Warning::Language { asked: Language::English, found: Language::German }),
        "{warnings:?}"
    );
    // Nothing is said where nobody knows what the user writes.
    assert_eq!(of(judge_with(&Answer::finished(&german), |expected| expected.language = None)), []);
}

/// 47 % of summaries were skeletons.
#[test]
fn sections_are_held_against_the_ledger() {
    let numbers = |summary: &str, ledger: &Ledger| {
        let raw = in_tags(summary);
        match judge_with(&Answer::finished(&raw), |expected| expected.ledger = ledger) {
            Verdict::Accepted(accepted) => accepted.warnings.into_iter().find_map(|warning| match warning {
                Warning::Sections { numbers } => Some(numbers),
                _ => None,
            }),
            Verdict::Rejected(reason) => panic!("{reason:?}"),
        }
    };
    let hollow = skeleton(|number| if number == 2 { "- `retry.rs`" } else { "No prior history." });
    assert_eq!(numbers(&hollow, &ledger()), Some(vec![1, 3, 4, 6, 7, 8, 9]));
    // A section for which nothing is known may say so.
    let quiet = Ledger { words: vec![said(1, "Hi")], ..Ledger::default() };
    let honest = skeleton(|number| match number {
        1 => "Say hello.",
        6 => "- Hi",
        8 => "A greeting was answered.",
        _ => "None.",
    });
    assert_eq!(numbers(&honest, &quiet), None);
    // What was copied from the request is no content, whatever the ledger knows.
    let copied = skeleton(|number| if number == 5 { "[…]" } else { "Something `retry.rs`." });
    assert_eq!(numbers(&copied, &quiet), Some(vec![5]));
}

/// Growth by ×8 over five merges.
#[test]
fn a_merged_summary_may_grow_by_what_is_new() {
    let raw = in_tags(GOOD);
    let tokens = rough(GOOD);
    let with = |previous: u64, fresh: u64| {
        judge_with(&Answer::finished(&raw), |expected| {
            expected.previous = Some(Tokens(previous));
            expected.fresh = Tokens(fresh);
        })
    };
    assert!(matches!(with(tokens.0, 0), Verdict::Accepted(_)));
    let long = in_tags(&GOOD.replace("The flakiness came", &"It came from the clock. ".repeat(220)));
    let verdict = judge_with(&Answer::finished(&long), |expected| {
        expected.previous = Some(Tokens(200));
        expected.fresh = Tokens(400);
    });
    assert!(
        matches!(verdict, Verdict::Rejected(Reason::Grown { previous: Tokens(200), bound: Tokens(1_224), .. })),
        "{verdict:?}"
    );
    // However many rounds: the bound of size holds over all of them.
    let mut size = Tokens(300);
    for _ in 0..50 {
        size = growth_bound(size, Tokens(40_000)).min(Tokens(8_000));
    }
    assert_eq!(size, Tokens(8_000));
}

#[test]
fn a_summary_that_forgets_what_the_earlier_one_laid_down_is_not_taken() {
    let raw = in_tags(GOOD);
    let with = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        judge_with(&Answer::finished(&raw), |expected| {
            expected.previous = Some(rough(GOOD));
            expected.laid_down = Vec::leak(names);
        })
    };
    let gone = ["db/migrate_4711.sql", "port-58443", "2026-12-24", "INV-99812"];
    assert_eq!(with(&gone), Verdict::Rejected(Reason::Forgets { held: 0, of: 4 }));
    // What is done with may be dropped, and few names tell nothing.
    assert!(matches!(with(&["retry.rs", gone[0], gone[1], gone[2]]), Verdict::Accepted(_)));
    assert!(matches!(with(&gone[..3]), Verdict::Accepted(_)));
}

#[test]
fn every_reason_has_words_for_the_report_and_for_the_model() {
    let (tokens, bound, previous) = (Tokens(3), Tokens(2), Tokens(1));
    for reason in [
        Reason::Empty,
        Reason::DraftOnly,
        Reason::Length,
        Reason::ToolCall,
        Reason::ToolMarkup,
        Reason::Continued,
        Reason::Headings { found: 3 },
        Reason::Skeleton,
        Reason::TooLong { tokens, bound },
        Reason::Grown { tokens, previous, bound },
        Reason::Forgets { held: 1, of: 9 },
        Reason::Refused,
        Reason::ProviderError { error: "503".into() },
    ] {
        let (shown, correction) = (reason.to_string(), reason.correction());
        assert!(!shown.is_empty() && !shown.ends_with('.'), "{shown}");
        assert!(
            correction.starts_with("It ") || correction.starts_with("The summary") || correction.starts_with("Its "),
            "{correction}"
        );
        assert!(correction.ends_with('.'), "{correction}");
        let profile = Profile::default();
        let mut wanted = Prompt::new(&profile, Tokens(8_000));
        wanted.retry = Some(&reason);
        assert!(prompt(&wanted, Form::Text).contains(&correction));
    }
}

#[test]
fn what_the_request_quotes_is_no_summary() {
    // A model that sends the instruction back.
    for profile in Profile::built_in() {
        let profile = Profile::named(profile).unwrap();
        let text = prompt(&Prompt::new(&profile, Tokens(8_000)), Form::SameConversation);
        let verdict = judge_with(&Answer::finished(&text), |expected| expected.profile = &profile);
        assert!(matches!(verdict, Verdict::Rejected(_)), "{}: {verdict:?}", profile.name);
    }
}

proptest! {
    /// An empty summary replaces the history: never.
    #[test]
    fn nothing_empty_is_ever_accepted(
        raw in "(<summary>|</summary>|<analysis>|</analysis>|## [1-9]\\. [A-Z][a-z]{2,9}\n|None\\.\n|```\n|`|\n|text |é| ){0,40}",
        stop in prop::sample::select(vec![Stop::End, Stop::Length, Stop::Unsaid]),
    ) {
        let verdict = judge_with(&Answer { text: &raw, stop: stop.clone(), tool_calls: 0 }, |expected| expected.language = None);
        if let Verdict::Accepted(accepted) = verdict {
            prop_assert!(!accepted.summary.trim().is_empty());
            prop_assert!(accepted.tokens <= Tokens(2_000));
            prop_assert_ne!(stop, Stop::Length);
            prop_assert_eq!(Ok(accepted.summary), extract_summary(&raw));
        }
    }

    #[test]
    fn judging_is_total(raw: String, calls in 0_usize..2) {
        let _ = judge_with(&Answer { text: &raw, stop: Stop::End, tool_calls: calls }, |_| {});
    }
}
