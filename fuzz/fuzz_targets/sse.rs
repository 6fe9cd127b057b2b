//! Any bytes as a stream, however they are cut: the same frames, and the same answer in every format.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll::Bytes;
use plimsoll::wire::{Format, Frames, StreamReader, read_response};

fn frames<'c>(chunks: impl IntoIterator<Item = &'c [u8]>) -> (Vec<(Vec<u8>, Vec<u8>, Vec<u8>)>, bool) {
    let mut frames = Frames::with_limit(Bytes(512));
    let mut seen = Vec::new();
    let mut good = true;
    for chunk in chunks {
        let each = |frame: plimsoll::wire::Frame<'_>| {
            assert!(frame.data.len() <= 512);
            seen.push((frame.event.to_vec(), frame.data.to_vec(), frame.id.to_vec()));
        };
        good &= frames.push(chunk, each).is_ok();
    }
    (seen, good)
}

fuzz_target!(|bytes: &[u8]| {
    let [pick, size, bytes @ ..] = bytes else { return };
    let size = usize::from(*size).max(1);
    assert_eq!(frames(bytes.chunks(size)), frames([bytes]));
    let Some(format) = Format::ALL.get(usize::from(*pick) % Format::ALL.len()).copied() else { return };
    let read = |size: usize| {
        let mut reader = StreamReader::new(format);
        for chunk in bytes.chunks(size) {
            reader.push(chunk).unwrap();
        }
        reader.finish()
    };
    assert_eq!(read(size), read(bytes.len().max(1)));
    let _ = read_response(format, bytes);
});
