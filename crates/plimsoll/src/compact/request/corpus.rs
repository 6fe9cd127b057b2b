//! Summary requests for real conversations, where `PLIMSOLL_DATA` names a folder of them: always valid, always within the
//! window, the prefix as it stood.

#![allow(clippy::disallowed_methods, reason = "the library reads no files and no clock, this test does")]

use std::time::Instant;

use serde::de::IgnoredAny;

use super::*;
use crate::budget::Meter;
use crate::compact::Profile;
use crate::token::{Counter, Family};
use crate::transcript::Obligations;
use crate::wire::{ParseOptions, Text, parse};

#[test]
fn real_conversations_make_valid_requests() {
    let Some(folder) = std::env::var_os("PLIMSOLL_DATA") else {
        return;
    };
    let counter = Counter::estimated(Family::Generic);
    let count = |text: &str| counter.count(text);
    let (mut same, mut texts) = (0, 0);
    for kind in ["claude_code", "codex", "chat", "anthropic", "responses", "gemini"] {
        let entries = std::fs::read_dir(std::path::Path::new(&folder).join(kind)).unwrap();
        let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        for path in paths {
            let bytes = std::fs::read(&path).unwrap();
            let Ok(document) = parse(&bytes, &ParseOptions::default()) else {
                continue;
            };
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let measure = Meter::new(&counter).measure(&document);
            let profile = Profile::default();
            let wanted = Prompt::new(&profile, Tokens(8_000));
            let model = document.model().map(Text::decode).unwrap_or_default().into_owned();
            let own = Api::of(document.format());
            let cuts: Vec<usize> =
                Obligations::of(document.transcript()).legal_cuts().filter(|cut| *cut > 0).collect();
            for cut in cuts.iter().step_by(cuts.len() / 6 + 1) {
                for window in [8_192, 1_000_000] {
                    for api in [Api::Anthropic, Api::OpenaiChat, Api::OpenaiResponses] {
                        let to = Summariser {
                            api,
                            model: &model,
                            window: Tokens(window),
                            max_output: None,
                            carries_conversation: own == Some(api),
                            stream: true,
                        };
                        let begun = Instant::now();
                        let request = match summary_request(&document, 0..*cut, &measure, &wanted, &to, &count) {
                            Ok(request) => request,
                            Err(error) => {
                                println!("{kind}/{name} up to {cut}, {window}: {error}");
                                continue;
                            }
                        };
                        let taken = begun.elapsed();
                        assert!(
                            serde_json::from_slice::<IgnoredAny>(&request.body).is_ok() || !is_strict(&bytes),
                            "{name} {cut}"
                        );
                        if request.form == Form::Text {
                            texts += 1;
                            assert!(request.input + request.output <= Tokens(window), "{name} {cut}");
                            // What was counted part by part is what is sent.
                            let whole = count(&String::from_utf8_lossy(&request.body));
                            if window > 8_192 && cut == cuts.last().unwrap() {
                                println!(
                                    "{kind}/{name} up to {cut}: {} tokens as text, {whole} with quotes, {taken:?}, {:?}",
                                    request.input, request.obstacle
                                );
                            }
                            continue;
                        }
                        same += 1;
                        let sent =
                            parse(&request.body, &ParseOptions::default().with_format(Some(document.format())))
                                .unwrap();
                        for (before, after) in document.entries().iter().zip(sent.entries()).take(*cut) {
                            assert_eq!(before.span.of(&bytes), after.span.of(&request.body), "{name} {cut}");
                        }
                        let after = Obligations::of(sent.transcript());
                        assert!(
                            after.new_orphans(&Obligations::of(document.transcript())).is_empty(),
                            "{name} {cut}"
                        );
                    }
                }
            }
        }
    }
    println!("{same} as they are, {texts} as text");
    assert!(same > 10 && texts > 100);
}

fn is_strict(bytes: &[u8]) -> bool {
    serde_json::from_slice::<IgnoredAny>(bytes).is_ok()
}
