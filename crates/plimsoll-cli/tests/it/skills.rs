//! `plimsoll skills` from outside.

use crate::Bench;

const ENTRIES: &str = r#"[
    {"name": "init", "description": "Sets up the project.", "source": "bundled"},
    {"name": "deploy", "description": "Deploys the application to the staging cluster and watches it."},
    {"name": "review", "description": "Reviews the change.", "when_to_use": "the user says \"review\"", "uses": 7}
]"#;

#[test]
fn standard_output_is_the_listing_and_one_newline() {
    let bench = Bench::new();
    bench.write("skills.json", ENTRIES);
    let ran = bench.run(["skills", "--from", "skills.json", "--budget-chars", "110", "--strategy", "classic"]);
    insta::assert_snapshot!(ran.code(0).out(), @r"
    - init: Sets up the project.
    - deploy: Deploys the application to th…
    - review: Reviews the change. - the use…
    ");
    assert!(ran.err().contains("110 of 110 characters"), "{}", ran.err());
    assert_eq!(bench.pipe(["skills", "--from", "-"], b"[]").code(0).out(), "");
}

#[test]
fn json_is_the_text_and_a_report() {
    let bench = Bench::new();
    let ran = bench.pipe(["skills", "--from", "-", "--budget-tokens", "40", "--json"], ENTRIES.as_bytes());
    let json = ran.code(0).json();
    assert_eq!(ran.err(), "");
    let keys = |value: &serde_json::Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ");
    insta::assert_snapshot!(keys(&json), @"advice counting report shadowed text");
    insta::assert_snapshot!(keys(&json["report"]), @"budget characters cut entries free full hidden limits lint name_only omitted over_budget tokens unit used");
    assert_eq!((&json["report"]["unit"], &json["report"]["budget"]), (&"tokens".into(), &40.into()));
    assert!(json["report"]["used"].as_u64().unwrap() <= 40);
    assert_eq!(json["text"].as_str().unwrap().lines().count(), 3);
}

#[test]
fn the_budget_comes_from_options_then_the_environment_then_the_window() {
    let bench = Bench::new();
    bench.write("skills.json", ENTRIES);
    let budget = |variable: Option<&str>, arguments: &[&str]| {
        let mut command = bench.command();
        command.args(["skills", "--from", "skills.json", "--json"]).args(arguments);
        command.envs(variable.map(|value| ("SLASH_COMMAND_TOOL_CHAR_BUDGET", value)));
        let json: serde_json::Value = serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
        json["report"]["limits"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["budget"].as_u64().unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(budget(None, &[]), [8_000]);
    assert_eq!(budget(None, &["--window", "1M"]), [40_000]);
    assert_eq!(budget(Some("123"), &["--window", "1M"]), [123]);
    assert_eq!(budget(Some("none"), &["--window", "1M"]), [40_000]);
    assert_eq!(budget(Some("123"), &["--budget-chars", "50", "--budget-tokens", "9"]), [50, 9]);
    assert_eq!(budget(None, &["--model", "gpt-4o"]), [5_120]);
    std::fs::create_dir(bench.path("own")).unwrap();
    bench.write("own/config.toml", "");
    bench.write("own/models.jsonl", "{\"model\":\"my-llm\",\"context_window\":500000}\n");
    assert_eq!(budget(None, &["--model", "my-llm", "--config", "own/config.toml"]), [20_000], "the user's own model");
    assert_eq!(budget(None, &["--model", "my-llm"]), [8_000]);
}

/// Mechanism 75: the warning does not say what to do.
#[test]
fn m75_explain_names_what_was_cut_and_what_would_help() {
    let bench = Bench::new();
    bench.write("skills.json", ENTRIES);
    let ran = bench.run(["skills", "--from", "skills.json", "--budget-chars", "100", "--explain"]);
    let err = ran.code(0).err();
    for part in ["given with --budget-chars", "What was cut", "of 62", "What would help", "saves"] {
        assert!(err.contains(part), "{part}: {err}");
    }
    let ran = bench.run(["skills", "--from", "skills.json", "--budget-chars", "100"]);
    assert!(ran.err().contains("--explain tells more"), "{}", ran.err());
}

#[test]
fn without_arguments_the_user_s_and_the_project_s_skills_are_listed() {
    let bench = Bench::new();
    let skill = |path: &str, text: &str| {
        std::fs::create_dir_all(bench.path(path)).unwrap();
        bench.write(&format!("{path}/SKILL.md"), text);
    };
    skill("home/.claude/skills/deploy", "---\nname: deploy\ndescription: Deploys.\n---\n");
    skill("app/.claude/skills/deploy", "---\nname: deploy\ndescription: Of the project.\n---\n");
    skill("app/.agents/skills/broken", "---\nname: broken\ndescription: Use when: broken\n---\n");
    let ran = |arguments: &[&str]| {
        let mut command = bench.command();
        command.current_dir(bench.path("app")).env("HOME", bench.path("home")).args(arguments);
        crate::Ran(command.output().unwrap())
    };
    let all = ran(&["skills", "--explain"]);
    assert_eq!(all.code(0).out(), "- deploy: Deploys.\n- broken: Use when: broken\n");
    for part in ["Hidden by another of the same name", "project by user", "not valid YAML"] {
        assert!(all.err().contains(part), "{part}: {}", all.err());
    }
    assert_eq!(ran(&["skills", "--agent", "claude"]).out(), "- deploy: Deploys.\n");
}

#[test]
fn wrong_input_is_named() {
    let bench = Bench::new();
    bench.write("object.json", "{\"a\": 1}");
    bench.write("nameless.json", "[{\"description\": \"x\"}]");
    for (arguments, code, part) in [
        (["skills", "missing"], 1, "cannot read missing"),
        (["skills", "object.json"], 2, "object.json is a file"),
        (["skills", "--from=object.json"], 1, "object.json: the object holds no MCP prompts"),
        (["skills", "--from=nameless.json"], 1, "missing field `name`"),
        (["skills", "--strategy=best"], 2, "use `fair`, `classic` or `least-used`"),
    ] {
        let ran = bench.run(arguments);
        assert!(ran.code(code).err().contains(part), "{part}: {}", ran.err());
        assert_eq!(ran.out(), "");
    }
    let prompts = br#"{"prompts": [{"name": "ask", "description": "Asks."}]}"#;
    assert_eq!(bench.pipe(["skills", "--from", "-"], prompts).code(0).out(), "- ask: Asks.\n");
}
