//! Names as programs write them, and names as nobody should.

use proptest::prelude::*;

use super::*;

fn key(name: &str) -> String {
    normalise(name).key()
}

#[test]
fn every_way_to_write_a_name_has_one_key() {
    for (written, expected) in [
        ("claude-sonnet-4.5", "claude-sonnet-4-5"),
        ("  Claude-Sonnet-4-5 ", "claude-sonnet-4-5"),
        ("anthropic/claude-sonnet-4.5", "claude-sonnet-4-5"),
        ("openrouter/anthropic/claude-sonnet-4.5:free", "claude-sonnet-4-5"),
        ("~anthropic/claude-sonnet-4.5", "claude-sonnet-4-5"),
        ("bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5-20250929"),
        ("global.anthropic.claude-opus-4-6-v1", "claude-opus-4-6"),
        ("us-gov.anthropic.claude-sonnet-5-5", "claude-sonnet-5-5"),
        ("bedrock/us-gov-west-1/anthropic.claude-haiku-4-5-20251001-v1:0", "claude-haiku-4-5-20251001"),
        ("arn:aws:bedrock:us-east-1:1234:inference-profile/us.anthropic.claude-sonnet-4-6", "claude-sonnet-4-6"),
        ("vertex_ai/claude-sonnet-4-5@20250929", "claude-sonnet-4-5-20250929"),
        ("vertex_ai/claude-sonnet-4-6@default", "claude-sonnet-4-6"),
        ("projects/p/locations/eu/publishers/anthropic/models/claude-opus-4-6", "claude-opus-4-6"),
        ("models/gemini-2.5-pro", "gemini-2-5-pro"),
        ("gemini-1.5-pro-002", "gemini-1-5-pro-002"),
        ("gpt-4o-2024-08-06", "gpt-4o-20240806"),
        ("azure/eu/gpt-4o-2024-08-06", "gpt-4o-20240806"),
        ("azure/global-standard/gpt-4o", "gpt-4o"),
        ("ft:gpt-4o-2024-08-06:acme:suffix:id", "gpt-4o-20240806"),
        ("openai/ft:gpt-4o:acme::id", "gpt-4o"),
        ("accounts/fireworks/models/glm-5p1", "glm-5-1"),
        ("fireworks_ai/accounts/fireworks/models/llama-v3p2-1b-instruct", "llama-3-2-1b-instruct"),
        ("meta.llama3-1-70b-instruct-v1:0", "llama-3-1-70b-instruct"),
        ("meta-llama/Meta-Llama-3.1-70B-Instruct", "llama-3-1-70b-instruct"),
        ("bedrock/ap-south-1/deepseek.v3.2", "deepseek-v3-2"),
        ("openai.gpt-oss-120b-1:0", "gpt-oss-120b"),
        ("nvidia.nemotron-nano-9b-v2", "nemotron-nano-9b-v2"),
        ("ollama/gpt-oss:20b", "gpt-oss-20b"),
        ("@cf/meta/llama-3.1-8b-instruct", "llama-3-1-8b-instruct"),
        ("claude-v2:1", "claude-v2:1"),
        ("mistral-large-latest", "mistral-large-latest"),
    ] {
        assert_eq!(key(written), expected, "{written}");
    }
}

#[test]
fn mechanism_38_a_date_is_never_a_version() {
    for (written, base, snapshot) in [
        ("claude-sonnet-4-20250514", "claude-sonnet-4", "20250514"),
        ("claude-opus-4@20250514", "claude-opus-4", "20250514"),
        ("claude-opus-4-1-20250805", "claude-opus-4-1", "20250805"),
        ("o3-2025-04-16", "o3", "20250416"),
        ("gpt-4-0613", "gpt-4", "0613"),
        ("mistral-large-2512", "mistral-large", "2512"),
        ("kimi-k2-0905", "kimi-k2", "0905"),
        ("doubao-seed-2-1-pro-260915", "doubao-seed-2-1-pro", "260915"),
        ("gemini-2.5-flash-preview-05-20", "gemini-2-5-flash-preview", "05-20"),
        ("command-r-08-2024", "command-r", "08-2024"),
    ] {
        let name = normalise(written);
        assert_eq!((name.base.as_str(), name.snapshot.as_deref()), (base, Some(snapshot)), "{written}");
    }
}

#[test]
fn a_version_is_never_a_date() {
    for written in [
        "gpt-4-1",
        "claude-opus-4-6",
        "grok-4-20",
        "gpt-4-32k",
        "qwen2-5-72b-instruct",
        "kimi-k2",
        "yi-4096",
        "x-32768",
    ] {
        assert_eq!((key(written).as_str(), normalise(written).snapshot), (written, None), "{written}");
    }
}

#[test]
fn a_context_suffix_is_set_aside_and_kept() {
    for (written, base, context) in [
        ("claude-opus-4-6[1m]", "claude-opus-4-6", Some(1_000_000)),
        ("anthropic/claude-sonnet-4.5[200K]", "claude-sonnet-4-5", Some(200_000)),
        ("amazon.nova-lite-v1:0:24k", "nova-lite", Some(24_000)),
        ("x[0m]", "x[0m]", None),
        ("x[m]", "x[m]", None),
        ("x[99999999999999999999m]", "x[99999999999999999999m]", None),
        ("[1m]", "[1m]", None),
        ("sonnet[1mm]", "sonnet[1mm]", None),
    ] {
        let name = normalise(written);
        assert_eq!((name.base.as_str(), name.context), (base, context.map(Tokens)), "{written}");
    }
}

#[test]
fn what_is_no_known_prefix_stays() {
    for written in [
        "someone/claude-sonnet-4-5",
        "a/b/c",
        "/gpt-4o",
        "gpt-4o/",
        "ft:",
        ":free",
        "@default",
        "-latest",
        "20250514",
    ] {
        assert_eq!(key(written), written, "{written}");
    }
    let long = "openai/".repeat(40);
    assert_eq!(key(&long), long);
}

#[test]
fn steps_tell_what_was_done() {
    let steps: Vec<String> = normalise("Bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0[1m]")
        .steps
        .iter()
        .map(|step| format!("{}: {}", step.rule, step.name))
        .collect();
    insta::assert_snapshot!(steps.join("\n"), @"
    lower case: bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0[1m]
    context suffix: bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0
    without provider prefix: us.anthropic.claude-sonnet-4-5-20250929-v1:0
    without Bedrock prefix: claude-sonnet-4-5-20250929-v1:0
    without Bedrock revision: claude-sonnet-4-5-20250929
    without date or snapshot: claude-sonnet-4-5
    ");
}

#[test]
fn prefixes_are_sorted_and_canonical() {
    let prefixes: Vec<&str> = PREFIXES.lines().collect();
    assert!(prefixes.is_sorted());
    for prefix in prefixes {
        assert!(!prefix.contains(['_', '/', ' ']) && prefix == prefix.to_lowercase(), "{prefix}");
    }
}

/// Names built of the pieces that the rules look for, in any order.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "claude",
        "gpt",
        "-4",
        ".5",
        "-20250514",
        "-2024-08-06",
        "-0613",
        "-2512",
        "-05-20",
        "-08-2024",
        "-002",
        "-latest",
        "[1m]",
        "[200k]",
        ":free",
        ":20b",
        "@20250514",
        "@default",
        "@eu",
        "openai/",
        "us.",
        "anthropic.",
        "meta.",
        "deepseek.",
        "-v1:0",
        "-v1",
        ":0",
        ":48k",
        "ft:",
        ":acme",
        "::id",
        "models/",
        "accounts/",
        "fireworks/",
        "projects/",
        "us-east-1/",
        "arn:aws:",
        "llama",
        "meta-",
        "-v3p1",
        "3",
        " ",
        "A",
        "-",
        "/",
        ".",
        "_",
        "é",
    ]);
    prop::collection::vec(piece, 0..9).prop_map(|pieces| pieces.concat())
}

#[test]
fn a_prefix_behind_a_prefix_is_judged_with_the_snapshot_still_there() {
    for name in ["openai/openai/3-20250514", "anthropic.openai/3-20250514"] {
        let once = normalise(name);
        let again = normalise(&once.key());
        assert_eq!((again.base, again.snapshot), (once.base, once.snapshot), "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn normalising_a_key_changes_nothing(name in prop_oneof![pieces(), any::<String>(), "[ -~]{0,40}"]) {
        let once = normalise(&name);
        let again = normalise(&once.key());
        prop_assert_eq!((&again.base, &again.snapshot), (&once.base, &once.snapshot), "{}", name);
    }

    #[test]
    fn the_base_is_a_part_of_what_was_written_but_for_separators(name in pieces()) {
        let plain = |text: &str| text.to_lowercase().chars().filter(char::is_ascii_alphanumeric).collect::<String>();
        let base = plain(&normalise(&name).base);
        // Fireworks' `p` and Llama's `v` are separators of theirs.
        let written = plain(&name);
        let loose = |text: &str| text.replace(['p', 'v'], "");
        prop_assert!(written.contains(&base) || loose(&written).contains(&loose(&base)), "{name}: {base}");
    }
}
