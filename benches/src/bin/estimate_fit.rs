//! Fits the estimator's costs to counted texts and writes them: `estimate_fit SAMPLES.jsonl OUT_DIR`.
//!
//! Each line of the samples is an object as [`samples::Sample`] says. The Claude counts are those of the Python package
//! `ctok` 1.3, less the frame of a message: `token_count(text, "3.0") - 7` and `token_count(text, "4.7") - 11`. One text
//! in five is held back from the fit, and the error on these is printed.
#![allow(clippy::print_stdout, reason = "printing is what this program is for")]

use std::error::Error;
use std::path::Path;
use std::{env, fs};

use plimsoll::token::estimate::fitting;
use plimsoll_benches::samples::{self, FAMILIES};

/// Costs are stored in bytes, in hundredths of a token.
const UNIT: f64 = 100.0;
const MOST: f64 = 255.0 / UNIT;
/// How strongly a step is held to the cost of its kind, and a kind to a third of a token a byte.
const HOLDS: [f64; 4] = [0.0003, 0.001, 0.003, 0.01];
const ROUNDS: usize = 60;

/// A text as the fit sees it: how often each step is taken for each of its tokens.
type Row = Vec<(usize, f64)>;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let (Some(path), Some(out)) = (arguments.next(), arguments.next()) else {
        return Err("usage: estimate_fit SAMPLES.jsonl OUT_DIR".into());
    };
    let samples = samples::read(Path::new(&path))?;
    for (name, truth) in FAMILIES {
        let rows: Vec<Row> = samples
            .iter()
            .map(|sample| {
                let tokens = truth(sample).max(1.0);
                let taken = fitting::steps(&sample.text);
                taken
                    .iter()
                    .enumerate()
                    .filter(|(_, count)| **count > 0)
                    .map(|(cell, count)| (cell, f64::from(*count) / tokens))
                    .collect()
            })
            .collect();
        let (held, fitted): (Vec<_>, Vec<_>) = rows.iter().enumerate().partition(|(at, _)| at % 5 == 0);
        let (held, fitted): (Vec<&Row>, Vec<&Row>) =
            (held.into_iter().map(|(_, row)| row).collect(), fitted.into_iter().map(|(_, row)| row).collect());
        let mut best = (f64::INFINITY, 0.0);
        for hold in HOLDS {
            let costs = fit(&fitted, hold);
            let error = report(name, hold, &costs, &held);
            if error < best.0 {
                best = (error, hold);
            }
        }
        let every: Vec<&Row> = rows.iter().collect();
        let costs = fit(&every, best.1);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 255")]
        let bytes: Vec<u8> = costs.iter().map(|cost| (cost * UNIT).round() as u8).collect();
        fs::write(Path::new(&out).join(format!("{name}.costs")), bytes)?;
        println!("{name}: written with {}", best.1);
    }
    Ok(())
}

/// Fits the kinds first, then each step, held to the cost of its kind where it is rare.
fn fit(rows: &[&Row], hold: f64) -> Vec<f64> {
    const CLASSES: usize = 32;
    let kind = |cell: usize| fitting::kind(cell) * CLASSES + cell % CLASSES;
    let kinds: Vec<Row> = rows
        .iter()
        .map(|row| {
            let mut sums = vec![0.0; fitting::SIZE];
            for (cell, share) in *row {
                if let Some(sum) = sums.get_mut(kind(*cell)) {
                    *sum += share;
                }
            }
            sums.into_iter().enumerate().filter(|(_, sum)| *sum > 0.0).collect()
        })
        .collect();
    let of_kinds = descend(&kinds.iter().collect::<Vec<_>>(), &vec![0.3; fitting::SIZE], 0.01);
    let start: Vec<f64> = (0..fitting::SIZE).map(|cell| of_kinds.get(kind(cell)).copied().unwrap_or(0.3)).collect();
    descend(rows, &start, hold)
}

/// Minimises the squared relative errors plus the squared distances from `toward`, one cost after another, with all costs
/// between zero and the largest that can be stored.
fn descend(rows: &[&Row], toward: &[f64], hold: f64) -> Vec<f64> {
    let mut costs = toward.to_vec();
    let mut columns: Vec<Vec<(usize, f64)>> = vec![Vec::new(); fitting::SIZE];
    let mut missing: Vec<f64> = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        missing.push(1.0 - estimate(row, &costs));
        for (cell, share) in *row {
            if let Some(column) = columns.get_mut(*cell) {
                column.push((at, *share));
            }
        }
    }
    for _ in 0..ROUNDS {
        for ((column, cost), toward) in columns.iter().zip(&mut costs).zip(toward) {
            if column.is_empty() {
                continue;
            }
            let curve: f64 = column.iter().map(|(_, share)| share * share).sum();
            let slope: f64 = column.iter().filter_map(|(at, share)| Some(share * missing.get(*at)?)).sum();
            let better = (*cost + (slope - hold * (*cost - toward)) / (curve + hold)).clamp(0.0, MOST);
            for (at, share) in column {
                if let Some(missing) = missing.get_mut(*at) {
                    *missing -= share * (better - *cost);
                }
            }
            *cost = better;
        }
    }
    costs
}

fn estimate(row: &Row, costs: &[f64]) -> f64 {
    row.iter().filter_map(|(cell, share)| Some(share * costs.get(*cell)?)).sum()
}

/// Prints how far the estimates of texts held back are off; gives the root of the mean squared relative error.
fn report(name: &str, hold: f64, costs: &[f64], judged: &[&Row]) -> f64 {
    let mut ratios: Vec<f64> = judged.iter().map(|row| estimate(row, costs)).collect();
    ratios.sort_by(f64::total_cmp);
    let squares: f64 = ratios.iter().map(|ratio| (ratio - 1.0).powi(2)).sum();
    let error = (squares / ratios.len() as f64).sqrt();
    let at = |share| samples::quantile(&ratios, share);
    println!(
        "{name} hold {hold}: error {error:.4}; estimate/true p1 {:.3} p5 {:.3} p50 {:.3} p95 {:.3} p99 {:.3}",
        at(0.01),
        at(0.05),
        at(0.5),
        at(0.95),
        at(0.99),
    );
    error
}
