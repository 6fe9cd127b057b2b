//! Creating records: conditional writes, the proof that the server honours them, and what came of one.

use std::sync::PoisonError;

use bytes::Bytes;
use object_store::path::Path;
use object_store::{Attribute, Attributes, GetOptions, ObjectStore as _, PutMode, PutOptions, PutPayload};
use plimsoll::id::Key;

use super::fault::Fault;
use super::server::{Answer, Server};
use super::upload::Upload;
use crate::backend::Created;
use crate::error::Result;

/// Up to this size a record is one request; over it, it is uploaded in parts: 8 MiB.
pub(super) const ONE_REQUEST: u64 = 8 << 20;
/// Up to this size it may be one request where the server does not honour conditions at the end of an upload: 256 MiB.
const ONE_LARGE_REQUEST: u64 = 256 << 20;
/// Up to this size what is there is read and compared; over it, its hash is asked for: 256 KiB.
const READ_BACK: u64 = 256 << 10;
/// How often a creation is tried anew, when a name is freed under it or an answer is lost.
const ATTEMPTS: usize = 4;

/// The object that every store on a server has: whoever is about to write tries to create it.
pub(super) const MARK: &str = "plimsoll-store.txt";
const MARK_TEXT: &[u8] =
    b"Below this prefix, plimsoll keeps what left the contexts of agents. Do not change it by hand.\n";

/// Where the writer's stamp and the content's hash stand in an object's metadata.
const WRITER: &str = "plimsoll-writer";
const HASH: &str = "plimsoll-blake3";

/// What a record is to hold, as far as is needed to recognise it.
#[derive(Debug, Clone)]
pub(super) struct Content {
    size: u64,
    hash: blake3::Hash,
    /// Tells this writer from all others.
    writer: String,
}

/// Where the bytes come from; asked for anew for every try.
pub(super) trait Source {
    /// Gives everything at once.
    fn whole(&mut self) -> Result<Bytes>;

    /// Gives everything in order, in pieces, until one is answered with `false`.
    fn pieces(&mut self, take: &mut dyn FnMut(&[u8]) -> Result<bool>) -> Result<()>;
}

/// What a look at the place of a record showed.
enum Found {
    Nothing,
    Ours,
    Equal,
    Other,
}

impl Content {
    pub(super) fn new(size: u64, hash: blake3::Hash, writer: String) -> Self {
        Self { size, hash, writer }
    }

    fn attributes(&self) -> Attributes {
        let metadata = |name: &'static str| Attribute::Metadata(name.into());
        Attributes::from_iter([
            (metadata(WRITER), self.writer.clone()),
            (metadata(HASH), self.hash.to_hex().to_string()),
            (Attribute::ContentType, "application/octet-stream".to_owned()),
        ])
    }
}

/// Makes a stamp that no other write has: the hasher's keys are random in every process.
pub(super) fn writer_stamp() -> String {
    use std::hash::{BuildHasher as _, Hasher as _, RandomState};
    let random = || RandomState::new().build_hasher().finish();
    let time = std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0, |elapsed| elapsed.as_nanos());
    let mut hasher = blake3::Hasher::new();
    hasher.update(&random().to_le_bytes()).update(&random().to_le_bytes());
    hasher.update(&time.to_le_bytes()).update(&std::process::id().to_le_bytes());
    hasher.finalize().to_hex().chars().take(32).collect()
}

impl Server {
    /// Creates a record.
    pub(super) fn create(&self, key: &Key, content: &Content, source: &mut dyn Source) -> Result<Created> {
        self.prove_put()?;
        let path = self.path(&key.to_string());
        let mut in_parts = content.size > ONE_REQUEST;
        if in_parts {
            // Nothing large is sent in vain, and nobody is asked to honour conditions where none will be needed.
            if let Some(created) = self.find(key, &path, content, source)? {
                return Ok(created);
            }
            in_parts = self.prove_upload()?;
            if !in_parts && content.size > ONE_LARGE_REQUEST {
                let what = "conditional writes of objects over 256 MiB";
                return Err(self.remote(
                    "write",
                    Some(key),
                    Fault::Unconditional { endpoint: self.endpoint(), what },
                ));
            }
        }
        let mut attempt = 1;
        loop {
            let answer = if in_parts {
                self.put_in_parts(key, &path, content, source)?
            } else {
                self.put(&path, source.whole()?, content.attributes())?
            };
            let Err(failed) = answer else {
                return Ok(Created::New);
            };
            if !failed.is_taken() && !failed.is_open() {
                return Err(self.explain("write", Some(key), &failed));
            }
            // The name is taken, perhaps by this very write, whose answer was lost.
            if let Some(created) = self.find(key, &path, content, source)? {
                return Ok(created);
            }
            if attempt == ATTEMPTS {
                return Err(self.explain("write", Some(key), &failed));
            }
            attempt += 1;
        }
    }

    pub(super) fn put(&self, path: &Path, content: Bytes, attributes: Attributes) -> Result<Answer<()>> {
        let path = path.clone();
        let options = PutOptions { mode: PutMode::Create, attributes, ..PutOptions::default() };
        self.call(move |client| async move {
            client.s3.put_opts(&path, PutPayload::from_bytes(content), options).await.map(drop)
        })
    }

    fn put_in_parts(&self, key: &Key, path: &Path, content: &Content, source: &mut dyn Source) -> Result<Answer<()>> {
        let mut upload = match Upload::begin(self, path, content.attributes())? {
            Ok(upload) => upload,
            Err(failed) => return Ok(Err(failed)),
        };
        let mut refused = None;
        source.pieces(&mut |piece| {
            refused = upload.write(piece)?.err();
            Ok(refused.is_none())
        })?;
        match refused {
            Some(failed) => Ok(Err(failed)),
            None => match upload.arrive()? {
                Ok(()) => {
                    let _baton = self.take_baton(key)?;
                    upload.end()
                }
                Err(failed) => Ok(Err(failed)),
            },
        }
    }

    /// Looks at what stands under a name, if anything.
    fn find(&self, key: &Key, path: &Path, content: &Content, source: &mut dyn Source) -> Result<Option<Created>> {
        Ok(match self.look_at(key, path, content, source)? {
            Found::Nothing => None,
            Found::Ours => Some(Created::New),
            Found::Equal => Some(Created::Same),
            Found::Other => Some(Created::Different),
        })
    }

    fn look_at(&self, key: &Key, path: &Path, content: &Content, source: &mut dyn Source) -> Result<Found> {
        let (path, expected) = (path.clone(), content.clone());
        let answer = self.call(move |client| async move {
            let head = expected.size > READ_BACK;
            let found = client.s3.get_opts(&path, GetOptions { head, ..GetOptions::default() }).await?;
            let metadata = |name: &'static str| {
                found.attributes.get(&Attribute::Metadata(name.into())).map(|value| value.as_ref().to_owned())
            };
            let (writer, hash) = (metadata(WRITER), metadata(HASH));
            if writer.as_deref() == Some(&expected.writer) {
                return Ok((Found::Ours, None));
            }
            if found.meta.size != expected.size {
                return Ok((Found::Other, None));
            }
            if !head {
                return Ok((Found::Other, Some(found.bytes().await?)));
            }
            let hash = match hash {
                Some(hash) => hash,
                // Somebody copied the object and left out what stood beside it.
                None => hash_of(client.s3.get_opts(&path, GetOptions::default()).await?).await?,
            };
            let equal = hash == expected.hash.to_hex().as_str();
            Ok((if equal { Found::Equal } else { Found::Other }, None))
        })?;
        match answer {
            Ok((_, Some(present))) => Ok(if present == source.whole()? { Found::Equal } else { Found::Other }),
            Ok((found, None)) => Ok(found),
            Err(failed) => self.missing("read", key, &failed).map(|found| found.unwrap_or(Found::Nothing)),
        }
    }

    /// Makes sure, once a process, that the server refuses to create what is there.
    ///
    /// A store that was written to before costs one request: its mark is there, and creating it again is refused.
    fn prove_put(&self) -> Result<()> {
        if self.trusted().put {
            return Ok(());
        }
        let path = self.path(MARK);
        for _ in 0..2 {
            match self.put(&path, Bytes::from_static(MARK_TEXT), Attributes::default())? {
                Ok(()) => {}
                Err(failed) if failed.is_taken() => {
                    self.note_bucket();
                    self.trust.lock().unwrap_or_else(PoisonError::into_inner).put = true;
                    return Ok(());
                }
                Err(failed) => return Err(self.explain("write to", None, &failed)),
            }
        }
        let what = "conditional writes";
        Err(self.remote("write to", None, Fault::Unconditional { endpoint: self.endpoint(), what }))
    }

    /// Finds out, once a process, whether the server refuses to end an upload under a name that is taken.
    fn prove_upload(&self) -> Result<bool> {
        if let Some(known) = self.trusted().upload {
            return Ok(known);
        }
        let explain = |failed| self.explain("write to", None, &failed);
        let mut upload = Upload::begin(self, &self.path(MARK), Attributes::default())?.map_err(explain)?;
        upload.write(MARK_TEXT)?.map_err(explain)?;
        // Where it is not refused, the same text was written over itself.
        let honoured = match upload.end()? {
            Ok(()) => false,
            Err(failed) if failed.is_taken() => true,
            Err(failed) => return Err(explain(failed)),
        };
        self.trust.lock().unwrap_or_else(PoisonError::into_inner).upload = Some(honoured);
        Ok(honoured)
    }
}

async fn hash_of(found: object_store::GetResult) -> object_store::Result<String> {
    use futures_util::TryStreamExt as _;
    let mut hasher = blake3::Hasher::new();
    let mut pieces = found.into_stream();
    while let Some(piece) = pieces.try_next().await? {
        hasher.update(&piece);
    }
    Ok(hasher.finalize().to_hex().to_string())
}

/// Parts in memory.
pub(super) struct Parts<'a>(pub(super) &'a [&'a [u8]]);

impl Parts<'_> {
    pub(super) fn content(&self) -> Content {
        let mut hasher = blake3::Hasher::new();
        for part in self.0 {
            hasher.update(part);
        }
        Content::new(hasher.count(), hasher.finalize(), writer_stamp())
    }
}

impl Source for Parts<'_> {
    fn whole(&mut self) -> Result<Bytes> {
        Ok(self.0.concat().into())
    }

    fn pieces(&mut self, take: &mut dyn FnMut(&[u8]) -> Result<bool>) -> Result<()> {
        for part in self.0 {
            if !take(part)? {
                break;
            }
        }
        Ok(())
    }
}
