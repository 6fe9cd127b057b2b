//! One turn of a gateway with nothing to do, on an Anthropic body: parse, measure (counts known), plan, splice; against
//! reading the same bytes into a `serde_json::Value` and writing them out again. Prints both, and their ratio.

use std::hint::black_box;
use std::io::Write as _;
use std::time::{Duration, Instant};

use plimsoll::budget::{Capacity, Counting, Meter, Policy, Trigger, threshold};
use plimsoll::compact::{Plan, PlanOptions, plan};
use plimsoll::transcript::Obligations;
use plimsoll::wire::{ParseOptions, parse, quote, splice};
use plimsoll::{Bytes, Tokens};

fn main() -> std::io::Result<()> {
    let body = body(2 << 20);
    let options = ParseOptions::default();
    let mut meter = Meter::new(Counting::for_model(Some("claude-sonnet-4-5")));
    let thresholds = threshold(&Capacity::default(), &Policy::default(), Some(Tokens(64)));
    let mut ours = |bytes: &[u8]| {
        let Ok(document) = parse(bytes, &options) else {
            return 0;
        };
        let measure = meter.measure(&document);
        let transcript = document.transcript();
        let mut plan_options = PlanOptions::new(document.format(), Trigger::Threshold);
        plan_options.auto = true;
        let planned = plan(transcript, &Obligations::of(transcript), &measure, &thresholds, &plan_options);
        // The conversation is over the default threshold; what a gateway with a large window does is the same work.
        assert!(!matches!(planned, Plan::Infeasible { .. }), "the body is feasible");
        // Without edits the result is the document itself, borrowed: nothing is copied.
        splice(document.bytes(), &[]).map_or(0, |spliced| black_box(spliced).len())
    };
    ours(&body);
    let whole = best(|| ours(black_box(&body)));
    let scan = best(|| parse(black_box(&body), &options).map_or(0, |document| document.entries().len()));
    let theirs = best(|| {
        let value: serde_json::Value = serde_json::from_slice(black_box(&body)).unwrap_or_default();
        serde_json::to_vec(&value).map_or(0, |bytes| bytes.len())
    });
    let mut out = std::io::stdout().lock();
    let speed = |time: Duration| body.len() as f64 / time.as_secs_f64() / 1e9;
    writeln!(out, "body {}", Bytes::from(body.len()))?;
    writeln!(out, "parse alone                  {:>8.3} ms  {:.2} GB/s", scan.as_secs_f64() * 1e3, speed(scan))?;
    writeln!(out, "parse, measure, plan, splice {:>8.3} ms  {:.2} GB/s", whole.as_secs_f64() * 1e3, speed(whole))?;
    writeln!(out, "serde_json::Value round trip {:>8.3} ms  {:.2} GB/s", theirs.as_secs_f64() * 1e3, speed(theirs))?;
    writeln!(out, "ratio {:.1}", theirs.as_secs_f64() / whole.as_secs_f64())
}

fn best<T>(mut work: impl FnMut() -> T) -> Duration {
    let mut least = Duration::MAX;
    for _ in 0..60 {
        let start = Instant::now();
        black_box(work());
        least = least.min(start.elapsed());
    }
    least
}

/// A coding agent's request of about `size` bytes: files read, edits, test output.
fn body(size: usize) -> Vec<u8> {
    let mut messages =
        vec![r#"{"role":"user","content":"Make the importer faster, and keep its tests green."}"#.to_owned()];
    let (mut bytes, mut turn) = (0, 0);
    while bytes < size {
        let lines: Vec<String> = (0..40 + turn % 120)
            .map(|line| {
                format!("{line:>5}\t    let row_{line} = reader.next(\"column {}\")?; // step {turn}", line * 7 % 31)
            })
            .collect();
        let call = format!(
            r#"{{"role":"assistant","content":[{{"type":"text","text":{}}},{{"type":"tool_use","id":"toolu_{turn:06}","name":"Read","input":{{"file_path":"/srv/app/src/import_{turn}.rs","limit":{}}}}}]}}"#,
            quote(&format!("Next I read import_{turn}.rs, where the time goes.")),
            100 + turn,
        );
        let result = format!(
            r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"toolu_{turn:06}","content":{}}}]}}"#,
            quote(&lines.join("\n")),
        );
        bytes += call.len() + result.len();
        messages.extend([call, result]);
        turn += 1;
    }
    messages.push(r#"{"role":"user","content":"Go on."}"#.to_owned());
    format!(r#"{{"model":"claude-sonnet-4-5","max_tokens":64,"messages":[{}]}}"#, messages.join(",")).into_bytes()
}
