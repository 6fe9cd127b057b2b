//! Whole extracts: bounds, determinism, what a stranger reads in them.

use proptest::prelude::*;

use super::rounds::session;
use super::*;
use crate::wire::{ParseOptions, parse};

fn rough(text: &str) -> Tokens {
    Tokens::from(text.chars().count().div_ceil(4))
}

fn made(body: &[u8], budget: u64) -> Extract {
    let document = parse(body, &ParseOptions::default()).unwrap();
    let transcript = document.transcript();
    let profile = Profile::default();
    let request = Request {
        budget: Tokens(budget),
        ledger: crate::compact::ledger_bound(Tokens(budget * 2)),
        count: &rough,
        recall: "s1/~0a1b2c3d4e5f",
        splits_turn: false,
        profile: &profile,
        instructions: None,
    };
    extract(transcript, 0..transcript.messages.len(), &request)
}

#[test]
fn the_nine_sections_stand_in_order() {
    let session = session(3, 12, 2_000);
    let extract = made(&session.body(), 3_000);
    let headings: Vec<&str> = extract.summary.lines().filter(|line| line.starts_with("## ")).collect();
    let numbers: Vec<String> = headings.iter().map(|line| line.chars().skip(3).take(2).collect()).collect();
    assert_eq!(numbers, ["1.", "2.", "3.", "4.", "5.", "6.", "7.", "8.", "9."]);
    assert_eq!(Ledger::parse(&extract.summary), extract.ledger);
    assert!(extract.carried.constraints > 0);
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    let session = session(5, 10, 1_000);
    assert_eq!(made(&session.body(), 1_500), made(&session.body(), 1_500));
}

#[test]
fn a_transcript_without_a_user_is_summarised_too() {
    let extract = made(br#"{"model":"claude-x","messages":[{"role":"assistant","content":"Hello."}]}"#, 400);
    assert!(extract.summary.contains("Hello."), "{}", extract.summary);
}

#[test]
fn instructions_steer_and_select_nothing_away() {
    let session = session(9, 40, 200);
    let body = session.body();
    let document = parse(&body, &ParseOptions::default()).unwrap();
    let profile = Profile::default();
    let with = |instructions| {
        let request = Request {
            budget: Tokens(900),
            ledger: Tokens(512),
            count: &rough,
            recall: "",
            splits_turn: false,
            profile: &profile,
            instructions,
        };
        extract(document.transcript(), 0..document.transcript().messages.len(), &request)
    };
    let plain = with(None);
    let steered = with(Some("keep lib_3.rs and its assertion"));
    assert!(steered.summary.contains("keep lib_3.rs and its assertion"));
    let item = steered.summary.lines().any(|line| line.starts_with("- [item] `/w/src/lib_3.rs`"));
    let error = steered.summary.lines().any(|line| line.starts_with("- [error]") && line.contains("assertion"));
    assert!(item && error, "{}", steered.summary);
    assert!(steered.carried.constraints * 10 >= plain.carried.constraints * 7);
}

#[test]
fn a_stranger_can_go_on_from_it() {
    let extract = made(&session(1, 6, 600).body(), 1_200);
    insta::assert_snapshot!(extract.summary, @r#"
## 1. Primary request and intent
Asked first:
- [1] The code word is "blue 8657 heron".
Asked last:
- [6] Keep the column order id_2717, name, total.

## 2. Key technical concepts
Languages: Rust.
Tools: cargo.

## 3. Files and code
- [item] `/w/src/mod 1/part_0.rs`: read; ok; at 1
- [item] `/w/src/lib_1.rs`: edited; ok; at 1
- [item] `/w/src/mod 2/part_0.rs`: read; failed; at 2
- [item] `/w/src/mod 3/part_0.rs`: read; ok; at 3
- [item] `/w/src/mod 3/part_2.rs`: read; ok; at 3
- [item] `/w/src/lib_4.rs`: edited 2×; ok; at 4
- [item] `/w/src/mod 5/part_1.rs`: read; ok; at 5
- [item] `/w/src/mod 6/part_0.rs`: read; ok; at 6
- [command] `cargo test -p part1`: ok; at 1
- [command] `cargo test -p part3`: ok; at 3
- [command] `cargo test -p part4`: ok; at 4
- [command] `cargo test -p part5`: ok; at 5
Written to `/w/src/lib_1.rs`:
~~~
b
~~~
Written to `/w/src/lib_4.rs`:
~~~
b
~~~
Written to `/w/src/lib_4.rs`:
~~~
b
~~~

## 4. Errors and fixes
- [error] `error: assertion 0 of part 2 failed` from `Read /w/src/mod 2/part_0.rs`; at 2; open

## 5. Problem solving
- [after 1] Part 1 is done; its checks pass now.
- [after 2] Part 2 is done; its checks pass now.
- [after 3] Part 3 is done; its checks pass now.
- [after 4] Part 4 is done; its checks pass now.
- [after 5] Part 5 is done; its checks pass now.
- [after 6] Part 6 is done; its checks pass now.

## 6. All user messages
Verbatim, besides those in section 1:
- [2]
~~~
Please take care of part 2-780 of the migration next.

Notes:
- The module grew over several years and nobody quite recalls why it was laid out in this way
- Put the report into /srv/team share/Q3 results/out 8274.csv and nowhere else.

```
let x = 2;
```
~~~
- [3]
~~~
Please take care of part 3-545 of the migration next.

Notes:
- The module grew over several years and nobody quite recalls why it was laid out in this way
- N'utilise jamais la clé zz-2380.

```
let x = 3;
```
~~~
- [4]
~~~
Please take care of part 4-93 of the migration next.

Notes:
- The module grew over several years and nobody quite recalls why it was laid out in this way
- Keep the column order id_6319, name, total.

```
let x = 4;
```
~~~
- [5] Please take care of part 5-443 of the migration next. Set `RETRY_8796 = 6` in the settings.
- [reach] 6 user messages so far

## 7. Pending tasks
None.

## 8. Current work
The conversation ends here.
The last 10 calls:
- Bash `cargo test -p part1` → ok
- Read `/w/src/mod 2/part_0.rs` → failed: `error: assertion 0 of part 2 failed`
- Read `/w/src/mod 3/part_0.rs` → ok
- Bash `cargo test -p part3` → ok
- Read `/w/src/mod 3/part_2.rs` → ok
- Bash `cargo test -p part4` → ok
- Edit `/w/src/lib_4.rs` → ok
- Bash `cargo test -p part5` → ok
- Read `/w/src/mod 5/part_1.rs` → ok
- Read `/w/src/mod 6/part_0.rs` → ok
The assistant's last words:
~~~
Part 6 is done; its checks pass now.
~~~

## 9. Context for continuing
- [recall] `s1/~0a1b2c3d4e5f`: 38 messages, up to message 6 of the user
The latest request, message 6, says: “Keep the column order id_2717, name, total.” Go on with it.
"#);
}

#[test]
fn the_task_stands_though_chatter_follows_it() {
    let mut messages = vec![serde_json::json!({"role": "user", "content": "hi"})];
    messages.push(serde_json::json!({"role": "assistant", "content": "hello"}));
    messages.push(serde_json::json!({"role": "user", "content": "Port the parser of wiki/ to Rust."}));
    let chatter = ["continue", "yes", "ok go on", "next"];
    for nth in 0..30 {
        messages.push(serde_json::json!({"role": "assistant", "content": [{"type": "tool_use", "id": format!("t{nth}"), "name": "Bash", "input": {"command": format!("cargo test --test t{nth}")}}]}));
        messages.push(serde_json::json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": format!("t{nth}"), "content": "test result: FAILED. 1 passed; 2 failed\nerror: test failed"}]}));
        messages.push(serde_json::json!({"role": "assistant", "content": format!("Step {nth} is done.")}));
        messages.push(serde_json::json!({"role": "user", "content": chatter[nth % 4]}));
    }
    let body = serde_json::to_vec(&serde_json::json!({"model": "claude-x", "messages": messages})).unwrap();
    for budget in [600, 2_000] {
        let summary = made(&body, budget).summary;
        assert!(summary.contains("] Port the parser of wiki/ to Rust."), "{summary}");
        assert!(!summary.contains("Asked last:"), "{summary}");
        assert!(summary.contains("The latest request, message 2, says: “Port the parser"), "{summary}");
        assert!(!summary.contains("fixes\nNone.\n"), "{summary}");
        assert!(!summary.contains("`: ok"), "{summary}");
    }
    let summary = made(&body, 600).summary;
    assert!(summary.contains("The user's last words since, in message 32: “"), "{summary}");
}

#[test]
fn a_section_whose_facts_had_no_room_says_so() {
    let ledger = session(3, 30, 200);
    let summary = made(&ledger.body(), 420).summary;
    for section in ["## 4. Errors and fixes", "## 5. Problem solving"] {
        let shown = summary.split_once(section).map(|(_, rest)| rest.trim_start());
        assert!(shown.is_none_or(|shown| !shown.starts_with("None.")), "{summary}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn a_larger_budget_never_carries_less_of_what_was_laid_down(seed in 0_u64..500, turns in 1_usize..14, budget in 100_u64..2_000, more in 1_u64..800) {
        let session = session(seed, turns, 400);
        let held = |budget: u64| {
            let carried = made(&session.body(), budget).ledger;
            session.facts.iter().filter(|fact| carried.words.iter().any(|words| words.text.contains(fact.as_str()))).cloned().collect::<std::collections::BTreeSet<String>>()
        };
        let (few, many) = (held(budget), held(budget + more));
        prop_assert!(few.is_subset(&many), "{budget} + {more} loses {:?}", few.difference(&many).collect::<Vec<_>>());
    }

    #[test]
    fn the_budget_holds_whatever_it_is(seed in 0_u64..500, turns in 1_usize..14, budget in 0_u64..3_000) {
        let session = session(seed, turns, 400);
        let extract = made(&session.body(), budget);
        prop_assert!(rough(&extract.summary) <= Tokens(budget), "{} > {budget}", rough(&extract.summary));
        prop_assert_eq!(Ledger::parse(&extract.summary), extract.ledger);
    }
}
