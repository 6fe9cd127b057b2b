//! How many events a run takes in a second, and whether memory stays flat: `cargo bench -p plimsoll-agent`.
//!
//! It fails if it is below 50,000 events a second or if ten times the events take noticeably more memory.

use std::time::Instant;

use plimsoll_agent::{Agent, Environment, EventKind, Host, Prompt, Request, start};

const SCRIPT: &str = r#"expect initialize
print {"type":"control_response","response":{"subtype":"success","request_id":"plimsoll-1","response":{"commands":[]}}}
expect hello
repeat COUNT {"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"{n} some words of an answer"}},"session_id":"f3d758ba-a7b7-41e1-9bdd-63cafe995f91","parent_tool_use_id":null,"uuid":"aa70ac51-cdbb-452b-8ab4-42b85410bd4a"}
print {"type":"result","is_error":false,"result":"done","usage":{}}
drain
"#;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap_or_else(|e| fail(&e));
    let mut memory = Vec::new();
    for count in [10_000_u32, 100_000, 1_000_000] {
        let (events, seconds) = runtime.block_on(run(count));
        let rate = f64::from(events) / seconds;
        memory.push(peak());
        say(&format!(
            "{events} events in {seconds:.3} s: {rate:.0} events/s, {:.4} ms each, peak {} KiB",
            1e3 / rate,
            peak()
        ));
        if count > 10_000 && rate < 50_000.0 {
            fail(&"below 50,000 events a second");
        }
    }
    // The answer itself is kept, up to a line's length: that is all that may grow.
    if memory.last() > memory.first().map(|first| first + 24 * 1024).as_ref() {
        fail(&"memory grows with the number of events");
    }
}

async fn run(count: u32) -> (u32, f64) {
    let folder = std::env::temp_dir();
    let script = folder.join(format!("plimsoll-bench-{}", std::process::id()));
    std::fs::write(&script, SCRIPT.replace("COUNT", &count.to_string())).unwrap_or_else(|e| fail(&e));
    let prompt = Prompt::new("hello").unwrap_or_else(|e| fail(&e));
    let mut request = Request::new(Agent::Claude, prompt, &folder, Environment::default());
    request.program = Some(env!("CARGO_BIN_EXE_scripted-agent").into());
    request.arguments = vec![script.clone().into()];
    let mut run = start(request, &Host::default()).await.unwrap_or_else(|e| fail(&e));
    let (mut events, began) = (0, Instant::now());
    while let Some(event) = run.next().await {
        events += u32::from(matches!(event.kind, EventKind::Text { .. }));
    }
    let seconds = began.elapsed().as_secs_f64();
    run.finish().await.unwrap_or_else(|e| fail(&e));
    let _ = std::fs::remove_file(script);
    (events, seconds)
}

/// The most memory that this process had, in KiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or_default();
    line.split_ascii_whitespace().nth(1).and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn say(line: &str) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stdout(), "{line}");
}

fn fail(why: &dyn std::fmt::Display) -> ! {
    say(&format!("failed: {why}"));
    std::process::exit(1)
}
