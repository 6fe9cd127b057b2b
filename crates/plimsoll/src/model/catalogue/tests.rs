//! The embedded catalogue, resolution over it, and the text that it is.

use proptest::prelude::*;

use super::*;

fn limits(name: &str) -> [Option<u64>; 3] {
    match Catalogue::embedded().lookup(name) {
        Lookup::Known(limits) => [limits.context_window, limits.max_input, limits.max_output]
            .map(|limit| limit.map(|limit| limit.tokens.0)),
        Lookup::Unknown => panic!("{name} is unknown"),
    }
}

fn resolved(name: &str) -> Option<String> {
    match Catalogue::embedded().resolve(name).outcome {
        Outcome::Found(entry) => Some(entry.name),
        Outcome::Ambiguous { .. } | Outcome::Unknown => None,
    }
}

#[test]
fn the_embedded_text_is_whole_and_in_order() {
    Catalogue::from_text(EMBEDDED).unwrap();
    assert!(EMBEDDED.is_ascii());
    assert!(EMBEDDED.lines().count() > 2_000);
}

#[test]
fn every_row_is_found_by_its_key_and_every_key_is_canonical() {
    let catalogue = Catalogue::embedded();
    for line in EMBEDDED.lines().filter(|line| !line.starts_with('#')) {
        let key = line.split('\t').next().unwrap();
        let resolution = catalogue.resolve(key);
        assert_eq!(resolution.steps.last().map(|step| step.rule), Some(Rule::Exact), "{key}");
        assert_ne!(resolution.outcome, Outcome::Unknown, "{key}");
        let model = key.split_once('/').map_or(key, |(_, model)| model);
        assert_eq!(normalise(model).key(), model, "{key}");
    }
}

#[test]
fn well_known_models_have_their_limits() {
    for (name, expected) in [
        ("claude-sonnet-4-5", [Some(200_000), Some(200_000), Some(64_000)]),
        ("claude-opus-4-6", [Some(1_000_000), Some(1_000_000), Some(128_000)]),
        ("claude-haiku-4-5", [Some(200_000), Some(200_000), Some(64_000)]),
        ("gpt-4o", [Some(128_000), Some(128_000), Some(16_384)]),
        ("gpt-4o-2024-05-13", [Some(128_000), Some(128_000), Some(4_096)]),
        ("gpt-4.1", [Some(1_047_576), Some(1_047_576), Some(32_768)]),
        ("o3", [Some(200_000), Some(200_000), Some(100_000)]),
        ("gpt-5", [Some(400_000), Some(272_000), Some(128_000)]),
        ("gpt-5-2025-08-07", [Some(400_000), Some(272_000), Some(128_000)]),
        ("gpt-5.4", [Some(1_050_000), Some(922_000), Some(128_000)]),
        ("gemini-2.5-pro", [Some(1_048_576), Some(1_048_576), Some(65_536)]),
        ("grok-4", [Some(256_000), None, None]),
        ("gpt-oss-120b", [Some(131_072), None, Some(131_072)]),
        ("glm-4.6", [Some(204_800), Some(200_000), Some(128_000)]),
        ("kimi-k2.5", [Some(262_144), Some(262_144), Some(262_144)]),
    ] {
        assert_eq!(limits(name), expected, "{name}");
    }
}

#[test]
fn every_form_of_a_name_finds_the_model() {
    for (name, key) in [
        ("anthropic/claude-sonnet-4.5", "claude-sonnet-4-5"),
        ("bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"),
        ("vertex_ai/claude-sonnet-4-5@20250929", "claude-sonnet-4-5"),
        ("CLAUDE-SONNET-4-5-20250929", "claude-sonnet-4-5"),
        ("claude-sonnet-4-20250514", "claude-sonnet-4"),
        ("claude-sonnet-4-0", "claude-sonnet-4"),
        ("anthropic/claude-opus-4.0", "claude-opus-4"),
        ("models/gemini-2.5-pro", "gemini-2-5-pro"),
        ("ft:gpt-4o-2024-08-06:acme::abc", "gpt-4o"),
        ("openrouter/openai/gpt-5:free", "gpt-5"),
        ("gpt-4o-2031-01-01", "gpt-4o"),
        ("mistral-large-latest", "mistral-large-latest"),
        ("accounts/fireworks/models/kimi-k2p5", "kimi-k2-5"),
        ("meta-llama/Llama-3.3-70B-Instruct", "llama-3-3-70b-instruct"),
    ] {
        assert_eq!(resolved(name).as_deref(), Some(key), "{name}");
    }
    for name in ["", " ", "gpt", "claude-sonnet-99", "someone/gpt-4o", "gpt-4o\tx", "# origin L", "sonnet", "4o"] {
        // `gpt` is a row of hosts' own routers at most, never one of the models that begin so.
        assert!(resolved(name).is_none_or(|key| key == name), "{name}: {:?}", resolved(name));
    }
}

#[test]
fn a_hosts_own_limits_go_before_the_models() {
    let row = |key: &str| EMBEDDED.lines().any(|line| line.starts_with(&format!("{key}\t")));
    assert!(row("github-copilot/claude-sonnet-4-6"), "the host's row that this test stands on is gone");
    let resolution = Catalogue::embedded().resolve("github_copilot/claude-sonnet-4.6");
    assert_eq!(resolution.steps.last().map(|step| step.rule), Some(Rule::ProviderRow));
    assert_eq!(resolved("anthropic/claude-sonnet-4.6").as_deref(), Some("claude-sonnet-4-6"));
}

#[test]
fn mechanism_36_a_context_suffix_changes_the_window() {
    assert_eq!(limits("claude-sonnet-4-5[1m]"), [Some(1_000_000), None, Some(64_000)]);
    assert_eq!(limits("claude-opus-4-6[200k]"), [Some(200_000), Some(1_000_000), Some(128_000)]);
    assert_eq!(resolved("no-such-model[1m]"), None);
}

#[test]
fn mechanism_37_a_fallback_is_told_from_knowledge() {
    let catalogue = Catalogue::embedded().with_default_limit(Tokens(32_000));
    let unknown = catalogue.limit_or_default("no-such-model");
    assert_eq!((unknown.tokens, &unknown.source, unknown.is_known()), (Tokens(32_000), &Source::Fallback, false));
    assert!(catalogue.limit_or_default("gpt-5").is_known());
}

#[test]
fn disagreement_is_recorded_and_the_smaller_input_limit_is_in_force() {
    let Outcome::Found(entry) = Catalogue::embedded().resolve("gpt-5.4").outcome else { panic!("known") };
    assert_eq!(entry.limits.max_input.map(|limit| limit.tokens), Some(Tokens(922_000)));
    let others: Vec<_> = entry.others.iter().map(|claim| (claim.field, claim.tokens)).collect();
    assert_eq!(others, [("max_input", Tokens(1_050_000))]);
}

#[test]
fn an_output_limit_of_the_whole_window_is_suspect() {
    let Lookup::Known(limits) = Catalogue::embedded().lookup("kimi-k2.5") else { panic!("known") };
    assert!(limits.max_output.is_some_and(|limit| limit.suspect));
    let Lookup::Known(limits) = Catalogue::embedded().lookup("gpt-5") else { panic!("known") };
    assert!(limits.max_output.is_some_and(|limit| !limit.suspect));
    for entry in Catalogue::embedded().models() {
        let [window, output] = [&entry.limits.context_window, &entry.limits.max_output]
            .map(|limit| limit.as_ref().map(|limit| limit.tokens));
        if let (Some(window), Some(output)) = (window, output) {
            let suspect = entry.limits.max_output.is_some_and(|limit| limit.suspect);
            assert_eq!(suspect, output >= window, "{}", entry.name);
        }
    }
}

#[test]
fn an_ambiguous_name_is_unknown() {
    let text = "# plimsoll catalogue 1\n# origin L x, 2026-01-01\na-1\t10L\t\t\tambiguous\nb-1\t20L\n";
    let catalogue = Catalogue::from_text(text).unwrap();
    assert_eq!(catalogue.lookup("a-1"), Lookup::Unknown);
    assert!(matches!(catalogue.resolve("a-1").outcome, Outcome::Ambiguous { .. }));
    assert!(matches!(catalogue.lookup("B-1"), Lookup::Known(_)));
    assert_eq!(catalogue.search("-1").len(), 1);
}

#[test]
fn queries_match_one_several_or_none() {
    let catalogue = Catalogue::embedded();
    assert!(matches!(catalogue.matches("gpt-5"), Matches::One(_)));
    let Matches::Several(several) = catalogue.matches("sonnet-4") else { panic!("several") };
    assert!(several.iter().any(|entry| entry.name == "claude-sonnet-4-5"));
    assert!(several.is_sorted_by(|a, b| a.name < b.name) && several.iter().all(|entry| !entry.name.contains('/')));
    assert!(matches!(catalogue.matches("no-such-model"), Matches::None(_)));
    assert!(matches!(catalogue.matches(""), Matches::None(_)));
    assert!(!catalogue.search("github-copilot/").is_empty());
}

#[test]
fn wrong_texts_are_refused_with_their_line() {
    assert_eq!(Catalogue::from_text("a\t1L").unwrap_err(), CatalogueError::NotACatalogue);
    let head = "# plimsoll catalogue 1\n# origin L x, 2026-01-01\n";
    for wrong in
        ["b\t1L\na\t1L\n", "b\t1L\nb\t1L\n", "a\t1L\nb\t1Q\n", "a\t1L\nb\tL\n", "a\t1L\nb\t\t\t\todd\n", "a\t1L\n\n"]
    {
        let error = Catalogue::from_text(format!("{head}{wrong}")).unwrap_err();
        assert!(matches!(error, CatalogueError::Line { line: 4, .. }), "{wrong:?}: {error}");
    }
    Catalogue::from_text(head).unwrap();
}

/// The letters with which a name of a model begins: `claude`, `gpt`, `o`.
fn family(key: &str) -> String {
    key.chars().take_while(char::is_ascii_alphabetic).collect()
}

fn decorated() -> impl Strategy<Value = (String, String)> {
    let keys: Vec<String> = Catalogue::embedded().models().map(|entry| entry.name).collect();
    let before = prop::sample::select(vec![
        "",
        "openai/",
        "anthropic/",
        "bedrock/us.anthropic.",
        "models/",
        "azure/eu/",
        "x/",
    ]);
    let after = prop::sample::select(vec![
        "",
        "-latest",
        "-20250101",
        "@20250101",
        "-v1:0",
        ":free",
        "[1m]",
        "-foo",
        "-1",
        "0",
    ]);
    (prop::sample::select(keys), before, after, any::<bool>()).prop_map(|(key, before, after, upper)| {
        let written = format!("{before}{key}{after}");
        (key, if upper { written.to_uppercase() } else { written })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_text_resolves_or_does_not(name in prop_oneof![any::<String>(), "[ -~]{0,60}"]) {
        let catalogue = Catalogue::embedded();
        let resolution = catalogue.resolve(&name);
        prop_assert_eq!(matches!(resolution.outcome, Outcome::Found(_)), matches!(catalogue.lookup(&name), Lookup::Known(_)));
        catalogue.search(&name);
        prop_assert!(catalogue.limit_or_default(&name).tokens > Tokens::ZERO);
    }

    #[test]
    fn a_name_resolves_within_its_family((key, written) in decorated()) {
        if let Some(found) = resolved(&written) {
            let found = found.rsplit_once('/').map_or(found.clone(), |(_, model)| model.to_owned());
            prop_assert_eq!(family(&found), family(&key), "{} → {}", written, found);
            // Nothing but separators, snapshot and decoration tells the model found from the model written.
            let base = normalise(&written).base;
            prop_assert!(found == base || normalise(&found).base == base, "{} → {}", written, found);
        }
    }

    #[test]
    fn a_line_is_found_wherever_it_stands(keys in prop::collection::btree_set("[a-c.-]{1,4}", 1..30), other in "[a-d.-]{1,4}") {
        let lines = keys.iter().map(|key| format!("{key}\t1L\n")).collect::<Vec<_>>().concat();
        let text = format!("# comment\n# another\n{lines}");
        for key in &keys {
            let expected = format!("{key}\t1L");
            prop_assert_eq!(find_line(text.as_bytes(), key.as_bytes()), Some(expected.as_str()));
        }
        prop_assert_eq!(find_line(text.as_bytes(), other.as_bytes()).is_some(), keys.contains(&other));
    }
}
