//! What a child sees of the environment: a short list, and what was added to it by name.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

/// The variables that a child gets without being asked for: where it is, who runs it, how text is shown, and how the
/// network is reached. No secrets are among them.
const PASSED: [&str; 36] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_CTYPE",
    "LC_MESSAGES",
    "TZ",
    "TERM",
    "TMPDIR",
    "TMP",
    "TEMP",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "XDG_CACHE_HOME",
    "XDG_RUNTIME_DIR",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "NO_PROXY",
    "no_proxy",
    "HTTP_PROXY",
    "http_proxy",
    "HTTPS_PROXY",
    "https_proxy",
    // Windows cannot start a program without these.
    "SYSTEMROOT",
    "SYSTEMDRIVE",
    "WINDIR",
    "COMSPEC",
    "PATHEXT",
    "USERPROFILE",
    "APPDATA",
];

/// The environment of a child, reduced to a list.
///
/// What a host has in its environment is not the child's: of all that is handed in, only a short list of variables
/// passes, and what [`allow`](Self::allow) names. [`set`](Self::set) gives a variable a value of its own.
///
/// ```
/// use plimsoll_agent::Environment;
/// let host = [("PATH", "/usr/bin"), ("AWS_SECRET_ACCESS_KEY", "s3cret"), ("ANTHROPIC_API_KEY", "sk-1")];
/// let mut environment = Environment::reduced(host);
/// environment.allow("ANTHROPIC_API_KEY").set("CI", "1");
/// assert_eq!(environment.get("ANTHROPIC_API_KEY"), Some("sk-1".as_ref()));
/// assert_eq!(environment.get("AWS_SECRET_ACCESS_KEY"), None);
/// ```
#[derive(Clone, Default)]
pub struct Environment {
    host: BTreeMap<OsString, OsString>,
    child: BTreeMap<OsString, OsString>,
}

impl Environment {
    /// Starts from a host's environment, as `std::env::vars_os` gives it, and lets the short list pass.
    pub fn reduced<N: Into<OsString>, V: Into<OsString>>(host: impl IntoIterator<Item = (N, V)>) -> Self {
        let host: BTreeMap<OsString, OsString> =
            host.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        let passes = |name: &OsStr| PASSED.iter().any(|passed| name == *passed);
        let child = host.iter().filter(|(name, _)| passes(name)).map(|(n, v)| (n.clone(), v.clone())).collect();
        Self { host, child }
    }

    /// Lets a further variable of the host pass. One that the host does not have stays unset.
    pub fn allow(&mut self, name: impl Into<OsString>) -> &mut Self {
        let name = name.into();
        if let Some(value) = self.host.get(&name) {
            self.child.insert(name, value.clone());
        }
        self
    }

    /// Gives a variable a value.
    pub fn set(&mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> &mut Self {
        self.child.insert(name.into(), value.into());
        self
    }

    /// Gives the value that the child will see.
    pub fn get(&self, name: impl AsRef<OsStr>) -> Option<&OsStr> {
        self.child.get(name.as_ref()).map(OsString::as_os_str)
    }

    /// Gives every variable that the child will see, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.child.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }
}

/// Shows names only: values may be secrets.
impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.child.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_passes_only_by_name() {
        let host = [("PATH", "/bin"), ("OPENAI_API_KEY", "sk-2"), ("GITHUB_TOKEN", "gh")];
        let mut environment = Environment::reduced(host);
        assert_eq!(environment.iter().count(), 1);
        environment.allow("OPENAI_API_KEY").allow("NOT_THERE");
        assert_eq!(environment.get("OPENAI_API_KEY"), Some("sk-2".as_ref()));
        assert_eq!(environment.get("GITHUB_TOKEN"), None);
        assert_eq!(environment.get("NOT_THERE"), None);
    }

    #[test]
    fn values_are_not_shown() {
        let mut environment = Environment::default();
        environment.set("OPENAI_API_KEY", "sk-2");
        assert_eq!(format!("{environment:?}"), r#"{"OPENAI_API_KEY"}"#);
    }
}
