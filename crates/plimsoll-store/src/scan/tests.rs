//! Tests of looking through contents for lines.

use plimsoll::id::{ArtifactId, Record};
use proptest::prelude::*;

use super::*;
use crate::Store;

/// A line as it is given: number, text, whether it matches, whether there is a gap before it.
type Line = (u64, Vec<u8>, bool, bool);

fn store_of(content: &[u8]) -> (Store, ArtifactId) {
    let (store, id) = (Store::memory(), "s/c".parse::<ArtifactId>().unwrap());
    store.backend().create(&Record::Text(id.clone()).key(), &[content]).unwrap();
    (store, id)
}

fn found(
    buffer: usize,
    content: &[u8],
    pattern: &Pattern,
    context: usize,
    visit: impl FnMut(Found<'_>) -> ControlFlow<()>,
) {
    let (store, id) = store_of(content);
    let recalled = store.open_recall(&id.into()).unwrap();
    let _ = scan_within(buffer, &mut recalled.reader(0..u64::MAX).unwrap(), pattern, context, visit).unwrap();
}

fn lines(buffer: usize, content: &[u8], pattern: &Pattern, context: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    found(buffer, content, pattern, context, |found| {
        let at = usize::try_from(found.offset).unwrap();
        assert_eq!(&content[at..at + found.text.len()], found.text);
        assert_eq!(found.cut, (false, false));
        lines.push((found.line, found.text.to_vec(), found.matches, found.gap));
        ControlFlow::Continue(())
    });
    lines
}

/// Looks at one line after the other.
fn expected(content: &[u8], pattern: &Pattern, context: usize) -> Vec<Line> {
    let mut all: Vec<&[u8]> = content.split(|byte| *byte == b'\n').collect();
    if all.last().is_some_and(|last| last.is_empty()) {
        all.pop();
    }
    let matches: Vec<bool> = all.iter().map(|line| pattern.find(line, 0).is_some()).collect();
    let mut given: Vec<Line> = Vec::new();
    for (number, line) in all.iter().enumerate() {
        let near = number.saturating_sub(context)..=(number + context).min(all.len() - 1);
        if matches[near].contains(&true) {
            let gap = given.last().is_some_and(|last| last.0 != number as u64);
            given.push((number as u64 + 1, line.to_vec(), matches[number], gap));
        }
    }
    given
}

proptest! {
    #[test]
    fn the_lines_found_are_those_that_a_look_at_each_line_finds(
        content in proptest::collection::vec(
            prop_oneof![Just(b'\n'), Just(b'a'), Just(b'b'), Just(b' '), Just(0xff), Just(0xe6)], 0..400),
        pattern in prop_oneof![
            Just("ab"), Just("^a"), Just("b$"), Just("a\\s*b"), Just("[^a]+a"), Just("^$"), Just("b*"), Just("\\bab?\\b")],
        context in 0_usize..4,
        buffer in 1_usize..64,
    ) {
        let pattern = Pattern::regex(pattern).unwrap();
        prop_assert_eq!(lines(buffer, &content, &pattern, context), expected(&content, &pattern, context));
    }

    #[test]
    fn a_window_holds_the_match_and_ends_on_characters(
        text in "[a-zé日😀]{0,2000}", start in 0_usize..2000, length in 0_usize..1500,
    ) {
        let bounds: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        let start_at = start.min(bounds.len() - 1);
        let end_at = (start_at + length).min(bounds.len() - 1);
        let shown = window(text.as_bytes(), bounds[start_at], bounds[end_at]);
        let shown_text = text.get(shown.clone()).expect("it ends on characters");
        let characters = shown_text.chars().count();
        prop_assert!(characters <= WINDOW);
        prop_assert!(shown.start <= bounds[start_at]);
        prop_assert!(shown.end >= bounds[end_at.min(start_at + WINDOW)] || characters == WINDOW);
        prop_assert_eq!(characters == WINDOW, bounds.len() > WINDOW && characters == WINDOW);
    }

    #[test]
    fn any_bytes_have_a_window_around_any_match(
        line in proptest::collection::vec(any::<u8>(), 0..4000), start in 0_usize..4000, length in 0_usize..4000,
    ) {
        let start = start.min(line.len());
        let end = (start + length).min(line.len());
        let shown = window(&line, start, end);
        prop_assert!(shown.start <= start && shown.end >= start && shown.end <= line.len());
        prop_assert!(shown.len() <= 4 * WINDOW);
    }
}

/// Mechanism 42: one long line was read whole, again and again.
#[test]
fn mechanism_42_a_long_line_shows_windows_around_its_matches() {
    let mut content = b"before\n".to_vec();
    content.extend(vec![b'x'; 5000]);
    content.extend_from_slice(b"needle");
    content.extend(vec![b'y'; 5000]);
    content.extend_from_slice(b"needle and needle\nafter\n");
    let mut shown = Vec::new();
    found(BUFFER, &content, &Pattern::literal("needle").unwrap(), 1, |found| {
        shown.push((found.line, found.offset, found.text.len(), found.cut, found.matches));
        ControlFlow::Continue(())
    });
    assert_eq!(
        shown,
        [
            (1, 0, 6, (false, false), false),
            (2, 7 + 5000 - 253, 512, (true, true), true),
            (2, 7 + 10_006 - 253, 270, (true, false), true),
            (3, content.len() as u64 - 6, 5, (false, false), false),
        ]
    );
}

/// A line that is larger than any buffer: every match is found, once, also where its pieces meet.
#[test]
fn a_line_of_megabytes_is_looked_through_in_pieces() {
    let limit = PIECE + REMEMBERED;
    let mut content = b"first needle\n".to_vec();
    let line_at = content.len();
    content.extend(vec![b'x'; 4 << 20]);
    let meet = limit - OVERLAP;
    let places = [line_at, meet - 3, meet + 2000, limit - 3, 2 * limit - OVERLAP, 3 << 20, content.len() - 6];
    for at in places {
        content[at..at + 6].copy_from_slice(b"needle");
    }
    content.extend_from_slice(b"\nlast needle");
    let last_at = content.len() - 11;
    let mut shown = Vec::new();
    found(BUFFER, &content, &Pattern::regex("n[e]edle").unwrap(), 0, |found| {
        assert!(found.text.len() <= WINDOW);
        let within = memchr::memmem::find(found.text, b"needle").unwrap();
        shown.push((found.line, usize::try_from(found.offset).unwrap() + within));
        ControlFlow::Continue(())
    });
    let mut expected = vec![(1, 6)];
    expected.extend(places.map(|at| (2, at)));
    expected.push((3, last_at + 5));
    assert_eq!(shown, expected);
}

#[test]
fn an_endless_line_takes_no_more_memory_than_a_piece() {
    let content = vec![b'x'; 8 << 20];
    let (store, id) = store_of(&content);
    let recalled = store.open_recall(&id.into()).unwrap();
    let mut found = 0;
    let scanned = scan(&mut recalled.reader(0..u64::MAX).unwrap(), &Pattern::literal("x").unwrap(), 3, |_| {
        found += 1;
        if found == 100 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!((found, scanned.unwrap().flow), (100, ControlFlow::Break(())));
}

#[test]
fn a_match_longer_than_pieces_have_in_common_may_be_missed_and_that_is_said() {
    let may_miss = |length: usize, pattern: &str| {
        let (store, id) = store_of(&[b"a".as_slice(), &vec![b'-'; length], b"b\n"].concat());
        let page = store.open_recall(&id.into()).unwrap().grep_page(&Pattern::regex(pattern).unwrap(), 0, 0, 1 << 16);
        let page = page.unwrap();
        assert_eq!(page.footer().contains("may be missed"), page.may_miss);
        page.may_miss
    };
    assert!(may_miss(3 << 20, "a.*b"));
    assert!(!may_miss(3 << 20, "a.{0,9}b") && !may_miss(100_000, "a.*b"));
}
