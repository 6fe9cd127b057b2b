//! What tools print, made here: a build log, plain prose, lines with trouble in every one, JSON, terminal animation.

use crate::text::Random;

/// The names of all texts.
pub const KINDS: [&str; 6] = ["log", "prose", "trouble", "differing", "json", "animation"];

/// Words without trouble in them.
const WORDS: [&str; 24] = [
    "module", "loading", "value", "socket", "request", "answer", "config", "worker", "thread", "cache", "entry",
    "queue", "batch", "index", "client", "server", "upload", "render", "parser", "stream", "buffer", "packet",
    "signal", "window",
];

/// Makes about `size` bytes of a text; `None` if there is none of that name.
pub fn made(kind: &str, size: usize) -> Option<Vec<u8>> {
    Some(match kind {
        "log" => log(size),
        "prose" => prose(size),
        "trouble" => trouble(size),
        "differing" => differing(size),
        "json" => json(size),
        "animation" => animation(size),
        _ => return None,
    })
}

fn filled(size: usize, mut line: impl FnMut(usize) -> String) -> Vec<u8> {
    let mut text = Vec::with_capacity(size + 1_000);
    for number in 0.. {
        if text.len() >= size {
            break;
        }
        text.extend_from_slice(line(number).as_bytes());
    }
    text
}

/// A build log with a warning now and then, and one error.
fn log(size: usize) -> Vec<u8> {
    filled(size, |number| match number {
        123_456 => "error[E0308]: mismatched types\n  --> src/main.rs:1:1\n".to_owned(),
        number if number % 500 == 0 => format!("warning: unused variable `x{number}`\n"),
        number => {
            format!("[{number:>7}] Compiling object src/module_{}/file_{number}.c -> build/{number}.o\n", number % 97)
        }
    })
}

/// Some words a line, none of them trouble.
fn prose(size: usize) -> Vec<u8> {
    let mut random = Random::new(0x70_6c69);
    filled(size, |_| words(&mut random, 12) + "\n")
}

/// Lines of trouble that differ in numbers only.
fn trouble(size: usize) -> Vec<u8> {
    filled(size, |number| {
        format!("2026-01-02T03:04:05 ERROR worker {number} request {} failed: connection refused\n", number * 7)
    })
}

/// Lines of trouble each of which says something else.
fn differing(size: usize) -> Vec<u8> {
    let mut random = Random::new(0x6d_736f);
    let kinds = ["error: ", "warning: ", "failed to answer: ", "a mention of an error in "];
    filled(size, |_| {
        let kind = random.pick(&kinds).unwrap_or_default();
        format!("{}{kind}{}\n", words(&mut random, 3), words(&mut random, 8))
    })
}

/// One array of many objects, without a line feed.
fn json(size: usize) -> Vec<u8> {
    let rows = filled(size, |number| {
        format!(r#"{{"id":{number},"name":"row {number}","tags":["a","b"],"body":"some text here"}},"#)
    });
    [b"[", rows.as_slice(), b"{}]"].concat()
}

/// Lines that are drawn anew fifty times each.
fn animation(size: usize) -> Vec<u8> {
    filled(size, |number| {
        let end = if number % 50 == 0 { "\n" } else { "" };
        format!("\r\u{1b}[2K\u{1b}[32mdownloading\u{1b}[0m {number} of 1000000{end}")
    })
}

fn words(random: &mut Random, count: usize) -> String {
    let mut line = String::new();
    for _ in 0..count {
        line.push_str(random.pick(&WORDS).unwrap_or_default());
        line.push(' ');
    }
    line
}
