//! A store on local disk: files below one root directory, readable by their owner alone.
//!
//! On Unix every path is walked from the root by directory handles that follow no symbolic link, so that nothing below
//! the root can lead out of it, not even when it is swapped during the walk. Elsewhere the same layout is kept with
//! what the standard library offers.
//!
//! A record is written to a temporary file in its own directory, synced, published under its name by an operation that
//! fails if the name is taken, and the directory is synced. Nothing is locked, so nothing stays locked.

#[cfg(any(not(unix), test))]
#[cfg_attr(unix, allow(unreachable_pub, reason = "on Unix it is compiled to be tested only"))]
mod plain;
#[cfg(unix)]
mod posix;
#[cfg(unix)]
mod root;

#[cfg(not(unix))]
pub use plain::PlainStore as LocalStore;
#[cfg(unix)]
pub use posix::PosixStore as LocalStore;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

/// What temporary files are called: no [`Key`](plimsoll::id::Key) begins with a dot.
const TEMPORARY: &str = ".tmp-";

/// How often a creation is tried anew when a directory vanishes or a name is taken and freed under it.
const ATTEMPTS: usize = 16;

/// Gives a name that no living writer on this machine uses. It is created exclusively, so a clash costs one more try.
fn temporary_name() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let nanos = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |elapsed| elapsed.subsec_nanos());
    format!("{TEMPORARY}{}-{}-{nanos}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Tells whether a file of `size` bytes, read by `read`, holds exactly the joined `parts`.
fn holds(
    size: u64,
    parts: &[&[u8]],
    mut read: impl FnMut(&mut [u8]) -> std::io::Result<()>,
) -> std::io::Result<bool> {
    if size != parts.iter().map(|part| part.len() as u64).sum::<u64>() {
        return Ok(false);
    }
    let mut buffer = vec![0; 64 * 1024];
    let step = buffer.len();
    for piece in parts.iter().flat_map(|part| part.chunks(step)) {
        let Some(window) = buffer.get_mut(..piece.len()) else {
            return Ok(false);
        };
        read(window)?;
        if window != piece {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
