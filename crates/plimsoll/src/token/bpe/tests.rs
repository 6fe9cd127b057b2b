//! Pieces that merge for long: counted in time that grows with their length.

use proptest::prelude::*;

use super::super::vocabulary::O200K;
use super::*;

/// One class of characters without end, in the shapes that have stalled or crashed tokenizers.
fn endless() -> Vec<String> {
    let mut seed = 0x5EED_u64;
    let mut random = |alphabet: &str| -> String {
        let alphabet: Vec<char> = alphabet.chars().collect();
        let mut text = String::new();
        while text.len() < 60_000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            text.extend(alphabet.get((seed >> 33) as usize % alphabet.len()));
        }
        text
    };
    let alphabets = [
        " ",
        " \t",
        "a",
        "A",
        "=",
        "-=",
        "\n",
        "\r\n",
        "'",
        "ab",
        "etaoin",
        "abcdefghijklmnopqrstuvwxyz",
        "\u{301}",
        "\u{300}\u{301}\u{302}",
        "\u{4E00}",
        "\u{4E2D}\u{6587}\u{7684}\u{662F}\u{4E0D}",
        "\u{1F600}",
        "\u{1F600}\u{200D}\u{FE0F}",
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
        "!\"#$%&'()*+,-./:;<=>?@[]^_`{|}~",
    ];
    alphabets.into_iter().map(&mut random).collect()
}

#[test]
fn mechanism_34_tokenizer_goes_quadratic_on_long_runs_of_one_class() {
    for text in endless() {
        let mut encoder = Encoder::default();
        let count = encoder.count(&O200K, text.as_bytes());
        assert_eq!(count, bpe_openai::o200k_base().bpe.count(text.as_bytes()), "{:?}", text.get(..20));
        let work = encoder.merging.encoded;
        assert!(work <= 8 * text.len(), "{work} bytes encoded for {} of {:?}", text.len(), text.get(..20));
        assert!(encoder.merging.parts.capacity() < 4_096, "sections stay short");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn every_way_to_encode_gives_the_same_tokens(text in "[a-e]{600,3000}|[ -~]{600,3000}|(ab|ba|the ){300,900}") {
        let mut merging = Merging::default();
        let drained = merging.encode(&O200K, text.as_bytes());
        let oracle = &bpe_openai::o200k_base().bpe;
        let expected: Vec<usize> =
            oracle.encode_via_backtracking(text.as_bytes()).into_iter().map(|token| oracle.token_len(token)).collect();
        prop_assert_eq!(drained, expected.len());
        prop_assert_eq!(merging.lengths().map(usize::from).collect::<Vec<_>>(), expected);
        prop_assert_eq!(Encoder::default().count(&O200K, text.as_bytes()), drained);
        for piece in text.as_bytes().chunks(1 + text.len() % SHORT) {
            prop_assert_eq!(count_short(&O200K, piece), merging.encode(&O200K, piece));
        }
    }
}
