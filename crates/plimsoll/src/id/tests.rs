//! Tests of names, recall ids and keys.

use std::collections::HashSet;

use proptest::prelude::*;

use super::*;

fn session(raw: &str) -> SessionId {
    SessionId::new(raw)
}

fn call(raw: &str) -> ToolCallId {
    ToolCallId::new(raw)
}

fn is_path_safe(component: &str) -> bool {
    !component.is_empty()
        && component.len() <= 160
        && !component.starts_with('.')
        && !component.ends_with('.')
        && component.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-~.".contains(&b))
}

/// Names must never change: what is stored under them would be lost.
#[test]
fn names_are_what_they_always_were() {
    let long = "x".repeat(129);
    let names: Vec<String> = [
        "toolu_01ABC",
        "-leading-dash",
        "CON",
        "",
        ".",
        "..",
        "a/b",
        "a\\b",
        "a\0b",
        "日本",
        "call_1|fc_2",
        "abc~0123456789ab",
        long.as_str(),
    ]
    .iter()
    .map(|raw| call(raw).to_string())
    .collect();
    insta::assert_snapshot!(names.join("\n"), @r"
    toolu_01ABC
    -leading-dash
    CON
    _~af1349b9f5f9
    _~a2b910880c85
    _~ee7fc3886dda
    ab~0da3cfa5f8b7
    ab~92005e229f10
    ab~fdeb88a4c6f0
    _~fb52b4c81864
    call_1fc_2~97ecbcccb87a
    abc0123456789ab~3eb6b2edb630
    xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx~f658d76fd25f
    ");
}

#[test]
fn a_length_of_128_is_kept_and_129_is_mapped() {
    let longest = "x".repeat(128);
    assert_eq!(session(&longest).as_str(), longest);
    let mapped = session(&"x".repeat(129));
    assert_eq!(mapped.as_str().len(), 64 + 1 + 12);
    assert!(mapped.as_str().starts_with(&format!("{}~", "x".repeat(64))));
}

/// Mechanism 43: a tool call id of 1.5 KB made a file name too long, and the eviction was silently skipped.
#[test]
fn mechanism_43_a_call_id_of_1500_bytes_gives_a_short_name() {
    let raw = "call_".repeat(300);
    let id = ArtifactId::new(&session("s"), &call(&raw));
    let key = Record::Meta(ArtifactId::variant(&session("s"), &call(&raw), b"x")).key();
    assert!(key.file_name().len() <= 128, "{}", key.file_name());
    assert_eq!(call(&raw).raw(), Some(raw.as_str()));
    assert_eq!(id.to_string().parse::<ArtifactId>().unwrap(), id);
}

/// Mechanism 50: path traversal through an id.
#[test]
fn mechanism_50_hostile_recall_ids_are_refused_with_the_reason() {
    use IdFault::{Absolute, Character, Empty, EmptyPart, Parts, Suffix, Traversal};
    let long = format!("a/{}", "b".repeat(129));
    let cases: Vec<(&str, IdFault)> = vec![
        ("", Empty),
        ("../x", Traversal),
        ("a/../b", Traversal),
        ("a/..", Traversal),
        ("./b", Traversal),
        ("a/.", Traversal),
        ("..", Traversal),
        ("a/b/c", Parts { found: 3, expected: 2 }),
        ("a", Parts { found: 1, expected: 2 }),
        ("a/b/", Parts { found: 3, expected: 2 }),
        ("a//b", Parts { found: 3, expected: 2 }),
        ("a/", EmptyPart),
        ("/b", Absolute),
        ("/etc/passwd", Absolute),
        ("//host/share", Absolute),
        ("a\\b", Character('\\')),
        ("..\\..\\x", Character('\\')),
        ("C:/x", Character(':')),
        ("a/b:stream", Character(':')),
        ("%2e%2e/x", Character('%')),
        ("a/%2e%2e%2fx", Character('%')),
        ("a/b\0", Character('\0')),
        ("a/b\n", Character('\n')),
        (" a/b", Character(' ')),
        ("a/b.txt", Character('.')),
        ("a/.b", Character('.')),
        ("a/ｂ", Character('ｂ')),
        ("a/\u{202e}b", Character('\u{202e}')),
        ("a/b?x", Character('?')),
        ("a/*", Character('*')),
        ("~/x", Suffix),
        ("~root/x", Suffix),
        ("~0123456789ab/x", Suffix),
        ("a/~", Suffix),
        ("a/~xyz", Suffix),
        ("a/~0123456789AB", Suffix),
        ("a/~0123456789abc", Suffix),
        ("a/~0123456789ab~", Suffix),
        ("a/~0123456789ab~0123456789ab~0123456789ab", Suffix),
        ("a/b~", Suffix),
        ("a/b~0123456789aG", Suffix),
        ("a/b~0123456789ab~0123456789ab~0123456789ab", Suffix),
        ("a~0123456789ab~0123456789ab/b", Suffix),
        (long.as_str(), IdFault::TooLong { bytes: 129, longest: 128 }),
    ];
    for (given, fault) in cases {
        let error = given.parse::<RecallId>().expect_err(given);
        assert_eq!(error.fault(), &fault, "{given:?}");
    }
}

#[test]
fn a_refusal_shows_no_control_characters_and_is_bounded() {
    let error = "a/\u{1b}[31mred\n".parse::<RecallId>().unwrap_err().to_string();
    assert!(!error.chars().any(char::is_control), "{error:?}");
    insta::assert_snapshot!(
        error,
        @r"`a/\u{1b}[31mred\n` is not a recall id: the character '\u{1b}' never occurs in one; an id is `session/call`, exactly as the marker or `plimsoll store ls` shows it"
    );
    let error = format!("a/{}", "/x".repeat(100_000)).parse::<RecallId>().unwrap_err().to_string();
    assert!(error.len() < 400, "{}", error.len());
}

#[test]
fn kinds_of_recall_ids_are_told_apart() {
    assert!(matches!("s/c".parse(), Ok(RecallId::Artifact(_))));
    assert!(matches!("s/-c".parse(), Ok(RecallId::Artifact(_))));
    assert!(matches!("-s/c~0123456789ab~0123456789ab".parse(), Ok(RecallId::Artifact(_))));
    assert!(matches!("s/~0123456789ab".parse(), Ok(RecallId::Epoch(_))));
    assert!(matches!("s/~0123456789ab~0123456789ab".parse(), Ok(RecallId::Epoch(_))));
    assert_eq!("s/~0123456789ab".parse::<ArtifactId>().unwrap_err().fault(), &IdFault::Kind);
    assert_eq!("s/c".parse::<EpochId>().unwrap_err().fault(), &IdFault::Kind);
}

#[test]
fn a_raw_id_without_safe_characters_is_no_epoch() {
    for raw in ["", "日本語", "///", "~", "~0123456789ab"] {
        let id = ArtifactId::new(&session("s"), &call(raw));
        assert!(matches!(id.to_string().parse(), Ok(RecallId::Artifact(_))), "{raw:?} gave {id}");
    }
}

#[test]
fn variants_depend_on_both_raw_ids_and_the_content() {
    let plain = ArtifactId::new(&session("S"), &call("c"));
    let ids: HashSet<String> = [("S", "c", "x"), ("s", "c", "x"), ("S", "c", "y"), ("Sc", "", "x"), ("S", "", "cx")]
        .iter()
        .map(|(s, c, content)| ArtifactId::variant(&session(s), &call(c), content.as_bytes()).name().to_owned())
        .collect();
    assert_eq!(ids.len(), 5);
    assert!(plain.may_have_variant(&ArtifactId::variant(&session("S"), &call("c"), b"x")));
    assert!(!plain.may_have_variant(&plain));
    assert!(!plain.may_have_variant(&ArtifactId::new(&session("S"), &call("cd"))));
}

#[test]
fn serde_takes_names_only() {
    let id: RecallId = serde_json::from_str(r#""s/~0123456789ab""#).unwrap();
    assert_eq!(serde_json::to_string(&id).unwrap(), r#""s/~0123456789ab""#);
    assert!(serde_json::from_str::<RecallId>(r#""../x""#).is_err());
    assert!(serde_json::from_str::<SessionId>(r#""a/b""#).is_err());
    assert_eq!(serde_json::to_string(&session("a/b")).unwrap(), format!("\"{}\"", session("a/b")));
}

#[test]
fn foreign_files_and_folders_are_no_records() {
    let folder = Folder::ResultsOf(session("s"));
    for foreign in ["c", ".tmp-1", "c.txt.bak", "~0123456789ab.txt", "..txt", ".txt", "c.TXT", "c~1.txt"] {
        assert_eq!(Record::from_file_name(&folder, foreign), None, "{foreign}");
    }
    let folder = Folder::EpochsOf(session("s"));
    for foreign in
        ["c.json", "~0123456789ab~0123456789ab.json", "~0123456789ab.01.replayed", "~0123456789ab.+1.replayed"]
    {
        assert_eq!(Record::from_file_name(&folder, foreign), None, "{foreign}");
    }
    assert_eq!(Folder::Results.child("../x"), None);
    assert_eq!(Folder::Pruned.child("s"), None);
    assert_eq!(Folder::Results.child("s"), Some(Folder::ResultsOf(session("s"))));
}

/// Raw ids of every width and kind, safe ones and path-like ones among them.
fn raw_ids() -> impl Strategy<Value = String> {
    prop_oneof![
        "[A-Za-z0-9_-]{0,140}",
        "[A-Za-z0-9_~./\\\\-]{0,20}",
        "(CON|NUL|con|aux|COM1|LPT9)(\\.txt)?",
        any::<String>(),
        "[a-c]{1,2}~[0-9a-f]{12}",
    ]
}

proptest! {
    #[test]
    fn every_name_is_path_safe_and_parses_back(raw in raw_ids(), content in any::<Vec<u8>>(), hash in any::<[u8; 32]>(), day in any::<u32>()) {
        let (session, call) = (session(&raw), call(&raw));
        prop_assert!(session.as_str().len() <= 128);
        prop_assert_eq!(session.raw(), Some(raw.as_str()));
        prop_assert_eq!(&session.as_str().parse::<SessionId>().unwrap(), &session);

        let plain = ArtifactId::new(&session, &call);
        let variant = ArtifactId::variant(&session, &call, &content);
        prop_assert!(plain.may_have_variant(&variant));
        let epoch = EpochId::new(&session, &hash);
        let body = epoch.with_body(&hash);
        for id in [RecallId::from(plain.clone()), variant.clone().into(), epoch.clone().into(), body.clone().into()] {
            prop_assert_eq!(&id.to_string().parse::<RecallId>().unwrap(), &id);
        }
        for record in [
            Record::Text(plain.clone()), Record::Meta(plain), Record::Text(variant.clone()), Record::Meta(variant),
            Record::Epoch(epoch.clone()), Record::Body(epoch.clone()), Record::Body(body),
            Record::Replayed { epoch, day }, Record::Pruned(session.clone()),
        ] {
            let key = record.key();
            prop_assert!(key.to_string().split('/').all(is_path_safe), "{}", key);
            prop_assert_eq!(key.record(), Some(record));
        }
    }

    #[test]
    fn as_is_and_mapped_names_never_meet(a in raw_ids(), b in raw_ids()) {
        // Also where a file system ignores case: an as-is name has no `~`, a mapped one always has.
        let (x, y) = (call(&a), call(&b));
        let (as_is, other) = (x.as_str() == a, y.as_str() == b);
        if as_is != other {
            prop_assert!(!x.as_str().eq_ignore_ascii_case(y.as_str()));
        }
        if a != b {
            prop_assert_ne!(x.as_str(), y.as_str());
        }
    }

    #[test]
    fn parsing_takes_only_what_is_written(given in any::<String>()) {
        if let Ok(id) = given.parse::<RecallId>() {
            prop_assert_eq!(id.to_string(), given);
        }
    }

    #[test]
    fn parsing_path_like_text_takes_only_what_is_written(given in "[ab./~%\\\\-]{0,8}(/[ab.~-]{0,3}(~[0-9a-f]{12}){0,3})?") {
        if let Ok(id) = given.parse::<RecallId>() {
            prop_assert_eq!(id.to_string(), given.clone());
            prop_assert!(!given.contains("..") && given.matches('/').count() == 1);
        }
    }

    #[test]
    fn names_that_differ_only_in_case_keep_their_raw_ids(raw in "[A-Za-z]{1,12}") {
        let (lower, upper) = (raw.to_ascii_lowercase(), raw.to_ascii_uppercase());
        let (a, b) = (session(&lower), session(&upper));
        prop_assert_ne!(a.raw(), b.raw());
        prop_assert_ne!(
            ArtifactId::variant(&a, &call("c"), b"x").name().to_owned(),
            ArtifactId::variant(&b, &call("c"), b"x").name().to_owned()
        );
    }
}
