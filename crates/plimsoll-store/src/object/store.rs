//! The backend itself: each call of [`Backend`] handed to the room that has it.

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;
use std::time::SystemTime;

use plimsoll::id::{Folder, Key};

use super::access::Access;
use super::create::Parts;
use super::draft::S3Draft;
use super::place::Place;
use super::server::Server;
use crate::backend::{Backend, Created, Draft, Entry, Listing, Reader};
use crate::error::Result;

/// A store in a bucket. What the guarantees of [`Backend`] rest on stands in the [module](super).
///
/// It has a small runtime of its own, with two threads that start with the first call. So it may be called from any
/// thread, also from one of another asynchronous runtime (where it blocks; use a thread for blocking work).
pub struct S3Store {
    server: Server,
}

impl S3Store {
    /// Takes a place and how it is reached. The server is asked at the first call.
    ///
    /// ```
    /// use plimsoll_store::object::{Access, S3Store};
    /// let environment = [("AWS_ACCESS_KEY_ID", "id"), ("AWS_SECRET_ACCESS_KEY", "secret")];
    /// let access = Access::from_env(|name| environment.iter().find(|(n, _)| *n == name).map(|(_, v)| v.into()))?;
    /// let store = S3Store::new("s3://bucket/prefix".parse().unwrap(), &access)?;
    /// # Ok::<(), plimsoll_store::StoreError>(())
    /// ```
    ///
    /// # Errors
    /// [`StoreError::Remote`](crate::StoreError::Remote) if there are no credentials and nobody to ask for some.
    pub fn new(place: Place, access: &Access) -> Result<Self> {
        Ok(Self { server: Server::new(place, access)? })
    }
}

impl Backend for S3Store {
    fn create(&self, key: &Key, parts: &[&[u8]]) -> Result<Created> {
        let mut parts = Parts(parts);
        self.server.create(key, &parts.content(), &mut parts)
    }

    fn begin(&self, likely: &Key) -> Result<Box<dyn Draft + '_>> {
        Ok(Box::new(S3Draft::begin(&self.server, likely.folder())))
    }

    fn open(&self, key: &Key, from: u64) -> Result<Option<Box<dyn Reader + '_>>> {
        Ok(self.server.open(key, from)?.map(|reader| Box::new(reader) as Box<dyn Reader + '_>))
    }

    fn get(&self, key: &Key) -> Result<Option<Vec<u8>>> {
        self.server.get(key)
    }

    fn get_ranges(&self, key: &Key, ranges: &[Range<u64>]) -> Result<Option<Vec<Vec<u8>>>> {
        self.server.get_ranges(key, ranges)
    }

    fn head(&self, key: &Key) -> Result<Option<Entry>> {
        self.server.head(key)
    }

    fn list(&self, folder: &Folder) -> Result<Listing> {
        self.server.list(folder)
    }

    fn delete(&self, key: &Key) -> Result<bool> {
        self.server.delete(key)
    }

    fn remove_folder(&self, folder: &Folder, _before: SystemTime) -> Result<bool> {
        self.server.remove_folder(folder)
    }

    fn sweep(&self, before: SystemTime) -> Result<u64> {
        self.server.sweep(before)
    }

    fn path(&self, _key: &Key) -> Option<PathBuf> {
        None
    }

    fn is_remote(&self) -> bool {
        true
    }
}

impl fmt::Debug for S3Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "S3Store({} at {})", self.server.place, self.server.endpoint())
    }
}
