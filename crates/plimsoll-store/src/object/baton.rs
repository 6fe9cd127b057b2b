//! One after the other: who ends an upload in parts holds a small object for that moment.
//!
//! S3 decides between two uploads that end at once. Some servers check the condition and write in two steps, and so let
//! both win; whether a single `PUT` creates is decided at once everywhere. So writers pass a baton that is created by one.
//! The condition at the end of the upload stays what counts, and the baton only keeps others from the same moment: a
//! holder that died costs the next one [`ABANDONED`], and no person.

use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use object_store::path::Path;
use object_store::{Attributes, GetOptions, ObjectStore as _, ObjectStoreExt as _};
use plimsoll::id::Key;

use super::server::Server;
use crate::error::Result;

/// Where batons are: nothing else stands there.
const BATONS: &str = "batons";
const TEXT: &[u8] = b"plimsoll is finishing an upload. If this is old, it may be removed.\n";

/// After how long without a change the holder of a baton is taken for dead.
const ABANDONED: Duration = Duration::from_secs(20);
/// After how long somebody who waits gives up.
const LONGEST: Duration = Duration::from_secs(120);
/// How often somebody who waits looks again.
const LOOK: Duration = Duration::from_millis(100);

/// A baton; dropped, it is the next one's.
#[derive(Debug)]
pub(super) struct Baton<'s> {
    server: &'s Server,
    path: Path,
}

impl Server {
    /// Waits for the baton to end an upload under a key.
    pub(super) fn take_baton(&self, key: &Key) -> Result<Baton<'_>> {
        let name: String = blake3::hash(key.to_string().as_bytes()).to_hex().chars().take(32).collect();
        let path = self.path(&format!("{BATONS}/{name}.txt"));
        let mut holder = None;
        let began = Instant::now();
        let mut since = began;
        loop {
            match self.put(&path, Bytes::from_static(TEXT), Attributes::default())? {
                Ok(()) => return Ok(Baton { server: self, path }),
                Err(failed) if failed.is_taken() && began.elapsed() < LONGEST => {}
                Err(failed) => return Err(self.explain("write to", None, &failed)),
            }
            let present = {
                let path = path.clone();
                let options = GetOptions { head: true, ..GetOptions::default() };
                self.call(move |client| async move { Ok(client.s3.get_opts(&path, options).await?.meta) })?
            };
            let now = present.ok().map(|meta| meta.last_modified);
            if now != holder {
                (holder, since) = (now, Instant::now());
            }
            if since.elapsed() > ABANDONED {
                drop(Baton { server: self, path: path.clone() });
                since = Instant::now();
            }
            sleep(LOOK);
        }
    }

    /// Removes batons that were taken before then.
    pub(super) fn sweep_batons(&self, before: SystemTime) -> Result<u64> {
        let folder = self.path(BATONS);
        let listed = self.call(move |client| async move { client.s3.list_with_delimiter(Some(&folder)).await })?;
        let listed = listed.map_err(|failed| self.explain("list", None, &failed))?;
        let mut swept = 0;
        for baton in listed.objects {
            if SystemTime::from(baton.last_modified) < before && baton.location.extension() == Some("txt") {
                drop(Baton { server: self, path: baton.location });
                swept += 1;
            }
        }
        Ok(swept)
    }
}

impl Drop for Baton<'_> {
    fn drop(&mut self) {
        let path = self.path.clone();
        // If it cannot be given back now, the next one finds that out.
        let _ = self.server.call(move |client| async move { client.s3.delete(&path).await });
    }
}
