//! The same invariants on real files, where `PLIMSOLL_DATA` names a folder of them.

#![allow(clippy::disallowed_methods, reason = "the library reads no files, this test does")]

use std::path::{Path, PathBuf};

use super::*;

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true if path.file_name().is_some_and(|name| name == "sealed") => {}
            true => files(&path, found),
            false => found.push(path),
        }
    }
}

#[test]
fn every_real_file_is_read_or_refused_and_survives_rewriting() {
    let Some(folder) = std::env::var_os("PLIMSOLL_DATA") else {
        return;
    };
    let mut found = Vec::new();
    files(Path::new(&folder), &mut found);
    found.sort();
    assert!(!found.is_empty());
    for path in &found {
        let bytes = std::fs::read(path).unwrap();
        let short = path.strip_prefix(&folder).unwrap().display();
        let document = match parse(&bytes, &ParseOptions::default()) {
            Ok(document) => document,
            Err(error) => {
                println!("{short}: {error}");
                continue;
            }
        };
        assert_eq!(splice(&bytes, &[]).unwrap().as_ref(), &bytes[..]);
        check_places(&document);
        let messages = &document.transcript().messages;
        let calls = messages.iter().flat_map(Message::calls).count();
        let results = messages.iter().flat_map(Message::results).count();
        println!(
            "{short}: {} {} messages {calls} calls {results} results {} oddities",
            document.format(),
            messages.len(),
            document.oddities().len()
        );
        if !matches!(document.layout, document::Layout::Array | document::Layout::Lines) {
            continue;
        }
        let strict = serde_json::from_slice::<serde::de::IgnoredAny>(&bytes).is_ok();
        let step = messages.len() / 40 + 1;
        for cut in (1..=messages.len()).step_by(step) {
            for start in [0, cut / 2] {
                let spliced = check_rewrite(&document, &plan(start..cut));
                if strict {
                    serde_json::from_slice::<serde::de::IgnoredAny>(&spliced).unwrap();
                }
            }
        }
    }
}
