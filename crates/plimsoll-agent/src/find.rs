//! Finds a program as a shell would, without one.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::environment::Environment;

/// Finds the program: a path is taken as it is (relative to the working directory), a bare name looked for in the
/// child's `PATH`.
pub(crate) fn program(named: &Path, cwd: &Path, environment: &Environment) -> Option<PathBuf> {
    if named.components().count() > 1 || named.is_absolute() {
        let path = cwd.join(named);
        return runs(&path).then_some(path);
    }
    let path = environment.get("PATH").unwrap_or(OsStr::new(""));
    // A relative entry of PATH would be relative to wherever the agent works: that is how a project runs its own `claude`.
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    folders.flat_map(|folder| candidates(&folder, named)).find(|path| runs(path))
}

#[cfg(not(windows))]
fn candidates(folder: &Path, named: &Path) -> Vec<PathBuf> {
    vec![folder.join(named)]
}

#[cfg(windows)]
fn candidates(folder: &Path, named: &Path) -> Vec<PathBuf> {
    ["", "exe", "cmd", "bat"].iter().map(|extension| folder.join(named).with_extension(extension)).collect()
}

#[cfg(unix)]
fn runs(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn runs(path: &Path) -> bool {
    path.is_file()
}
