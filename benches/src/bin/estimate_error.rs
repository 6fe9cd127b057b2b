//! Prints how far the estimates are off, by kind of text.
//!
//! `estimate_error SAMPLES.jsonl` judges every family by counted samples (see `estimate_fit`). Without samples, and with
//! `PLIMSOLL_DATA` set, it judges the generic family by exact counts of the recorded files there.
#![allow(clippy::print_stdout, reason = "printing the table is what this program is for")]

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::{env, fs};

use plimsoll::token::{Counter, Encoding, Family, estimate_rough};
use plimsoll_benches::samples::{self, FAMILIES, Truth};
use plimsoll_benches::{cpu_seconds, text};

/// Texts below this many tokens are not judged: there a token more or less is several percent.
const FEWEST: f64 = 300.0;

fn main() -> Result<(), Box<dyn Error>> {
    if let Some(path) = env::args().nth(1) {
        let samples = samples::read(Path::new(&path))?;
        for ((name, truth), family) in FAMILIES.into_iter().zip([Family::Generic, Family::Claude, Family::Claude47]) {
            let truth: Truth = truth;
            let counter = Counter::estimated(family);
            let pairs = samples
                .iter()
                .map(|sample| (sample.kind.clone(), counter.count(&sample.text).0 as f64, truth(sample)));
            table(name, pairs);
            let off = |sample: &samples::Sample| counter.count(&sample.text).0 as f64 / truth(sample).max(1.0);
            let lowest = samples
                .iter()
                .filter(|sample| truth(sample) >= FEWEST)
                .min_by(|one, other| off(one).total_cmp(&off(other)));
            if let Some(sample) = lowest {
                println!("  lowest: {:?}", sample.text.chars().skip(200).take(200).collect::<String>());
            }
        }
    } else if let Some(data) = env::var_os("PLIMSOLL_DATA") {
        let exact = Counter::exact(Encoding::O200kBase);
        let files = recorded(Path::new(&data));
        let judged = |estimate: &dyn Fn(&str) -> f64| -> Vec<(String, f64, f64)> {
            files.iter().map(|(kind, text)| (kind.clone(), estimate(text), exact.count(text).0 as f64)).collect()
        };
        table("generic", judged(&|text| Counter::estimated(Family::Generic).count(text).0 as f64));
        table("rough", judged(&|text| estimate_rough(text).0 as f64));
    } else {
        return Err("usage: estimate_error SAMPLES.jsonl, or set PLIMSOLL_DATA".into());
    }
    speed();
    Ok(())
}

fn speed() {
    let ascii = "fn main() { let answer = compute(41) + 1; println!(\"{answer}\"); } // the usual\n".repeat(50_000);
    let started = cpu_seconds();
    let tokens = Counter::estimated(Family::Claude).count(&ascii);
    let seconds = cpu_seconds() - started;
    println!("{:.0} MB/s on {} bytes of ASCII ({tokens} tokens)", ascii.len() as f64 / 1e6 / seconds, ascii.len());
}

fn recorded(data: &Path) -> Vec<(String, String)> {
    let kinds = ["claude_code", "codex", "chat", "anthropic", "responses", "gemini", "sse", "tool_output", "skills"];
    let mut found = Vec::new();
    for kind in kinds {
        let files = fs::read_dir(data.join(kind)).into_iter().flatten().flatten();
        found.extend(files.map(|file| (kind.to_owned(), text::recorded(&file.path(), 4_000_000))));
    }
    found
}

fn table(name: &str, pairs: impl IntoIterator<Item = (String, f64, f64)>) {
    let mut kinds: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for (kind, estimated, truth) in pairs {
        if truth >= FEWEST {
            let error = (estimated / truth - 1.0) * 100.0;
            kinds.entry("all".to_owned()).or_default().push(error);
            kinds.entry(kind).or_default().push(error);
        }
    }
    println!("{name:<18}{:>6}  lowest      p5     p50     p95 highest   (percent off)", "texts");
    for (kind, mut errors) in kinds {
        errors.sort_by(f64::total_cmp);
        let at = |share| samples::quantile(&errors, share);
        println!(
            "  {kind:<16}{:>6}{:>8.1}{:>8.1}{:>8.1}{:>8.1}{:>8.1}",
            errors.len(),
            at(0.0),
            at(0.05),
            at(0.5),
            at(0.95),
            at(1.0),
        );
    }
}
