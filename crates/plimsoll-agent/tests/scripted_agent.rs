//! A program for tests that stands in for an agent: it does as its script says, and misbehaves where that says so.
//!
//! `scripted-agent SCRIPT [ARGS…]`. `--version` and `--help` are answered as an agent does. `--watch …` makes it a watcher,
//! and `--host SCRIPT FOLDER` a host that runs itself, watched, and waits for it. The script has a step a line:
//!
//! | step | does |
//! |---|---|
//! | `print TEXT` | prints a line |
//! | `torn TEXT` | prints without a line break |
//! | `file PATH` | prints a file, relative to the script |
//! | `repeat N TEXT` | prints a line N times, `{n}` in it counted |
//! | `large N` | prints a record of N bytes that no agent knows |
//! | `expect TEXT` | reads a line, which must contain the text; else exits with 99 |
//! | `drain` | reads until its input is closed |
//! | `keep FILE` | reads until its input is closed, and writes each line to FILE |
//! | `flood N` | writes N bytes to standard error |
//! | `say TEXT` | writes a line to standard error |
//! | `stubborn` | ignores every request to end from now on |
//! | `fork FILE`, `escape FILE` | starts a process that hangs and ignores requests to end, its id in FILE; it keeps the pipes; `escape` in a session of its own |
//! | `environment FILE`, `arguments FILE` | writes what it was started with |
//! | `hang` | does nothing any more |
//! | `touch FILE` | makes a file |
//! | `exit N` | ends; without it, the end of the script is `exit 0` |

use std::io::{self, BufRead as _, Read as _, Write as _};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("--version") => return printed("9.9.9 (Scripted)\n"),
        Some("--help" | "help") => return printed(HELP),
        Some("app-server") if arguments.iter().any(|argument| argument == "--help") => return printed(HELP),
        Some("--watch") => return plimsoll_agent::watch(std::env::args_os().skip(2)),
        Some("--host") => return host(&arguments),
        Some("--hang") => {
            stubborn();
            if arguments.get(1).is_some_and(|how| how == "apart") {
                let _ = rustix::process::setsid();
            }
            if let Some(file) = arguments.get(2) {
                let _ = std::fs::write(file, std::process::id().to_string());
            }
            hang();
        }
        _ => {}
    }
    let Some(script) = arguments.first() else {
        return ExitCode::from(98);
    };
    let Ok(steps) = std::fs::read_to_string(script) else {
        return ExitCode::from(98);
    };
    for step in steps.lines().map(str::trim).filter(|step| !step.is_empty() && !step.starts_with('#')) {
        let (verb, rest) = step.split_once(' ').unwrap_or((step, ""));
        match take(verb, rest, script, &arguments) {
            Ok(None) => {}
            Ok(Some(code)) => return ExitCode::from(code),
            // Nobody reads any more.
            Err(_) => return ExitCode::from(97),
        }
    }
    ExitCode::SUCCESS
}

const HELP: &str = "  -p, --print\n  --input-format <f>\n  --output-format <f>\n  --include-partial-messages\n  \
    --acp\n  app-server\n  --model <m>\n  --resume <id>\n  --session-id <id>\n  --permission-mode <m> (acceptEdits, plan, default)\n";

fn printed(text: &str) -> ExitCode {
    let _ = io::stdout().write_all(text.as_bytes());
    ExitCode::SUCCESS
}

fn take(verb: &str, rest: &str, script: &str, arguments: &[String]) -> io::Result<Option<u8>> {
    let mut out = io::stdout().lock();
    let number = |text: &str| text.parse::<usize>().unwrap_or(0);
    match verb {
        "print" => writeln!(out, "{rest}")?,
        "torn" => write!(out, "{rest}")?,
        "file" => {
            let folder = Path::new(script).parent().unwrap_or(Path::new("."));
            out.write_all(&std::fs::read(folder.join(rest))?)?;
        }
        "repeat" => {
            let (count, line) = rest.split_once(' ').unwrap_or((rest, ""));
            let mut out = io::BufWriter::with_capacity(1 << 16, out);
            for n in 0..number(count) {
                writeln!(out, "{}", line.replace("{n}", &n.to_string()))?;
            }
            out.flush()?;
            return Ok(None);
        }
        "large" => {
            let filler = number(rest).saturating_sub(r#"{"type":"large","x":""}"#.len());
            writeln!(out, r#"{{"type":"large","x":"{}"}}"#, "x".repeat(filler))?;
        }
        "expect" => {
            let mut line = String::new();
            io::stdin().lock().read_line(&mut line)?;
            if !line.contains(rest) {
                writeln!(io::stderr(), "expected {rest:?}, read {line:?}")?;
                return Ok(Some(99));
            }
        }
        "drain" => {
            io::stdin().lock().read_to_end(&mut Vec::new())?;
        }
        "keep" => {
            let mut file = std::fs::File::create(rest)?;
            for line in io::stdin().lock().lines() {
                writeln!(file, "{}", line?)?;
            }
        }
        "flood" => io::stderr().write_all(&b"flood \n".repeat(number(rest) / 7))?,
        "say" => writeln!(io::stderr(), "{rest}")?,
        "stubborn" => stubborn(),
        "fork" | "escape" => {
            let how = if verb == "escape" { "apart" } else { "near" };
            let program = std::env::current_exe()?;
            std::process::Command::new(program).args(["--hang", how, rest]).spawn()?;
            while std::fs::read_to_string(rest).unwrap_or_default().is_empty() {
                std::thread::yield_now();
            }
        }
        "environment" => {
            let names: Vec<String> = std::env::vars().map(|(name, value)| format!("{name}={value}")).collect();
            std::fs::write(rest, names.join("\n"))?;
        }
        "arguments" => std::fs::write(rest, arguments.join("\n"))?,
        "touch" => std::fs::write(rest, "")?,
        "hang" => hang(),
        "exit" => return Ok(Some(u8::try_from(number(rest)).unwrap_or(1))),
        _ => return Ok(Some(98)),
    }
    out.flush()?;
    Ok(None)
}

/// Runs a script as a host does, until somebody kills it.
fn host(arguments: &[String]) -> ExitCode {
    use plimsoll_agent::{Agent, Environment, Host, Prompt, Request, start};
    let [_, script, folder] = arguments else { return ExitCode::from(98) };
    let (Ok(own), Ok(prompt)) = (std::env::current_exe(), Prompt::new("hello")) else {
        return ExitCode::from(98);
    };
    let mut request = Request::new(Agent::Claude, prompt, folder, Environment::reduced(std::env::vars_os()));
    request.program = Some(own.clone());
    request.arguments = vec![script.into()];
    request.grace = std::time::Duration::from_millis(100);
    let host = Host::new(None, Some(vec![own.into(), "--watch".into()]));
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
        return ExitCode::from(98);
    };
    runtime.block_on(async {
        let Ok(run) = start(request, &host).await else { return ExitCode::from(98) };
        let ended = run.finish().await;
        ExitCode::from(u8::from(ended.is_err()))
    })
}

/// Ignores what asks it to end.
fn stubborn() {
    let (ready, is_ready) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
            return;
        };
        runtime.block_on(async {
            use tokio::signal::unix::{SignalKind, signal};
            let kinds = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()];
            let _caught = kinds.map(signal);
            let _ = ready.send(());
            std::future::pending::<()>().await;
        });
    });
    let _ = is_ready.recv();
}

fn hang() -> ! {
    loop {
        std::thread::park();
    }
}
