use proptest::prelude::*;

use super::*;

type Seen = Vec<(String, Vec<u8>, String)>;

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Every frame of a stream that comes in these chunks, and what it was left off in the middle of.
fn read<'c>(chunks: impl IntoIterator<Item = &'c [u8]>) -> (Seen, Option<Vec<u8>>, Option<u64>) {
    let mut frames = Frames::default();
    let mut seen = Vec::new();
    for chunk in chunks {
        let each = |frame: Frame<'_>| seen.push((text(frame.event), frame.data.to_vec(), text(frame.id)));
        frames.push(chunk, each).unwrap();
    }
    let retry = frames.retry();
    let rest = frames.finish().map(|frame| frame.data.to_vec());
    (seen, rest, retry)
}

fn data(stream: &str) -> Vec<String> {
    read([stream.as_bytes()]).0.into_iter().map(|(_, data, _)| String::from_utf8(data).unwrap()).collect()
}

#[test]
fn frames_are_taken_apart_as_the_grammar_says() {
    // Each case of the grammar, with what it comes to.
    let cases: &[(&str, &[&str])] = &[
        ("data: a\n\n", &["a"]),
        ("data:a\n\n", &["a"]),
        ("data:  a \n\n", &[" a "]),
        ("data\n\n", &[""]),
        ("data:\n\n", &[""]),
        ("data: a\ndata: b\n\n", &["a\nb"]),
        ("data\ndata\n\n", &["\n"]),
        ("data: a\n\ndata: b\n\n", &["a", "b"]),
        ("\n\n\ndata: a\n\n\n\n", &["a"]),
        ("data: a\r\n\r\ndata: b\r\rdata: c\n\n", &["a", "b", "c"]),
        ("data: a\r\ndata: b\rdata: c\n\r\n", &["a\nb\nc"]),
        ("\u{feff}data: a\n\n", &["a"]),
        ("\u{feff}\u{feff}data: a\n\n", &[]),
        (": a comment\ndata: a\n: another\ndata: b\n\n", &["a\nb"]),
        (":\n\n:\n\n", &[]),
        ("event: ping\n\ndata: a\n\n", &["a"]),
        ("datum: a\ndata : b\n data: c\n\n", &[]),
        ("data: a: b\n\n", &["a: b"]),
        ("data: a", &[]),
        ("data: a\n", &[]),
    ];
    for (stream, expected) in cases {
        assert_eq!(data(stream), *expected, "{stream:?}");
    }
}

#[test]
fn names_ids_and_pauses_are_read() {
    let stream = b"event: one\nid: 7\nretry: 250\ndata: a\n\ndata: b\n\nid: x\0y\nretry: 1s\nretry: \nevent: gone\n\nid\ndata: c\n\n";
    let (seen, rest, retry) = read([&stream[..]]);
    let shown: Vec<(&str, &[u8], &str)> =
        seen.iter().map(|(event, data, id)| (event.as_str(), data.as_slice(), id.as_str())).collect();
    assert_eq!(shown, [("one", &b"a"[..], "7"), ("", b"b", "7"), ("", b"c", "")]);
    assert_eq!((rest, retry), (None, Some(250)));
}

#[test]
fn what_no_blank_line_ends_is_told_apart() {
    for (stream, rest) in
        [("data: a\n\ndata: [DONE]", "[DONE]"), ("data: a\ndata: b", "a\nb"), ("data: a\n", "a"), ("data: a\r", "a")]
    {
        assert_eq!(read([stream.as_bytes()]).1.as_deref(), Some(rest.as_bytes()), "{stream:?}");
    }
    for stream in ["", "data: a\n\n", "data: a\n\n: bye", "event: x", "\u{feff}"] {
        assert_eq!(read([stream.as_bytes()]).1, None, "{stream:?}");
    }
}

#[test]
fn data_in_one_chunk_is_borrowed_from_it() {
    let chunk = b"data: a\n\nevent: e\ndata: bcd\n\n";
    let within = |part: &[u8]| chunk.as_ptr_range().contains(&part.as_ptr());
    let mut count = 0;
    Frames::default()
        .push(chunk, |frame| {
            assert!(within(frame.data));
            count += 1;
        })
        .unwrap();
    assert_eq!(count, 2);
}

#[test]
fn a_frame_over_the_limit_is_an_error_however_it_comes_and_comments_count_for_nothing() {
    let line = b"data: 0123456789\n";
    for size in [1, 3, 7, 1000] {
        let mut frames = Frames::with_limit(Bytes(64));
        let mut push = |bytes: &[u8]| bytes.chunks(size).try_for_each(|chunk| frames.push(chunk, |_| {}));
        for _ in 0..3 {
            push(line).unwrap();
            push(&[b':'; 500]).unwrap();
            push(b"\n").unwrap();
        }
        push(b"\n").unwrap();
        for _ in 0..4 {
            push(line).unwrap();
        }
        let error = StreamError::FrameTooLarge { limit: Bytes(64) };
        assert_eq!(push(line), Err(error), "{size}");
        assert_eq!(push(b"\n"), Err(error), "a reader that has failed stays so");
        assert_eq!(frames.finish(), None);
    }
    let mut frames = Frames::with_limit(Bytes(10));
    assert!(frames.push(b"data: no end of a line comes", |_| {}).is_err());
}

proptest! {
    #[test]
    fn any_cut_gives_the_same_frames(
        stream in "(data|event|id|retry|: ping|x)?(:| |: |\u{e9}|\u{1f600}|7|a|\n|\r|\r\n|\n\n|\u{feff}){0,60}",
        size in 1_usize..9,
        bom in any::<bool>(),
    ) {
        let mut bytes = if bom { BOM.to_vec() } else { Vec::new() };
        bytes.extend_from_slice(stream.as_bytes());
        prop_assert_eq!(read(bytes.chunks(size)), read([&bytes[..]]));
    }

    #[test]
    fn lines_come_back_however_they_are_cut(
        wanted in prop::collection::vec("[a-z:\u{e9}\u{1f600} ]{0,12}(\n[a-z]{0,5}){0,3}", 0..6),
        ends in prop::sample::select(vec!["\n", "\r", "\r\n"]),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let mut stream = String::new();
        for data in &wanted {
            for line in data.split('\n') {
                stream.push_str(&format!("data: {line}{ends}: between{ends}"));
            }
            stream.push_str(ends);
        }
        let bytes = stream.as_bytes();
        let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        at.extend([0, bytes.len()]);
        at.sort_unstable();
        let chunks = at.windows(2).map(|pair| &bytes[pair[0]..pair[1]]);
        let (seen, rest, _) = read(chunks);
        let seen: Vec<String> = seen.into_iter().map(|(_, data, _)| String::from_utf8(data).unwrap()).collect();
        prop_assert_eq!(seen, wanted);
        prop_assert_eq!(rest, None);
    }

    #[test]
    fn any_bytes_are_read(bytes: Vec<u8>, size in 1_usize..20) {
        read(bytes.chunks(size));
    }
}
