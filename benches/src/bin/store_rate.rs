//! How fast the store is: streams into it, a search through it, a listing of it. `benches/results` compares.
//!
//! ```text
//! store_rate cap file:///DIR|memory: < CONTENT       caps it: seconds, seconds of processors, bytes a second
//! store_rate stream file:///DIR|memory: < CONTENT    bytes a second, and the most memory that was in use
//! store_rate fill file:///DIR FILES BYTES            fills a store with text, for the next two
//! store_rate search file:///DIR PATTERN              how long a search takes, and what it found
//! store_rate list file:///DIR                        how long a listing takes
//! store_rate text KIND BYTES > CONTENT               text as tools print it, to stream: see `output.rs`
//! ```

use std::error::Error;
use std::io::{Read, Write};
use std::ops::ControlFlow;
use std::time::{Instant, SystemTime};

use plimsoll::cap::{Cap, Policy};
use plimsoll::id::{ArtifactId, Record, SessionId, ToolCallId};
use plimsoll_benches::output::{KINDS, made};
use plimsoll_engine::spill::{ToolResult, begin};
use plimsoll_store::{Location, NewResult, Pattern, Search, Store};
use rustix::time::{ClockId, clock_gettime};

/// Words for text that looks like output of tools.
const WORDS: [&str; 16] = [
    "error",
    "warning",
    "src/main.rs",
    "let",
    "fn",
    "compiling",
    "test",
    "ok",
    "ignored",
    "0x7f3a",
    "value",
    "line",
    "expected",
    "found",
    "struct",
    "finished",
];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let out = &mut std::io::stdout();
    match arguments[..] {
        ["cap", url] => cap(&open(url)?, out),
        ["stream", url] => stream(&open(url)?, out),
        ["fill", url, files, bytes] => fill(&open(url)?, files.parse()?, bytes.parse()?),
        ["search", url, pattern] => search(&open(url)?, pattern, out),
        ["list", url] => list(&open(url)?, out),
        ["text", kind, bytes] => text(kind, bytes.parse()?, out),
        _ => {
            Err("cap URL | stream URL | fill URL FILES BYTES | search URL PATTERN | list URL | text KIND BYTES"
                .into())
        }
    }
}

fn open(url: &str) -> Result<Store, Box<dyn Error>> {
    Ok(Store::open(&url.parse::<Location>()?, |name| std::env::var_os(name))?)
}

fn cap(store: &Store, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let (session, call) = (SessionId::new("rate"), ToolCallId::new("cap"));
    let start = Instant::now();
    let mut stream = begin(store, ToolResult::new(&session, &call), &Policy::new(Cap::default()));
    stream.read_from(std::io::stdin().lock())?;
    let spilled = stream.finish();
    let (seconds, used) = (start.elapsed().as_secs_f64(), clock_gettime(ClockId::ProcessCPUTime));
    let used = used.tv_sec as f64 + used.tv_nsec as f64 / 1e9;
    writeln!(
        out,
        "{} in {seconds:.3} s, {used:.3} s of processors: {:.2} GB/s; {} shown",
        spilled.bytes,
        spilled.bytes.0 as f64 / seconds / 1e9,
        spilled.text.len()
    )?;
    Ok(())
}

fn stream(store: &Store, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let (session, call) = (SessionId::new("rate"), ToolCallId::new("stream"));
    let result = NewResult {
        session: &session,
        call: &call,
        content: b"",
        tool: None,
        arguments: None,
        kind: None,
        now: SystemTime::now(),
    };
    let start = Instant::now();
    let mut draft = store.begin_result(&result, store.quotas().max_stream)?;
    let (mut input, mut buffer, mut bytes) = (std::io::stdin().lock(), vec![0; 256 * 1024], 0_u64);
    loop {
        let length = input.read(&mut buffer)?;
        if length == 0 {
            break;
        }
        draft.write(buffer.get(..length).unwrap_or_default())?;
        bytes += length as u64;
    }
    let written = start.elapsed();
    draft.finish(None, |_, _| None)?;
    let seconds = start.elapsed().as_secs_f64();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("VmHWM: unknown");
    writeln!(
        out,
        "{bytes} B in {seconds:.2} s ({:.2} s until synced): {:.2} GB/s; {peak}",
        written.as_secs_f64(),
        bytes as f64 / seconds / 1e9
    )?;
    Ok(())
}

fn fill(store: &Store, files: u64, bytes: usize) -> Result<(), Box<dyn Error>> {
    let mut seed = 1_u64;
    for number in 0..files {
        let mut text = String::with_capacity(bytes + 100);
        while text.len() < bytes {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let word = usize::try_from(seed >> 60).unwrap_or(0) % WORDS.len();
            text.push_str(WORDS.get(word).copied().unwrap_or_default());
            text.push(if (seed >> 40).trailing_zeros() >= 3 { '\n' } else { ' ' });
        }
        // Straight to the backend: what is measured are the texts, not the syncing of metadata.
        let id =
            ArtifactId::new(&SessionId::new(&format!("s{}", number % 20)), &ToolCallId::new(&format!("c{number}")));
        store.backend().create(&Record::Text(id.clone()).key(), &[text.as_bytes()])?;
    }
    Ok(())
}

fn search(store: &Store, pattern: &str, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let pattern = Pattern::regex(pattern)?;
    let start = Instant::now();
    let searched =
        store.search(&Search { pattern: &pattern, session: None, of_one: None }, |_| ControlFlow::Continue(()))?;
    writeln!(out, "{} hits in {} artifacts: {:?}", searched.hits, searched.looked_through, start.elapsed())?;
    Ok(())
}

fn list(store: &Store, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let inventory = store.inventory()?;
    let artifacts = inventory.artifacts().len();
    writeln!(out, "{artifacts} artifacts, {} B: {:?}", inventory.results_bytes(), start.elapsed())?;
    Ok(())
}

/// Prints some MiB of a text over and over: what is measured must not fit any buffer, and need not be held here.
fn text(kind: &str, bytes: usize, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let text = made(kind, bytes.min(64 << 20)).ok_or_else(|| format!("there is {}", KINDS.join(", ")))?;
    // JSON is one array, however long: what is repeated are its elements, each with the comma behind it.
    let (opening, again, closing) = match text.strip_prefix(b"[").and_then(|rest| rest.strip_suffix(b"{}]")) {
        Some(elements) => ("[", elements, "{}]"),
        None => ("", text.as_slice(), ""),
    };
    out.write_all(opening.as_bytes())?;
    let mut left = bytes.saturating_sub(opening.len() + closing.len());
    while left >= again.len() {
        out.write_all(again)?;
        left -= again.len();
    }
    let last = again.get(..left).unwrap_or_default();
    let ends = |closing: usize| last.windows(2).rposition(|two| two == b"},").map_or(0, |end| end + closing);
    let whole = if closing.is_empty() { left } else { ends(2) };
    out.write_all(last.get(..whole).unwrap_or_default())?;
    out.write_all(closing.as_bytes())?;
    Ok(())
}
