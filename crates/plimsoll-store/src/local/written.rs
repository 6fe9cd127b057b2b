//! The file of a record that is being written: in pieces that suit the system, and on its way to the disk while more of
//! it comes.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use super::{WRITTEN_AT_ONCE, are_equal};

/// After how many bytes a long record is synced ahead of its end, so that little is left to wait for then. 32 MiB: a
/// shorter one is not worth a thread.
const AHEAD: u64 = 32 << 20;

/// A file that is appended to, and synced when it is whole.
#[derive(Debug)]
pub(super) struct Written {
    file: File,
    size: u64,
    /// Bytes that came since a sync was asked for.
    unsynced: u64,
    beside: Option<Beside>,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Unsynced,
    Synced,
    /// The system reports a failure once, and then takes for written what is not: so it is remembered here.
    Failed(io::ErrorKind),
}

/// A thread that syncs while the file is written.
#[derive(Debug)]
struct Beside {
    wake: SyncSender<()>,
    thread: JoinHandle<io::Result<()>>,
}

impl Written {
    /// Begins with an empty file that is open for reading and appending.
    pub(super) fn new(file: File) -> Self {
        Self { file, size: 0, unsynced: 0, beside: None, state: State::Unsynced }
    }

    pub(super) fn size(&self) -> u64 {
        self.size
    }

    pub(super) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        for piece in bytes.chunks(WRITTEN_AT_ONCE) {
            self.file.write_all(piece)?;
        }
        self.size += bytes.len() as u64;
        self.unsynced += bytes.len() as u64;
        if self.state == State::Synced {
            self.state = State::Unsynced;
        }
        if self.unsynced >= AHEAD {
            self.unsynced = 0;
            if self.beside.is_none() {
                self.beside = Beside::start(&self.file);
            }
            if let Some(beside) = &self.beside {
                // While it is still at the last part, this one waits for the next time.
                let _ = beside.wake.try_send(());
            }
        }
        Ok(())
    }

    /// Has everything on the disk when it returns.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        match self.state {
            State::Synced => return Ok(()),
            State::Failed(kind) => return Err(kind.into()),
            State::Unsynced => {}
        }
        let ahead = self.beside.take().map_or(Ok(()), Beside::end);
        let synced = ahead.and(self.file.sync_all());
        self.state = synced.as_ref().map_or_else(|error| State::Failed(error.kind()), |()| State::Synced);
        synced
    }

    /// Tells whether another file, of a known size and read from its present place, has the same bytes.
    pub(super) fn equals(&mut self, other: &mut File, size: u64) -> io::Result<bool> {
        if size != self.size {
            return Ok(false);
        }
        self.file.seek(SeekFrom::Start(0))?;
        are_equal(&mut self.file, other)
    }
}

impl Beside {
    /// Starts it; `None` if no thread or handle is to be had: then all is synced at the end.
    fn start(file: &File) -> Option<Self> {
        let file = file.try_clone().ok()?;
        let (wake, woken) = sync_channel::<()>(1);
        let sync = move || woken.into_iter().try_for_each(|()| file.sync_data());
        let thread = thread::Builder::new().name("plimsoll-sync".to_owned()).spawn(sync).ok()?;
        Some(Self { wake, thread })
    }

    fn end(self) -> io::Result<()> {
        drop(self.wake);
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread that syncs it ended early")))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn what_is_synced_ahead_of_its_end_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        let file = File::options().read(true).append(true).create_new(true).open(&path).unwrap();
        let mut written = Written::new(file);
        let piece: Vec<u8> = (0..1_000_003_u32).map(|number| number.to_le_bytes()[0]).collect();
        for _ in 0..80 {
            written.append(&piece).unwrap();
        }
        assert!(written.beside.is_some());
        written.sync().unwrap();
        assert!(written.beside.is_none() && written.size() == 80_000_240);
        let mut read = Vec::new();
        File::open(&path).unwrap().read_to_end(&mut read).unwrap();
        assert!(read == piece.repeat(80));
        assert!(written.equals(&mut File::open(&path).unwrap(), 80_000_240).unwrap());
        // More may come, and is synced, too.
        written.append(b"!").unwrap();
        assert_eq!(written.state, State::Unsynced);
        written.sync().unwrap();
        assert!(!written.equals(&mut File::open(&path).unwrap(), 80_000_240).unwrap());
    }

    #[test]
    fn a_sync_that_failed_is_never_taken_for_done() {
        let mut written = Written::new(tempfile::tempfile().unwrap());
        written.state = State::Failed(io::ErrorKind::StorageFull);
        for _ in 0..2 {
            assert_eq!(written.sync().unwrap_err().kind(), io::ErrorKind::StorageFull);
        }
        // Ahead of the end: the thread's failure is the failure of the whole.
        let (wake, _woken) = sync_channel(1);
        let thread = thread::spawn(|| Err(io::ErrorKind::StorageFull.into()));
        let mut written = Written::new(tempfile::tempfile().unwrap());
        written.beside = Some(Beside { wake, thread });
        for _ in 0..2 {
            assert_eq!(written.sync().unwrap_err().kind(), io::ErrorKind::StorageFull);
        }
    }
}
