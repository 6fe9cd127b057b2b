//! The same on recorded tool output, where `PLIMSOLL_DATA` names a folder of it.

#![allow(clippy::disallowed_methods, reason = "the library reads no files, this test does")]

use std::path::Path;

use super::*;

#[test]
fn recorded_output_is_shown_within_every_cap_however_it_is_pushed() {
    let Some(folder) = std::env::var_os("PLIMSOLL_DATA") else {
        return;
    };
    let id = "s1/toolu_01".parse().unwrap();
    let naming = Naming::whole(&id);
    let mut seen = 0;
    for entry in std::fs::read_dir(Path::new(&folder).join("tool_output")).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read(&path).unwrap();
        for limit in [0, 100, 700, 2_048, 8_192, 65_536] {
            let policy = Policy::new(Bytes(limit)).for_tool("Bash");
            let capped = cap(&text, &policy, &naming);
            assert!(capped.text.len() as u64 <= limit || !capped.was_capped, "{}", path.display());
            let mut capper = Capper::new(policy);
            text.chunks(7_777).for_each(|chunk| capper.push(chunk));
            assert_eq!(capper.finish(&naming), capped, "{} at {limit}", path.display());
            // What is worth a cap of some size shows more than a marker.
            if capped.was_capped && limit >= 2_048 {
                assert!(capped.text.len() as u64 > limit / 2, "{} at {limit}: {}", path.display(), capped.text.len());
            }
        }
        seen += 1;
    }
    assert!(seen > 0);
}
