//! The forms that other programs rely on, and what each kind of content shows.

use super::*;

fn shown(text: &str, limit: u64, policy: impl Fn(Policy) -> Policy) -> String {
    let id = "s1/toolu_01".parse().unwrap();
    let capped = cap(text.as_bytes(), &policy(Policy::new(Bytes(limit))), &Naming::whole(&id));
    assert!(capped.was_capped && capped.text.len() as u64 <= limit);
    capped.into_string()
}

#[test]
fn the_classic_marker_has_one_of_two_forms() {
    let text = "x".repeat(1_000);
    // 60 in all: a tail of a quarter, the marker, and the rest is the head.
    let (head, tail) = ("x".repeat(18), "x".repeat(15));
    assert_eq!(snip(&text, Bytes(60), None), format!("{head}\n[...snipped 967 bytes...]\n{tail}"));
    let (head, tail) = ("x".repeat(45), "x".repeat(25));
    assert_eq!(snip(&text, Bytes(100), Some("lost")), format!("{head}\n[...snipped 930 bytes. lost]\n{tail}"));
    // From 1 KiB on, a tail is no longer than 256 bytes.
    let cut = snip(&text.repeat(9), Bytes(4_096), None).into_owned();
    assert_eq!(cut.rsplit_once("...]\n").unwrap().1.len(), 256);
}

#[test]
fn a_classic_tail_moves_forward_to_the_start_of_a_character() {
    let text = "日".repeat(1_000);
    let cut = snip(&text, Bytes(100), None).into_owned();
    // A quarter is 25 bytes, of which whole characters take 24; the number counts what neither end shows.
    let (head, rest) = cut.split_once("\n[...snipped ").unwrap();
    let (number, tail) = rest.split_once(" bytes...]\n").unwrap();
    assert_eq!((tail.len(), head.len() + tail.len() + number.parse::<usize>().unwrap()), (24, 3_000));
}

#[test]
fn tiny_caps_cut_the_head_whatever_the_shape() {
    for character in ["é", "日", "😀"] {
        let text = character.repeat(1_000);
        for limit in [0, 1, 2, 5, 16, 31] {
            for shape in [Shape::Default, Shape::Classic] {
                let text = shown(&text, limit, |policy| policy.with_shape(shape));
                let whole = usize::try_from(limit).unwrap() / character.len();
                // A marker of the classic shape is 26 bytes with four digits, so none fits beside a tail.
                assert_eq!(text, character.repeat(whole), "{limit}");
            }
        }
    }
}

#[test]
fn a_result_of_exactly_the_cap_is_not_cut_and_one_byte_more_is() {
    let text = "日本語 and more\n".repeat(300);
    for policy in [Policy::default(), Policy::default().with_shape(Shape::Classic)] {
        let of = |limit: usize| {
            let policy = Policy { cap: Bytes(limit as u64).into(), ..policy };
            cap(text.as_bytes(), &policy, &Naming::unsaved())
        };
        assert!(!of(text.len()).was_capped && of(text.len()).text == text.as_bytes());
        assert!(of(text.len() - 1).was_capped && of(text.len() - 1).text.len() < text.len());
    }
}

#[test]
fn what_is_saved_in_part_or_not_at_all_is_said() {
    let (text, id) = ("a line of many\n".repeat(1_000), "s1/toolu_01".parse().unwrap());
    let of = |naming: Naming<'_>| cap(text.as_bytes(), &Policy::new(Bytes(2_048)), &naming).into_string();
    assert!(
        of(Naming::first(&id, Bytes(9_000)))
            .contains("; first 9000 bytes saved, the rest is lost; recall id s1/toolu_01]")
    );
    assert!(of(Naming::unsaved()).contains("could NOT be saved: run again with narrower output]"));
    let path = of(Naming::whole(&id).at(Some("/data/s1/toolu_01.txt")));
    assert!(path.contains("; recall id s1/toolu_01; file \"/data/s1/toolu_01.txt\"]"));
}

#[test]
fn a_table_shows_its_header_and_how_many_rows_it_has() {
    let rows: Vec<String> = (0..2_000).map(|n| format!("{n},name {n},{}\n", n * 7)).collect();
    let rows = rows.concat();
    let text = shown(&format!("id,name,total\n{rows}"), 700, |policy| policy.for_tool("Bash"));
    insta::assert_snapshot!(text, @r#"
    id,name,total
    0,name 0,0
    1,name 1,7
    2,name 2,14
    3,name 3,21
    4,name 4,28
    5,name 5,35
    6,name 6,42
    7,name 7,49
    8,name 8,56
    9,name 9,63
    10,name 10,70
    11,name 11,77
    12,name 12,84
    13,name 13,91
    14,name 14,98
    15,name 15,105
    16,name 16,112
    17,name 17,119
    18,name 18,126
    19,name 19,133
    20,name 20,140
    [plimsoll, not part of the content: table, 38205 bytes, 2001 lines, ~9551 tokens; left out here: bytes 292-38079; all of it is saved; recall id s1/toolu_01]
    [plimsoll: a header and 2000 rows; the header again]
    id,name,total
    [plimsoll: the content goes on at line 1996]
    1994,name 1994,13958
    1995,name 1995,13965
    1996,name 1996,13972
    1997,name 1997,13979
    1998,name 1998,13986
    1999,name 1999,13993
    "#);
}

#[test]
fn json_lines_show_the_structure_of_the_first_and_the_lines_of_trouble() {
    let text: String = (0..2_000)
        .map(|n| match n {
            900 => "{\"level\":\"error\",\"message\":\"connection refused\"}\n".to_owned(),
            n => format!("{{\"level\":\"info\",\"request\":{{\"id\":{n},\"path\":\"/a/{n}\"}},\"tags\":[1,2,3]}}\n"),
        })
        .collect();
    insta::assert_snapshot!(shown(&text, 1_200, |policy| policy), @r#"
    {"level":"info","request":{"id":0,"path":"/a/0"},"tags":[1,2,3]}
    {"level":"info","request":{"id":1,"path":"/a/1"},"tags":[1,2,3]}
    {"level":"info","request":{"id":2,"path":"/a/2"},"tags":[1,2,3]}
    {"level":"info","request":{"id":3,"path":"/a/3"},"tags":[1,2,3]}
    {"level":"info","request":{"id":4,"path":"/a/4"},"tags":[1,2,3]}
    {"level":"info","request":{"id":5,"path":"/a/5"},"tags":[1,2,3]}
    {"level":"info","request":{"id":6,"path":"/a/6"},"tags":[1,2,3]}
    [plimsoll, not part of the content: JSON lines, 139760 bytes, 2000 lines, ~34940 tokens; left out here: bytes 455-139552; all of it is saved; recall id s1/toolu_01]
    [plimsoll: the structure of the first value]
    {
      "level": "info",
      "request": {
        "id": 0,
        "path": "/a/0"
      },
      "tags": [1, 2, 3]
    }
    [plimsoll: lines left out that stand out, of 1 in all]
    901: {"level":"error","message":"connection refused"}
    902- {"level":"info","request":{"id":901,"path":"/a/901"},"tags":[1,2,3]}
    [plimsoll: the content goes on at line 1998]
    el":"info","request":{"id":1997,"path":"/a/1997"},"tags":[1,2,3]}
    {"level":"info","request":{"id":1998,"path":"/a/1998"},"tags":[1,2,3]}
    {"level":"info","request":{"id":1999,"path":"/a/1999"},"tags":[1,2,3]}
    "#);
}

#[test]
fn a_numbered_file_shows_its_definitions_with_the_numbers_it_has() {
    for after in ["→", "\t"] {
        let text: String = (1..=900)
            .map(|n| match n {
                300 | 600 => format!("{n:>6}{after}pub fn number_{}() {{\n", n / 300),
                450 => format!("{n:>6}{after}    fn inner() {{}} // no definition at the top\n"),
                n => format!("{n:>6}{after}    let x = {n};\n"),
            })
            .collect();
        let shown = shown(&text, 1_200, |policy| policy.for_tool("Read"));
        let (_, middle) =
            shown.split_once("[plimsoll: headings and definitions left out, with their lines]\n").unwrap();
        assert!(middle.starts_with(&format!("300{after}pub fn number_1() {{")), "{middle}");
        assert!(!middle.contains("fn inner"), "{middle}");
    }
}

#[test]
fn json_that_is_broken_off_shows_where() {
    let rows: Vec<String> = (0..5_000).map(|n| format!("{{\"id\":{n},\"name\":\"row {n}\"}},")).collect();
    let rows = rows.concat();
    let text = shown(&format!("{{\"rows\":[{rows}\nTraceback: the writer died"), 2_048, |policy| policy);
    assert!(text.contains("[plimsoll: its structure]\n{\n  \"rows\": [\n") && text.contains("broken off"), "{text}");
    assert!(text.ends_with("\nTraceback: the writer died"), "{text}");
}

#[test]
fn what_only_began_as_json_is_shown_as_the_output_it_is() {
    let lines = "a line of output\n".repeat(9_000);
    let text = format!("{{\"version\": 1}}\n{lines}error: it broke\n{lines}");
    let shown = shown(&text, 2_048, |policy| policy.for_tool("Bash"));
    let (_, marker) = Marker::find(&shown).unwrap();
    assert_eq!((marker.kind, marker.lines), (Kind::Output, 18_002));
    assert!(shown.contains("\n9002: error: it broke\n"), "{shown}");
}

#[test]
fn an_error_in_colour_weighs_as_much_as_a_plain_one() {
    let lines = "warning: something small\nan error was mentioned\n".repeat(400);
    let text =
        format!("{lines}\u{1b}[0m\u{1b}[1m\u{1b}[38;5;9merror\u{1b}[0m\u{1b}[1m: mismatched types\u{1b}[0m\n{lines}");
    let policy = Policy::new(Bytes(700)).for_tool("Bash");
    let shown = cap(text.as_bytes(), &policy, &Naming::unsaved()).into_string();
    assert!(shown.contains("\n801: error: mismatched types\n"), "{shown}");
}

#[test]
fn content_blocks_are_capped_one_by_one() {
    let log = format!("{}error: it broke\n{}", "fine\n".repeat(2_000), "fine\n".repeat(2_000));
    let blocks = [
        Block::Text("a short word before"),
        Block::Text(&log),
        Block::Image { media_type: "image/png", bytes: Bytes(400_000), tokens: crate::Tokens(300) },
        Block::Link { uri: "file:///a/b.txt", name: Some("b.txt") },
        Block::Image { media_type: "image/png", bytes: Bytes(9_000_000), tokens: crate::Tokens(5_000) },
    ];
    let id = "s1/toolu_01".parse().unwrap();
    let capped = cap_blocks(&blocks, &Policy::new(Bytes(4_096)).for_tool("Bash"), |_| Naming::whole(&id));
    assert_eq!([0, 2, 3].map(|at: usize| &capped[at]), [&CappedBlock::Keep; 3]);
    let CappedBlock::Text(text) = &capped[1] else { panic!("{:?}", capped[1]) };
    assert!(text.as_str().contains("2001: error: it broke"));
    // Never cut in the middle: a line stands for the one that does not fit.
    let line = "[plimsoll, not part of the content: image image/png, 9000000 bytes, left out; recall id s1/toolu_01]";
    assert_eq!(capped[4], CappedBlock::Replaced(line.to_owned()));
}

#[test]
fn a_tail_of_escape_sequences_is_filled_from_far_before_it() {
    let frame = |n: usize| format!("\u{1b}[38;2;10;20;30m\u{1b}[1m\u{1b}[48;2;1;2;3mword {n}\u{1b}[0m\u{1b}[K\n");
    let text: String = (0..9_000).map(frame).collect();
    let shown = shown(&text, 4_096, |policy| policy.for_tool("Bash"));
    assert!(!shown.contains('\u{1b}') && shown.ends_with("word 8999\n") && shown.len() > 4_000, "{}", shown.len());
}
