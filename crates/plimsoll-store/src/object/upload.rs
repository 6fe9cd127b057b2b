//! An upload in parts: some on their way at a time, ended only if the name is free, aborted if anything goes wrong.

use std::collections::VecDeque;

use object_store::path::Path;
use object_store::{Attributes, MultipartUpload, ObjectStore as _, PutMultipartOptions, PutPayload};

use super::bridge::Task;
use super::server::{Answer, Server};
use super::witness::witnessed;
use crate::error::Result;

/// The size of every part but the last: 8 MiB, so that 10,000 parts hold more than the largest stream.
const PART: usize = 8 << 20;
/// How many parts are on their way at a time.
const ON_THEIR_WAY: usize = 4;

/// An upload that nobody sees before it is ended.
#[derive(Debug)]
pub(super) struct Upload<'s> {
    server: &'s Server,
    /// Taken when it is ended or aborted.
    handle: Option<Box<dyn MultipartUpload>>,
    on_their_way: VecDeque<Task<Answer<()>>>,
    part: Vec<u8>,
}

impl<'s> Upload<'s> {
    pub(super) fn begin(server: &'s Server, path: &Path, attributes: Attributes) -> Result<Answer<Self>> {
        let path = path.clone();
        let options = PutMultipartOptions { attributes, ..PutMultipartOptions::default() };
        let begun = server.call(move |client| async move { client.s3.put_multipart_opts(&path, options).await })?;
        Ok(begun.map(|upload| Self { server, handle: Some(upload), on_their_way: VecDeque::new(), part: Vec::new() }))
    }

    /// Takes bytes; sends a part when one is full.
    pub(super) fn write(&mut self, mut bytes: &[u8]) -> Result<Answer<()>> {
        while !bytes.is_empty() {
            if self.part.capacity() == 0 {
                self.part.reserve_exact(bytes.len().min(PART));
            }
            let (now, later) = bytes.split_at_checked(PART - self.part.len()).unwrap_or((bytes, &[]));
            self.part.extend_from_slice(now);
            bytes = later;
            if self.part.len() == PART
                && let Err(failed) = self.send()?
            {
                return Ok(Err(failed));
            }
        }
        Ok(Ok(()))
    }

    fn send(&mut self) -> Result<Answer<()>> {
        if self.on_their_way.len() == ON_THEIR_WAY
            && let Err(failed) = self.wait_for_one()?
        {
            return Ok(Err(failed));
        }
        if let Some(upload) = &mut self.handle {
            let sent = upload.put_part(PutPayload::from(std::mem::take(&mut self.part)));
            self.on_their_way.push_back(self.server.start_raw(witnessed(sent))?);
        }
        Ok(Ok(()))
    }

    fn wait_for_one(&mut self) -> Result<Answer<()>> {
        match self.on_their_way.pop_front() {
            Some(task) => self.server.wait(task),
            None => Ok(Ok(())),
        }
    }

    /// Sends what is left, and waits until all parts have arrived.
    pub(super) fn arrive(&mut self) -> Result<Answer<()>> {
        if !self.part.is_empty()
            && let Err(failed) = self.send()?
        {
            return Ok(Err(failed));
        }
        while !self.on_their_way.is_empty() {
            if let Err(failed) = self.wait_for_one()? {
                return Ok(Err(failed));
            }
        }
        Ok(Ok(()))
    }

    /// Makes it an object, if there is none by its name.
    pub(super) fn end(mut self) -> Result<Answer<()>> {
        if let Err(failed) = self.arrive()? {
            return Ok(Err(failed));
        }
        let Some(mut upload) = self.handle.take() else {
            return Ok(Ok(()));
        };
        let ending = async move { (witnessed(upload.complete()).await, upload) };
        let (ended, upload) = self.server.wait(self.server.start_raw(ending)?)?;
        if ended.is_err() {
            // Dropping `self` aborts it. If it was ended after all, and only the answer is lost, that does nothing.
            self.handle = Some(upload);
        }
        Ok(ended.map(drop))
    }
}

impl Drop for Upload<'_> {
    /// Gives back what was stored for it. If that fails, too, `sweep` does it later.
    fn drop(&mut self) {
        let Some(mut upload) = self.handle.take() else {
            return;
        };
        // A part that arrives after the end would be stored anew.
        while let Some(task) = self.on_their_way.pop_front() {
            let _ = task.wait();
        }
        if let Ok(task) = self.server.start_raw(async move { upload.abort().await }) {
            let _ = task.wait();
        }
    }
}
