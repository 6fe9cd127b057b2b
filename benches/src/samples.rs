//! Texts with their true counts, to fit and to judge the estimator with.

use std::fs;
use std::io;
use std::path::Path;

use plimsoll::token::{Counter, Encoding};
use serde::Deserialize;

/// A text and how many tokens it truly is.
#[derive(Debug, Deserialize)]
pub struct Sample {
    /// What kind of text it is: `prose-latin`, `code-rust`, `base64`…
    pub kind: String,
    /// The text.
    pub text: String,
    /// Its tokens under Claude 3 to Opus 4.6, without the frame of a message.
    pub claude3: u64,
    /// Its tokens under Opus 4.7 and later, without the frame of a message.
    pub claude47: u64,
}

/// What a family is fitted to.
pub type Truth = fn(&Sample) -> f64;

/// The fitted families with what each is fitted to. The generic one is judged by `o200k_base`, the vocabulary among
/// those at hand that is most like what unknown models have.
pub const FAMILIES: [(&str, Truth); 3] = [
    ("generic", |sample| Counter::exact(Encoding::O200kBase).count(&sample.text).0 as f64),
    ("claude", |sample| sample.claude3 as f64),
    ("claude_4_7", |sample| sample.claude47 as f64),
];

/// Reads samples, one JSON object a line.
pub fn read(path: &Path) -> io::Result<Vec<Sample>> {
    fs::read_to_string(path)?.lines().map(|line| serde_json::from_str(line).map_err(io::Error::from)).collect()
}

/// The value below which a share of the values lie. The values must be in order.
pub fn quantile(sorted: &[f64], share: f64) -> f64 {
    let last = sorted.len().saturating_sub(1) as f64;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and the length")]
    let at = (share.clamp(0.0, 1.0) * last).round() as usize;
    sorted.get(at).copied().unwrap_or(f64::NAN)
}
