//! Records written piece by piece: spooled on this machine until their key is certain, and then created as any other.

use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};

use bytes::Bytes;
use plimsoll::id::{Folder, Key};

use super::create::{Content, ONE_REQUEST, Source, writer_stamp};
use super::server::Server;
use crate::backend::{Created, Draft};
use crate::error::{Result, StoreError};

/// How much of the spool is read at a time, in bytes.
const READ_AT_ONCE: usize = 256 * 1024;

/// A draft that is sent when it is published.
///
/// Sending earlier would need a key, and the key may come last; moving an object is a copy of it. So the bytes wait
/// here: in memory up to 8 MiB, over it in a file that has no name, so that nobody else can open it and nothing is left
/// of it after a kill. It takes its room where temporary files are kept (`TMPDIR`).
#[derive(Debug)]
pub(super) struct S3Draft<'s> {
    server: &'s Server,
    folder: Folder,
    hasher: blake3::Hasher,
    spool: Spool,
    writer: String,
    published: bool,
}

#[derive(Debug)]
enum Spool {
    Memory(Vec<u8>),
    File(File),
}

impl<'s> S3Draft<'s> {
    pub(super) fn begin(server: &'s Server, folder: &Folder) -> Self {
        let spool = Spool::Memory(Vec::new());
        let hasher = blake3::Hasher::new();
        Self { server, folder: folder.clone(), hasher, spool, writer: writer_stamp(), published: false }
    }
}

fn spool_error(size: usize) -> impl FnOnce(std::io::Error) -> StoreError {
    move |error| StoreError::from_io("keep a temporary file in", &std::env::temp_dir(), size, error)
}

impl Spool {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        match self {
            Self::Memory(held) if (held.len() + bytes.len()) as u64 <= ONE_REQUEST => {
                held.extend_from_slice(bytes);
                Ok(())
            }
            Self::Memory(held) => {
                let mut file = tempfile::tempfile().map_err(spool_error(held.len()))?;
                file.write_all(held).and_then(|()| file.write_all(bytes)).map_err(spool_error(bytes.len()))?;
                *self = Self::File(file);
                Ok(())
            }
            Self::File(file) => file.write_all(bytes).map_err(spool_error(bytes.len())),
        }
    }
}

impl Source for Spool {
    fn whole(&mut self) -> Result<Bytes> {
        let mut whole = Vec::new();
        self.pieces(&mut |piece| {
            whole.extend_from_slice(piece);
            Ok(true)
        })?;
        Ok(whole.into())
    }

    fn pieces(&mut self, take: &mut dyn FnMut(&[u8]) -> Result<bool>) -> Result<()> {
        let file = match self {
            Self::Memory(held) => return take(held).map(drop),
            Self::File(file) => file,
        };
        file.rewind().map_err(spool_error(0))?;
        let mut buffer = vec![0; READ_AT_ONCE];
        loop {
            let length = file.read(&mut buffer).map_err(spool_error(0))?;
            match buffer.get(..length) {
                Some(piece) if !piece.is_empty() && take(piece)? => {}
                _ => break,
            }
        }
        // What is written next goes to the end.
        file.seek(std::io::SeekFrom::End(0)).map(drop).map_err(spool_error(0))
    }
}

impl Draft for S3Draft<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        if self.published {
            return Err(StoreError::misused(&self.folder, "it is published already"));
        }
        self.hasher.update(bytes);
        self.spool.write(bytes)
    }

    fn publish(&mut self, key: &Key) -> Result<Created> {
        if self.published {
            return Err(StoreError::misused(&self.folder, "it is published already"));
        }
        if *key.folder() != self.folder {
            return Err(StoreError::misused(&self.folder, "it was to be published in another folder"));
        }
        let content = Content::new(self.hasher.count(), self.hasher.finalize(), self.writer.clone());
        let created = self.server.create(key, &content, &mut self.spool)?;
        if created != Created::Different {
            self.published = true;
            self.spool = Spool::Memory(Vec::new());
        }
        Ok(created)
    }
}
