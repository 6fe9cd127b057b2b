//! Tool results from outside: capped, stored, recalled, looked after.

use crate::{Bench, Ran};

/// A build log with its error in the middle.
fn log(lines: usize) -> Vec<u8> {
    let line = |n: usize| match n {
        n if n == lines / 2 => "error[E0308]: mismatched types in crate number seven\n".to_owned(),
        n => format!("   Compiling crate number {n} of the workspace\n"),
    };
    (1..=lines).map(line).collect::<String>().into_bytes()
}

fn id_of(ran: &Ran) -> String {
    ran.json()["artifact"].as_str().unwrap().to_owned()
}

#[test]
fn what_fits_is_unchanged_and_nothing_is_stored() {
    let bench = Bench::new();
    for input in [&b""[..], b"short", b"\xff\xfe not UTF-8 \x80", &[b'x'; 1000]] {
        let ran = bench.pipe(["cap", "--max-bytes", "1000"], input);
        assert_eq!(ran.code(0).bytes(), input);
        assert_eq!(ran.err(), "");
    }
    assert!(!bench.stored());
    assert_eq!(bench.pipe(["cap", "--max-bytes", "0"], b"").code(0).bytes(), b"");
}

#[test]
fn a_search_shows_as_many_matches_as_its_limit_says_the_latest_first_and_tells_of_more() {
    let bench = Bench::new();
    for call in ["old", "new"] {
        let text: String = (1..=400).map(|n| format!("needle {n} of {call}\n")).collect();
        bench.pipe(["cap", "--max-bytes", "500", "--session", "s", "--call", call], text.as_bytes()).code(0);
    }
    let of = |limit: &str| {
        let ran = bench.run(["recall", "--search", "needle", "--limit", limit]);
        (ran.code(0).out().lines().map(str::to_owned).collect::<Vec<_>>(), ran.err())
    };
    let (three, said) = of("3");
    assert_eq!(three, ["s/new:1:needle 1 of new", "s/new:2:needle 2 of new", "s/new:3:needle 3 of new"]);
    assert!(said.contains("[3 matches in 1 artifact; there is more: raise --limit"), "{said}");
    // A limit above what one text holds goes on with the next.
    let (most, said) = of("401");
    assert_eq!((most.len(), most.last().unwrap().as_str()), (401, "s/old:1:needle 1 of old"));
    assert!(said.contains("there is more"), "{said}");
    let (all, said) = of("800");
    assert_eq!(all.len(), 800);
    assert!(said.contains("[800 matches in 2 artifacts; that is all]"), "{said}");
    let json = bench.run(["recall", "--search", "needle", "--limit", "2", "--json"]);
    assert_eq!(json.code(0).out().lines().count(), 2);
}

#[test]
fn a_result_in_utf_16_is_shown_and_searched_as_text_and_given_back_as_it_was() {
    let bench = Bench::new();
    let text = String::from_utf8(log(5_000)).unwrap().replace('\n', "\r\n");
    let raw: Vec<u8> = std::iter::once(0xFEFF).chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    let capped = bench.pipe(["cap", "--max-bytes", "4KiB", "--session", "s", "--call", "c", "--tool", "Bash"], &raw);
    let shown = capped.code(0).out();
    assert!(
        shown.contains("2500: error[E0308]: mismatched") && shown.contains("in UTF-16LE (shown as UTF-8)"),
        "{shown}"
    );
    assert_eq!(bench.run(["recall", "s/c"]).code(0).bytes(), raw);
    let page = bench.run(["recall", "s/c", "--offset", "2", "--length", "27"]);
    assert_eq!(page.code(0).bytes(), &raw[2..28]);
    assert!(page.err().contains("[bytes 2-28 of") && page.err().contains("this is UTF-16LE"), "{}", page.err());
    let json = bench.run(["recall", "s/c", "--offset", "2", "--length", "27", "--json"]).code(0).json();
    assert_eq!((&json["text"], &json["encoding"]), (&"   Compiling ".into(), &"UTF-16LE".into()));
    let line = "error[E0308]: mismatched types in crate number seven";
    assert_eq!(bench.run(["recall", "s/c", "--lines", "2500"]).code(0).out(), format!("{line}\r\n"));
    assert_eq!(bench.run(["recall", "s/c", "--grep", "^error"]).code(0).out(), format!("2500:{line}\r\n"));
    assert_eq!(bench.run(["recall", "--search", "E0308"]).code(0).out(), format!("s/c:2500:{line}\r\n"));
}

#[test]
fn what_does_not_fit_is_within_the_cap_and_recalled_byte_for_byte() {
    let bench = Bench::new();
    let log = log(5_000);
    let capped = bench.pipe(["cap", "--max-bytes", "4KiB", "--session", "s", "--call", "c", "--tool", "Bash"], &log);
    let text = capped.code(0).out();
    assert!(text.len() <= 4096 && text.contains("error[E0308]: mismatched types"), "{text}");
    assert!(text.contains("recall id s/c") && text.contains("results/s/c.txt"), "{text}");
    assert_eq!(bench.run(["recall", "s/c"]).code(0).bytes(), log);
    let without = bench.pipe(["cap", "--max-bytes", "4KiB", "--session", "s", "--call", "d", "--no-path"], &log);
    assert!(!without.code(0).out().contains("results/s"), "no path");
}

#[test]
fn caps_smaller_than_a_marker_still_hold() {
    let bench = Bench::new();
    let text = "日本語のテキスト🦀é".repeat(200);
    for cap in [0, 1, 2, 3, 5, 16, 31, 64, 100, 255, 256, 257, 1_000] {
        let ran = bench.pipe(["cap", "--max-bytes", &cap.to_string(), "--call", &cap.to_string()], text.as_bytes());
        assert!(ran.code(0).bytes().len() <= cap, "{cap}");
        assert!(std::str::from_utf8(ran.bytes()).is_ok(), "{cap}");
    }
}

#[test]
fn json_has_its_fields() {
    let bench = Bench::new();
    let ran = bench.pipe(["cap", "--json", "--max-bytes", "2000", "--session", "s", "--call", "c"], &log(1_000));
    let report = ran.code(0).json();
    let keys: Vec<&str> = report.as_object().unwrap().keys().map(String::as_str).collect();
    insta::assert_snapshot!(keys.join(" "), @"artifact bytes kind lines omitted_bytes path saved saved_bytes text warning was_capped");
    assert_eq!((report["was_capped"].as_bool(), report["lines"].as_u64()), (Some(true), Some(1_000)));
    assert_eq!(std::fs::read(report["path"].as_str().unwrap()).unwrap(), log(1_000));
    let small = bench.pipe(["cap", "--json"], b"small").code(0).json();
    assert_eq!((small["text"].as_str(), small["artifact"].is_null()), (Some("small"), true));
}

#[test]
fn a_text_that_was_shown_is_shown_again() {
    let bench = Bench::new();
    let log = log(2_000);
    let cap = |bytes: &str, shape: &str| {
        let arguments = ["cap", "--session", "s", "--call", "c", "--max-bytes", bytes, "--shape", shape];
        bench.pipe(arguments, &log).code(0).bytes().to_vec()
    };
    let first = cap("3000", "default");
    assert_eq!(cap("9000", "classic"), first, "a wider cap and another shape change nothing");
    assert_eq!(cap("1MiB", "default"), first, "nor does one that the whole would fit");
    let narrow = cap("1000", "classic");
    assert!(narrow.len() <= 1000 && narrow != first);
    assert_eq!(cap("3000", "default"), first, "the record stays");
    std::fs::remove_file(bench.path("store/results/s/c.json")).unwrap();
    assert_ne!(cap("9000", "classic"), first, "recomputed once the record is gone");
}

#[test]
fn contents_of_one_call_are_told_apart() {
    let bench = Bench::new();
    let cap = |input: &[u8]| {
        id_of(bench.pipe(["cap", "--json", "--max-bytes", "500", "--session", "s", "--call", "c"], input).code(0))
    };
    let (one, two) = (log(100), log(200));
    let (first, second) = (cap(&one), cap(&two));
    assert_eq!((first.as_str(), cap(&one)), ("s/c", first.clone()));
    assert!(second.starts_with("s/c~"), "{second}");
    let ran = bench.run(["recall", "s/c"]);
    assert_eq!(ran.code(0).bytes(), one);
    assert!(ran.err().contains(&second), "{}", ran.err());
    assert_eq!(bench.run(["recall", "s/c", "--json"]).code(0).json()["others"][0], second);
    assert_eq!(bench.run(["recall", &second]).code(0).bytes(), two);
}

#[test]
fn odd_ids_are_mapped_and_hostile_ones_refused() {
    let bench = Bench::new();
    for (session, call) in
        [("../../etc", "a/b"), ("", ".."), ("Sitzung ü", "call 1"), ("-x", "-y"), ("s", &"x".repeat(1_500))]
    {
        let ran =
            bench.pipe(["cap", "--json", "--max-bytes", "500", "--session", session, "--call", call], &log(100));
        let id = id_of(ran.code(0));
        assert_eq!(bench.run(["recall", "--", &id]).code(0).bytes(), log(100), "{id}");
    }
    for hostile in ["", "../x", "a/../b", "a/b/c", "./b", "a\\b", "/etc/passwd", "a/%2e%2e", "a/\u{202e}b", "a"] {
        let ran = bench.run(["recall", "--", hostile]);
        assert!(!ran.code(2).err().is_empty(), "{hostile}");
    }
    assert!(!bench.path("etc").exists());
}

#[test]
fn parts_are_recalled_by_bytes_lines_and_expression() {
    let bench = Bench::new();
    let log = log(5_000);
    bench.pipe(["cap", "--max-bytes", "500", "--session", "s", "--call", "c"], &log).code(0);
    let page = bench.run(["recall", "s/c", "--offset", "0"]);
    assert_eq!(page.code(0).bytes(), &log[..48 * 1024]);
    assert!(page.err().contains(&format!("[bytes 0-49152 of {}; next offset 49152]", log.len())), "{}", page.err());
    let (mut at, mut pages) = (0, Vec::new());
    while at < log.len() {
        let page = bench.run(["recall", "s/c", "--offset", &at.to_string(), "--length", "40001"]);
        pages.extend_from_slice(page.code(0).bytes());
        at = pages.len();
    }
    assert_eq!(pages, log);
    let lines = bench.run(["recall", "s/c", "--lines", "2:3"]).code(0).out();
    insta::assert_snapshot!(lines, @"
       Compiling crate number 2 of the workspace
       Compiling crate number 3 of the workspace
    ");
    let grep = bench.run(["recall", "s/c", "--grep", r"error\[E\d+\]", "-C", "1"]).code(0).out();
    insta::assert_snapshot!(grep, @"
    2499-   Compiling crate number 2499 of the workspace
    2500:error[E0308]: mismatched types in crate number seven
    2501-   Compiling crate number 2501 of the workspace
    ");
    bench.run(["recall", "s/c", "--grep", "no such thing"]).code(1);
    assert!(bench.run(["recall", "s/c", "--grep", "("]).code(2).err().contains('('));
    let past = bench.run(["recall", "s/c", "--offset", &log.len().to_string()]);
    assert!(past.code(1).err().contains(&format!("{} bytes", log.len())), "{}", past.err());
}

#[test]
fn everything_stored_is_searched_archived_conversations_too() {
    let bench = Bench::new();
    bench.pipe(["cap", "--max-bytes", "500", "--session", "one", "--call", "c"], &log(100)).code(0);
    bench.pipe(["cap", "--max-bytes", "500", "--session", "two", "--call", "c"], &log(300)).code(0);
    let all = bench.run(["recall", "--search", "E0308]"]).code(0).out();
    assert!(all.contains("one/c:50:") && all.contains("two/c:150:"), "{all}");
    let one = bench.run(["recall", "--search", "E[0-9]+", "--regex", "--session", "one", "--json"]).code(0).json();
    assert_eq!((one["id"].as_str(), one["line"].as_u64()), (Some("one/c"), Some(50)));
    let body = bench.write("t.json", crate::body(12));
    bench.run(["compact", body.to_str().unwrap(), "--target-tokens", "4000", "--json"]).code(0);
    let found = bench.run(["recall", "--search", "look into file_1.txt"]).code(0).out();
    assert!(found.contains("/~"), "{found}");
    bench.run(["recall", "--search", "nowhere to be found"]).code(1);
}

#[test]
fn the_store_is_looked_after() {
    let bench = Bench::new();
    assert!(bench.run(["store", "ls"]).code(0).err().contains("nothing is stored"));
    bench.pipe(["cap", "--max-bytes", "500", "--session", "s", "--call", "c", "--tool", "Bash"], &log(100)).code(0);
    bench.pipe(["cap", "--max-bytes", "500", "--session", "t", "--call", "d"], &log(200)).code(0);
    let listed = bench.run(["store", "ls"]).code(0).out();
    assert!(listed.contains("s/c") && listed.contains("t/d"), "{listed}");
    assert_eq!(bench.run(["store", "ls", "s"]).code(0).out().lines().count(), 1);
    let shown = bench.run(["store", "show", "s/c", "--json"]).code(0).json();
    assert_eq!(
        (shown["meta"]["tool"].as_str(), shown["bytes"].as_u64()),
        (Some("Bash"), Some(log(100).len() as u64))
    );
    assert_eq!(bench.run(["store", "du", "--json"]).code(0).json()["sessions"].as_array().unwrap().len(), 2);
    assert_eq!(bench.run(["store", "verify", "--json"]).code(0).json()["artifacts"], 2);
    assert!(bench.run(["store", "prune", "--dry-run"]).code(0).out().contains("would free 0 B"));

    std::fs::write(bench.path("store/results/s/c.txt"), b"altered").unwrap();
    let verified = bench.run(["store", "verify"]);
    assert!(verified.code(1).out().contains("s/c"), "{}", verified.out());

    bench.run(["store", "rm", "s/c"]).code(0);
    assert!(bench.run(["recall", "s/c"]).code(1).err().contains("nothing is stored as s/c"));
    bench.run(["store", "rm", "t"]).code(0);
    let gone = bench.run(["recall", "t/d"]).code(1).err();
    assert!(gone.contains("is not stored any more"), "told apart from what never was: {gone}");
    assert!(bench.run(["store", "rm", "t"]).code(1).err().contains("no session t"));
}

#[cfg(unix)]
#[test]
fn a_store_that_fails_is_told_and_the_text_still_fits() {
    let bench = Bench::new();
    bench.write("store", "a file where the store should be");
    let ran = bench.pipe(["cap", "--max-bytes", "2000"], &log(1_000));
    let text = ran.code(0).out();
    assert!(text.len() <= 2000 && text.contains("could NOT be saved"), "{text}");
    assert!(ran.err().contains("warning") && ran.err().contains("store"), "{}", ran.err());
    let strict = bench.pipe(["cap", "--max-bytes", "2000", "--strict"], &log(1_000));
    assert_eq!(strict.code(1).out(), text);
    bench.pipe(["cap", "--strict"], b"small").code(0);
}

#[test]
fn without_a_store_that_can_be_opened_the_text_is_shown_and_says_so() {
    let bench = Bench::new();
    for (url, why) in
        [("s3://bucket/prefix", "AWS_"), ("memory:", "ends with this process"), ("nonsense", "no scheme")]
    {
        let ran = bench.pipe(["cap", "--max-bytes", "2000", "--store", url], &log(1_000));
        let text = ran.code(0).out();
        assert!(
            text.len() <= 2000 && text.contains("could NOT be saved") && !text.contains("recall id"),
            "{url}: {text}"
        );
        assert!(ran.err().contains("could not be saved") && ran.err().contains(why), "{url}: {}", ran.err());
        let strict = bench.pipe(["cap", "--max-bytes", "2000", "--store", url, "--strict"], &log(1_000));
        assert_eq!(strict.code(1).out(), text);
        assert_eq!(bench.pipe(["cap", "--strict", "--store", url], b"small").code(0).out(), "small");
    }
}

#[cfg(unix)]
#[test]
fn a_limit_on_the_size_of_files_is_met_as_a_full_disk_is() {
    let bench = Bench::new();
    let under = |arguments: &str, input: &[u8]| {
        let mut command = std::process::Command::new("sh");
        let program = env!("CARGO_BIN_EXE_plimsoll");
        command.arg("-c").arg(format!("ulimit -f 8; exec {program} {arguments}"));
        command.env_clear().env("PLIMSOLL_STORE", bench.path("store")).env("PLIMSOLL_LOG", bench.path("log"));
        bench.feed(command, input)
    };
    let log = log(5_000);
    let ran = under("cap --max-bytes 2000", &log);
    assert!(ran.code(0).out().contains("could NOT be saved"), "{}", ran.out());
    assert!(ran.err().contains("no room to write"), "{}", ran.err());
    let input = serde_json::json!({ "session_id": "s", "tool_name": "Bash", "tool_use_id": "t",
        "tool_response": { "stdout": String::from_utf8(log).unwrap() } });
    let ran = under("hook PostToolUse", input.to_string().as_bytes());
    assert!(ran.code(0).out().contains("could NOT be saved"), "{}", ran.out());
    let left = |folder: &str| std::fs::read_dir(bench.path("store/results").join(folder)).map_or(0, Iterator::count);
    assert_eq!((left("cli"), left("s")), (0, 0), "no temporary file is left behind");
}

#[test]
fn over_the_quota_the_first_bytes_are_kept_and_the_text_says_so() {
    let bench = Bench::new();
    let log = log(1_000);
    let mut command = bench.command();
    command.env("PLIMSOLL_STORE_MAX_STREAM", "10000").args([
        "cap",
        "--max-bytes",
        "2000",
        "--session",
        "s",
        "--call",
        "c",
    ]);
    let ran = bench.feed(command, &log);
    assert!(ran.code(0).out().contains("first 10000 bytes saved"), "{}", ran.out());
    assert!(ran.err().contains("only the first"), "{}", ran.err());
    assert_eq!(bench.run(["recall", "s/c"]).code(0).bytes(), &log[..10_000]);
}

#[test]
fn a_replay_without_the_path_has_none() {
    let bench = Bench::new();
    let log = log(5_000);
    let arguments = ["cap", "--max-bytes", "4KiB", "--session", "s", "--call", "c"];
    let with = bench.pipe(arguments, &log);
    assert!(with.code(0).out().contains("results/s/c.txt"));
    let without = bench.pipe(arguments.into_iter().chain(["--no-path"]), &log);
    assert!(!without.code(0).out().contains("results/s"), "{}", without.out());
    assert_eq!(bench.pipe(arguments, &log).out(), with.out());
}

#[test]
fn one_line_and_sizes_with_a_fraction_are_understood() {
    let bench = Bench::new();
    let capped = bench.pipe(["cap", "--max-bytes", "1.5KiB", "--session", "s", "--call", "c"], &log(1_000));
    assert!((1_024..=1_536).contains(&capped.code(0).bytes().len()));
    let line = bench.run(["recall", "s/c", "--lines", "5"]);
    assert_eq!(line.code(0).out(), "   Compiling crate number 5 of the workspace\n");
}

#[test]
fn recalling_a_part_of_what_is_not_all_there_warns() {
    let bench = Bench::new();
    let mut command = bench.command();
    command.env("PLIMSOLL_STORE_MAX_STREAM", "10000").args([
        "cap",
        "--max-bytes",
        "1000",
        "--session",
        "s",
        "--call",
        "c",
    ]);
    assert!(bench.feed(command, &log(1_000)).code(0).err().contains("only the first"));
    for arguments in [&["--lines", "1:2"][..], &["--grep", "Compiling"], &["--offset", "0"], &[]] {
        let ran = bench.run(["recall", "s/c"].iter().chain(arguments));
        assert!(ran.code(0).err().contains("only the first 9.8 KiB were saved"), "{}", ran.err());
        assert!(!ran.out().contains("warning"));
    }
    assert_eq!(bench.run(["recall", "s/c", "--json"]).json()["first_of"], log(1_000).len());
    let whole = bench.pipe(["cap", "--max-bytes", "1000", "--session", "s", "--call", "d"], &log(1_000));
    whole.code(0);
    assert_eq!(bench.run(["recall", "s/d", "--lines", "1:2"]).err(), "");
}

#[test]
fn looking_after_the_store_says_what_it_cannot_use() {
    let bench = Bench::new();
    bench.pipe(["cap", "--max-bytes", "1000", "--session", "s", "--call", "c"], &log(1_000)).code(0);
    let ran = bench.run(["store", "prune", "--keep", "s", "--keep", "nosuch"]);
    assert!(ran.code(0).err().contains("--keep nosuch: no results of such a session"), "{}", ran.err());
    assert!(!ran.err().contains("--keep s:"));
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("/nonexistent", bench.path("store/results/s/linked.txt")).unwrap();
        let listed = bench.run(["store", "ls"]);
        assert!(listed.code(0).err().contains("linked.txt is a symbolic link") && listed.out().contains("s/c"));
        let verified = bench.run(["store", "verify"]);
        assert!(verified.code(1).err().contains("linked.txt is a symbolic link"));
    }
    bench.run(["store", "rm", "s"]).code(0);
    let miss = bench.run(["recall", "s/c"]);
    assert!(miss.err().contains("its session was removed on request"), "{}", miss.err());
}

#[test]
fn what_recall_says_is_bounded_and_names_what_is_not_there() {
    let bench = Bench::new();
    for lines in 1_000..1_020 {
        bench.pipe(["cap", "--max-bytes", "1000", "--session", "s", "--call", "c"], &log(lines)).code(0);
    }
    let others = bench.run(["recall", "s/c", "--lines", "1"]);
    assert!(others.code(0).err().contains(" and 14 more") && others.err().len() < 400, "{}", others.err());
    let miss = bench.run(["recall", "--search", "x", "--session", "nosuch"]);
    assert!(miss.code(1).err().contains("nothing is stored of session nosuch"), "{}", miss.err());
    let long = bench.run(["recall", "s/c", "--grep", &"(".repeat(20_000)]);
    assert!(long.code(2).err().len() < 1_000, "{}", long.err().len());
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_standard_output_is_named() {
    let bench = Bench::new();
    bench.pipe(["cap", "--max-bytes", "1000", "--session", "s", "--call", "c"], &log(5_000)).code(0);
    let mut command = std::process::Command::new("sh");
    command.arg("-c").arg(format!("exec {} recall s/c > /dev/full", env!("CARGO_BIN_EXE_plimsoll")));
    command.env_clear().env("PLIMSOLL_STORE", bench.path("store"));
    let ran = bench.feed(command, b"");
    assert!(ran.code(1).err().contains("cannot write to standard output"), "{}", ran.err());
}
