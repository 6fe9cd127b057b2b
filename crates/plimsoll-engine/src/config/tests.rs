use std::path::Path;

use super::*;

fn file(text: &str) -> Result<Layer, ConfigError> {
    Layer::from_toml(text, Path::new("config.toml"), false)
}

#[test]
fn the_table_is_sorted_and_its_names_are_unique() {
    for pair in SETTINGS.windows(2) {
        assert!(pair[0].key < pair[1].key, "{} before {}", pair[0].key, pair[1].key);
    }
    let variables: std::collections::BTreeSet<_> = SETTINGS.iter().map(|setting| setting.variable).collect();
    assert_eq!(variables.len(), SETTINGS.len());
}

#[test]
fn defaults_are_those_of_the_rooms_that_use_them() {
    let config = Config::default();
    assert_eq!(config.policy(), Policy::default());
    assert_eq!(config.quotas(), Quotas::default());
    assert_eq!((config.store(), config.cap(), config.classic()), (None, None, false));
}

#[test]
fn later_layers_win_and_every_value_knows_its_source() {
    let user = file("[cap]\nmax_bytes = 1000\nshape = 'classic'\n[compact]\nauto = false\ntarget = 0.3\n").unwrap();
    let project =
        Layer::from_toml("cap.max_bytes = '2 KiB'\ncompact.hard = 150_000", Path::new(".plimsoll.toml"), true)
            .unwrap();
    let environment = Layer::from_environment(|name| match name {
        "PLIMSOLL_STORE_MAX_TOTAL" => Some("1GiB".to_owned()),
        "PLIMSOLL_STORE" => Some(String::new()),
        _ => None,
    })
    .unwrap();
    let options = Layer::default().with_option("store.url", "--store", Some("memory:")).unwrap();
    let config = Config::resolve([user, project, environment, options]);
    let shown: Vec<String> =
        ["cap.max_bytes", "cap.shape", "compact.auto", "store.max_total", "store.url", "compact.warn"]
            .into_iter()
            .map(|key| config.get(key).map(|(value, source)| format!("{key} = {value} ({source})")).unwrap())
            .collect();
    insta::assert_snapshot!(shown.join("\n"), @"
    cap.max_bytes = 2.0 KiB (.plimsoll.toml:1)
    cap.shape = classic (config.toml:3)
    compact.auto = false (config.toml:5)
    store.max_total = 1.0 GiB (environment PLIMSOLL_STORE_MAX_TOTAL)
    store.url = memory: (command line --store)
    compact.warn = 0.7 (default)
    ");
    let policy = config.policy();
    assert!(!policy.auto);
    assert_eq!(policy.target, Mark::Fraction(0.3));
    assert_eq!(policy.hard, Mark::Tokens(plimsoll::Tokens(150_000)));
}

#[test]
fn mistakes_name_the_line_and_the_next_step() {
    let said = |text: &str| file(text).unwrap_err().to_string();
    insta::assert_snapshot!(said("\n[store]\nmax_artefact = 1"), @"config.toml:3: there is no setting `store.max_artefact`; is `store.max_artifact` meant?");
    insta::assert_snapshot!(said("[colours]\nbar = 1"), @"config.toml:1: there is no setting `colours`; `plimsoll config` lists them");
    insta::assert_snapshot!(said("[cap]\nmax_bytes = 'lots'"), @"config.toml:2: `cap.max_bytes` is `lots`; give a size like 65536 or \"64 KiB\"");
    insta::assert_snapshot!(said("[cap]\nmax_bytes = -1"), @"config.toml:2: `cap.max_bytes` is -1; give a size like 65536 or \"64 KiB\"");
    insta::assert_snapshot!(said("[cap]\nshape = 'round'"), @"config.toml:2: `cap.shape` is `round`; give one of default, classic");
    insta::assert_snapshot!(said("[compact]\nhard = 1.5"), @"config.toml:2: `compact.hard` is 1.5; give a fraction from 0.0 to 1.0, or a whole number of tokens");
    insta::assert_snapshot!(said("[compact]\nauto = []"), @"config.toml:2: `compact.auto` is of type array; give true or false");
    assert!(said("[cap\n").starts_with("config.toml:1: "), "{}", said("[cap\n"));
    let variable = Layer::from_environment(|name| (name == "PLIMSOLL_COMPACT_AUTO").then(|| "yes".to_owned()));
    insta::assert_snapshot!(variable.unwrap_err(), @"environment PLIMSOLL_COMPACT_AUTO: `compact.auto` is `yes`; give true or false");
}

#[test]
fn a_project_cannot_send_the_store_elsewhere() {
    for text in ["store.url = 's3://elsewhere'", "[store]\nmax_artifact = 0", "log.file = '/tmp/x'"] {
        let refused = Layer::from_toml(text, Path::new(".plimsoll.toml"), true);
        assert!(matches!(refused, Err(ConfigError::NotForProjects { .. })), "{text}");
    }
}

#[test]
fn sizes_are_read_in_both_families_of_units() {
    for (text, size) in [
        ("0", 0),
        ("1_000", 1000),
        ("2 GiB", 2 << 30),
        ("2g", 2 << 30),
        ("3TB", 3_000_000_000_000),
        ("7 b", 7),
        ("1.5G", 3 << 29),
    ] {
        assert_eq!(bytes(text), Some(Bytes(size)), "{text}");
    }
    for text in ["", "KiB", "-1", "1.5.1G", "1 PiB", "1ib", "99999999999999999999", "99999999999T", "1 é"] {
        assert_eq!(bytes(text), None, "{text}");
    }
}

#[test]
fn files_are_found_where_they_are_said_to_be() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let inner = root.join("repository/deep/er");
    std::fs::create_dir_all(&inner).unwrap();
    std::fs::create_dir(root.join("repository/.git")).unwrap();
    std::fs::write(root.join("repository/.plimsoll.toml"), "cap.max_bytes = 5").unwrap();
    std::fs::write(root.join(".plimsoll.toml"), "cap.max_bytes = 6").unwrap();
    let config = root.join("config");
    std::fs::create_dir_all(config.join("plimsoll")).unwrap();
    std::fs::write(config.join("plimsoll/config.toml"), "cap.max_bytes = 7\nstore.max_total = 8").unwrap();
    let lookup = |name: &str| (name == "XDG_CONFIG_HOME").then(|| config.clone().into_os_string());
    let mut places = Places::of(lookup, Some(&inner));
    places.system = None;
    let loaded = load(&places, Layer::default(), Layer::default()).unwrap();
    assert_eq!(loaded.cap(), Some(Bytes(5)), "the nearest file of the repository");
    assert_eq!(loaded.quotas().max_total, 8, "the user's file below it");

    let named = places.clone().with_named(Some(root.join("other.toml")));
    assert!(matches!(load(&named, Layer::default(), Layer::default()), Err(ConfigError::Read { .. })));
    std::fs::write(root.join("other.toml"), "store.url = 'memory:'").unwrap();
    let loaded = load(&named, Layer::default(), Layer::default()).unwrap();
    assert_eq!((loaded.cap(), loaded.store().map(|(url, _)| url)), (None, Some("memory:")));
}
