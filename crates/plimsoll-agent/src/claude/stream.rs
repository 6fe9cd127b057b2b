//! Partial messages: which pieces were said already when the whole message comes.

/// How many conversations (the main one, and subagents at work) are followed at a time.
const MOST: usize = 64;

/// The messages under way.
#[derive(Debug, Default)]
pub(super) struct Streams(Vec<Stream>);

#[derive(Debug)]
struct Stream {
    /// The call whose subagent it is; none for the main conversation.
    within: Option<String>,
    message: String,
    text: bool,
    thinking: bool,
}

impl Streams {
    /// A message begins to stream.
    pub(super) fn begin(&mut self, within: Option<&str>, message: &str) {
        self.0.retain(|stream| stream.within.as_deref() != within);
        if self.0.len() >= MOST {
            self.0.remove(0);
        }
        let (within, message) = (within.map(str::to_owned), message.to_owned());
        self.0.push(Stream { within, message, text: false, thinking: false });
    }

    /// Gives the message that streams there.
    pub(super) fn message(&self, within: Option<&str>) -> Option<&str> {
        self.0.iter().find(|stream| stream.within.as_deref() == within).map(|stream| stream.message.as_str())
    }

    /// A piece was said.
    pub(super) fn said(&mut self, within: Option<&str>, thinking: bool) {
        if let Some(stream) = self.0.iter_mut().find(|stream| stream.within.as_deref() == within) {
            if thinking {
                stream.thinking = true;
            } else {
                stream.text = true;
            }
        }
    }

    /// Whether this message's text, or thinking, was said piece by piece.
    pub(super) fn has_said(&self, message: &str, thinking: bool) -> bool {
        let said = |stream: &Stream| if thinking { stream.thinking } else { stream.text };
        self.0.iter().any(|stream| stream.message == message && said(stream))
    }
}
