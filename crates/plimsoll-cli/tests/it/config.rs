//! The configuration, from outside: which layer wins, and what a mistake says.

use crate::Bench;

#[test]
fn a_value_comes_from_the_nearest_layer_and_says_so() {
    let bench = Bench::new();
    bench.write(".plimsoll.toml", "[cap]\nmax_bytes = \"9 KiB\"\n");
    let config = bench.run(["config", "--json"]).code(0).json();
    assert_eq!(config["cap.max_bytes"]["value"], 9216);
    assert!(config["cap.max_bytes"]["source"].as_str().unwrap().ends_with(".plimsoll.toml:2"));
    assert_eq!(config["store.url"]["source"], "environment PLIMSOLL_STORE");
    assert_eq!(config["compact.hard"]["source"], "default");
    let config = bench.run(["config", "store.url", "--store", "memory:", "--json"]).code(0).json();
    assert_eq!(config["store.url"]["source"], "command line --store");
    assert_eq!(config.as_object().unwrap().len(), 1);
    let shown = bench.run(["config", "cap", "--sources"]).code(0).out();
    assert!(shown.contains("9.0 KiB  from ") && shown.contains("$PLIMSOLL_CAP_MAX_BYTES"), "{shown}");
}

#[test]
fn places_that_nothing_sets_are_shown_where_they_are() {
    let bench = Bench::new();
    let mut command = bench.command();
    command.args(["config", "--sources"]).env_remove("PLIMSOLL_STORE").env("HOME", bench.path("home"));
    let ran = bench.feed(command, b"");
    let out = ran.code(0).out();
    let home = bench.path("home").display().to_string();
    let row = |key: &str| out.lines().find(|line| line.starts_with(key)).unwrap();
    assert!(row("store.url").contains(&home) && row("log.file").contains(&home), "{out}");
    assert!(row("log.file").contains("from default") && out.contains("20,000 tokens"), "{out}");
    assert!(out.lines().filter(|line| line.starts_with(' ')).all(|line| line.chars().count() <= 100), "{out}");
}

#[test]
fn a_mistake_is_wrong_usage_and_names_the_line() {
    let bench = Bench::new();
    bench.write("c.toml", "\n[store]\nmax_totl = 1\n");
    for arguments in [["--config", "c.toml", "config"].as_slice(), &["recall", "s/x", "--config", "c.toml"]] {
        let said = bench.run(arguments).code(2).err();
        assert!(
            said.contains("c.toml:3: there is no setting `store.max_totl`; is `store.max_total` meant?"),
            "{said}"
        );
    }
    let said = bench.run(["--config", "nowhere.toml", "config"]).code(2).err();
    assert!(said.contains("nowhere.toml"), "{said}");
    assert!(bench.run(["config", "no.such"]).code(2).err().contains("no.such"));
}

#[test]
fn the_documentation_names_every_setting() {
    let documented = include_str!("../../../../docs/config.md");
    let bench = Bench::new();
    for (key, row) in bench.run(["config", "--json"]).code(0).json().as_object().unwrap() {
        let variable = row["variable"].as_str().unwrap();
        assert!(documented.contains(&format!("| `{key}` | `{variable}` | ")), "{key}");
    }
}

#[test]
fn thresholds_are_those_of_the_configuration() {
    let bench = Bench::new();
    bench.write("c.toml", "compact.warn = 1000\n");
    let example = crate::example();
    let context = bench.run(["context", example.to_str().unwrap(), "--json", "--config", "c.toml"]).code(0).json();
    assert_eq!(context["thresholds"]["warn"], 1000);
}
