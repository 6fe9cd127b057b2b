//! Thresholds: the order that always holds, and the faults that were seen elsewhere.

use proptest::prelude::*;

use super::*;

fn window(tokens: u64) -> Capacity {
    Capacity { context_window: Some(Tokens(tokens)), ..Capacity::default() }
}

fn default_for(tokens: u64) -> Thresholds {
    threshold(&window(tokens), &Policy::default(), None)
}

fn in_order(thresholds: &Thresholds) -> bool {
    let Thresholds { budget, warn, prepare, compact, hard, target, .. } = *thresholds;
    let chain = target <= prepare && prepare <= compact && compact <= hard && hard <= budget && warn <= compact;
    chain && (target < compact || budget < Tokens(2))
}

#[test]
fn usual_windows_have_usual_thresholds() {
    insta::assert_debug_snapshot!(default_for(200_000), @"
    Thresholds {
        reserve: Tokens(
            20000,
        ),
        budget: Tokens(
            180000,
        ),
        warn: Tokens(
            126000,
        ),
        prepare: Tokens(
            135000,
        ),
        compact: Tokens(
            153000,
        ),
        hard: Tokens(
            171000,
        ),
        target: Tokens(
            72000,
        ),
    }
    ");
}

#[test]
fn small_windows_keep_three_quarters_for_input() {
    for (size, budget, compact, target) in [(4_096, 3_072, 2_611, 1_228), (8_192, 6_144, 5_222, 2_457)] {
        let thresholds = default_for(size);
        assert_eq!(
            (thresholds.budget, thresholds.compact, thresholds.target),
            (Tokens(budget), Tokens(compact), Tokens(target))
        );
    }
}

#[test]
fn mechanism_23_a_small_fallback_is_not_negative() {
    // 8k less a fixed reserve of 13k was −5k, and compacted always.
    let thresholds = threshold(&window(8_000), &Policy::default(), Some(Tokens(13_000)));
    assert_eq!((thresholds.reserve, thresholds.budget), (Tokens(2_000), Tokens(6_000)));
    assert_eq!(thresholds.level(Tokens(1_000)), Level::Fine);
}

#[test]
fn mechanism_23_a_window_of_zero_does_not_reset_at_once() {
    use crate::model::{Limits, Source};
    // A limit that somebody states as zero is unknown: the fallback applies.
    let limits = Limits { context_window: Some(Limit::new(Tokens(0), Source::Server)), ..Limits::default() };
    let thresholds = threshold(&Capacity::from(&limits), &Policy::default(), None);
    assert_eq!(thresholds, default_for(DEFAULT_LIMIT.0));
    // A window that really is zero has no room, and an empty context is still not full.
    assert_eq!(default_for(0).budget, Tokens(0));
    assert_eq!(default_for(0).level(Tokens(0)), Level::Fine);
}

#[test]
fn mechanism_23_an_output_limit_of_the_whole_window_leaves_room() {
    let capacity = Capacity { max_output: Some(Tokens(32_768)), ..window(32_768) };
    let thresholds = threshold(&capacity, &Policy::default(), None);
    assert_eq!((thresholds.reserve, thresholds.budget), (Tokens(8_192), Tokens(24_576)));
}

#[test]
fn mechanism_35_the_input_limit_bounds_the_budget() {
    let gpt_5 = Capacity { max_input: Some(Tokens(272_000)), max_output: Some(Tokens(128_000)), ..window(400_000) };
    assert_eq!(threshold(&gpt_5, &Policy::default(), None).budget, Tokens(272_000));
}

#[test]
fn mechanism_29_a_compaction_lands_well_below_its_trigger() {
    let thresholds = default_for(200_000);
    assert!(thresholds.target.0 * 2 < thresholds.compact.0);
    // Even where both are set to the same place.
    let policy =
        Policy { target: Mark::Tokens(Tokens(90_000)), compact: Mark::Tokens(Tokens(90_000)), ..Policy::default() };
    let thresholds = threshold(&window(200_000), &policy, None);
    assert!(thresholds.level(thresholds.target) < Level::Compact);
}

#[test]
fn the_whole_output_is_reserved_where_it_counts() {
    let strict = Capacity { output_counts: true, ..window(200_000) };
    assert_eq!(threshold(&strict, &Policy::default(), Some(Tokens(64_000))).budget, Tokens(136_000));
    assert_eq!(threshold(&strict, &Policy::default(), Some(Tokens(300_000))).budget, Tokens(0));
    assert_eq!(threshold(&strict, &Policy::default(), None).budget, Tokens(180_000));
}

#[test]
fn an_unknown_window_is_at_least_the_input_limit() {
    let capacity = Capacity { max_input: Some(Tokens(272_000)), ..Capacity::default() };
    assert_eq!(threshold(&capacity, &Policy::default(), None).budget, Tokens(252_000));
    assert_eq!(threshold(&Capacity::default(), &Policy::default(), None), default_for(128_000));
}

#[test]
fn marks_are_tokens_or_fractions() {
    let policy: Policy = serde_json::from_str(r#"{"auto": false, "compact": 150000, "hard": 0.9}"#).unwrap();
    assert_eq!(policy.compact, Mark::Tokens(Tokens(150_000)));
    assert_eq!(policy.hard, Mark::Fraction(0.9));
    assert!(!policy.auto);
    let thresholds = threshold(&window(200_000), &policy, None);
    assert_eq!((thresholds.compact, thresholds.hard), (Tokens(150_000), Tokens(162_000)));
    assert_eq!(serde_json::from_str::<Policy>(&serde_json::to_string(&policy).unwrap()).unwrap(), policy);
    for wrong in [r#"{"compact": 1.5}"#, r#"{"compact": -3}"#, r#"{"compact": "x"}"#, r#"{"comapct": 0.8}"#] {
        assert!(serde_json::from_str::<Policy>(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_fraction_that_is_no_fraction_counts_as_not_set() {
    for wrong in [f64::NAN, f64::INFINITY, -0.1, 1.1] {
        let policy = Policy { compact: Mark::Fraction(wrong), target: Mark::Fraction(wrong), ..Policy::default() };
        assert_eq!(threshold(&window(200_000), &policy, None), default_for(200_000), "{wrong}");
    }
}

#[test]
fn levels_rise_with_use() {
    let thresholds = default_for(200_000);
    for (used, level) in [
        (0, Level::Fine),
        (125_999, Level::Fine),
        (126_000, Level::Warn),
        (135_000, Level::Prepare),
        (153_000, Level::Compact),
        (171_000, Level::Hard),
        (u64::MAX, Level::Hard),
    ] {
        assert_eq!(thresholds.level(Tokens(used)), level, "{used}");
    }
}

fn mark() -> impl Strategy<Value = Mark> {
    prop_oneof![
        prop_oneof![any::<f64>(), 0.0..=1.0].prop_map(Mark::Fraction),
        size().prop_map(|tokens| Mark::Tokens(Tokens(tokens))),
    ]
}

fn size() -> impl Strategy<Value = u64> {
    prop_oneof![0u64..6, 0u64..300_000, any::<u64>(), Just(u64::MAX)]
}

fn optional() -> impl Strategy<Value = Option<Tokens>> {
    prop::option::of(size().prop_map(Tokens))
}

prop_compose! {
    fn policies()(
        warn in mark(), prepare in mark(), compact in mark(), hard in mark(), target in mark(), reserve in size(),
    ) -> Policy {
        Policy { auto: true, warn, prepare, compact, hard, target, reserve: Tokens(reserve) }
    }
}

prop_compose! {
    fn capacities()(
        context_window in optional(), max_input in optional(), max_output in optional(), output_counts: bool,
    ) -> Capacity {
        Capacity { context_window, max_input, max_output, output_counts }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn thresholds_are_in_order(capacity in capacities(), policy in policies(), output in optional()) {
        let thresholds = threshold(&capacity, &policy, output);
        prop_assert!(in_order(&thresholds), "{thresholds:?}");
        for limit in [capacity.context_window, capacity.max_input].into_iter().flatten() {
            prop_assert!(thresholds.budget <= limit);
        }
    }

    #[test]
    fn thresholds_are_monotone_in_the_window(
        capacity in capacities(), policy in policies(), output in optional(), a in size(), b in size(),
    ) {
        let with = |size| threshold(&Capacity { context_window: Some(Tokens(size)), ..capacity }, &policy, output);
        let (small, large) = (with(a.min(b)), with(a.max(b)));
        for (less, more) in [
            (small.reserve, large.reserve), (small.budget, large.budget), (small.warn, large.warn),
            (small.prepare, large.prepare), (small.compact, large.compact), (small.hard, large.hard),
            (small.target, large.target),
        ] {
            prop_assert!(less <= more, "{small:?} {large:?}");
        }
    }

    #[test]
    fn thresholds_are_monotone_in_the_input_limit(
        capacity in capacities(), policy in policies(), output in optional(), a in size(), b in size(),
    ) {
        let with = |size| threshold(&Capacity { max_input: Some(Tokens(size)), ..capacity }, &policy, output);
        let (small, large) = (with(a.min(b)), with(a.max(b)));
        prop_assert!(small.budget <= large.budget && small.compact <= large.compact && small.target <= large.target);
    }

    #[test]
    fn levels_are_monotone(capacity in capacities(), policy in policies(), a in size(), b in size()) {
        let thresholds = threshold(&capacity, &policy, None);
        prop_assert!(thresholds.level(Tokens(a.min(b))) <= thresholds.level(Tokens(a.max(b))));
    }
}
