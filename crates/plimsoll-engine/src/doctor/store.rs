//! The store: whether it is there, is ours alone, can be written to, has room, and can be read.

use std::path::Path;
use std::time::SystemTime;

use plimsoll::id::{ArtifactId, RecallId, Record, SessionId, ToolCallId};
use plimsoll::{Bytes, counted};
use plimsoll_store::backend::Created;
use plimsoll_store::{Inventory, Location, Store, StoreError};

use super::{Check, Level};

const AREA: &str = "store";
/// Less room than this is not enough for one long session.
const LITTLE: u64 = 100 << 20;
/// Less room than this will soon be filled.
const SOME: u64 = 1 << 30;

/// What was found in a store.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct StoreSeen {
    /// What came of it.
    pub checks: Vec<Check>,
    /// When something was stored last.
    pub newest: Option<SystemTime>,
}

/// Looks over a store. A place that cannot be opened comes as its error.
pub fn store<E: std::fmt::Display>(location: &Location, opened: Result<&Store, E>) -> StoreSeen {
    let mut seen = StoreSeen::default();
    match location {
        Location::Local(root) => seen.checks.extend(folder(root)),
        Location::Memory => {
            let says = "it is in memory: everything is gone when a command ends";
            seen.checks.push(Check::warn(AREA, says, "unset the store, or give file:///absolute/path"));
            return seen;
        }
        _ => {}
    }
    let store = match opened {
        Ok(store) => store,
        Err(error) => {
            seen.checks.push(Check::fail(
                AREA,
                error.to_string(),
                "see `plimsoll config store --sources` for where it is set",
            ));
            return seen;
        }
    };
    match store.inventory() {
        Ok(inventory) => {
            seen.newest = newest(&inventory);
            seen.checks.extend(contents(store, &inventory));
            if !matches!(location, Location::Local(_)) {
                seen.checks.push(judged_writing(write_twice(store)));
            }
        }
        Err(error) => {
            seen.checks.push(Check::fail(AREA, error.to_string(), "`plimsoll store verify` says what else is wrong"));
        }
    }
    seen
}

/// Says what keeps a store from being written to, without looking at what it holds. Blocks for as long as a server takes.
///
/// ```
/// use plimsoll_engine::doctor;
/// use plimsoll_store::{Location, Store};
/// assert_eq!(doctor::store_faults(&Location::Memory, &Store::memory()), []);
/// let folder = std::env::temp_dir();
/// let file = folder.join("plimsoll-doctor-example");
/// std::fs::write(&file, "a file, where a store is to be")?;
/// let faults = doctor::store_faults(&Location::Local(file.clone()), &Store::local(&file));
/// assert!(faults[0].says.ends_with("is no directory"));
/// # std::fs::remove_file(file)?;
/// # Ok::<_, std::io::Error>(())
/// ```
pub fn store_faults(location: &Location, store: &Store) -> Vec<Check> {
    let mut checks = match location {
        Location::Local(root) => folder(root),
        Location::Memory => Vec::new(),
        _ => vec![judged_writing(write_twice(store))],
    };
    checks.retain(|check| check.level == Level::Fail);
    checks
}

/// Writes a record of its own, once more with other bytes, and removes it: a server's permissions, and whether it keeps
/// what was written first, show only so.
fn write_twice(store: &Store) -> Result<Created, StoreError> {
    let since = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
    let call = ToolCallId::new(&format!("{}-{since}", std::process::id()));
    let key = Record::Text(ArtifactId::new(&SessionId::new("doctor"), &call)).key();
    let backend = store.backend();
    let written = backend.create(&key, &[b"first"]).and_then(|_| backend.create(&key, &[b"second"]));
    let removed = backend.delete(&key);
    written.and_then(|created| removed.map(|_| created))
}

fn judged_writing(second: Result<Created, StoreError>) -> Check {
    match second {
        Ok(Created::Different) => Check::ok(AREA, "can be written to, and keeps what was written first"),
        Ok(_) => Check::fail(
            AREA,
            "takes a second record in the place of the first, so that several machines would not agree",
            "use a server that honours conditional puts (If-None-Match), or a store for each machine",
        ),
        Err(error) => Check::fail(
            AREA,
            format!("cannot be written to: {error}"),
            "let its key put, get, list and delete below the store's prefix",
        ),
    }
}

fn newest(inventory: &Inventory) -> Option<SystemTime> {
    let results = inventory.artifacts().first().map(|artifact| artifact.changed);
    let bodies = inventory.archives.iter().flat_map(|archive| &archive.bodies).map(|body| body.used).max();
    results.max(bodies)
}

/// What is in it, and whether the latest of it can be read.
fn contents(store: &Store, inventory: &Inventory) -> Vec<Check> {
    let mut checks = Vec::new();
    let (quotas, held) = (store.quotas(), inventory.results_bytes());
    let archived: usize = inventory.archives.iter().map(|archive| archive.bodies.len()).sum();
    let says = format!(
        "holds {} of results of {}, and {} of {}",
        Bytes(held),
        counted(inventory.sessions.len(), "session", "sessions"),
        Bytes(inventory.archive_bytes()),
        counted(archived, "archived conversation", "archived conversations"),
    );
    checks.push(if held > quotas.max_total {
        let fix = "plimsoll store prune; or raise store.max_total";
        Check::warn(AREA, format!("{says}: more than the {} of store.max_total", Bytes(quotas.max_total)), fix)
    } else {
        Check::ok(AREA, says)
    });
    for large in inventory.sessions.iter().filter(|session| session.bytes > quotas.max_session).take(3) {
        let says = format!("session {} holds {}, more than store.max_session", large.session, Bytes(large.bytes));
        checks.push(Check::warn(AREA, says, "plimsoll store prune, or raise store.max_session"));
    }
    // A record that another version wrote, or that was damaged, shows when it is opened: the latest of each kind is.
    let result = inventory.artifacts().first().map(|artifact| RecallId::Artifact(artifact.id.clone()));
    let bodies = inventory.archives.iter().flat_map(|archive| &archive.bodies);
    let body = bodies.max_by_key(|body| body.used).map(|body| RecallId::Epoch(body.id.clone()));
    let tried: Vec<RecallId> = result.into_iter().chain(body).collect();
    let wrong: Vec<Check> = tried
        .iter()
        .filter_map(|id| store.show(id).err())
        .map(|error| Check::fail(AREA, error.to_string(), "plimsoll store verify says what else is damaged"))
        .collect();
    if wrong.is_empty() && !tried.is_empty() {
        checks.push(Check::ok(AREA, "what was stored last can be read"));
    }
    checks.extend(wrong);
    checks
}

/// The directory of a local store.
fn folder(root: &Path) -> Vec<Check> {
    let shown = root.display();
    let mut checks = Vec::new();
    let linked = std::fs::symlink_metadata(root).is_ok_and(|metadata| metadata.is_symlink());
    let present = match std::fs::metadata(root) {
        Ok(metadata) if !metadata.is_dir() => {
            let fix = "move it away, or choose another place with --store";
            return vec![Check::fail(AREA, format!("{shown} is no directory"), fix)];
        }
        Ok(metadata) => {
            if linked {
                let to = std::fs::canonicalize(root).unwrap_or_default();
                let says = format!("{shown} is a symbolic link to {}", to.display());
                checks.push(Check::note(AREA, says).with_fix("see that it is yours: below it, no link is followed"));
            }
            checks.push(mine(root, &metadata));
            root
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && linked => {
            return vec![Check::fail(
                AREA,
                format!("{shown} is a symbolic link to nothing"),
                format!("rm {shown}, or mend it"),
            )];
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            checks.push(Check::note(AREA, format!("{shown} is not there yet; the first write makes it")));
            root.ancestors().find(|above| above.is_dir()).unwrap_or(root)
        }
        Err(error) => {
            let fix = "make it yours, or choose another place with --store";
            return vec![Check::fail(AREA, format!("{shown} cannot be looked at: {error}"), fix)];
        }
    };
    // A file without a name, gone at once: nothing tells better whether one can write than writing.
    match tempfile::tempfile_in(present) {
        Ok(_) => checks.push(Check::ok(AREA, format!("{} can be written to", present.display()))),
        Err(error) => {
            let says = format!("{} cannot be written to: {error}", present.display());
            checks.push(Check::fail(AREA, says, "make it yours, or choose another place with --store"));
        }
    }
    checks.extend(room(present));
    checks
}

#[cfg(unix)]
fn mine(root: &Path, metadata: &std::fs::Metadata) -> Check {
    use std::os::unix::fs::MetadataExt as _;
    let shown = root.display();
    let me = rustix::process::geteuid().as_raw();
    if metadata.uid() != me {
        let says = format!("{shown} belongs to another user (id {}, you are {me})", metadata.uid());
        return Check::fail(AREA, says, "choose a place of your own with --store");
    }
    if metadata.mode() & 0o077 != 0 {
        let says = format!("{shown} is open to other users (mode {:o})", metadata.mode() & 0o777);
        return Check::warn(AREA, says, format!("chmod 700 {shown}"));
    }
    Check::ok(AREA, format!("{shown} is yours alone"))
}

#[cfg(not(unix))]
fn mine(root: &Path, _: &std::fs::Metadata) -> Check {
    Check::note(AREA, format!("{} is as private as its directory", root.display()))
}

#[cfg(unix)]
fn room(folder: &Path) -> Option<Check> {
    let system = rustix::fs::statvfs(folder).ok()?;
    // File systems without a fixed number of files say that there are none at all.
    let files = (system.f_files > 0).then_some(system.f_favail);
    Some(judged_room(folder, system.f_bavail.saturating_mul(system.f_frsize), files))
}

#[cfg(not(unix))]
fn room(_: &Path) -> Option<Check> {
    None
}

#[cfg(any(unix, test))]
fn judged_room(folder: &Path, free: u64, files: Option<u64>) -> Check {
    let says = format!("{} are free at {}", Bytes(free), folder.display());
    let fix = "free some space, run `plimsoll store prune`, or choose another place with --store";
    match (free, files) {
        (_, Some(files @ 0..100)) => Check::fail(AREA, format!("{says}, but for {files} more files only"), fix),
        (0..LITTLE, _) => Check::fail(AREA, says, fix),
        (LITTLE..SOME, _) => Check::warn(AREA, says, fix),
        _ => Check::ok(AREA, says),
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_store::{NewResult, Quotas};

    use super::super::told;
    use super::*;

    fn look(root: &Path) -> StoreSeen {
        store::<plimsoll_store::StoreError>(&Location::Local(root.to_path_buf()), Ok(&Store::local(root)))
    }

    fn put(store: &Store, content: &[u8]) {
        let (session, call) = (SessionId::new("s1"), ToolCallId::new("c1"));
        let now = SystemTime::now();
        let new = NewResult { session: &session, call: &call, content, tool: None, arguments: None, kind: None, now };
        store.put_result(&new, |_, _| None).unwrap();
    }

    #[test]
    fn a_store_that_is_not_there_yet_is_no_fault() {
        let folder = tempfile::tempdir().unwrap();
        let seen = look(&folder.path().join("a/b"));
        let told = told(&seen.checks);
        assert!(told.contains("Note store: ") && told.contains("the first write makes it"), "{told}");
        assert!(seen.checks.iter().all(|check| check.level != Level::Fail) && seen.newest.is_none(), "{told}");
        assert!(!folder.path().join("a").exists(), "looking makes nothing");
    }

    #[cfg(unix)]
    #[test]
    fn a_store_is_judged_by_owner_mode_and_links() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("store");
        put(&Store::local(&root), b"12345");
        let seen = look(&root);
        assert!(
            seen.checks.iter().all(|check| check.level == Level::Ok) && seen.newest.is_some(),
            "{}",
            told(&seen.checks)
        );
        std::fs::set_permissions(&root, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert!(told(&look(&root).checks).contains("open to other users (mode 755) → chmod 700"));
        let link = folder.path().join("link");
        symlink(&root, &link).unwrap();
        assert!(told(&look(&link).checks).contains("is a symbolic link to "));
        symlink("/nowhere/at/all", folder.path().join("torn")).unwrap();
        assert_eq!(look(&folder.path().join("torn")).checks[0].level, Level::Fail);
        let file = folder.path().join("file");
        std::fs::write(&file, "x").unwrap();
        assert_eq!(look(&file).checks[0].level, Level::Fail);
    }

    #[test]
    fn more_than_a_quota_is_told() {
        let store_in_memory = Store::memory();
        put(&store_in_memory, &[b'x'; 5000]);
        let small = store_in_memory.with_quotas(Quotas { max_total: 1000, max_session: 1000, ..Quotas::default() });
        let told = told(&contents(&small, &small.inventory().unwrap()));
        assert!(told.contains("more than the 1000 B of store.max_total → plimsoll store prune"), "{told}");
        assert!(told.contains("session s1 holds"), "{told}");
    }

    #[test]
    fn little_room_is_a_warning_and_hardly_any_a_failure() {
        let level = |free, files| judged_room("/s".as_ref(), free, files).level;
        assert_eq!(level(5 << 30, Some(1_000_000)), Level::Ok);
        assert_eq!(level(5 << 30, None), Level::Ok);
        assert_eq!(level(500 << 20, None), Level::Warn);
        assert_eq!(level(5 << 20, None), Level::Fail);
        assert_eq!(level(5 << 30, Some(3)), Level::Fail);
    }

    #[test]
    fn a_server_that_takes_a_second_record_is_told_and_the_trial_leaves_nothing() {
        let store = Store::memory();
        assert_eq!(judged_writing(write_twice(&store)).level, Level::Ok);
        assert!(store.inventory().unwrap().sessions.is_empty());
        assert!(told(&[judged_writing(Ok(Created::New))]).contains("If-None-Match"));
        let full = StoreError::Symlink { path: "/x".into() };
        assert_eq!(judged_writing(Err(full)).level, Level::Fail);
    }

    #[test]
    fn a_place_that_cannot_be_opened_is_a_failure_and_memory_a_warning() {
        let place = "s3://bucket/p".parse().unwrap();
        let seen = store(&place, Err("AWS_REGION is not set"));
        insta::assert_snapshot!(told(&seen.checks), @"Fail store: AWS_REGION is not set → see `plimsoll config store --sources` for where it is set");
        let seen = store::<String>(&Location::Memory, Ok(&Store::memory()));
        assert_eq!(seen.checks[0].level, Level::Warn);
    }
}
