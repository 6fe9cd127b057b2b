//! What a session costs beside the model call, on a conversation of about a million tokens: the first sight of it, the
//! next turn, the turn in which what was made is put in place, and the turns after that; a compaction by a model that
//! answers at once; beside comparing the same bytes once, and reading them into a `serde_json::Value` and writing them
//! out again.
//!
//! In milliseconds of this thread's processor time, which a busy machine changes least.

use std::hint::black_box;
use std::io::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use plimsoll::budget::Capacity;
use plimsoll::compact::Api;
use plimsoll::id::SessionId;
use plimsoll::wire::Format;
use plimsoll::{Bytes, Tokens};
use plimsoll_benches::summary::{MODEL, answer};
use plimsoll_benches::{body, cpu_seconds};
use plimsoll_engine::session::{Begun, ByHand, Manual, Request, Session, SessionOptions, Spawn};
use plimsoll_engine::summarise::{Answer, BoxFuture, Service, Summariser, SummariserError, SummaryRequest};
use plimsoll_store::Store;

/// A model that answers at once.
#[derive(Debug)]
struct Ready(Service);

impl Ready {
    /// The conversation's own model, or another one, which takes it all as text, or too little for that.
    fn new(model: &str, window: u64, continues: bool) -> Self {
        let mut service = Service::of_model("ready", Api::Anthropic, model);
        service.window = Some(Tokens(window));
        service.max_output = Some(Tokens(20_000));
        service.continues = continues;
        Self(service)
    }
}

impl Summariser for Ready {
    fn service(&self) -> &Service {
        &self.0
    }

    fn summarise<'a>(&'a self, _: SummaryRequest<'a>) -> BoxFuture<'a, Result<Answer, SummariserError>> {
        Box::pin(std::future::ready(Ok(Answer::ended(answer()))))
    }
}

/// Runs work where it is given.
struct Here;

impl Spawn for Here {
    fn spawn(&self, work: BoxFuture<'static, ()>) {
        block_on(work);
    }
}

/// What surrounds the call of a model on a conversation that is known: planned, archived, asked for, judged, recorded, put
/// in place. Says who wrote the summary in the end.
fn by_model(whole: &[u8], tokens: Tokens, model: Ready) -> (Result<String, String>, Duration) {
    let capacity = Capacity { context_window: Some(Tokens(tokens.0 * 2)), ..Capacity::default() };
    let mut options = SessionOptions::default().with_capacity(capacity).with_summariser(Arc::new(model));
    options.spawn = Arc::new(Here);
    let session = Session::with_options(SessionId::new("bench"), Store::memory(), options);
    session.begin(&Request::new(whole, Format::Anthropic));
    // Whoever says what a summary should heed wants one, and no reductions.
    let manual = Manual::default().with_instructions("Keep the names of the files.");
    let (done, time) = timed(|| session.compact(whole, Format::Anthropic, &manual));
    let by = match done {
        ByHand::Compacted(report) => match report.fallback {
            None => Ok(report.summarizer),
            Some(fallback) => Err(format!("the summary was not taken: {}", fallback.reason)),
        },
        other => Err(format!("nothing was compacted: {other:?}")),
    };
    (by, time)
}

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
    let start = cpu_seconds();
    let value = black_box(work());
    (value, Duration::from_secs_f64((cpu_seconds() - start).max(0.0)))
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
        let ((), made) = timed(|| later.run());
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
        let last = bodies.last().unwrap_or(&whole).as_slice();
        let copy = last.to_vec();
        let compared = best(|| black_box(&copy) == black_box(last));
        let value = best(|| {
            let value: serde_json::Value = serde_json::from_slice(black_box(last)).unwrap_or_default();
            serde_json::to_vec(&value).map_or(0, |bytes| bytes.len())
        });
        writeln!(out, "body {}, {tokens} tokens", Bytes::from(whole.len()))?;
        writeln!(out, "  first sight                       {:>9.3} ms", milliseconds(first))?;
        writeln!(out, "  next turn                         {:>9.3} ms", milliseconds(next))?;
        writeln!(out, "  making room by reductions, beside {:>9.3} ms", milliseconds(made))?;
        writeln!(out, "  putting it in place               {:>9.3} ms", milliseconds(adopted))?;
        writeln!(out, "  next turn after that              {:>9.3} ms", milliseconds(after))?;
        for (name, model) in [
            ("its own model, as it is  ", Ready::new(MODEL, tokens.0 * 2, true)),
            ("another model, as text   ", Ready::new("claude-haiku-4-5", tokens.0 * 2, false)),
            ("a small model, as text   ", Ready::new("claude-haiku-4-5", 200_000, false)),
        ] {
            let (by, time) = by_model(&whole, tokens, model);
            let by = by?;
            writeln!(out, "  by {name} [{by}]{:>9.3} ms", milliseconds(time))?;
        }
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
