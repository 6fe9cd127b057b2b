//! The environment: variables that are mistaken, and those that matter.

use std::path::Path;

use super::Check;
use crate::config::{Layer, SETTINGS};

const AREA: &str = "environment";
/// Variables of ours that are no settings.
const OTHERS: [&str; 3] = ["PLIMSOLL_CONFIG", "PLIMSOLL_KEY", "PLIMSOLL_DATA"];

/// Judges the environment. Values of keys are never told.
pub fn environment(variables: &[(String, String)]) -> Vec<Check> {
    let get = |name: &str| {
        variables.iter().find(|(known, value)| known == name && !value.is_empty()).map(|(_, value)| value)
    };
    let mut checks = Vec::new();
    let home = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
    checks.push(match get(home) {
        Some(path) if Path::new(path).is_absolute() => Check::ok(AREA, format!("{home} is {path}")),
        Some(path) => {
            Check::fail(AREA, format!("{home} is `{path}`, which is no absolute path"), format!("set {home} to one"))
        }
        None => Check::fail(
            AREA,
            format!("{home} is not set: nothing tells where a user's data and configuration are"),
            format!("set {home}, or give --store and --config"),
        ),
    });
    let ours = variables.iter().filter(|(name, value)| name.starts_with("PLIMSOLL_") && !value.is_empty());
    for (name, value) in ours {
        if OTHERS.contains(&name.as_str()) {
            // The gateway's key is nobody's to read.
            continue;
        }
        let Some(setting) = SETTINGS.iter().find(|setting| setting.variable == name) else {
            let near = SETTINGS.iter().map(|setting| setting.variable).chain(OTHERS);
            let near = near
                .min_by_key(|known| strsim::levenshtein(known, name))
                .filter(|known| strsim::levenshtein(known, name) <= 3);
            let fix = near.map_or_else(
                || "unset it; `plimsoll config --sources` names the variables".to_owned(),
                |near| format!("is {near} meant?"),
            );
            checks.push(Check::warn(AREA, format!("{name} is no variable of plimsoll, and does nothing"), fix));
            continue;
        };
        match Layer::from_environment(|asked| (asked == setting.variable).then(|| value.clone())) {
            Ok(_) => checks.push(Check::ok(AREA, format!("{name} sets {}", setting.key))),
            Err(error) => checks.push(Check::fail(AREA, error.to_string(), format!("set {name} so, or unset it"))),
        }
    }
    for name in ["ANTHROPIC_BASE_URL", "OPENAI_BASE_URL"] {
        if let Some(url) = get(name) {
            let url = url.rsplit_once('@').map_or(url.as_str(), |(_, host)| host);
            checks.push(Check::note(AREA, format!("{name} leads agents to {url}")));
        }
    }
    checks
}

#[cfg(test)]
mod tests {
    use super::super::told;
    use super::*;

    fn judge(variables: &[(&str, &str)]) -> String {
        let variables: Vec<_> =
            variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        told(&environment(&variables))
    }

    #[cfg(unix)]
    #[test]
    fn mistakes_are_named_with_what_is_meant() {
        insta::assert_snapshot!(judge(&[
            ("HOME", "/home/a"), ("PLIMSOLL_STORES", "memory:"), ("PLIMSOLL_COMPACT_AUTO", "perhaps"),
            ("PLIMSOLL_CAP_MAX_BYTES", "8 KiB"), ("PLIMSOLL_LOG", ""), ("ANTHROPIC_BASE_URL", "http://me:canary@host:1"),
        ]), @r"
        Ok environment: HOME is /home/a
        Warn environment: PLIMSOLL_STORES is no variable of plimsoll, and does nothing → is PLIMSOLL_STORE meant?
        Fail environment: environment PLIMSOLL_COMPACT_AUTO: `compact.auto` is `perhaps`; give true or false → set PLIMSOLL_COMPACT_AUTO so, or unset it
        Ok environment: PLIMSOLL_CAP_MAX_BYTES sets cap.max_bytes
        Note environment: ANTHROPIC_BASE_URL leads agents to host:1
        ");
        assert!(judge(&[]).starts_with("Fail") && judge(&[("HOME", "home")]).starts_with("Fail"));
    }

    #[test]
    fn keys_are_not_told() {
        let told = judge(&[("HOME", "/h"), ("ANTHROPIC_API_KEY", "canary"), ("PLIMSOLL_KEY", "canary")]);
        assert!(!told.contains("canary"), "{told}");
    }
}
