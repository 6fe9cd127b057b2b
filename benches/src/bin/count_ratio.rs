//! Prints how fast tokens are counted here and by the peers: same text, same thread, one run, in CPU time.
//!
//! `cargo run --release -p plimsoll-benches --bin count_ratio`. With `PLIMSOLL_DATA` set to a directory of recorded
//! files the mixed text is made of them. Exits 1 if a count differs or a ratio is below its floor.
#![allow(clippy::print_stdout, reason = "printing the table is what this program is for")]

use std::env;
use std::hint::black_box;
use std::panic::catch_unwind;
use std::path::PathBuf;
use std::process::ExitCode;

use plimsoll::token::{Counter, Encoding};
use plimsoll_benches::{cpu_seconds, text};

const MIXED: usize = 20_000_000;
const RUNS: usize = 3;
/// What the mixed text must reach, as multiples of the peers' speed.
const FLOORS: [(&str, f64); 2] = [("tiktoken-rs", 4.0), ("bpe-openai", 2.0)];
/// No text may take more than this many times as long for each byte when it is four times as long.
const LINEAR: f64 = 1.6;

fn main() -> ExitCode {
    let data = env::var_os("PLIMSOLL_DATA").map(PathBuf::from);
    let mixed = text::mixed(data.as_deref(), MIXED);
    let mut failed = false;

    for encoding in [Encoding::O200kBase, Encoding::Cl100kBase] {
        let counter = Counter::exact(encoding);
        let (seconds, count) = best(RUNS, || counter.count(&mixed).0);
        println!("{encoding}, {:.1} MB of mixed text, {count} tokens", mixed.len() as f64 / 1e6);
        println!("  {:<24}{:>8.1} MB/s", "plimsoll", speed(mixed.len(), seconds));
        for (name, peer) in peers(encoding) {
            let (peer_seconds, peer_count) = best(RUNS, || peer(&mixed));
            let ratio = peer_seconds / seconds;
            let floor = FLOORS.iter().find(|(of, _)| *of == name).map_or(0.0, |(_, floor)| *floor);
            let differs = if peer_count == count { "" } else { "  COUNTS DIFFER" };
            println!("  {name:<24}{:>8.1} MB/s   1/{ratio:.1}{differs}", speed(mixed.len(), peer_seconds));
            failed |= ratio < floor || peer_count != count;
        }
    }

    let counter = Counter::exact(Encoding::O200kBase);
    println!("o200k_base, one piece after another; MB/s at 1 MB and at 4 MB");
    let long = text::adversarial(4_000_000);
    for ((name, short), (_, long)) in text::adversarial(1_000_000).iter().zip(&long) {
        let (seconds, count) = best(RUNS, || counter.count(short).0);
        let (long_seconds, _) = best(RUNS, || counter.count(long).0);
        let growth = (long_seconds / long.len() as f64) / (seconds / short.len() as f64);
        let oracle = u64::try_from(bpe_openai::o200k_base().count(short.as_str())).unwrap_or(u64::MAX);
        let mut notes = String::new();
        if oracle != count {
            notes.push_str("  COUNTS DIFFER");
        }
        if growth > LINEAR {
            notes.push_str("  NOT LINEAR");
        }
        failed |= !notes.is_empty();
        let reference = peer_speed(short);
        println!(
            "  {name:<24}{:>8.1}{:>8.1}   tiktoken-rs {reference}{notes}",
            speed(short.len(), seconds),
            speed(long.len(), long_seconds),
        );
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

type Peer = Box<dyn Fn(&str) -> u64>;

fn peers(encoding: Encoding) -> Vec<(&'static str, Peer)> {
    let (fast, reference, goliajp) = match encoding {
        Encoding::Cl100kBase => {
            (bpe_openai::cl100k_base(), tiktoken_rs::cl100k_base_singleton(), tiktoken::get_encoding("cl100k_base"))
        }
        _ => (bpe_openai::o200k_base(), tiktoken_rs::o200k_base_singleton(), tiktoken::get_encoding("o200k_base")),
    };
    let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    let mut peers: Vec<(&'static str, Peer)> = vec![
        ("bpe-openai", Box::new(move |text| number(fast.count(text)))),
        ("tiktoken-rs", Box::new(move |text| number(reference.count_ordinary(text)))),
    ];
    if let Some(goliajp) = goliajp {
        peers.push((
            "tiktoken, 2 KB chunks",
            Box::new(move |text| chunks(text).map(|part| number(goliajp.count(part))).sum()),
        ));
    }
    peers
}

/// Cuts after line ends that are followed by something visible, as that crate needs to stay linear.
fn chunks(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let cut = rest.as_bytes().windows(2).enumerate().skip(2_000).find_map(|(at, pair)| match pair {
            [b'\n', next] if next.is_ascii_graphic() && *next != b'/' => Some(at + 1),
            _ => None,
        });
        let (part, after) = rest.split_at(cut.unwrap_or(rest.len()));
        rest = after;
        Some(part)
    })
}

/// The speed of `tiktoken-rs` on a text, or that it panics.
fn peer_speed(text: &str) -> String {
    // Enough to see; on some of these it is not linear.
    let part = text.get(..100_000).unwrap_or(text);
    let started = cpu_seconds();
    match catch_unwind(|| black_box(tiktoken_rs::o200k_base_singleton().count_ordinary(text))) {
        Ok(_) => format!("{:.1}", speed(text.len(), cpu_seconds() - started)),
        Err(_) => format!(
            "panics ({} bytes of it counted as {:?})",
            part.len(),
            catch_unwind(|| tiktoken_rs::o200k_base_singleton().count_ordinary(part)).ok()
        ),
    }
}

fn best(runs: usize, mut run: impl FnMut() -> u64) -> (f64, u64) {
    let mut shortest = f64::INFINITY;
    let mut result = 0;
    for _ in 0..runs {
        let started = cpu_seconds();
        result = black_box(run());
        shortest = shortest.min(cpu_seconds() - started);
    }
    (shortest, result)
}

fn speed(bytes: usize, seconds: f64) -> f64 {
    bytes as f64 / 1e6 / seconds
}
