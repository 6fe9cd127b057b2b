//! What holds for every text, cap and division into pushes.

use proptest::prelude::*;

use super::*;
use crate::Bytes;

mod beside;
mod corpus;
mod recorded;
mod shapes;
mod utf16;

/// Texts of every width, lines long and short, escapes, and bytes that are no UTF-8.
fn any_text() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        "[ -~]{0,60}\n".prop_map(String::into_bytes),
        "[a-z日本語é😀\u{301}]{0,40}".prop_map(String::into_bytes),
        "(error: |warning: |Traceback|FAILED )[a-z ]{0,30}\n".prop_map(String::into_bytes),
        "(\u{1b}\\[[0-9;]{0,3}[mKAGz]|\r|\u{8}|\u{1b}\\][a-z]{0,3}\u{7}){1,4}".prop_map(String::into_bytes),
        r#"[\[\]{}",:0-9a-z ]{0,30}"#.prop_map(String::into_bytes),
        "(diff --git a/x b/x|@@ -1 [+]1 @@|[-+][a-z]{0,9})\n".prop_map(String::into_bytes),
        proptest::collection::vec(any::<u8>(), 0..40),
    ];
    let head = prop_oneof![
        Just(""),
        Just("{\"a\":["),
        Just("[{"),
        Just("diff --git a/x b/x\n"),
        Just("a,b,c\n1,2,3\n4,5,6\n7,8,9\n")
    ];
    (head, proptest::collection::vec(piece, 0..120))
        .prop_map(|(head, pieces)| [head.as_bytes(), &pieces.concat()].concat())
}

fn any_policy() -> impl Strategy<Value = Policy> {
    let kind = proptest::option::of(0..Kind::ALL.len());
    (0..4_200u64, any::<bool>(), kind).prop_map(|(cap, classic, kind)| Policy {
        cap: Bytes(cap).into(),
        shape: if classic { Shape::Classic } else { Shape::Default },
        kind: kind.map(|at| Kind::ALL[at]),
        hint: None,
    })
}

fn holds(text: &[u8], policy: &Policy, naming: &Naming<'_>) -> Result<(), TestCaseError> {
    let limit = policy.cap.limit();
    let capped = cap(text, policy, naming);
    prop_assert!(capped.text.len() <= limit || !capped.was_capped);
    prop_assert_eq!(capped.was_capped, text.len() > limit);
    if capped.was_capped {
        prop_assert!(str::from_utf8(&capped.text).is_ok());
    } else {
        prop_assert_eq!(&*capped.text, text);
    }
    prop_assert!(capped.omitted <= capped.bytes);
    if let Some(marker) = &capped.marker {
        prop_assert!(capped.as_str().lines().any(|line| Marker::parse(line).as_ref() == Some(marker)));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn what_is_shown_is_never_over_the_cap(text in any_text(), policy in any_policy(), path: bool) {
        let id = "s1/toolu_01".parse().unwrap();
        for naming in [Naming::whole(&id).at(path.then_some("/data/x.txt")), Naming::unsaved(), Naming::first(&id, Bytes(9))] {
            holds(&text, &policy, &naming)?;
        }
    }

    #[test]
    fn pushes_of_any_size_give_the_same(
        text in any_text(), repeat in 1..40usize, policy in any_policy(),
        sizes in proptest::collection::vec(1..9_000usize, 1..50),
    ) {
        let text = text.repeat(repeat);
        let id = "s1/toolu_01".parse().unwrap();
        let naming = Naming::whole(&id);
        let whole = cap(&text, &policy, &naming);
        let mut capper = Capper::new(policy);
        let mut rest = text.as_slice();
        for size in sizes.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (chunk, after) = rest.split_at((*size).min(rest.len()));
            match size % 2 {
                0 => capper.push(chunk),
                _ => capper.push_block(&chunk.to_vec().into()),
            }
            prop_assert_eq!(capper.exceeded(), text.len() - after.len() > policy.cap.limit());
            rest = after;
        }
        prop_assert_eq!(capper.finish(&naming), whole);
    }
}

const LOG_HEAD: &str = "   Compiling serde v1.0.200\n";

/// A build of many crates that fails in the middle.
fn build() -> String {
    (1..=3_000)
        .map(|number| match number {
            1_400 => "warning: unused variable: `x`\n".to_owned(),
            1_500 => "error[E0308]: mismatched types\n  --> src/main.rs:10:5\n   |\n10 |     1\n".to_owned(),
            2_999 => "error: could not compile `app` (bin \"app\") due to 1 previous error\n".to_owned(),
            _ => LOG_HEAD.to_owned(),
        })
        .collect()
}

#[test]
fn the_error_in_the_middle_of_a_log_is_shown_with_its_line() {
    let id = "s1/toolu_01".parse().unwrap();
    let text = build();
    let capped = cap(text.as_bytes(), &Policy::new(Bytes(1_024)).for_tool("Bash"), &Naming::whole(&id));
    insta::assert_snapshot!(capped.as_str(), @r#"
       Compiling serde v1.0.200
       Compiling serde v1.0.200
       Compiling serde v1.0.200
       Compiling serde v1.0.200
       Compiling serde v1.0.200
       Compiling serde v1.0.200
       Compiling serde 
    [plimsoll, not part of the content: command output, 84083 bytes, 3003 lines, ~21020 tokens; left out here: bytes 187-83652; all of it is saved; recall id s1/toolu_01]
    [plimsoll: lines left out that stand out, of 3 in all]
    1400: warning: unused variable: `x`
    1500: error[E0308]: mismatched types
    1501-   --> src/main.rs:10:5
    1502-    |
    1503- 10 |     1
    [plimsoll: the content goes on at line 2990]
       Compiling serde v1.0.200
       Compiling serde v1.0.200
       Compiling serde v1.0.200
       Compiling serde v1.0.200
       Compiling serde v1.0.200
       Compiling serde v1.0.200
       Compiling serde v1.0.200
       Compiling serde v1.0.200
       Compiling serde v1.0.200
       Compiling serde v1.0.200
       Compiling serde v1.0.200
       Compiling serde v1.0.200
    error: could not compile `app` (bin "app") due to 1 previous error
       Compiling serde v1.0.200
    "#);
}

#[test]
fn the_same_text_is_shown_the_same_whatever_is_near() {
    let id = "s1/toolu_01".parse().unwrap();
    let naming = Naming::whole(&id);
    let policy = Policy::new(Bytes(3_000));
    let first = cap(build().as_bytes(), &policy, &naming).into_owned();
    cap(b"{\"another\": [1, 2, 3]}", &Policy::new(Bytes(5)), &naming);
    assert_eq!(cap(build().as_bytes(), &policy, &naming), first);
}

#[test]
fn a_kind_shares_its_room_between_head_and_tail() {
    let lines: Vec<String> = (0..5_000).map(|number| format!("item number {number} of the whole\n")).collect();
    let text = lines.concat();
    let share = |kind| {
        let capped = cap(text.as_bytes(), &Policy::new(Bytes(10_000)).with_kind(kind), &Naming::unsaved());
        let text = capped.as_str().into_owned();
        let (span, _) = Marker::find(&text).unwrap();
        span.start * 100 / (text.len() - span.len())
    };
    assert!((28..=31).contains(&share(Kind::Output)), "{}", share(Kind::Output));
    assert!((68..=71).contains(&share(Kind::File)), "{}", share(Kind::File));
    assert!((48..=51).contains(&share(Kind::Text)), "{}", share(Kind::Text));
}

#[test]
fn lines_that_stand_out_take_a_quarter_of_the_cap_at_most() {
    let lines: Vec<String> = (0..5_000)
        .map(|number| format!("error: {} {number}\n", ["alpha", "beta", "gamma"][number % 3].repeat(1 + number % 40)))
        .collect();
    let text = lines.concat();
    let capped = cap(text.as_bytes(), &Policy::new(Bytes(8_192)).with_kind(Kind::Log), &Naming::unsaved());
    let shown = capped.as_str();
    let middle =
        shown.split_once("[plimsoll: lines").unwrap().1.split_once("[plimsoll: the content goes on").unwrap().0;
    assert!((1_500..=2_048).contains(&middle.len()), "{}", middle.len());
}

#[test]
fn a_stream_of_any_length_is_held_in_bounded_memory() {
    let mut capper = Capper::new(Policy::default());
    let chunk = "error: one of very many lines, each with a number 12345\n".repeat(1_000);
    let mut most = 0;
    for _ in 0..2_000 {
        capper.push(chunk.as_bytes());
        most = most.max(capper.holds());
    }
    assert!(capper.bytes() > Bytes(100_000_000) && most < 4 << 20, "{most}");
    assert!(capper.finish(&Naming::unsaved()).text.len() <= 128 * 1024);
}

#[test]
fn of_a_flood_of_different_failures_samples_are_shown_and_the_count_is_the_least() {
    let words = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa"];
    let word = |number: usize, place: u32| words[number / 10_usize.pow(place) % 10];
    let lines = (0..60_000).map(|number| match number {
        // What is most of all looked for stands in the flood, too.
        50_000..50_400 => format!("thread {} panicked at {}\n", word(number, 0), word(number, 1)),
        _ => format!(
            "error: {} {} {} {} {}\n",
            word(number, 0),
            word(number, 1),
            word(number, 2),
            word(number, 3),
            word(number, 4)
        ),
    });
    let text = lines.collect::<String>().into_bytes();
    let policy = Policy::new(Bytes(64 * 1024)).with_kind(Kind::Log);
    let capped = cap(&text, &policy, &Naming::unsaved()).into_string();
    let (_, count) = capped.split_once("stand out, of at least ").unwrap();
    let count: usize = count.split_once(' ').unwrap().0.parse().unwrap();
    assert!((4_096..30_000).contains(&count), "{count}");
    assert!(capped.contains("panicked at "), "{capped}");
    for size in [1_000, 65_536, 100_000] {
        let mut capper = Capper::new(policy);
        text.chunks(size).for_each(|chunk| capper.push_block(&chunk.to_vec().into()));
        assert!(capper.finish(&Naming::unsaved()).into_string() == capped, "{size}");
    }
}

#[test]
fn minified_code_is_shown_by_its_ends_and_what_it_gives_names_to() {
    let part = |number: usize| {
        format!(
            "e.member{number}=function(e,t){{return e.x=\"a, b\",t}};class Parser{number} extends e{{run{number}(e){{}}}}"
        )
    };
    let code = (0..500).map(part).collect::<String>();
    let text = format!("/* marked: a parser */\n{code}");
    let capped = cap(text.as_bytes(), &Policy::new(Bytes(2_000)).for_tool("Bash"), &Naming::unsaved());
    assert_eq!(capped.kind, Kind::Minified);
    let shown = capped.into_string();
    let (span, marker) = Marker::find(&shown).unwrap();
    // What is shown of the ends is of the text, and nothing between is counted twice.
    let left_out = marker.left_out.unwrap();
    let at = |at: u64| usize::try_from(at).unwrap();
    let (before, _) = text.split_at(at(left_out.start));
    let (until, after) = text.split_at(at(left_out.end));
    assert_eq!(shown.split_at(span.start).0.trim_end_matches('\n'), before);
    assert!(shown.ends_with(after));
    assert!(before.ends_with([';', ',', '{', '}']), "{shown}");
    assert!(until.ends_with([';', ',', '{', '}']), "{shown}");
    assert!(shown.contains("gives names to]\nmember0, Parser0, run0, member1, "), "{shown}");
    assert!(shown.contains("… and "), "{shown}");
}

#[test]
fn a_cap_is_exceeded_by_the_first_byte_over_it() {
    let mut capper = Capper::new(Policy::new(Bytes(10)));
    capper.push(b"0123456789");
    assert!(!capper.exceeded() && capper.would_exceed(1) && !capper.would_exceed(0));
    assert_eq!(capper.held(), b"0123456789");
    capper.push(b"x");
    assert!(capper.exceeded());
}

#[test]
fn a_window_of_a_long_line_is_shown_and_not_the_line() {
    let line = format!("{} fatal: it broke here {}", "x".repeat(300_000), "y".repeat(300_000));
    let text = format!("start\n{line}\nend\n");
    let capped = cap(text.as_bytes(), &Policy::new(Bytes(4_096)).for_tool("Bash"), &Naming::unsaved());
    let shown = capped.as_str();
    let found = shown.lines().find(|line| line.starts_with("2: ")).unwrap();
    assert!(found.contains("fatal: it broke here") && found.len() < 300, "{found}");
    assert_eq!(shown.matches("fatal: it broke here").count(), 1);
}

#[test]
fn invalid_bytes_are_shown_lossily_within_the_cap() {
    let text = [b"caf\xe9 ".as_slice(), &[0xFF; 3_000], b"\nend\n"].concat();
    for limit in [600, 1_000, 2_999] {
        let capped = cap(&text, &Policy::new(Bytes(limit)), &Naming::unsaved());
        assert!(capped.as_str().contains("caf\u{fffd} ") && capped.text.len() as u64 <= limit);
    }
}
