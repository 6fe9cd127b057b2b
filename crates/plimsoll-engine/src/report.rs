//! What is told of a compaction: the report that `compact --json` prints.

use plimsoll::Tokens;
use plimsoll::budget::{Counting, Measure, Meter};
use plimsoll::compact::Carried;
use plimsoll::token::Method;
use plimsoll::transcript::Usage;
use plimsoll::wire::Format;
use serde::Serialize;

use crate::reduce::Reductions;
use crate::summarise::{Asked, Fallback};

/// How a compaction ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The document is to be changed by the edits.
    Applied,
    /// There was nothing to do: the document stays as it is.
    Skipped,
    /// It cannot fit: the document stays as it is.
    Infeasible,
}

/// How tokens were counted.
#[derive(Debug, Clone, Serialize)]
pub struct CountedBy {
    /// The method.
    pub method: Method,
    /// The tokenizer's or estimator's name.
    pub tokenizer: String,
    /// How far off a calibrated count may be either way, in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub margin_percent: Option<u32>,
}

impl CountedBy {
    /// The method, with how far off a calibrated count may be: `calibrated ±3 %`.
    pub fn words(&self) -> String {
        self.margin_percent.map_or_else(|| self.method.to_string(), |margin| format!("{} ±{margin} %", self.method))
    }

    pub(crate) fn of(measure: &Measure, meter: &Meter<Counting>) -> Self {
        let counter = meter.count().counter();
        let calibrated = counter.method() == Method::Calibrated;
        Self {
            method: measure.method,
            tokenizer: counter.name().to_owned(),
            margin_percent: calibrated.then(|| counter.margin_percent()),
        }
    }
}

/// What `compact --json` prints. Field names are stable: `docs/json.md`.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// How it ended.
    pub outcome: Outcome,
    /// Why it was skipped, or is infeasible.
    pub reason: Option<String>,
    /// The document's format.
    pub format: Format,
    /// The model it was judged by.
    pub model: Option<String>,
    /// The recorded conversation before.
    pub tokens_before: Tokens,
    /// The recorded conversation afterwards.
    pub tokens_after: Tokens,
    /// How tokens were counted.
    pub counting: CountedBy,
    /// The context window.
    pub window: Tokens,
    /// Who says so.
    pub window_source: String,
    /// What the result was to count at the most, or aimed at.
    pub target: Tokens,
    /// Messages before.
    pub messages_before: usize,
    /// Messages afterwards.
    pub messages_after: usize,
    /// How many of them stayed verbatim at the end.
    pub kept_tail_messages: usize,
    /// Who wrote the summary: `extract`, `anthropic:MODEL`, `openai:MODEL` or `responses:MODEL`.
    pub summarizer: Option<String>,
    /// What the summary counts.
    pub summary_tokens: Option<Tokens>,
    /// Who was to write it, and why another had to.
    pub fallback: Option<Fallback>,
    /// What a model was asked, or would be in a dry run.
    pub request: Option<Asked>,
    /// How often a model was asked. None at all, although a model wrote the summary, means that it did so before.
    pub calls: u32,
    /// What these calls used, as far as it was reported.
    pub usage: Option<Usage>,
    /// What is doubtful about the summary.
    pub warnings: Vec<String>,
    /// What the summary carries.
    pub carried: Option<Carried>,
    /// The recall id of what was removed.
    pub artifact: Option<String>,
    /// What `restore` takes.
    pub epoch: Option<String>,
    /// Tokens that usage reports and the transcript does not record.
    pub unrecorded: Option<Tokens>,
    /// What was left out, where that was enough and no summary was written.
    pub reductions: Option<Reductions>,
    /// After how many turns the rewritten prefix has paid for itself.
    pub break_even_turns: Option<u64>,
}
