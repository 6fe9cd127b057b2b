//! Capping 64 MB: from memory and as a stream, of a plain build log, one with trouble in every line, minified JSON and
//! terminal animation; beside it, what it costs to copy and to count lines.

use divan::counter::BytesCount;
use plimsoll::Bytes;
use plimsoll::cap::{Capper, Naming, Policy, cap};

const SIZE: usize = 64_000_000;
const CAP: u64 = 128 * 1024;
/// What programs read at a time.
const CHUNK: usize = 64 * 1024;

fn main() {
    divan::main();
}

fn filled(line: impl Fn(usize) -> String) -> Vec<u8> {
    let mut text = Vec::with_capacity(SIZE + 1_000);
    for number in 0.. {
        if text.len() >= SIZE {
            break;
        }
        text.extend_from_slice(line(number).as_bytes());
    }
    text
}

/// A build log with a warning now and then, and one error.
fn log() -> Vec<u8> {
    filled(|number| match number {
        123_456 => "error[E0308]: mismatched types\n  --> src/main.rs:1:1\n".to_owned(),
        number if number % 500 == 0 => format!("warning: unused variable `x{number}`\n"),
        number => {
            format!("[{number:>7}] Compiling object src/module_{}/file_{number}.c -> build/{number}.o\n", number % 97)
        }
    })
}

fn trouble() -> Vec<u8> {
    filled(|number| {
        format!("2026-01-02T03:04:05 ERROR worker {number} request {} failed: connection refused\n", number * 7)
    })
}

fn json() -> Vec<u8> {
    let rows = filled(|number| {
        format!(r#"{{"id":{number},"name":"row {number}","tags":["a","b"],"body":"some text here"}},"#)
    });
    [b"[", rows.as_slice(), b"{}]"].concat()
}

fn animation() -> Vec<u8> {
    filled(|number| {
        format!(
            "\r\u{1b}[2K\u{1b}[32mdownloading\u{1b}[0m {number} of 1000000{}",
            if number % 50 == 0 { "\n" } else { "" }
        )
    })
}

#[divan::bench(args = ["log", "trouble", "json", "animation"])]
fn buffer(bencher: divan::Bencher<'_, '_>, what: &str) {
    let text = made(what);
    let policy = Policy::new(Bytes(CAP));
    bencher.counter(BytesCount::of_slice(&text)).bench_local(|| cap(&text, &policy, &Naming::unsaved()).text.len());
}

#[divan::bench(args = ["log", "trouble", "json", "animation"])]
fn stream(bencher: divan::Bencher<'_, '_>, what: &str) {
    let text = made(what);
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
    let text = log();
    let text = text.get(..200_000).unwrap_or_default();
    let policy = Policy::new(Bytes(CAP));
    bencher.counter(BytesCount::of_slice(text)).bench_local(|| cap(text, &policy, &Naming::unsaved()).text.len());
}

#[divan::bench]
fn copy(bencher: divan::Bencher<'_, '_>) {
    let text = log();
    bencher.counter(BytesCount::of_slice(&text)).bench_local(|| {
        let mut buffer = Vec::with_capacity(CHUNK);
        for chunk in text.chunks(CHUNK) {
            buffer.clear();
            buffer.extend_from_slice(chunk);
            divan::black_box(&buffer);
        }
    });
}

fn made(what: &str) -> Vec<u8> {
    match what {
        "log" => log(),
        "trouble" => trouble(),
        "json" => json(),
        _ => animation(),
    }
}
