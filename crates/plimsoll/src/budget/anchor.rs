//! The anchor: the last usage a provider reported, and what it says beyond what is counted.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Measure;
use crate::Tokens;
use crate::compact::{Chain, ChainHash};
use crate::model::normalise;
use crate::token::Method;
use crate::transcript::{Author, BlockKind, Role, Usage, provider_compaction};
use crate::wire::Document;

/// The usage that a response reported, and the request it was reported for. It is the truth for that request, and with a
/// count of what came after it the best number for the next. It dies with any change of what it was reported for: another
/// model, other tools, another system prompt, a compaction or any other change of the messages.
///
/// It is plain data: whoever owns a session makes one from each response, and keeps it.
///
/// ```
/// use plimsoll::Tokens;
/// use plimsoll::budget::{Anchor, Counting, Death, Meter};
/// use plimsoll::compact::Chain;
/// use plimsoll::transcript::Usage;
/// use plimsoll::wire::{ParseOptions, parse};
/// let read = |body: &'static str| parse(body.as_bytes(), &ParseOptions::default()).unwrap();
/// let sent = read(r#"{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"Hi"}]}"#);
/// let usage = Usage { input: Tokens(1_000), cache_read: Tokens(9_000), output: Tokens(50), ..Usage::default() };
/// let anchor = Anchor::new(&sent, &Chain::of(&sent), usage).unwrap();
///
/// let next = read(r#"{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"Hi"},
///     {"role":"assistant","content":"Hello"},{"role":"user","content":"Go on"}]}"#);
/// let measure = Meter::new(Counting::for_model(Some("claude-sonnet-4-5"))).measure(&next);
/// let anchored = anchor.measure(&next, &Chain::of(&next), &measure).unwrap();
/// assert_eq!(anchored.reported, Tokens(10_050));
/// assert_eq!(anchored.tokens, Tokens(10_050) + measure.message(2));
///
/// let other = read(r#"{"model":"claude-opus-4-7","max_tokens":9,"messages":[{"role":"user","content":"Hi"}]}"#);
/// assert_eq!(anchor.measure(&other, &Chain::of(&other), &measure), Err(Death::Model));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anchor {
    usage: Usage,
    /// The base of the model's name.
    model: Option<String>,
    system: ChainHash,
    tools: ChainHash,
    messages: usize,
    history: ChainHash,
}

/// What an anchor and a count of what came after it say together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Anchored {
    /// What fills the context: reported, and counted after it.
    pub tokens: Tokens,
    /// What was reported, the response included.
    pub reported: Tokens,
    /// The count of what came after it.
    pub counted: Tokens,
    /// How all of it was obtained: reported if nothing was counted, else as the count was.
    pub method: Method,
}

/// Why an anchor no longer holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Death {
    /// Another model is asked: its tokens are others.
    Model,
    /// The system prompt changed.
    System,
    /// The tool list changed.
    Tools,
    /// Messages before it changed or went: a compaction, an edit, a rewind.
    History,
    /// The provider compacted the conversation since.
    Compacted,
}

impl fmt::Display for Death {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Model => "the model changed",
            Self::System => "the system prompt changed",
            Self::Tools => "the tool list changed",
            Self::History => "the messages before it changed",
            Self::Compacted => "the provider compacted the conversation",
        })
    }
}

impl Anchor {
    /// Makes an anchor of the usage that was reported for a request. `None` for a usage that says nothing of the input, and
    /// for a request whose history stands on the provider's server: what comes after it cannot be told.
    pub fn new(request: &Document<'_>, chain: &Chain, usage: Usage) -> Option<Self> {
        let messages = request.transcript().messages.len();
        let history = chain.prefix(messages)?;
        (usage.context() > Tokens::ZERO && request.previous().is_none()).then(|| Self {
            usage,
            model: request.model().map(|model| base(&model.decode())),
            system: system(request),
            tools: tools(request),
            messages,
            history,
        })
    }

    /// What it and a count say of a later request: the measure and the chain are that request's. The answer's own messages
    /// are in the reported output; what follows them is counted.
    ///
    /// # Errors
    /// [`Death`] tells what changed. Then the measure's own total is what there is to go by.
    pub fn measure(&self, request: &Document<'_>, chain: &Chain, measure: &Measure) -> Result<Anchored, Death> {
        if request.model().map(|model| base(&model.decode())) != self.model {
            return Err(Death::Model);
        }
        if system(request) != self.system {
            return Err(Death::System);
        }
        if tools(request) != self.tools {
            return Err(Death::Tools);
        }
        if chain.prefix(self.messages) != Some(self.history) || request.previous().is_some() {
            return Err(Death::History);
        }
        let transcript = request.transcript();
        if provider_compaction(transcript).is_some_and(|(at, _)| at >= self.messages) {
            return Err(Death::Compacted);
        }
        let after = transcript.messages.iter().skip(self.messages);
        let answer = after.take_while(|message| message.role == Role::Assistant).count();
        let counted = measure.range(self.messages + answer..transcript.messages.len());
        let output = if answer > 0 { self.usage.output } else { Tokens::ZERO };
        let reported = self.usage.context() + output;
        let method = if counted == Tokens::ZERO { Method::Reported } else { measure.method.max(Method::Reported) };
        Ok(Anchored { tokens: reported + counted, reported, counted, method })
    }
}

/// A model's name as far as it tells the tokenizer: without provider, date and context suffix.
pub(super) fn base(model: &str) -> String {
    normalise(model).base
}

/// The system prompt by what it says: marks for the cache move without changing it.
fn system(document: &Document<'_>) -> ChainHash {
    let mut hasher = blake3::Hasher::new();
    for block in &document.transcript().system {
        let part = match &block.kind {
            BlockKind::Text(text) => blake3::hash(text.decode().as_bytes()),
            _ => blake3::hash(block.span.of(document.bytes())),
        };
        hasher.update(part.as_bytes());
    }
    ChainHash::from(hasher.finalize())
}

/// The tool list by its bytes.
fn tools(document: &Document<'_>) -> ChainHash {
    let mut hasher = blake3::Hasher::new();
    for tool in &document.transcript().tools {
        hasher.update(blake3::hash(tool.span.of(document.bytes())).as_bytes());
    }
    ChainHash::from(hasher.finalize())
}

/// What the last usage that still holds says beyond what is counted up to its response.
///
/// A usage dies with any change of what precedes it. In a program's file that shows: what precedes it in the
/// conversation was then written after it. And it dies with a switch of the model: the document's model, or the one that
/// is counted for, is then another than the one that reported it.
pub(super) fn unrecorded(document: &Document<'_>, measure: &Measure, counted_for: Option<&str>) -> Option<Tokens> {
    if !document.format().is_appended() {
        return None;
    }
    let latest = document.model().map(|model| base(&model.decode()));
    let asked = counted_for.map(base);
    let mut latest_entry = None;
    let mut anchor = None;
    for (index, message) in document.transcript().messages.iter().enumerate() {
        let last = message.entries.iter().max().copied();
        if let Some(usage) = message.usage.filter(|usage| usage.context() > Tokens::ZERO)
            && last > latest_entry
        {
            let reporter = message.model.map(|model| base(&model.decode()));
            let mut others = [&latest, &asked].into_iter().flatten();
            let same = reporter.is_none_or(|reporter| others.all(|other| *other == reporter));
            let counted = measure.system + measure.tools + measure.range(0..index + 1);
            anchor = same.then(|| (usage.context() + usage.output) - counted);
        }
        if message.author == Author::Summary {
            // A summary changes everything before what follows it.
            anchor = None;
        }
        latest_entry = latest_entry.max(last);
    }
    anchor.filter(|tokens| *tokens > Tokens::ZERO)
}

#[cfg(test)]
#[path = "anchor/tests.rs"]
mod tests;
