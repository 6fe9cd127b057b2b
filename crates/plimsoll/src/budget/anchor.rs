//! The anchor: the last usage a provider reported, and what it says beyond what is counted.

use super::Measure;
use crate::Tokens;
use crate::transcript::Author;
use crate::wire::Document;

/// What the last usage that still holds says beyond what is counted up to its response.
///
/// A usage dies with any change of what precedes it. In a program's file that shows: what precedes it in the
/// conversation was then written after it.
pub(super) fn unrecorded(document: &Document<'_>, measure: &Measure) -> Option<Tokens> {
    if !document.format().is_appended() {
        return None;
    }
    let mut latest_entry = None;
    let mut anchor = None;
    for (index, message) in document.transcript().messages.iter().enumerate() {
        let last = message.entries.iter().max().copied();
        if let Some(usage) = message.usage.filter(|usage| usage.context() > Tokens::ZERO)
            && last > latest_entry
        {
            let counted = measure.system + measure.tools + measure.range(0..index + 1);
            anchor = Some((usage.context() + usage.output) - counted);
        }
        if message.author == Author::Summary {
            // A summary changes everything before what follows it.
            anchor = None;
        }
        latest_entry = latest_entry.max(last);
    }
    anchor.filter(|tokens| *tokens > Tokens::ZERO)
}
