//! The tap: reads from an answer, as it passes, what it used and whether it says that the request was too long.
//!
//! It sees each frame as it passes. What takes longer happens on a thread for blocking work.

use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};

use bytes::Bytes;
use http::{HeaderMap, header};
use plimsoll::Bytes as Size;
use plimsoll::wire::{Format, StreamEnd, StreamReader, Streamed, read_response};

use super::inside::Inside;

/// The most of an answer that comes whole that is read.
const MOST: usize = 16 << 20;
/// How much of one is read where it ends; more is read on a thread for blocking work.
const LITTLE: usize = 64 << 10;

/// Reads along.
pub(crate) struct Tap {
    inside: Inside,
    reading: Reading,
}

enum Reading {
    Stream(Box<StreamReader>),
    /// A stream in gzip: what is decoded of it is read.
    Gzip(Box<(flate2::write::GzDecoder<Vec<u8>>, StreamReader)>),
    Whole(Vec<Bytes>, usize, bool),
    /// What cannot be read.
    Nothing,
}

impl Tap {
    /// Makes one for an answer with these headers.
    pub(crate) fn new(inside: Inside, headers: &HeaderMap) -> Self {
        let is = |name, what: &str| {
            headers.get(name).is_some_and(|value| {
                value.as_bytes().get(..what.len()).is_some_and(|v| v.eq_ignore_ascii_case(what.as_bytes()))
            })
        };
        let stream = is(header::CONTENT_TYPE, "text/event-stream");
        let coded = headers.contains_key(header::CONTENT_ENCODING) && !is(header::CONTENT_ENCODING, "identity");
        let gzip = is(header::CONTENT_ENCODING, "gzip");
        let reader = || StreamReader::with_limits(inside.request.format, Size(4 << 20), Size(0)).without_text();
        let reading = match (stream, coded) {
            (true, false) => Reading::Stream(Box::new(reader())),
            (true, true) if gzip => Reading::Gzip(Box::new((flate2::write::GzDecoder::new(Vec::new()), reader()))),
            (false, false) => Reading::Whole(Vec::new(), 0, false),
            (false, true) if gzip => Reading::Whole(Vec::new(), 0, true),
            _ => Reading::Nothing,
        };
        Self { inside, reading }
    }

    /// The format of what it reads.
    pub(crate) fn format(&self) -> Format {
        self.inside.request.format
    }

    /// Gives the request back whose answer it was to read.
    pub(crate) fn into_inside(self) -> Inside {
        self.inside
    }

    /// Takes a piece of the answer.
    pub(crate) fn push(&mut self, data: &Bytes) {
        let going_on = match &mut self.reading {
            Reading::Stream(reader) => reader.push(data).is_ok(),
            Reading::Gzip(both) => {
                let (decoder, reader) = &mut **both;
                let decoded = decoder.write_all(data).and_then(|()| decoder.flush()).is_ok();
                decoded && reader.push(&std::mem::take(decoder.get_mut())).is_ok()
            }
            Reading::Whole(pieces, size, _) => {
                *size += data.len();
                pieces.push(data.clone());
                *size <= MOST
            }
            Reading::Nothing => true,
        };
        if !going_on {
            self.reading = Reading::Nothing;
        }
    }

    /// Ends it. What the answer said is told to the session.
    pub(crate) fn end(self) {
        let Self { inside, reading } = self;
        let hear = move || match reading {
            Reading::Nothing => {}
            Reading::Stream(reader) => hear(&inside, &reader.finish()),
            Reading::Gzip(both) => hear(&inside, &both.1.finish()),
            // Reading little takes less than waking a thread for it.
            Reading::Whole(pieces, size, gzip) if size <= LITTLE && !gzip => hear_whole(&inside, &pieces, size, gzip),
            Reading::Whole(pieces, size, gzip) => {
                tokio::task::spawn_blocking(move || hear_whole(&inside, &pieces, size, gzip));
            }
        };
        // The client has its answer: a fault in what is learned from it is not the connection's.
        let _ = catch_unwind(AssertUnwindSafe(hear));
    }
}

/// Reads an answer that came whole.
fn hear_whole(inside: &Inside, pieces: &[Bytes], size: usize, gzip: bool) {
    let mut body = Vec::with_capacity(size);
    for piece in pieces {
        body.extend_from_slice(piece);
    }
    if gzip {
        let mut decoder = flate2::write::MultiGzDecoder::new(Vec::new());
        if decoder.write_all(&body).is_err() {
            return;
        }
        let Ok(decoded) = decoder.finish() else { return };
        body = decoded;
    }
    if let Ok(streamed) = read_response(inside.request.format, &body) {
        hear(inside, &streamed);
    }
}

/// Tells the session what an answer said.
fn hear(inside: &Inside, streamed: &Streamed) {
    if inside.request.replay_only {
        return;
    }
    if let StreamEnd::Failed(failure) = &streamed.end
        && let Some(overflow) = failure.overflow
    {
        // The client has seen it: it cannot be taken back. When it asks again, it is compacted first.
        inside.session.note_overflow(&inside.turn, &overflow);
        return;
    }
    if let Some(usage) = streamed.usage {
        inside.session.after_response(&inside.turn, usage);
    }
}
