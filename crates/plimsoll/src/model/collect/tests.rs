//! Catalogues compiled and refreshed from small collections.

use super::super::{Catalogue, Lookup};
use super::*;

fn collection() -> Collection {
    let map = br#"{
        "gpt-x": {"mode": "chat", "litellm_provider": "openai", "max_input_tokens": 10, "max_output_tokens": 10,
            "input_cost_per_token": 3e-06, "output_cost_per_token": 1.5e-05},
        "gpt-y": {"mode": "chat", "litellm_provider": "openai", "max_input_tokens": 20, "max_output_tokens": 5}}"#;
    Collection::litellm(map, "1", "2026-01-02").unwrap()
}

fn models_dev(models: &str, date: &str) -> Collection {
    let one = |model: &str| {
        let (name, window) = model.split_once('=').unwrap();
        format!(
            r#""{name}":{{"limit":{{"context":{window},"output":4}},"modalities":{{"output":["text"]}},"cost":{{"input":2,"output":8}}}}"#
        )
    };
    let models: Vec<_> = models.split(' ').map(one).collect();
    let api = format!(r#"{{"openai":{{"models":{{{}}}}}}}"#, models.join(","));
    Collection::models_dev(api.as_bytes(), "v", date).unwrap()
}

fn rows(text: &str) -> Vec<&str> {
    Catalogue::from_text(text.to_owned()).unwrap();
    text.lines().filter(|line| !line.starts_with('#')).collect()
}

#[test]
fn a_correction_comes_first_and_keeps_what_it_corrects() {
    let written = compile(&[collection()], "# comment\ngpt-x\t40\t-\t8\tthe maker's page, 2026-01-03\n").unwrap();
    assert_eq!(rows(&written), ["gpt-x\t40Z\t\t8Z+10L\t\t3/3/3/15L", "gpt-y\t\t20L\t5L"]);
}

#[test]
fn an_output_limit_of_the_whole_is_marked() {
    let written = compile(&[collection()], "").unwrap();
    assert_eq!(rows(&written), ["gpt-x\t\t10L\t10L\tsuspect\t3/3/3/15L", "gpt-y\t\t20L\t5L"]);
}

#[test]
fn wrong_corrections_are_refused() {
    for wrong in
        ["gpt-x\t40", "GPT-X\t40\t\t\tpage, 2026-01-03", "gpt-x\tforty\t\t\tpage, 2026-01-03", "gpt-x\t40\t\t\tpage"]
    {
        assert!(compile(&[collection()], wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_newer_collection_replaces_what_it_said_and_leaves_what_others_say_and_what_was_reviewed() {
    let old = models_dev("gpt-x=30 gpt-y=40 gpt-gone=50", "2026-01-02");
    let base = compile(&[collection(), old], "gpt-y\t25\t\t\tthe maker's page, 2026-01-03\n").unwrap();
    let refreshed = refresh(&base, &models_dev("gpt-x=60 gpt-y=70 gpt-new=80", "2026-02-02")).unwrap();
    insta::assert_snapshot!(rows(&refreshed).join("\n").replace('\t', " | "), @r"
    gpt-gone | 50N |  | 4N |  | 2/2/2/8N
    gpt-new | 80M |  | 4M |  | 2/2/2/8M
    gpt-x | 60M | 10L | 4M+10L |  | 3/3/3/15L+2/2/2/8M
    gpt-y | 25Z+40M | 20L | 4M+5L |  | 2/2/2/8M
    ");
    let Lookup::Known(limits) = Catalogue::from_text(refreshed.clone()).unwrap().lookup("gpt-gone") else {
        panic!("known")
    };
    assert_eq!(limits.context_window.unwrap().source.to_string(), "catalogue: models.dev v, 2026-01-02");
    // And once more: what was outlived stays so.
    let again = refresh(&refreshed, &models_dev("gpt-x=60 gpt-y=70 gpt-new=80", "2026-02-02")).unwrap();
    assert_eq!(rows(&again), rows(&refreshed));
}

#[test]
fn refreshing_the_embedded_catalogue_keeps_it_a_catalogue() {
    let text = refresh(Catalogue::embedded().text(), &models_dev("gpt-new-model=80", "2026-02-02")).unwrap();
    let (old, new) = (Catalogue::embedded(), Catalogue::from_text(text).unwrap());
    for name in ["gpt-5", "claude-sonnet-4-5", "llama-3-3-70b-instruct", "gemini-2.5-pro"] {
        assert_eq!(old.limit_or_default(name).tokens, new.limit_or_default(name).tokens, "{name}");
    }
    assert_eq!(new.models().count(), old.models().count() + 1);
}

#[test]
fn what_is_no_collection_is_an_error_that_says_so() {
    insta::assert_snapshot!(Collection::models_dev(b"{}", "v", "d").err().unwrap(), @"no chat model is in it: this is not models.dev's collection");
    assert!(matches!(Collection::litellm(b"<html>", "v", "d"), Err(CollectError::Json { title: "litellm", .. })));
    assert!(matches!(refresh("nonsense", &collection()), Err(CollectError::Catalogue(_))));
}
