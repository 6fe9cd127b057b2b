//! The guarantees of the three strategies, held against naive models of them.

use proptest::prelude::{
    Just, ProptestConfig, Strategy as Generates, prop, prop_assert, prop_assert_eq, prop_oneof, proptest,
};
use unicode_segmentation::UnicodeSegmentation;

use super::*;
use crate::Tokens;

type Counting<'a> = CountTokens<'a>;
type Counter = fn(&str) -> Tokens;

/// Counters of different habits: rounding down, rounding up, additive by words, superadditive.
const COUNTERS: [Counter; 4] = [
    |text| Tokens::from(text.len() / 4),
    |text| Tokens::from(text.len().div_ceil(3)),
    |text| {
        Tokens::from(text.split_inclusive([' ', '\n', '-', ':']).map(|word| word.len().div_ceil(5)).sum::<usize>())
    },
    |text| Tokens::from(text.chars().count() + text.len() * text.len() / 4_000),
];

fn fair(entries: &[Entry], budget: &Budget<'_>) -> Listing {
    list(entries, budget, &Options::default())
}

fn chars(text: &str) -> u64 {
    budget::characters(text)
}

/// The line of an entry under no budget at all.
fn full_line(entry: &Entry) -> String {
    fair(std::slice::from_ref(entry), &Budget::characters(u64::MAX)).text
}

fn arbitrary_entry() -> impl Generates<Value = Entry> {
    let word = prop_oneof![
        6 => "[a-z]{1,9}[.,!]?",
        1 => "[日本語。文章、]{1,6}",
        1 => Just("👩‍👩‍👧‍👦é̂🇩🇪".to_owned()),
        1 => Just("\"deploy it\"".to_owned()),
        1 => "[\n\t ]{1,3}",
    ];
    let text = |most| prop::collection::vec(word.clone(), 0..most).prop_map(|words| words.join(" "));
    (
        "[a-z]{1,12}(-[a-z0-9]{1,6})?",
        text(40),
        prop::option::of(text(15)),
        prop_oneof![3 => Just(Source::User), 1 => Just(Source::Bundled), 1 => Just(Source::Project)],
        prop_oneof![3 => Just(0_u64), 1 => 0_u64..2_000],
        prop::bool::weighted(0.1),
        prop_oneof![8 => Just(Visibility::Full), 1 => Just(Visibility::NameOnly), 1 => Just(Visibility::Hidden)],
        prop_oneof![3 => Just(Kind::Prompt), 1 => Just(Kind::Skill)],
    )
        .prop_map(|(name, description, when_to_use, source, uses, pinned, visibility, kind)| Entry {
            when_to_use,
            kind,
            source,
            uses,
            pinned,
            visibility,
            ..Entry::new(name, description)
        })
}
fn arbitrary_entries() -> impl Generates<Value = Vec<Entry>> {
    prop::collection::vec(arbitrary_entry(), 0..25)
}

fn names(entries: &[Entry]) -> Vec<String> {
    let listed = entries.iter().filter(|entry| entry.visibility != Visibility::Hidden);
    listed.map(|entry| format!("- {}", entry.name)).collect()
}

fn is_line_of(line: &str, name: &str) -> bool {
    line.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(": "))
}

/// The arithmetic of `classic` written down once more, as plainly as it goes.
fn classic_model(entries: &[Entry], most: i128) -> String {
    let cut = |text: &str, to: usize| {
        if text.chars().count() <= to {
            return text.to_owned();
        }
        text.chars().take(to - 1).chain(['…']).collect()
    };
    let described: Vec<(String, String)> = entries
        .iter()
        .map(|entry| {
            let clean = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            let parts = [clean(&entry.description), clean(entry.when_to_use.as_deref().unwrap_or(""))];
            let text = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" - ");
            (entry.name.clone(), cut(&text, 250))
        })
        .collect();
    let full: Vec<String> = described.iter().map(|(name, text)| format!("- {name}: {text}")).collect();
    let length = |text: &str| text.chars().count() as i128;
    if entries.is_empty() || length(&full.join("\n")) <= most {
        return full.join("\n");
    }
    let is_kept = |entry: &Entry| entry.kind == Kind::Prompt && entry.source == Source::Bundled;
    let r = entries.iter().filter(|entry| !is_kept(entry)).count() as i128;
    if r == 0 {
        return full.join("\n");
    }
    let kept: i128 =
        entries.iter().zip(&full).filter(|(entry, _)| is_kept(entry)).map(|(_, line)| length(line) + 1).sum();
    let overhead: i128 =
        entries.iter().filter(|entry| !is_kept(entry)).map(|entry| length(&entry.name) + 4).sum::<i128>() + r - 1;
    let each = (most - kept - overhead).div_euclid(r);
    let line = |(entry, ((name, text), full)): (&Entry, (&(String, String), &String))| match entry {
        entry if is_kept(entry) => full.clone(),
        _ if each < 20 => format!("- {name}"),
        _ => format!("- {name}: {}", cut(text, usize::try_from(each).unwrap())),
    };
    entries.iter().zip(described.iter().zip(&full)).map(line).collect::<Vec<_>>().join("\n")
}

mod classic {
    use super::*;

    fn classic(entries: &[Entry], most: u64) -> Listing {
        list(entries, &Budget::characters(most), &Options::with(Strategy::Classic))
    }

    #[test]
    fn no_entries_give_an_empty_text() {
        assert_eq!(classic(&[], 100).text, "");
    }

    #[test]
    fn bundled_entries_keep_their_line_and_the_rest_is_shared_evenly() {
        let bundled = Entry { source: Source::Bundled, ..Entry::new("init", "Sets up the project.") };
        let text = "Deploys the application to the staging cluster and watches it.";
        let entries = [bundled, Entry::new("deploy", text), Entry::new("review", "Reviews the change.")];
        // 28 + 1 for the bundled line, (6+4)+(6+4)+1 overhead: 110-29-21 = 60, 30 each.
        insta::assert_snapshot!(classic(&entries, 110).text, @"
        - init: Sets up the project.
        - deploy: Deploys the application to th…
        - review: Reviews the change.
        ");
    }

    #[test]
    fn an_empty_description_keeps_its_colon() {
        assert_eq!(classic(&[Entry::new("a", "")], 100).text, "- a: ");
        let long = Entry::new("b", "x".repeat(100));
        assert_eq!(classic(&[Entry::new("a", ""), long], 70).text, format!("- a: \n- b: {}…", "x".repeat(28)));
    }

    #[test]
    fn a_description_is_capped_at_250_bundled_or_not() {
        let entry = Entry { source: Source::Bundled, ..Entry::new("a", "x".repeat(251)) };
        assert_eq!(classic(&[entry], 10_000).text, format!("- a: {}…", "x".repeat(249)));
    }

    /// Mechanism 74: bundled entries take the listing over its budget.
    #[test]
    fn m74_a_budget_exceeded_by_bundled_entries_is_reported_and_fair_stays_within() {
        let bundled = |name: &str| Entry { source: Source::Bundled, ..Entry::new(name, "y".repeat(90)) };
        let entries = [bundled("one"), bundled("two"), Entry::new("mine", "Does my things, and more of them.")];
        let listing = classic(&entries, 100);
        assert_eq!(chars(&listing.text), 2 * 97 + 6 + 2);
        assert!(listing.report.over_budget);
        assert_eq!((listing.report.used, listing.report.budget, listing.report.free), (202, 100, 0));
        let only_bundled = classic(&entries[..2], 100);
        assert!(only_bundled.report.over_budget);
        assert_eq!(only_bundled.report.full, 2);

        let listing = fair(&entries, &Budget::characters(100));
        assert!(chars(&listing.text) <= 100 && !listing.report.over_budget, "{}", listing.text);
        assert_eq!(listing.text.lines().count(), 3);
    }

    proptest! {
        #[test]
        fn follows_the_arithmetic_to_the_character(entries in arbitrary_entries(), most in 0_u64..4_000) {
            let entries: Vec<Entry> =
                entries.into_iter().map(|entry| Entry { visibility: Visibility::Full, ..entry }).collect();
            let listing = classic(&entries, most);
            prop_assert_eq!(&listing.text, &classic_model(&entries, i128::from(most)));
            prop_assert_eq!(listing.report.over_budget, chars(&listing.text) > most);
        }
    }
}

mod least_used {
    use super::*;

    fn least_used(entries: &[Entry], budget: &Budget<'_>) -> Listing {
        list(entries, budget, &Options::with(Strategy::LeastUsed))
    }

    #[test]
    fn descriptions_go_whole_from_the_least_used_and_later_first() {
        let of = |name: &str, uses| Entry { uses, ..Entry::new(name, "Does a thing or two.") };
        let entries = [of("a", 3), of("b", 1), of("c", 1), of("d", 9)];
        let lost = |most| {
            let report = least_used(&entries, &Budget::characters(most)).report;
            let lost = report.entries.iter().filter(|entry| entry.state == State::NameOnly);
            lost.map(|entry| entry.name.clone()).collect::<String>()
        };
        let lines = |described: u64| described * 25 + (4 - described) * 3 + 3;
        assert_eq!(lost(lines(4)), "");
        assert_eq!(lost(lines(4) - 1), "c");
        assert_eq!(lost(lines(3) - 1), "bc");
        assert_eq!(lost(lines(1)), "abc");
        assert_eq!(lost(0), "abcd");
        assert!(least_used(&entries, &Budget::characters(0)).report.over_budget);
    }

    proptest! {
        #[test]
        fn keeps_every_name_and_drops_only_what_it_must(
            entries in arbitrary_entries(), most in 0_u64..3_000, counter in 0_usize..4, in_tokens: bool,
        ) {
            let counter = COUNTERS[counter];
            let budget = if in_tokens { Budget::tokens(Tokens(most / 4), &counter) } else { Budget::characters(most) };
            let listing = least_used(&entries, &budget);
            let names = names(&entries);
            prop_assert_eq!(listing.text.lines().count(), names.len());
            for (line, name) in listing.text.lines().zip(&names) {
                prop_assert!(is_line_of(line, name));
            }
            prop_assert_eq!(listing.report.over_budget, !budget.holds(&listing.text));
            let dropped: Vec<usize> = (0..entries.len())
                .filter(|&at| listing.report.entries[at].reason == Some(Reason::Budget)).collect();
            let is_first = |at: usize| entries[at].pinned || entries[at].source == Source::Bundled;
            for at in 0..entries.len() {
                let has_description = matches!(listing.report.entries[at].state, State::Full | State::Cut)
                    && listing.report.entries[at].characters > 0;
                for &gone in dropped.iter().filter(|_| has_description) {
                    let rank = |at: usize| (is_first(at), entries[at].uses, std::cmp::Reverse(at));
                    prop_assert!(rank(gone) < rank(at));
                }
            }
            // One description fewer dropped would have been over budget.
            if let Some(&last) = dropped.iter().max_by_key(|&&at| (is_first(at), entries[at].uses, std::cmp::Reverse(at))) {
                let lines = entries.iter().zip(&listing.report.entries).enumerate()
                    .filter(|(_, (entry, _))| entry.visibility != Visibility::Hidden)
                    .map(|(at, (entry, fate))| match fate.state {
                        State::NameOnly if at != last => format!("- {}", entry.name),
                        _ => full_line(entry),
                    });
                prop_assert!(!budget.holds(&lines.collect::<Vec<_>>().join("\n")));
            }
        }
    }
}

mod fair_strategy {
    use super::*;

    fn budget_of(unit: u8, most: u64, counter: &'static Counting<'static>) -> Budget<'static> {
        match unit {
            0 => Budget::characters(most),
            1 => Budget::tokens(Tokens(most / 4), counter),
            _ => Budget::characters(most).and_tokens(Tokens(most / 4), counter),
        }
    }

    /// Splits a listing into what each listed entry shows, by its report.
    fn shown_lines<'t>(entries: &'t [Entry], listing: &'t Listing) -> Vec<(&'t Entry, &'t EntryReport, &'t str)> {
        let mut lines = listing.text.lines();
        let mut shown = Vec::new();
        for (entry, fate) in entries.iter().zip(&listing.report.entries) {
            if !matches!(fate.state, State::Hidden | State::Omitted) {
                shown.push((entry, fate, lines.next().expect("a line for each")));
            }
        }
        shown
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn is_never_over_budget(
            entries in arbitrary_entries(), most in 0_u64..3_000, unit in 0_u8..3, counter in 0_usize..4,
        ) {
            let budget = budget_of(unit, most, &COUNTERS[counter]);
            let listing = fair(&entries, &budget);
            prop_assert!(budget.holds(&listing.text) || listing.text.is_empty());
            prop_assert!(!listing.report.over_budget);
        }

        #[test]
        fn shows_every_name_in_order_on_one_line_each_while_names_fit(
            entries in arbitrary_entries(), most in 0_u64..3_000, unit in 0_u8..3, counter in 0_usize..4,
        ) {
            let budget = budget_of(unit, most, &COUNTERS[counter]);
            let listing = fair(&entries, &budget);
            let names = names(&entries);
            if budget.holds(&names.join("\n")) {
                prop_assert_eq!(listing.text.lines().count(), names.len());
                prop_assert_eq!(listing.report.omitted, 0);
            } else {
                prop_assert!(listing.report.omitted > 0);
                let closing = format!("… and {} more: search with plimsoll skills", listing.report.omitted);
                if listing.report.omitted < names.len() && unit == 0 && most > chars(&closing) + 2 {
                    prop_assert_eq!(listing.text.lines().last(), Some(closing.as_str()));
                }
            }
            for (entry, _, line) in shown_lines(&entries, &listing) {
                prop_assert!(is_line_of(line, &format!("- {}", entry.name)), "{line:?}");
            }
        }

        #[test]
        fn a_description_gets_the_minimum_or_nothing_and_is_cut_between_graphemes(
            entries in arbitrary_entries(), most in 0_u64..3_000, unit in 0_u8..3, counter in 0_usize..4,
        ) {
            let listing = fair(&entries, &budget_of(unit, most, &COUNTERS[counter]));
            for (entry, fate, line) in shown_lines(&entries, &listing) {
                let shown = line.strip_prefix(&format!("- {}", entry.name)).unwrap();
                let shown = shown.strip_prefix(": ").unwrap_or("");
                prop_assert_eq!(chars(shown), fate.shown);
                prop_assert!(fate.shown == 0 || fate.shown >= fate.characters.min(20), "{line}");
                prop_assert!(fate.shown <= 1_536);
                let full = full_line(entry);
                let is_prefix = entry.when_to_use.is_none() && fate.state == State::Cut;
                if let Some((head, _)) = shown.split_once('…').filter(|_| is_prefix) {
                    let source: String = full.graphemes(true).collect();
                    prop_assert!(source.contains(head));
                    let at = source.find(head).unwrap() + head.len();
                    prop_assert!(source.grapheme_indices(true).any(|(start, _)| start == at), "{line}");
                }
                prop_assert!(entry.visibility == Visibility::NameOnly || (fate.state == State::Full) == (line == full));
            }
        }

        #[test]
        fn no_cut_description_could_take_its_next_word(
            entries in arbitrary_entries(), most in 0_u64..3_000, unit in 0_u8..3, counter in 0_usize..4,
        ) {
            let budget = budget_of(unit, most, &COUNTERS[counter]);
            let listing = fair(&entries, &budget);
            for (entry, fate, line) in shown_lines(&entries, &listing) {
                if fate.state != State::Cut || entry.when_to_use.as_deref().is_some_and(|when| !when.trim().is_empty()) {
                    continue;
                }
                let full = full_line(entry);
                let head = line.strip_suffix('…').expect("cut text ends in an ellipsis");
                let rest = full.strip_prefix(head).expect("cut text begins the full one");
                let word = rest.trim_start().split(' ').next().unwrap();
                let end = head.len() + rest.find(word).unwrap() + word.len();
                let longer = if end == full.len() { full.clone() } else { format!("{}…", full.split_at(end).0) };
                let text = listing.text.replacen(line, &longer, 1);
                prop_assert!(!budget.holds(&text), "{longer} would fit\n{}", listing.text);
            }
        }

        #[test]
        fn no_dropped_description_would_fit_at_the_minimum(
            entries in arbitrary_entries(), most in 0_u64..3_000, unit in 0_u8..3, counter in 0_usize..4,
        ) {
            let budget = budget_of(unit, most, &COUNTERS[counter]);
            let listing = fair(&entries, &budget);
            for (entry, fate, line) in shown_lines(&entries, &listing) {
                if listing.report.omitted > 0 || fate.state != State::NameOnly || fate.reason != Some(Reason::Budget) || fate.characters > 20 {
                    continue;
                }
                // Short enough to be shown whole or not at all.
                let at = listing.text.lines().position(|it| std::ptr::eq(it, line)).unwrap();
                let lines = listing.text.lines().enumerate();
                let full = full_line(entry);
                let lines: Vec<&str> = lines.map(|(it, line)| if it == at { full.as_str() } else { line }).collect();
                prop_assert!(!budget.holds(&lines.join("\n")), "{full} would fit\n{}", listing.text);
            }
        }

        #[test]
        fn the_same_entries_give_the_same_text_and_a_few_more_uses_change_nothing(
            entries in arbitrary_entries(), most in 0_u64..3_000, unit in 0_u8..3, counter in 0_usize..4,
        ) {
            let budget = budget_of(unit, most, &COUNTERS[counter]);
            let listing = fair(&entries, &budget);
            prop_assert_eq!(&listing, &fair(&entries, &budget));
            let used: Vec<Entry> = entries.iter().cloned().map(|mut entry| {
                let more = entry.uses + entry.uses / 20 + 1;
                if fair::weight(more) == fair::weight(entry.uses) {
                    entry.uses = more;
                }
                entry
            }).collect();
            prop_assert_eq!(&listing.text, &fair(&used, &budget).text);
        }

        #[test]
        fn nobody_is_cut_while_an_equal_has_much_more(
            lengths in prop::collection::vec(30_usize..800, 2..12), most in 200_u64..3_000,
        ) {
            let entries: Vec<Entry> = lengths.iter().enumerate()
                .map(|(at, &length)| Entry::new(format!("s{at:02}"), "word ".repeat(length / 5))).collect();
            let listing = fair(&entries, &Budget::characters(most));
            let longest = listing.report.entries.iter().map(|entry| entry.shown).max().unwrap();
            for entry in &listing.report.entries {
                if entry.state == State::Cut {
                    prop_assert!(entry.shown + 12 >= longest, "{} of {longest}\n{}", entry.shown, listing.text);
                }
            }
        }
    }

    #[test]
    fn what_a_short_description_does_not_need_goes_to_longer_ones() {
        let text = "Plans a release, writes the notes, tags the commit and tells everyone who asked to be told.";
        let entries = [Entry::new("go", "Goes."), Entry::new("plan", text), Entry::new("also", text)];
        insta::assert_snapshot!(fair(&entries, &Budget::characters(120)).text, @"
        - go: Goes.
        - plan: Plans a release, writes the notes, tags the…
        - also: Plans a release, writes the notes, tags the…
        ");
    }

    #[test]
    fn a_cut_prefers_the_end_of_a_sentence() {
        let text = "Reviews a change for faults. Looks at naming, too, where it matters much.";
        let entries = [Entry::new("one", text), Entry::new("two", text)];
        let listing = fair(&entries, &Budget::characters(77));
        insta::assert_snapshot!(listing.text, @"
        - one: Reviews a change for faults.…
        - two: Reviews a change for faults.…
        ");
    }

    #[test]
    fn trigger_words_are_kept_before_prose() {
        let entry = Entry {
            when_to_use: Some(
                "Use when the user says \"ship it\", \"release\" or wants a rollout of any sort.".into(),
            ),
            ..Entry::new("deploy", "Deploys the application to the cluster and then watches it for an hour.")
        };
        let at = |most| fair(std::slice::from_ref(&entry), &Budget::characters(most)).text;
        insta::assert_snapshot!([at(160), at(125), at(80), at(45), at(36), at(29)].join("\n"), @r#"
        - deploy: Deploys the application to the cluster and then watches it for an hour. - Use when the user says "ship it", "release" or wants a rollout of any sort.
        - deploy: Deploys the application to the… - Use when the user says "ship it", "release" or wants a rollout of any sort.
        - deploy: Deploys the application to the cluster and… - "ship it", "release"
        - deploy: Deploys the… - "ship it", "release"
        - deploy: "ship it", "release"
        - deploy
        "#);
    }

    #[test]
    fn pinned_and_bundled_entries_are_served_first_and_used_ones_get_more() {
        let text = "Does one thing, then another thing, and after that a third thing, which is the last of all.";
        let entries = [
            Entry::new("plain", text),
            Entry { uses: 600, ..Entry::new("used", text) },
            Entry { pinned: true, ..Entry::new("pin", text) },
        ];
        let report = fair(&entries, &Budget::characters(210)).report;
        let shown: Vec<u64> = report.entries.iter().map(|entry| entry.shown).collect();
        assert_eq!(report.entries[2].state, State::Full);
        assert!(shown[1] >= 2 * shown[0], "{shown:?}");
    }

    #[test]
    fn a_budget_smaller_than_one_name_gives_the_closing_line_or_nothing() {
        let entries = [Entry::new("a-rather-long-name-for-a-skill-of-any-sort", "Does it."), Entry::new("b", "")];
        assert_eq!(fair(&entries, &Budget::characters(0)).text, "");
        assert_eq!(fair(&entries, &Budget::characters(3)).text, "- b");
        let listing = fair(&entries, &Budget::characters(45));
        assert_eq!(listing.text, "- b\n… and 1 more: search with plimsoll skills");
        assert_eq!(listing.report.entries[0].state, State::Omitted);
    }

    #[test]
    fn visibility_shows_a_name_or_nothing() {
        let of = |visibility| Entry { visibility, ..Entry::new("x", "Does it.") };
        let entries = [of(Visibility::NameOnly), of(Visibility::Hidden), of(Visibility::Full)];
        for strategy in Strategy::ALL {
            let listing = list(&entries, &Budget::characters(1_000), &Options::with(strategy));
            assert_eq!(listing.text, "- x\n- x: Does it.", "{strategy}");
            assert_eq!(listing.report.hidden, 1);
        }
    }

    #[test]
    fn an_entry_over_the_cap_is_cut_to_it_whatever_the_budget() {
        let listing = fair(&[Entry::new("a", "x".repeat(2_000))], &Budget::characters(u64::MAX));
        assert_eq!(listing.text, format!("- a: {}…", "x".repeat(1_535)));
        assert_eq!(listing.report.entries[0].reason, Some(Reason::EntryCap));
    }

    /// Mechanism 73: 119 skills, 103 cut to nothing, 80 left out without a word.
    #[test]
    fn m73_every_one_of_119_skills_keeps_its_name_and_most_of_the_room_is_used() {
        let text = "Helps with one part of the work: reads what there is, asks what is missing, does it. ".repeat(4);
        let entries: Vec<Entry> = (0..119).map(|at| Entry::new(format!("skill-number-{at}"), &*text)).collect();
        let listing = fair(&entries, &Budget::characters(8_000));
        assert_eq!(listing.text.lines().count(), 119);
        assert_eq!((listing.report.cut, listing.report.name_only, listing.report.omitted), (119, 0, 0));
        assert!(listing.report.used > 7_950, "{}", listing.report.used);

        let tight = fair(&entries, &Budget::characters(1_000));
        assert!(tight.report.omitted > 0);
        let closing = format!("… and {} more: search with plimsoll skills", tight.report.omitted);
        assert_eq!(tight.text.lines().last(), Some(closing.as_str()));
        let omitted = tight.report.entries.iter().filter(|entry| entry.state == State::Omitted);
        assert_eq!(omitted.count(), tight.report.omitted);
    }

    /// Mechanism 76: a description with a newline breaks the list.
    #[test]
    fn m76_newlines_in_a_description_or_a_name_leave_one_line_each() {
        let text = "First line.\n- fake: looks like an entry\r\n\tindented\u{2028}separated\u{85}more";
        let entries = [Entry::new("real\nname", text), Entry::new("next", "Follows.")];
        for strategy in Strategy::ALL {
            let listing = list(&entries, &Budget::characters(1_000), &Options::with(strategy));
            assert_eq!(
                listing.text,
                "- real name: First line. - fake: looks like an entry indented separated more\n- next: Follows.",
            );
        }
    }

    #[test]
    fn a_long_run_of_combining_marks_is_never_split() {
        let zalgo = format!("a{}", "\u{301}".repeat(500));
        let entries =
            [Entry::new("z", format!("{zalgo} {zalgo}")), Entry::new("y", "Plain text of some length here.")];
        let listing = fair(&entries, &Budget::characters(60));
        assert!(listing.text.starts_with("- z\n- y: Plain text"), "{}", listing.text);
    }
}

mod reports {
    use super::*;

    #[test]
    fn json_has_the_documented_form() {
        let entries: Vec<Entry> = serde_json::from_str(
            r#"[{"name": "deploy", "description": "Deploys the app to staging or production.", "kind": null},
                {"name": "Go", "description": "Goes.", "unknown": 1, "visibility": "name-only"}]"#,
        )
        .unwrap();
        let listing = fair(&entries, &Budget::characters(40));
        insta::assert_snapshot!(serde_json::to_string_pretty(&listing).unwrap(), @r#"
        {
          "text": "- deploy: Deploys the app to stagi…\n- Go",
          "report": {
            "budget": 40,
            "used": 40,
            "free": 0,
            "unit": "characters",
            "over_budget": false,
            "full": 0,
            "cut": 1,
            "name_only": 1,
            "omitted": 0,
            "hidden": 0,
            "characters": 40,
            "limits": [
              {
                "unit": "characters",
                "budget": 40,
                "used": 40,
                "free": 0
              }
            ],
            "entries": [
              {
                "name": "deploy",
                "source": "user",
                "state": "cut",
                "reason": "budget",
                "characters": 41,
                "shown": 25
              },
              {
                "name": "Go",
                "source": "user",
                "state": "name_only",
                "reason": "visibility",
                "characters": 5,
                "shown": 0
              }
            ],
            "lint": [
              {
                "name": "Go",
                "rule": "name",
                "message": "the name has 'G'; only a–z, 0–9 and hyphens are allowed"
              }
            ]
          }
        }
        "#);
    }

    #[test]
    fn with_two_limits_the_report_leads_with_the_one_used_most() {
        let words = |text: &str| Tokens::from(text.split_whitespace().count());
        let entries = [Entry::new("deploy", "Deploys the app to staging or production, as asked.")];
        let report = fair(&entries, &Budget::characters(1_000).and_tokens(Tokens(7), &words)).report;
        assert_eq!((report.unit, report.used, report.budget, report.free), (Unit::Tokens, 7, 7, 0));
        assert_eq!(report.limits.len(), 2);
        assert_eq!(report.limits[0].used, report.characters);
    }

    /// Mechanism 75: the warning does not say what to do.
    #[test]
    fn m75_advice_names_entries_steps_and_what_each_saves() {
        let long = "Helps with a part of the work, at length and in detail. ".repeat(20);
        let entries = [
            Entry::new("wordy", &*long),
            Entry { uses: 80, ..Entry::new("busy", &*long) },
            Entry::new("short", "Helps a little."),
        ];
        let counter = |text: &str| Tokens::from(text.len() / 4);
        let listing = fair(&entries, &Budget::characters(400));
        let advised = advise(&entries, &listing.report, &counter);
        let steps: Vec<(&str, Step)> = advised.steps.iter().map(|it| (it.name.as_str(), it.step)).collect();
        assert_eq!(steps.len(), 3);
        assert_eq!(steps[0], ("busy", Step::Pin));
        assert!(matches!(steps[1], ("wordy", Step::Shorten { to: 100..=200 })), "{steps:?}");
        assert_eq!(steps[2], ("short", Step::NameOnly));
        assert!(advised.steps[0].costs > Tokens(0) && advised.steps[1].saves > Tokens(200));
        let fits = advise(&entries, &fair(&entries, &Budget::characters(10_000)).report, &counter);
        assert_eq!(fits, Advised::default());

        // Where the room is too small for that, what is not used shows its name alone.
        let short = |at| Entry::new(format!("skill-{at:02}"), "Helps with a small part of the work, now and then.");
        let entries: Vec<Entry> = (0..40).map(short).collect();
        let advised = advise(&entries, &fair(&entries, &Budget::characters(1_000)).report, &counter);
        assert!(advised.steps.iter().all(|it| it.step == Step::NameOnly && it.saves >= Tokens(10)), "{advised:?}");
        let saved: Tokens = advised.steps.iter().map(|it| it.saves).sum();
        assert!(saved >= advised.missing && advised.steps.len() < 40, "{advised:?}");
    }
}
