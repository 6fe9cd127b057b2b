//! What stands around the messages of a request: the model, the system prompt, the tools.

use plimsoll::Tokens;
use plimsoll::budget::{Counting, Meter};
use plimsoll::token::Method;
use plimsoll::wire::Document;

/// What a limit that was learned is of: a model, and the window that was opted into.
pub(super) type Limited = (Option<String>, Option<Tokens>);

/// What stands around the messages, as far as it matters.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Envelope {
    pub(super) model: Option<String>,
    /// The window that the client opted into beside the body.
    pub(super) window: Option<Tokens>,
    pub(super) max_output: Option<Tokens>,
    /// The tokens of the system prompt and of the tools.
    pub(super) system: Tokens,
    pub(super) tools: Tokens,
    /// Tells one list of tools from another.
    pub(super) tools_hash: Option<blake3::Hash>,
    /// Whether Plimsoll's recall tool is among them.
    pub(super) has_recall: bool,
    pub(super) method: Option<Method>,
}

impl Envelope {
    /// Measures what stands around the messages. `window` is what the client opted into.
    pub(super) fn of(document: &Document<'_>, window: Option<Tokens>, meter: &mut Meter<Counting>) -> Self {
        let measure = meter.measure(document);
        let tools = &document.transcript().tools;
        let mut hasher = blake3::Hasher::new();
        for tool in tools {
            hasher.update(&(tool.span.len() as u64).to_le_bytes()).update(tool.span.of(document.bytes()));
        }
        Self {
            model: document.model().map(|model| model.decode().into_owned()),
            window,
            max_output: document.max_output(),
            system: measure.system,
            tools: measure.tools,
            tools_hash: (!tools.is_empty()).then(|| hasher.finalize()),
            has_recall: tools.iter().any(|tool| tool.name.is_some_and(|name| is_recall(&name.decode()))),
            method: Some(measure.method),
        }
    }

    /// What a learned limit is of: a model, with a window that was opted into.
    pub(super) fn limited(&self) -> Limited {
        (self.model.clone(), self.window)
    }

    pub(super) fn tokens(&self) -> Tokens {
        self.system + self.tools
    }

    /// Whether what was reported under this envelope says something under another.
    pub(super) fn keeps_anchor(&self, other: &Self) -> bool {
        (&self.model, &self.tools_hash, self.system) == (&other.model, &other.tools_hash, other.system)
    }
}

/// Whether a tool is Plimsoll's recall, under whatever name a client's way of naming tools gives it.
pub(super) fn is_recall(name: &str) -> bool {
    name == "recall" || (name.contains("plimsoll") && name.ends_with("recall"))
}
