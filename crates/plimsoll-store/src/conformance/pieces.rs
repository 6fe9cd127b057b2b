//! The checks of what is written and read piece by piece, and of folders.

use std::time::{Duration, SystemTime};

use plimsoll::id::{Folder, SessionId};

use super::{Failure, hold, names, same, sixteen, text};
use crate::backend::{Backend, Created, Reader};

/// Larger than any block that a backend may keep, and no multiple of one.
fn large(seed: u8) -> Vec<u8> {
    (0..9_000_001_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24).to_le_bytes()[0] ^ seed).collect()
}

fn drain(reader: &mut dyn Reader, step: usize) -> Result<Vec<u8>, Failure> {
    let (mut content, mut buffer) = (Vec::new(), vec![0; step]);
    loop {
        let length = reader.read(&mut buffer)?;
        content.extend_from_slice(buffer.get(..length).ok_or("more was read than there is room")?);
        if length == 0 {
            same!(reader.read(&mut buffer)?, 0);
            return Ok(content);
        }
    }
}

pub(super) fn drafts_appear_whole(backend: &dyn Backend) -> Result<(), Failure> {
    let (key, empty, never) = (text("s", "c"), text("s", "empty"), text("s", "never"));
    let content = large(0);
    let mut draft = backend.begin(&key)?;
    for piece in content.chunks(1_000_003) {
        draft.write(piece)?;
        draft.write(b"")?;
        same!(backend.head(&key)?, None);
        same!(names(backend, key.folder())?, Vec::<String>::new());
    }
    same!(draft.publish(&key)?, Created::New);
    hold!(draft.write(b"more").is_err());
    drop(draft);
    hold!(backend.get(&key)?.as_ref() == Some(&content));
    same!(backend.create(&key, &[&content])?, Created::Same);

    same!(backend.begin(&empty)?.publish(&empty)?, Created::New);
    same!(backend.get(&empty)?, Some(Vec::new()));
    let mut dropped = backend.begin(&never)?;
    dropped.write(&content)?;
    drop(dropped);
    same!(backend.get(&never)?, None);
    let mut elsewhere = backend.begin(&never)?;
    hold!(elsewhere.publish(&text("other", "never")).is_err());
    drop(elsewhere);
    same!(names(backend, key.folder())?, ["results/s/c.txt", "results/s/empty.txt"]);
    // Nothing is left behind, however old it may be.
    same!(backend.sweep(SystemTime::now() + Duration::from_secs(3600))?, 0);
    Ok(())
}

pub(super) fn drafts_take_another_name(backend: &dyn Backend) -> Result<(), Failure> {
    let (key, other) = (text("s", "c"), text("s", "other"));
    let content = large(1);
    let mut almost = content.clone();
    almost.pop();
    almost.push(0xff);
    for taken in [&content, &almost] {
        backend.create(&key, &[taken])?;
        let mut draft = backend.begin(&key)?;
        draft.write(&content)?;
        let expected = if *taken == content { Created::Same } else { Created::Different };
        same!(draft.publish(&key)?, expected);
        if expected == Created::Different {
            same!(draft.publish(&other)?, Created::New);
            hold!(backend.get(&other)?.as_ref() == Some(&content));
        }
        hold!(backend.get(&key)?.as_ref() == Some(taken));
        drop(draft);
        backend.delete(&key)?;
    }
    Ok(())
}

pub(super) fn one_of_many_drafts_wins(backend: &dyn Backend) -> Result<(), Failure> {
    let key = text("race", "draft");
    let content = |number: usize| vec![u8::try_from(number).unwrap_or(u8::MAX); 100_000 + number];
    let created = sixteen(|number| {
        let mut draft = backend.begin(&key)?;
        for piece in content(number).chunks(30_000) {
            draft.write(piece)?;
        }
        Ok(draft.publish(&key)?)
    })?;
    let winner = created.iter().position(|created| *created == Created::New).ok_or("nobody won")?;
    same!(created.iter().filter(|created| **created == Created::Different).count(), 15);
    hold!(backend.get(&key)? == Some(content(winner)));
    Ok(())
}

pub(super) fn reads_in_order(backend: &dyn Backend) -> Result<(), Failure> {
    let key = text("s", "c");
    hold!(backend.open(&key, 0)?.is_none());
    let content = large(2);
    backend.create(&key, &[&content])?;
    let size = content.len();
    for (from, step) in
        [(0, 1 << 20), (0, 7_777), (1, 1 << 16), (1 << 20, 5 << 20), (size - 3, 2), (size, 8), (size + 9, 8)]
    {
        let mut reader = backend.open(&key, from as u64)?.ok_or("a created record is gone")?;
        same!(reader.size(), size as u64);
        same!(reader.read(&mut [])?, 0);
        hold!(drain(&mut *reader, step)? == content.get(from..).unwrap_or_default());
    }
    let mut reader = backend.open(&key, u64::MAX)?.ok_or("a created record is gone")?;
    same!(reader.read(&mut [0; 4])?, 0);
    backend.create(&text("s", "empty"), &[])?;
    let mut reader = backend.open(&text("s", "empty"), 0)?.ok_or("a created record is gone")?;
    same!((reader.size(), reader.read(&mut [0; 4])?), (0, 0));
    Ok(())
}

pub(super) fn empty_folders_go(backend: &dyn Backend) -> Result<(), Failure> {
    let later = SystemTime::now() + Duration::from_secs(3600);
    let (key, other) = (text("s", "c"), text("t", "c"));
    hold!(backend.list(key.folder())?.records.is_empty());
    backend.create(&key, &[b"x"])?;
    backend.create(&other, &[b"x"])?;
    hold!(!backend.remove_folder(key.folder(), later)?);
    hold!(!backend.remove_folder(&Folder::Results, later)?);
    same!(backend.get(&key)?, Some(b"x".to_vec()));
    if let Some(modified) = backend.list(key.folder())?.modified {
        hold!(modified.elapsed().unwrap_or_else(|early| early.duration()).as_secs() < 3600);
    }
    hold!(backend.delete(&key)?);
    backend.remove_folder(key.folder(), later)?;
    same!(backend.list(&Folder::Results)?.sessions, [SessionId::new("t")]);
    same!(backend.create(&key, &[b"y"])?, Created::New);
    same!(backend.get(&key)?, Some(b"y".to_vec()));
    Ok(())
}
