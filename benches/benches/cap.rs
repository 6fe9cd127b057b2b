//! Capping 64 MB of what tools print, from memory and as a stream; beside it, what it costs to copy.

use divan::counter::BytesCount;
use plimsoll::Bytes;
use plimsoll::cap::{Capper, Naming, Policy, cap};
use plimsoll_benches::output::{KINDS, made};

const SIZE: usize = 64_000_000;
const CAP: u64 = 128 * 1024;
/// What programs read at a time.
const CHUNK: usize = 64 * 1024;

fn main() {
    divan::main();
}

#[divan::bench(args = KINDS)]
fn buffer(bencher: divan::Bencher<'_, '_>, what: &str) {
    let text = made(what, SIZE).unwrap_or_default();
    let policy = Policy::new(Bytes(CAP));
    bencher.counter(BytesCount::of_slice(&text)).bench_local(|| cap(&text, &policy, &Naming::unsaved()).text.len());
}

#[divan::bench(args = KINDS)]
fn stream(bencher: divan::Bencher<'_, '_>, what: &str) {
    let text = made(what, SIZE).unwrap_or_default();
    bencher.counter(BytesCount::of_slice(&text)).bench_local(|| {
        let mut capper = Capper::new(Policy::new(Bytes(CAP)));
        for chunk in text.chunks(CHUNK) {
            capper.push(chunk);
        }
        capper.finish(&Naming::unsaved()).text.len()
    });
}

#[divan::bench]
fn just_over_the_cap(bencher: divan::Bencher<'_, '_>) {
    let text = made("log", SIZE).unwrap_or_default();
    let text = text.get(..200_000).unwrap_or_default();
    let policy = Policy::new(Bytes(CAP));
    bencher.counter(BytesCount::of_slice(text)).bench_local(|| cap(text, &policy, &Naming::unsaved()).text.len());
}

#[divan::bench]
fn copy(bencher: divan::Bencher<'_, '_>) {
    let text = made("log", SIZE).unwrap_or_default();
    bencher.counter(BytesCount::of_slice(&text)).bench_local(|| {
        let mut buffer = Vec::with_capacity(CHUNK);
        for chunk in text.chunks(CHUNK) {
            buffer.clear();
            buffer.extend_from_slice(chunk);
            divan::black_box(&buffer);
        }
    });
}
