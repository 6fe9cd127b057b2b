//! Exact counts against an independent implementation, over everything that has broken a tokenizer.

use proptest::prelude::*;

use super::*;

fn oracle(encoding: Encoding) -> &'static bpe_openai::Tokenizer {
    match encoding {
        Encoding::O200kBase | Encoding::O200kHarmony => bpe_openai::o200k_base(),
        _ => bpe_openai::cl100k_base(),
    }
}

/// Those that the oracle knows; `open_tests` is about the others.
const OPENAI: [Encoding; 3] = [Encoding::O200kBase, Encoding::O200kHarmony, Encoding::Cl100kBase];

fn assert_exact(text: &str) {
    for encoding in OPENAI {
        let expected = oracle(encoding).count(text);
        let counted = Counter::exact(encoding).count(text);
        assert_eq!(counted, Tokens::from(expected), "{encoding} of {text:?}");
    }
}

/// Characters and fragments at which the patterns fork.
#[rustfmt::skip]
pub(super) const FORKS: &[&str] = &[
    " ", "  ", "   ", "\t", "\n", "\r", "\r\n", "\n\n", "\u{B}", "\u{C}", "\u{1C}", "\u{85}",
    "\u{A0}", "\u{3000}", "\u{2028}", "\u{200B}", "\u{FEFF}", "'", "'s", "'S", "'t", "'T", "'re",
    "'RE", "'Re", "'rE", "'ve", "'VE", "'m", "'M", "'ll", "'LL", "'lL", "'d", "'D", "'\u{17F}",
    "'\u{212A}", "''s", "'x", "\u{2019}s", "/", "//", "!/", ";\n/", "/\n", "://", "\\", "-", "--",
    "=", "====", "_", ".", "...", "a", "b", "z", "A", "B", "Z", "aa", "AA", "aB", "Ab", "the",
    "The", "THE", "HTMLParser", "fooBar", "\u{E9}", "\u{C9}", "e\u{301}", "\u{301}",
    "\u{301}\u{302}", "\u{20DD}", "\u{1C5}", "\u{1F2}", "\u{2B0}", "\u{2B0}\u{2B0}", "\u{AA}",
    "\u{DF}", "\u{4E2D}", "\u{6587}\u{5B57}", "\u{3042}", "\u{30AB}\u{30BF}", "\u{AC00}",
    "\u{627}\u{644}", "\u{64B}", "\u{915}\u{94D}\u{937}", "\u{E01}\u{E33}", "\u{5D0}",
    "\u{434}\u{430}", "\u{414}\u{410}", "0", "1", "12", "123", "1234", "\u{661}\u{662}",
    "\u{966}", "\u{BD}", "\u{2167}", "\u{2460}", "\u{1F600}", "\u{1F468}\u{200D}\u{1F469}",
    "\u{1F1E9}\u{1F1EA}", "\u{FE0F}", "\u{10FFFF}", "\u{E000}", "\0", "\u{7F}", "<|endoftext|>",
    "<|im_start|>", "\u{10400}\u{10428}", "\u{1D400}", "{\"", "\":", "],", "    ",
];

fn fragment() -> impl Strategy<Value = String> {
    let picked = prop::sample::select(FORKS);
    prop_oneof![
        8 => picked.prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
        1 => ("[ -~]{1,12}").prop_map(String::from),
    ]
}

pub(super) fn nasty_text() -> impl Strategy<Value = String> {
    prop::collection::vec((fragment(), 1..4_usize), 0..40)
        .prop_map(|parts| parts.iter().map(|(part, times)| part.repeat(*times)).collect())
}

/// Long pieces: runs, and letters that no text puts together, so that sections must be joined.
pub(super) fn long_piece() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{100,1500}",
        "[a-f]{100,700}",
        "[A-Za-z]{100,1500}",
        "[=-]{100,1500}",
        "[ \t]{100,1500}",
        "[\n\r ]{100,1500}",
        "(ab|abc|bca){50,400}",
        "(the|and|ing|er| ){1,5}(the|and|ing|er|tion){50,300}",
        "[\u{4E00}-\u{4FFF}]{50,500}",
        "[\u{300}-\u{340}]{50,500}",
        "[!-/]{100,900}",
        (fragment(), 60..600_usize).prop_map(|(part, times)| part.repeat(times)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 600 } else { 20_000 }))]

    #[test]
    fn counts_equal_the_oracle_where_patterns_fork(text in nasty_text()) {
        assert_exact(&text);
    }

    #[test]
    fn counts_equal_the_oracle_on_any_characters(text in "\\PC{0,60}|(?s:.{0,60})") {
        assert_exact(&text);
    }

    #[test]
    fn a_limit_is_kept_exactly(text in nasty_text(), limit in 0..80_u64) {
        for &encoding in Encoding::ALL {
            let counter = Counter::exact(encoding);
            let whole = counter.count(&text);
            let expected = (whole.0 <= limit).then_some(whole);
            prop_assert_eq!(counter.count_till_limit(&text, Tokens(limit)), expected);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 60 } else { 3_000 }))]

    #[test]
    fn counts_equal_the_oracle_on_long_pieces(text in long_piece()) {
        assert_exact(&text);
    }
}

#[test]
fn special_tokens_in_text_are_text() {
    for &encoding in Encoding::ALL {
        assert!(Counter::exact(encoding).count("<|endoftext|>").0 > 1);
    }
    assert_exact("<|endoftext|><|start|>assistant<|channel|>final");
}

#[test]
fn long_runs_of_one_class_crash_no_count() {
    // A reference implementation runs out of stack on the first of these.
    for unit in
        [" ", "\t ", "a", "A", "=", "\n", "\r\n", "'", "7", "\u{301}", "\u{4E2D}", "\u{1F600}", "\u{301}AB", "/"]
    {
        assert_exact(&unit.repeat(150_000 / unit.len()));
    }
}

#[test]
fn methods_and_encodings_keep_their_names() {
    let methods = [Method::Exact, Method::Reported, Method::Calibrated, Method::Estimated];
    let names = serde_json::to_string(&(methods, OPENAI, Family::ALL)).unwrap();
    insta::assert_snapshot!(names, @r#"[["exact","reported","calibrated","estimated"],["o200k_base","o200k_harmony","cl100k_base"],["claude","claude-4.7","gemini","generic"]]"#);
    for &encoding in Encoding::ALL {
        assert_eq!(encoding.name().parse(), Ok(encoding));
    }
    let error = "gpt2".parse::<Encoding>().unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("no encoding is named `gpt2`; there are o200k_base, o200k_harmony, cl100k_base")
    );
}

#[test]
fn mechanism_34_estimates_of_long_runs_of_one_class_end_and_stop_early() {
    for unit in [" ", "a", "A", "=", "\n", "7", "\u{301}", "\u{4E2D}", "\u{1F600}", "etaoin", "QUJDREVG"] {
        let text = unit.repeat(300_000 / unit.len());
        for family in Family::ALL {
            let counter = Counter::estimated(*family);
            let whole = counter.count(&text);
            assert!(whole > Tokens::ZERO && whole.0 <= 2 * text.len() as u64, "{family}: {whole} of {unit:?}");
            assert_eq!(counter.count_till_limit(&text, whole), Some(whole));
            assert_eq!(counter.count_till_limit(&text, Tokens(whole.0 - 1)), None);
        }
    }
}
