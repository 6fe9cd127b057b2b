//! By which limits a document is judged, and who says so.

use plimsoll::Tokens;
use plimsoll::budget::{Capacity, Count as _, Counting, Measure, Meter, Thresholds, learned, threshold};
use plimsoll::compact::CacheCost;
use plimsoll::model::{Endpoint, Limit, Limits, Lookup, Source, resolve_limits};
use plimsoll::token::Method;
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
    let limits = resolve_limits(Some(&user), Some(&recorded), Some(&known), Endpoint::Public, fallback);
    let window = limits.context_window.clone().or_else(|| limits.max_input.clone());
    let window = window.unwrap_or_else(|| Limit::new(fallback, Source::Fallback));
    let thresholds = threshold(&Capacity::from(&limits), &options.policy, document.max_output());
    let prices = model.as_deref().and_then(|model| options.catalogue.prices(model));
    let cache = prices.map_or_else(CacheCost::default, |prices| {
        CacheCost::of_prices(prices.input, prices.cache_read, prices.cache_write)
    });
    Judged { model, window, thresholds, cache }
}
