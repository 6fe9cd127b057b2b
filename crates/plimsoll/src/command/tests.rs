use proptest::prelude::*;

use super::*;
use crate::Tokens;

/// Text as people and programs hand it in: slashes, line breaks of every kind, names, white space.
fn rough() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("/".to_owned()),
        Just(" ".to_owned()),
        Just("\n".to_owned()),
        Just("\r\n".to_owned()),
        Just("\u{2028}".to_owned()),
        Just("\u{85}".to_owned()),
        Just("\u{a0}".to_owned()),
        Just("\0".to_owned()),
        Just("compact".to_owned()),
        Just("clear".to_owned()),
        Just("context".to_owned()),
        "[a-z:-]{1,8}",
        "\\PC{0,4}",
        any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

#[track_caller]
fn holds(command: &Command) {
    let wire = command.wire();
    let rest = wire.strip_prefix('/').expect("one slash");
    assert!(!rest.starts_with('/'), "{wire:?} has two slashes");
    assert!(!rest.is_empty() && !rest.starts_with(char::is_whitespace), "{wire:?} has no name");
    assert!(
        !wire.chars().any(|c| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')),
        "{wire:?} is not one line"
    );
    assert_eq!(wire.trim_end(), wire);
    // What goes over the wire means the same command, and so does its JSON.
    assert_eq!(Command::parse(&wire).as_ref(), Some(command));
    let json = serde_json::to_string(command).unwrap();
    assert_eq!(&serde_json::from_str::<Command>(&json).unwrap(), command);
    match command {
        Command::Other(name) => assert!(name.name() != "compact" && name.name() != "clear"),
        Command::Compact { instructions } => assert_ne!(instructions.as_ref().map(Instructions::as_str), Some("")),
        Command::Clear | Command::Context => {}
    }
}

proptest! {
    #[test]
    fn no_command_that_can_be_made_breaks_its_line(name in rough(), arguments in rough()) {
        if let Ok(command) = Command::new(&name, &arguments) {
            holds(&command);
        }
        holds(&Command::compact(&arguments));
    }

    #[test]
    fn no_command_that_can_be_read_back_breaks_its_line(text in rough(), other in any::<bool>()) {
        let json = if other {
            serde_json::json!({ "other": text })
        } else {
            serde_json::json!({ "compact": { "instructions": text } })
        };
        if let Ok(command) = serde_json::from_value::<Command>(json) {
            holds(&command);
        }
    }

    #[test]
    fn a_message_is_a_command_only_if_it_begins_as_one(text in rough()) {
        if let Some(command) = Command::parse(&text) {
            holds(&command);
            prop_assert!(text.trim_start().starts_with('/'));
            prop_assert_eq!(reads_as_command(&text), Some(command.name()));
        }
        prop_assert_eq!(Command::parse(&format!("I typed {text}")), None);
        prop_assert_eq!(Command::parse(&format!("```\n{text}\n```")), None);
    }

    #[test]
    fn a_catalogue_keeps_its_rules(all in prop::collection::vec(rough(), 0..6), skills in prop::collection::vec(rough(), 0..4)) {
        let commands = Commands::new(&all, &skills);
        prop_assert!(commands.all.is_sorted() && commands.skills.iter().all(|skill| commands.has(skill)));
        prop_assert_eq!(commands.utilities().len() + commands.skills.len(), commands.all.len());
        let back: Commands = serde_json::from_str(&serde_json::to_string(&commands).unwrap()).unwrap();
        prop_assert_eq!(&back, &commands);
        for name in &all {
            prop_assert!(commands.near(name).len() <= 3);
        }
    }
}

#[test]
fn there_is_one_slash_whatever_the_caller_wrote() {
    for name in ["review", "/review", "///review"] {
        assert_eq!(Command::new(name, "").unwrap().wire(), "/review");
    }
}

#[test]
fn a_name_that_is_none_is_refused_when_the_value_is_made() {
    for name in ["", "/", "///", "re view", "review\n", "a/b", "a\tb", "\u{0}", "a\u{2028}b"] {
        assert!(Command::new(name, "").is_err(), "{name:?}");
        assert!(
            serde_json::from_value::<Command>(serde_json::json!({ "other": name })).is_err() || name == "re view"
        );
    }
    insta::assert_snapshot!(Command::new("re view", "").unwrap_err(), @"`re view` is not the name of a command: it has ' ' in it; give arguments apart from the name");
    insta::assert_snapshot!(Command::new("/", "").unwrap_err(), @"a command needs a name, as in `/compact`");
    insta::assert_snapshot!(Command::new("clear", "all").unwrap_err(), @"`/clear` takes no arguments; give it alone, or write words as a prompt");
}

#[test]
fn two_spellings_are_one_command() {
    assert_eq!(Command::new("context", "").unwrap(), Command::Context);
    assert_eq!(Command::new("/clear", " \n").unwrap(), Command::Clear);
    assert_eq!(serde_json::from_str::<Command>(r#"{"other":"context"}"#).unwrap(), Command::Context);
    assert_eq!(
        serde_json::from_str::<Command>(r#"{"other":"compact keep it"}"#).unwrap(),
        Command::compact("keep it")
    );
    assert!(serde_json::from_str::<Command>(r#"{"other":"clear all"}"#).is_err());
}

#[test]
fn instructions_fold_to_one_line_and_empty_ones_are_none() {
    assert_eq!(Command::compact(" keep\r\n\n  the API\u{2028}").wire(), "/compact keep the API");
    assert_eq!(Command::compact("\n \t"), Command::Compact { instructions: None });
    let empty = serde_json::from_str::<Command>(r#"{"compact":{"instructions":" \n "}}"#).unwrap();
    assert_eq!(empty, Command::Compact { instructions: None });
}

#[test]
fn json_forms_are_as_documented() {
    let forms = [
        (Command::Compact { instructions: None }, r#"{"compact":{"instructions":null}}"#),
        (Command::compact("keep the API"), r#"{"compact":{"instructions":"keep the API"}}"#),
        (Command::Clear, r#""clear""#),
        (Command::Context, r#""context""#),
        (Command::new("review", "src/lib.rs").unwrap(), r#"{"other":"review src/lib.rs"}"#),
    ];
    for (command, json) in forms {
        assert_eq!(serde_json::to_string(&command).unwrap(), json);
    }
    assert_eq!(serde_json::to_string(&Compaction::Started).unwrap(), r#""started""#);
    let finished = Compaction::done(Some(Tokens(19_834)), Some(Tokens(575)));
    let json = r#"{"finished":{"ok":true,"error":null,"before":19834,"after":575}}"#;
    assert_eq!(serde_json::to_string(&finished).unwrap(), json);
    assert_eq!(
        serde_json::from_str::<Compaction>(r#"{"finished":{"ok":true}}"#).unwrap(),
        Compaction::done(None, None)
    );
    assert_eq!(serde_json::from_str::<Command>(r#"{"compact":{}}"#).unwrap(), Command::compact(""));
}

#[test]
fn only_a_whole_message_is_a_command() {
    for prose in [
        "please /compact",
        "Type `/compact` to go on.",
        "```\n/compact\n```",
        "/usr/bin/env is missing",
        "//compact",
        "/ compact",
        "/",
        "",
        "/clear is what I fear",
    ] {
        assert_eq!(Command::parse(prose), None, "{prose:?}");
    }
    assert_eq!(Command::parse("/compact keep\nthe API"), Some(Command::compact("keep the API")));
}

#[test]
fn near_misses_are_what_was_probably_meant() {
    let commands = Commands::new(
        ["clear", "compact", "config", "context", "cost", "init", "mcp__files__read", "review", "Usage"],
        ["code-review"],
    );
    assert_eq!(commands.near("/compcat"), ["compact"]);
    assert_eq!(commands.near("CLAER"), ["clear"]);
    assert_eq!(commands.near("usage"), ["Usage"]);
    assert_eq!(commands.near("conte"), ["context"]);
    assert!(commands.near("").is_empty());
    assert!(commands.near("something-else").is_empty());
    assert!(commands.has("code-review") && commands.utilities().iter().all(|name| *name != "code-review"));
}
