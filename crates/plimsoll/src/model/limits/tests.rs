//! The layers of limits, and the faults that were seen elsewhere.

use proptest::prelude::*;

use super::super::{Catalogue, Lookup, UserCatalogue};
use super::*;

fn known(name: &str) -> Limits {
    match Catalogue::embedded().lookup(name) {
        Lookup::Known(limits) => limits,
        Lookup::Unknown => panic!("{name} is unknown"),
    }
}

fn numbers(limits: &Limits) -> [Option<u64>; 3] {
    [&limits.context_window, &limits.max_input, &limits.max_output]
        .map(|limit| limit.as_ref().map(|limit| limit.tokens.0))
}

fn user(window: Option<u64>, input: Option<u64>, output: Option<u64>) -> Limits {
    Limits::stated(&Source::User, window, input, output)
}

#[test]
fn layers_go_user_server_catalogue_fallback() {
    let server = Limits::stated(&Source::Server, Some(300_000), None, Some(5_000));
    let mine = user(None, None, Some(1_000));
    let limits = resolve_limits(Some(&mine), Some(&server), Some(&known("gpt-5")), Endpoint::Public, DEFAULT_LIMIT);
    assert_eq!(numbers(&limits), [Some(300_000), Some(272_000), Some(1_000)]);
    assert_eq!(limits.context_window.map(|limit| limit.source), Some(Source::Server));
    assert_eq!(limits.max_output.map(|limit| limit.source), Some(Source::User));
    let nothing = resolve_limits(None, None, None, Endpoint::Public, Tokens(64_000));
    assert_eq!(nothing.context_window, Some(Limit::new(Tokens(64_000), Source::Fallback)));
}

#[test]
fn the_users_file_goes_before_what_a_server_says() {
    let (file, problems) = UserCatalogue::parse("{\"model\":\"gpt-5\",\"context_window\":32000}");
    assert!(problems.is_empty());
    let Lookup::Known(merged) = Catalogue::embedded().with_user(file).lookup("gpt-5") else { panic!("known") };
    let server = Limits::stated(&Source::Server, Some(258_400), None, Some(5_000));
    for endpoint in [Endpoint::Public, Endpoint::LocalOrPrivate] {
        let limits = resolve_limits(None, Some(&server), Some(&merged), endpoint, DEFAULT_LIMIT);
        assert_eq!(limits.context_window, Some(Limit::new(Tokens(32_000), Source::User)));
        assert_eq!(limits.max_output, Some(Limit::new(Tokens(5_000), Source::Server)));
        let mine = user(Some(64_000), None, None);
        let limits = resolve_limits(Some(&mine), Some(&server), Some(&merged), endpoint, DEFAULT_LIMIT);
        assert_eq!(limits.context_window.map(|limit| limit.tokens), Some(Tokens(64_000)));
    }
}

#[test]
fn mechanism_35_window_and_input_limit_are_told_apart() {
    assert_eq!(numbers(&known("gpt-5")), [Some(400_000), Some(272_000), Some(128_000)]);
}

#[test]
fn mechanism_36_a_local_model_with_a_famous_name_gets_no_famous_window() {
    let famous = known("claude-opus-4-6");
    assert_eq!(famous.context_window.as_ref().map(|limit| limit.tokens), Some(Tokens(1_000_000)));
    let limits = resolve_limits(None, None, Some(&famous), Endpoint::LocalOrPrivate, DEFAULT_LIMIT);
    assert_eq!(
        limits,
        Limits { context_window: Some(Limit::new(DEFAULT_LIMIT, Source::Fallback)), ..Limits::default() }
    );
    // What its server says of it holds.
    let server = Limits::stated(&Source::Server, Some(8_192), None, None);
    let limits = resolve_limits(None, Some(&server), Some(&famous), Endpoint::LocalOrPrivate, DEFAULT_LIMIT);
    assert_eq!(numbers(&limits), [Some(8_192), None, None]);
}

#[test]
fn mechanism_36_a_million_token_model_is_not_taken_for_a_small_one() {
    assert_eq!(known("claude-opus-4-6").context_window.map(|limit| limit.tokens), Some(Tokens(1_000_000)));
    assert_eq!(known("claude-sonnet-4-5").context_window.map(|limit| limit.tokens), Some(Tokens(200_000)));
    let extended = known("claude-sonnet-4-5[1m]");
    assert_eq!(extended.context_window, Some(Limit::new(Tokens(1_000_000), Source::Name)));
    assert_eq!(extended.max_input, None);
}

#[test]
fn mechanism_37_a_users_own_setting_is_bounded_by_nothing_less_certain() {
    // The name is unknown, the user knows better than the fallback.
    let mine = user(Some(1_000_000), None, None);
    let limits = resolve_limits(Some(&mine), None, None, Endpoint::Public, DEFAULT_LIMIT);
    assert_eq!(numbers(&limits), [Some(1_000_000), None, None]);
    let mine = user(None, Some(500_000), None);
    let limits = resolve_limits(Some(&mine), None, None, Endpoint::Public, DEFAULT_LIMIT);
    assert_eq!(numbers(&limits), [None, Some(500_000), None]);
    // The name is known with a smaller window, whose input limit must not cut the user's.
    let mine = user(Some(1_000_000), None, None);
    let limits =
        resolve_limits(Some(&mine), None, Some(&known("claude-sonnet-4-5")), Endpoint::Public, DEFAULT_LIMIT);
    assert_eq!(numbers(&limits), [Some(1_000_000), None, Some(64_000)]);
    let mine = user(None, Some(300_000), None);
    let limits =
        resolve_limits(Some(&mine), None, Some(&known("claude-sonnet-4-5")), Endpoint::Public, DEFAULT_LIMIT);
    assert_eq!(numbers(&limits), [None, Some(300_000), Some(64_000)]);
}

#[test]
fn a_limit_of_zero_is_not_stated() {
    assert!(Limits::stated(&Source::Server, Some(0), Some(0), Some(0)).is_empty());
}

#[test]
fn sources_are_shown_and_stored() {
    let source = known("gpt-5").max_input.map(|limit| limit.source).unwrap();
    let shown = source.to_string();
    assert!(shown.starts_with("catalogue: "), "{shown}");
    let stored = serde_json::to_string(&source).unwrap();
    assert_eq!(serde_json::from_str::<Source>(&stored).unwrap(), source);
}

prop_compose! {
    fn layer(source: Source)(
        window in prop::option::of(0u64..2_000_000),
        input in prop::option::of(0u64..2_000_000),
        output in prop::option::of(0u64..2_000_000),
    ) -> Limits {
        Limits::stated(&source, window, input, output)
    }
}

fn published() -> Source {
    Source::Catalogue { origin: "x".into(), date: "2026-01-01".into() }
}

proptest! {
    /// What a higher layer states is in force, whatever the lower ones say; something is always known to work with.
    #[test]
    fn what_is_stated_higher_is_in_force(
        mine in layer(Source::User), server in layer(Source::Server), catalogue in layer(published()), local: bool,
    ) {
        let endpoint = if local { Endpoint::LocalOrPrivate } else { Endpoint::Public };
        let limits = resolve_limits(Some(&mine), Some(&server), Some(&catalogue), endpoint, DEFAULT_LIMIT);
        for (stated, result) in [
            (&mine.context_window, &limits.context_window),
            (&mine.max_input, &limits.max_input),
            (&mine.max_output, &limits.max_output),
        ] {
            if stated.is_some() {
                prop_assert_eq!(stated, result);
            }
        }
        prop_assert!(limits.context_window.is_some() || limits.max_input.is_some());
        if let Some(window) = &mine.context_window {
            // An input limit below the user's window comes from nobody who speaks of a smaller window.
            if let Some(input) = limits.max_input.filter(|input| input.tokens < window.tokens) {
                let layer = if input.source == Source::Server { &server } else { &catalogue };
                let same = layer.context_window.as_ref().is_some_and(|below| below.tokens >= window.tokens);
                prop_assert!(input.source == Source::User || same);
            }
        }
        if local {
            for limit in [limits.context_window, limits.max_output].into_iter().flatten() {
                let from_catalogue = matches!(limit.source, Source::Catalogue { .. });
                prop_assert!(!from_catalogue);
            }
        }
    }
}
