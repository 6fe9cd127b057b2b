//! The last of what a program wrote to standard error, in bounded memory.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt as _};

/// How much is kept, in bytes.
pub(crate) const KEPT: usize = 64 << 10;

/// A ring of the last bytes, shared between who fills it and who reads it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tail(Arc<Mutex<VecDeque<u8>>>);

impl Tail {
    /// Reads until the end, and forgets all but the last of it. A program that floods it is never held up.
    pub(crate) async fn fill(self, mut source: impl AsyncRead + Unpin) {
        let mut buffer = vec![0; 16 << 10];
        while let Ok(read) = source.read(&mut buffer).await {
            if read == 0 {
                return;
            }
            self.push(buffer.get(..read).unwrap_or_default());
        }
    }

    fn push(&self, bytes: &[u8]) {
        let mut ring = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        ring.extend(bytes);
        let over = ring.len().saturating_sub(KEPT);
        ring.drain(..over);
    }

    /// Gives what is kept as text; a character that was cut at its start is left out.
    pub(crate) fn text(&self) -> String {
        let mut ring = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let whole = ring.len() < KEPT;
        let bytes = ring.make_contiguous();
        let start = if whole { 0 } else { bytes.iter().take_while(|byte| (0x80..0xc0).contains(*byte)).count() };
        String::from_utf8_lossy(bytes.get(start..).unwrap_or_default()).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_leaves_its_last_part() {
        let tail = Tail::default();
        for _ in 0..100 {
            tail.push("é".repeat(1_000).as_bytes());
        }
        tail.push(b"the end");
        let text = tail.text();
        assert!(text.len() <= KEPT && text.ends_with("éthe end") && text.starts_with('é'));
    }
}
