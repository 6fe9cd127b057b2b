//! What is shown of recorded output, each at a size that a small window allows. The snapshots are to be read: could a
//! person who sees only this say what happened, and what else is there?
//!
//! Recorded by others, all under the MIT licence: `jenkins-*` in jenkinsci/analysis-model, `ansi-pwsh` in
//! buildkite/terminal-to-html, `nonutf8-*` in miloyip/nativejson-benchmark.

use super::*;

fn shown(text: &[u8], limit: u64, tool: &str) -> String {
    let id = "s1/toolu_01".parse().unwrap();
    let capped = cap(text, &Policy::new(Bytes(limit)).for_tool(tool), &Naming::whole(&id));
    assert!(capped.was_capped && capped.text.len() as u64 <= limit);
    capped.into_string()
}

#[test]
fn coloured_output_of_a_build_shows_its_warnings() {
    let text = shown(include_bytes!("recorded/jenkins-maven-ansi.txt"), 2_048, "Bash");
    insta::assert_snapshot!("maven", text);
}

#[test]
fn output_that_is_long_by_its_escapes_alone_is_shown_whole() {
    let text = shown(include_bytes!("recorded/ansi-pwsh.sh.raw"), 2_048, "Bash");
    assert!(Marker::find(&text).unwrap().1.left_out.is_none());
    insta::assert_snapshot!("pwsh", text);
}

#[test]
fn a_report_in_json_is_shown_by_its_structure() {
    let text = shown(include_bytes!("recorded/jenkins-npm-audit.json"), 2_048, "Bash");
    insta::assert_snapshot!("npm_audit", text);
}

#[test]
fn a_markdown_file_shows_its_headings_and_what_is_no_utf8_lossily() {
    let text = shown(include_bytes!("recorded/nonutf8-conformance_gason.md.txt"), 2_048, "Read");
    insta::assert_snapshot!("gason", text);
}

#[test]
fn long_warnings_with_the_place_at_their_end_keep_it() {
    let text = shown(include_bytes!("recorded/jenkins-java-eclipse-ant.log"), 4_096, "Bash");
    insta::assert_snapshot!("ant", text);
}
