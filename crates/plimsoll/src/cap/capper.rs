//! `Capper`: capping as the text comes in, with head, tail and a bounded buffer; and `cap`, the same in one push.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use super::kind::Kind;
use super::policy::{Capped, Naming, Policy};
use super::preview::{self, Seen};
use super::scan::{Found, Scan};
use crate::Bytes;
use crate::utf16::{Decoder, Utf16};

/// The least and the most that is held of each end beyond what the cap needs: escape sequences collapse, so it can
/// take much raw text to fill a preview.
const WINDOW: std::ops::RangeInclusive<usize> = 64 * 1024..=1024 * 1024;

/// Caps a text that is at hand.
///
/// At or under the cap it is returned unchanged, byte for byte. Over it, the result is never longer than the cap,
/// marker included. The same text, policy and naming give the same result, always.
///
/// ```
/// use plimsoll::Bytes;
/// use plimsoll::cap::{Naming, Policy, cap};
/// let policy = Policy::new(Bytes(4_096));
/// assert_eq!(cap(b"short", &policy, &Naming::unsaved()).text, b"short".as_slice());
///
/// let text = "one line of many\n".repeat(1_000);
/// let capped = cap(text.as_bytes(), &policy, &Naming::unsaved());
/// assert!(capped.was_capped && capped.text.len() <= 4_096);
/// assert_eq!((capped.bytes, capped.lines), (Bytes(17_000), 1_000));
/// assert!(capped.as_str().contains("could NOT be saved: run again with narrower output"));
/// ```
pub fn cap<'t>(text: &'t [u8], policy: &Policy, naming: &Naming<'_>) -> Capped<'t> {
    if text.len() > policy.cap.limit() {
        let mut capper = Capper::new(*policy);
        capper.push(text);
        return capper.finish(naming);
    }
    unchanged(Cow::Borrowed(text), policy)
}

fn unchanged<'t>(text: Cow<'t, [u8]>, policy: &Policy) -> Capped<'t> {
    let (lines, kind) = (lines_of(&text), kind_of(&text, policy));
    Capped { was_capped: false, omitted: Bytes(0), bytes: Bytes::from(text.len()), lines, kind, marker: None, text }
}

fn lines_of(text: &[u8]) -> u64 {
    match Utf16::of(text) {
        Some(order) => feeds_of(&decoded(Decoder::new(order), text, true)),
        None => feeds_of(text),
    }
}

/// How many lines there are; a last one without a line feed counts.
fn feeds_of(text: &[u8]) -> u64 {
    let feeds = memchr::memchr_iter(b'\n', text).count() as u64;
    feeds + u64::from(text.last().is_some_and(|byte| *byte != b'\n'))
}

/// What bytes in UTF-16 are as UTF-8; what is not whole at their end is, if the text ends with them.
fn decoded(mut decoder: Decoder, bytes: &[u8], ends: bool) -> Vec<u8> {
    let mut text = String::with_capacity(bytes.len());
    decoder.decode(bytes, &mut text);
    if ends {
        decoder.finish(&mut text);
    }
    text.into_bytes()
}

fn kind_of(text: &[u8], policy: &Policy) -> Kind {
    policy.kind.unwrap_or_else(|| Kind::detect(text, policy.hint))
}

/// Caps a stream: it holds the ends of the text and what stands out between them, never the whole.
///
/// How the text is divided into pushes makes no difference. Memory depends on the cap alone.
///
/// Whoever stores what is over the cap begins when [`would_exceed`](Self::would_exceed) says so, with what was
/// [`held`](Self::held) so far:
///
/// ```
/// use plimsoll::Bytes;
/// use plimsoll::cap::{Capper, Naming, Policy};
///
/// let mut stored: Option<Vec<u8>> = None;
/// let mut capper = Capper::new(Policy::new(Bytes(1_024)));
/// for chunk in [[b'a'; 1_000], [b'b'; 1_000], [b'c'; 1_000]] {
///     if stored.is_none() && capper.would_exceed(chunk.len()) {
///         stored = Some(capper.held().to_vec());
///     }
///     if let Some(stored) = &mut stored {
///         stored.extend(chunk);
///     }
///     capper.push(&chunk);
/// }
/// assert_eq!(stored.map(|stored| stored.len()), Some(3_000));
/// let id = "s1/toolu_01".parse()?;
/// let capped = capper.finish(&Naming::whole(&id));
/// assert!(capped.was_capped && capped.text.len() <= 1_024);
/// # Ok::<(), plimsoll::id::IdError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Capper {
    policy: Policy,
    limit: usize,
    total: u64,
    /// The first bytes, up to the window.
    head: Vec<u8>,
    window: usize,
    /// What comes after the head, its last window or more: first what was copied, then blocks that are shared.
    tail: Vec<u8>,
    blocks: VecDeque<Arc<Vec<u8>>>,
    /// How many bytes there are in the blocks.
    shared: usize,
    /// Begun when the head is full: until then the kind of content is not decided.
    scan: Option<Scan>,
    /// Of a text in UTF-16, what it is as UTF-8; begun with the scan.
    decoding: Option<Decoding>,
}

/// Reading UTF-16 as it comes in.
#[derive(Debug, Clone)]
struct Decoding {
    decoder: Decoder,
    /// What came last, as UTF-8.
    text: String,
    /// How long all of it is as UTF-8.
    total: u64,
}

impl Decoding {
    fn new(order: Utf16) -> Self {
        Self { decoder: Decoder::new(order), text: String::new(), total: 0 }
    }

    fn read(&mut self, bytes: &[u8]) -> &[u8] {
        self.text.clear();
        self.decoder.decode(bytes, &mut self.text);
        self.total += self.text.len() as u64;
        self.text.as_bytes()
    }

    fn end(&mut self) -> &[u8] {
        self.text.clear();
        self.decoder.finish(&mut self.text);
        self.total += self.text.len() as u64;
        self.text.as_bytes()
    }
}

impl Capper {
    /// Begins a text.
    pub fn new(policy: Policy) -> Self {
        let limit = policy.cap.limit();
        let window = limit.saturating_mul(4).clamp(*WINDOW.start(), *WINDOW.end()).max(limit.saturating_add(1));
        Self {
            policy,
            limit,
            total: 0,
            head: Vec::new(),
            window,
            tail: Vec::new(),
            blocks: VecDeque::new(),
            shared: 0,
            scan: None,
            decoding: None,
        }
    }

    /// Takes the next bytes of the text.
    pub fn push(&mut self, bytes: &[u8]) {
        self.total = self.total.saturating_add(bytes.len() as u64);
        let room = (self.window - self.head.len()).min(bytes.len());
        let (first, rest) = bytes.split_at_checked(room).unwrap_or((bytes, &[]));
        self.head.extend_from_slice(first);
        if self.scan.is_none() && self.head.len() == self.window {
            self.scan = Some(self.begin());
        }
        if rest.is_empty() {
            return;
        }
        self.look(rest);
        for block in std::mem::take(&mut self.blocks) {
            self.keep(&block);
        }
        self.shared = 0;
        self.keep(rest);
    }

    /// Takes the next bytes, a block that the caller shares: it is held instead of being copied. Blocks of some hundred
    /// KiB suit best; what is shown is the same as if they were [pushed](Self::push).
    ///
    /// ```
    /// use std::sync::Arc;
    /// use plimsoll::Bytes;
    /// use plimsoll::cap::{Capper, Naming, Policy};
    ///
    /// let (mut capper, mut other) = (Capper::new(Policy::new(Bytes(1_024))), Capper::new(Policy::new(Bytes(1_024))));
    /// for number in 0..9_u8 {
    ///     let block = Arc::new(vec![b'0' + number; 100_000]);
    ///     capper.push_block(&block);
    ///     other.push(&block);
    /// }
    /// assert_eq!(capper.finish(&Naming::unsaved()).text, other.finish(&Naming::unsaved()).text);
    /// ```
    pub fn push_block(&mut self, block: &Arc<Vec<u8>>) {
        if self.scan.is_none() {
            return self.push(block);
        }
        self.total = self.total.saturating_add(block.len() as u64);
        self.look(block);
        self.blocks.push_back(Arc::clone(block));
        self.shared += block.len();
        if self.shared >= self.window {
            self.tail.clear();
        }
        while let Some(first) = self.blocks.front()
            && self.shared - first.len() >= self.window
        {
            self.shared -= first.len();
            self.blocks.pop_front();
        }
    }

    /// Copies the end of what came to the tail.
    fn keep(&mut self, rest: &[u8]) {
        if rest.len() >= self.window {
            self.tail.clear();
            self.tail.extend_from_slice(rest.get(rest.len() - self.window..).unwrap_or_default());
            return;
        }
        // Twice the window, so that what is moved to the front was paid for by what came in.
        if self.tail.len() + rest.len() > self.window * 2 {
            let old = (self.tail.len() + rest.len()).saturating_sub(self.window).min(self.tail.len());
            self.tail.drain(..old);
        }
        self.tail.extend_from_slice(rest);
    }

    /// Looks at what comes after the head.
    fn look(&mut self, bytes: &[u8]) {
        if let Some(scan) = &mut self.scan {
            match &mut self.decoding {
                Some(decoding) => scan.feed(decoding.read(bytes)),
                None => scan.feed(bytes),
            }
        }
    }

    fn begin(&mut self) -> Scan {
        let kind = kind_of(&self.head, &self.policy);
        let otherwise = self.policy.hint.filter(|hint| *hint != Kind::Json).unwrap_or(Kind::Text);
        self.decoding = Utf16::of(&self.head).filter(|_| kind != Kind::Binary).map(Decoding::new);
        let head = match &mut self.decoding {
            Some(decoding) => decoding.read(&self.head),
            None => &self.head,
        };
        let mut scan = Scan::new(kind, otherwise, self.limit, head);
        scan.feed(head);
        scan
    }

    /// Tells whether the text is over the cap: from here on it will be cut.
    pub fn exceeded(&self) -> bool {
        self.total > self.limit as u64
    }

    /// Tells whether the text would be over the cap with this many bytes more.
    pub fn would_exceed(&self, more: usize) -> bool {
        self.total.saturating_add(more as u64) > self.limit as u64
    }

    /// Gives the bytes that are held from the text's beginning: all of them as long as it is within the cap.
    pub fn held(&self) -> &[u8] {
        &self.head
    }

    /// Gives how many bytes were pushed.
    pub fn bytes(&self) -> Bytes {
        Bytes(self.total)
    }

    /// How many bytes of the text are held in all.
    #[cfg(test)]
    pub(super) fn holds(&self) -> usize {
        self.head.capacity() + self.tail.capacity() + self.shared + self.scan.as_ref().map_or(0, Scan::holds)
    }

    /// Ends the text, and gives what is shown of it.
    pub fn finish(self, naming: &Naming<'_>) -> Capped<'static> {
        if !self.exceeded() {
            return unchanged(Cow::Owned(self.head), &self.policy);
        }
        self.end().show(naming)
    }

    /// Ends the text. What is shown of it is composed when it is known where the whole is stored: see [`Ended::show`].
    pub fn end(mut self) -> Ended {
        if !self.exceeded() {
            return Ended { policy: self.policy, limit: self.limit, total: self.total, over: None, head: self.head };
        }
        let mut scan = match self.scan.take() {
            Some(scan) => scan,
            None => self.begin(),
        };
        let (mut tail, mut stored) = (self.last_window(), None);
        if let Some(mut decoding) = self.decoding.take() {
            scan.feed(decoding.end());
            let order = decoding.decoder.order();
            let ends = self.head.len() as u64 == self.total;
            self.head = decoded(Decoder::new(order), &self.head, ends);
            // From a whole character on.
            let skip = order.before_part(&tail, self.total - tail.len() as u64);
            tail = decoded(Decoder::within(order), tail.get(skip..).unwrap_or_default(), true);
            stored = Some((order, self.total));
            self.total = decoding.total;
        }
        let (policy, limit, total) = (self.policy, self.limit, self.total);
        Ended { policy, limit, total, over: Some(Over { found: scan.finish(), tail, stored }), head: self.head }
    }

    /// The last window of the text, in one piece.
    fn last_window(&mut self) -> Vec<u8> {
        for block in std::mem::take(&mut self.blocks) {
            self.keep(&block);
        }
        let old = self.tail.len().saturating_sub(self.window);
        self.tail.drain(..old);
        let missing = (self.window - self.tail.len()).min(self.head.len());
        let mut last = self.head.get(self.head.len() - missing..).unwrap_or_default().to_vec();
        last.append(&mut self.tail);
        last
    }
}

/// A text that has ended, before it is decided what is shown of it.
///
/// ```
/// use plimsoll::Bytes;
/// use plimsoll::cap::{Capper, Kind, Naming, Policy};
///
/// let mut capper = Capper::new(Policy::new(Bytes(1_024)));
/// capper.push("10:00:00 a line of a log\n".repeat(100).as_bytes());
/// let ended = capper.end();
/// assert_eq!((ended.kind(), ended.lines()), (Kind::Log, 100));
/// // Stored as a log now, it has an id.
/// let id = "s1/toolu_01".parse()?;
/// assert!(ended.show(&Naming::whole(&id)).as_str().contains("recall id s1/toolu_01"));
/// # Ok::<(), plimsoll::id::IdError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Ended {
    policy: Policy,
    limit: usize,
    total: u64,
    /// The first bytes; all of them if the text is within the cap.
    head: Vec<u8>,
    over: Option<Over>,
}

/// What is known of a text over the cap. Of one in UTF-16 all but `stored` is about what it is as UTF-8.
#[derive(Debug, Clone)]
struct Over {
    found: Found,
    /// Its last bytes.
    tail: Vec<u8>,
    /// How it is stored, and how long it is so.
    stored: Option<(Utf16, u64)>,
}

impl Ended {
    /// Gives the kind of content.
    pub fn kind(&self) -> Kind {
        match &self.over {
            Some(over) => over.found.kind,
            None => kind_of(&self.head, &self.policy),
        }
    }

    /// Gives the number of lines; a last one without a line feed counts.
    pub fn lines(&self) -> u64 {
        self.over.as_ref().map_or_else(|| lines_of(&self.head), |over| over.found.lines)
    }

    /// Composes what is shown: the whole text if it is within the cap. It may be asked for by several names.
    pub fn show(&self, naming: &Naming<'_>) -> Capped<'static> {
        match &self.over {
            None => unchanged(Cow::Owned(self.head.clone()), &self.policy),
            Some(Over { found, tail, stored }) => {
                let seen = Seen { head: &self.head, tail, total: self.total, found, stored: *stored };
                preview::compose(&seen, &self.policy, self.limit, naming)
            }
        }
    }
}
