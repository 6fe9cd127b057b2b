//! By which limits a document is judged, and who says so.

use plimsoll::Tokens;
use plimsoll::budget::{Capacity, Count as _, Counting, Measure, Meter, Thresholds, learned, threshold};
use plimsoll::compact::CacheCost;
use plimsoll::model::{Endpoint, Limit, Limits, Lookup, Outcome, Source, normalise, resolve_limits};
use plimsoll::token::Method;
use plimsoll::transcript::Usage;
use plimsoll::wire::Document;

use crate::CompactOptions;

/// The limits that a document is judged by, and where the window comes from.
#[derive(Debug, Clone)]
pub struct Judged {
    /// The model's name: given, or named by the document.
    pub model: Option<String>,
    /// The window, or the fallback, with its source.
    pub window: Limit,
    /// What follows from it.
    pub thresholds: Thresholds,
    /// What cached input costs: after how many turns a rewritten prefix has paid for itself depends on it.
    pub cache: CacheCost,
}

/// Measures a document as its model counts. Where counts are estimates, they are corrected by what usage in the document itself
/// teaches, if that is nearer than the estimate is.
pub(crate) fn measured(document: &Document<'_>, model: Option<&str>) -> (Meter<Counting>, Measure) {
    let mut meter = Meter::new(Counting::for_model(model));
    let measure = meter.measure(document);
    let plain = meter.count();
    let Some(model) = model.filter(|_| plain.method() == Method::Estimated) else {
        return (meter, measure);
    };
    let corrected = plain.clone().calibrated(&learned(document, &measure, model));
    let is_nearer = corrected.counter().margin_percent() < plain.counter().margin_percent();
    if corrected.method() != Method::Calibrated || !is_nearer {
        return (meter, measure);
    }
    let mut meter = Meter::new(corrected);
    let measure = meter.measure(document);
    (meter, measure)
}

/// Settles by which limits a document is judged: the user's, then what the program recorded, then the catalogue's.
pub fn judge(document: &Document<'_>, options: &CompactOptions) -> Judged {
    let named = || document.model().map(|model| model.decode().into_owned());
    let model = options.model.clone().or_else(named);
    // What another model took says nothing of this one's window.
    let is_own = options.model.is_none() || options.model == named();
    let stated = |source: &Source, window: Option<Tokens>, output: Option<Tokens>| {
        Limits::stated(source, window.map(|tokens| tokens.0), None, output.map(|tokens| tokens.0))
    };
    let user = stated(&Source::User, options.window, options.max_output);
    let recorded = stated(&Source::Server, document.window(), None);
    let known = match model.as_deref().map(|model| options.catalogue.lookup(model)) {
        Some(Lookup::Known(limits)) => limits,
        _ => Limits::default(),
    };
    let fallback = plimsoll::model::DEFAULT_LIMIT;
    let settle = |told: &Limits| resolve_limits(Some(&user), Some(told), Some(&known), Endpoint::Public, fallback);
    let mut limits = settle(&recorded);
    let larger = if is_own { outgrown(document, model.as_deref(), &limits, options) } else { None };
    if let Some(larger) = larger {
        limits = settle(&stated(&Source::Usage, Some(larger), None));
    }
    let window = limits.context_window.clone().or_else(|| limits.max_input.clone());
    let window = window.unwrap_or_else(|| Limit::new(fallback, Source::Fallback));
    let thresholds = threshold(&Capacity::from(&limits), &options.policy, document.max_output());
    let prices = model.as_deref().and_then(|model| options.catalogue.prices(model));
    let cache = prices.map_or_else(CacheCost::default, |prices| {
        CacheCost::of_prices(prices.input, prices.cache_read, prices.cache_write)
    });
    Judged { model, window, thresholds, cache }
}

/// The window opted into by a header or a suffix of the name that transcripts do not record (Anthropic's models overview).
const LONG_CONTEXT: Tokens = Tokens(1_000_000);

/// The window that a model must have whose provider took more than the one that is believed to be its: the next one that
/// is known of it, or what was taken. `None` where nothing speaks against the window, or the user set it.
fn outgrown(
    document: &Document<'_>,
    model: Option<&str>,
    limits: &Limits,
    options: &CompactOptions,
) -> Option<Tokens> {
    let usages = document.transcript().messages.iter().rev().filter_map(|message| message.usage);
    let taken = usages.map(Usage::context).find(|taken| *taken > Tokens::ZERO)?;
    let known = limits.context_window.as_ref().or(limits.max_input.as_ref());
    if known.is_some_and(|known| taken <= known.tokens || known.source == Source::User)
        || (known.is_none() && taken <= plimsoll::model::DEFAULT_LIMIT)
    {
        return None;
    }
    let mut larger = Vec::new();
    if let Some(Outcome::Found(entry)) = model.map(|model| options.catalogue.resolve(model).outcome) {
        let windows = entry.others.iter().filter(|claim| claim.field == "context_window");
        larger.extend(windows.map(|claim| claim.tokens));
    }
    if model.is_some_and(|model| normalise(model).base.starts_with("claude-")) {
        larger.push(LONG_CONTEXT);
    }
    Some(larger.into_iter().filter(|window| *window >= taken).min().unwrap_or(taken))
}

#[cfg(test)]
mod tests {
    use plimsoll::wire::{ParseOptions, parse};

    use super::*;

    fn judged(model: &str, taken: u64, options: &CompactOptions) -> Limit {
        let session = format!(
            concat!(
                r#"{{"type":"user","uuid":"a","parentUuid":null,"sessionId":"s","message":{{"role":"user","content":"Go."}}}}"#,
                "\n",
                r#"{{"type":"assistant","uuid":"b","parentUuid":"a","sessionId":"s","message":{{"id":"m","type":"message","role":"assistant","model":"{}","content":[{{"type":"text","text":"Done."}}],"usage":{{"input_tokens":3,"cache_read_input_tokens":{},"output_tokens":9}}}}}}"#,
                "\n"
            ),
            model, taken
        );
        let document = parse(session.as_bytes(), &ParseOptions::default()).unwrap();
        judge(&document, options).window
    }

    #[test]
    fn mechanism_36_a_window_that_reported_usage_refutes_gives_way_to_the_next_known() {
        let options = CompactOptions::default();
        assert_eq!(judged("claude-sonnet-4-5", 150_000, &options).tokens, Tokens(200_000));
        let larger = judged("claude-sonnet-4-5", 350_000, &options);
        assert_eq!((larger.tokens, larger.source), (Tokens(1_000_000), Source::Usage));
        let larger = judged("my-own-model", 350_000, &options);
        assert_eq!((larger.tokens, larger.source), (Tokens(350_003), Source::Usage));
        let set = CompactOptions { window: Some(Tokens(100_000)), ..CompactOptions::default() };
        assert_eq!(judged("claude-sonnet-4-5", 350_000, &set).tokens, Tokens(100_000));
        let other = CompactOptions { model: Some("gpt-4o".to_owned()), ..CompactOptions::default() };
        assert_eq!(judged("claude-sonnet-4-5", 350_000, &other).tokens, Tokens(128_000));
    }
}
