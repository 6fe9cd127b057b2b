//! What a session costs beside the model call, on a conversation of about a million tokens: the first sight of it, the
//! next turn, the turn in which a summary that is there is put in place, and the turns after that; beside comparing the
//! same bytes once, and reading them into a `serde_json::Value` and writing them out again.

use std::hint::black_box;
use std::io::Write as _;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use plimsoll::budget::Capacity;
use plimsoll::id::SessionId;
use plimsoll::wire::Format;
use plimsoll::{Bytes, Tokens};
use plimsoll_benches::body;
use plimsoll_engine::session::{Begun, Request, Session, SessionOptions, Spawn};
use plimsoll_engine::summarise::BoxFuture;
use plimsoll_store::Store;

/// Keeps work until it is asked for: what is made beside the requests is measured apart.
#[derive(Default)]
struct Later(Mutex<Vec<BoxFuture<'static, ()>>>);

impl Spawn for Later {
    fn spawn(&self, work: BoxFuture<'static, ()>) {
        if let Ok(mut waiting) = self.0.lock() {
            waiting.push(work);
        }
    }
}

impl Later {
    fn run(&self) {
        let work = self.0.lock().map(|mut waiting| std::mem::take(&mut *waiting)).unwrap_or_default();
        for work in work {
            block_on(work);
        }
    }
}

/// The embedded summariser never waits, so its future is ready at once.
fn block_on(mut work: BoxFuture<'static, ()>) {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    while work.as_mut().poll(&mut context).is_pending() {
        std::thread::yield_now();
    }
}

/// The bodies of some turns in a row: each adds a call and its result.
fn turns(whole: &[u8], count: usize) -> Vec<Vec<u8>> {
    let end = whole.len() - 2;
    let mut bodies = Vec::new();
    let mut body = whole.get(..end).unwrap_or_default().to_vec();
    for turn in 0..count {
        let text = format!("line of a result, turn {turn}\\n").repeat(100);
        let added = format!(
            r#",{{"role":"assistant","content":[{{"type":"tool_use","id":"new_{turn}","name":"bash","input":{{"command":"ls"}}}}]}},{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"new_{turn}","content":"{text}"}}]}}"#
        );
        body.extend_from_slice(added.as_bytes());
        bodies.push([body.as_slice(), b"]}"].concat());
    }
    bodies
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let value = black_box(work());
    (value, start.elapsed())
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::stdout().lock();
    for size in [200_000, 1_000_000, 3_600_000] {
        let whole = body::anthropic_unsigned(size);
        let bodies = turns(&whole, 24);
        let later = Arc::new(Later::default());
        let mut options = SessionOptions::default();
        options.spawn = later.clone();
        let session = |window: u64| {
            let capacity = Capacity { context_window: Some(Tokens(window)), ..Capacity::default() };
            Session::with_options(SessionId::new("bench"), Store::memory(), options.clone().with_capacity(capacity))
        };
        let begin = |session: &Session, body: &[u8]| match session.begin(&Request::new(body, Format::Anthropic)) {
            Begun::Ready(prepared) => {
                (prepared.bytes.len(), prepared.report.tokens_after, prepared.report.compaction.is_some())
            }
            Begun::Waits(_) => (0, Tokens(0), false),
        };

        // Nothing to decide: the window is wide.
        let wide = session(10_000_000);
        let ((_, tokens, _), first) = timed(|| begin(&wide, &whole));
        let mut next = Duration::MAX;
        for body in &bodies {
            next = next.min(timed(|| begin(&wide, body)).1);
        }
        // A window in which the conversation is at the compaction threshold.
        let tight = session(tokens.0 * 100 / 87 + 20_000);
        begin(&tight, &whole);
        let (_, made) = timed(|| later.run());
        let mut adopted = Duration::ZERO;
        let mut after = Duration::MAX;
        let mut compacted = false;
        for body in &bodies {
            let ((_, _, now), time) = timed(|| begin(&tight, body));
            if now {
                adopted = time;
                compacted = true;
            } else if compacted {
                after = after.min(time);
            }
            later.run();
        }
        let last = bodies.last().map_or(&whole[..0], Vec::as_slice);
        let copy = last.to_vec();
        let compared = best(|| black_box(&copy) == black_box(last));
        let value = best(|| {
            let value: serde_json::Value = serde_json::from_slice(black_box(last)).unwrap_or_default();
            serde_json::to_vec(&value).map_or(0, |bytes| bytes.len())
        });
        writeln!(out, "body {}, {tokens} tokens", Bytes::from(whole.len()))?;
        writeln!(out, "  first sight                       {:>9.3} ms", milliseconds(first))?;
        writeln!(out, "  next turn                         {:>9.3} ms", milliseconds(next))?;
        writeln!(out, "  making the extract, beside        {:>9.3} ms", milliseconds(made))?;
        writeln!(out, "  putting it in place               {:>9.3} ms", milliseconds(adopted))?;
        writeln!(out, "  next turn after that              {:>9.3} ms", milliseconds(after))?;
        writeln!(out, "  comparing the bytes               {:>9.3} ms", milliseconds(compared))?;
        writeln!(out, "  serde_json::Value round trip      {:>9.3} ms", milliseconds(value))?;
        writeln!(out, "  round trip / next turn            {:>9.1}", value.as_secs_f64() / next.as_secs_f64())?;
        writeln!(out, "  first sight / next turn           {:>9.1}", first.as_secs_f64() / next.as_secs_f64())?;
    }
    Ok(())
}

fn best<T>(mut work: impl FnMut() -> T) -> Duration {
    (0..20).map(|_| timed(&mut work).1).min().unwrap_or_default()
}
