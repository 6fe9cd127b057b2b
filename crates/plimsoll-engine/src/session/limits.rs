//! What a request may take: the thresholds of its model, and the caps of its results.

use plimsoll::Bytes;
use plimsoll::budget::{Capacity, Thresholds, threshold};
use plimsoll::cap;
use plimsoll::model::Lookup;

use super::Inner;
use super::envelope::Envelope;
use super::history::History;
use super::learned::Learned;

impl Inner {
    /// What one result may take, and all of a batch together.
    pub(super) fn caps(&self, envelope: &Envelope) -> (Bytes, Bytes) {
        let budget = self.static_thresholds(envelope).budget;
        let each = self.options.cap.unwrap_or_else(|| cap::for_budget(budget)).bytes();
        (each, cap::batch_for_budget(budget).bytes().max(each))
    }

    /// What a model takes, as far as it is known beforehand.
    fn capacity(&self, envelope: &Envelope) -> Capacity {
        if let Some(capacity) = self.options.capacity {
            return capacity;
        }
        let known = match envelope.model.as_deref().map(|model| self.options.catalogue.lookup(model)) {
            Some(Lookup::Known(limits)) => Capacity::from(&limits),
            _ => Capacity::default(),
        };
        match envelope.window.filter(|window| known.context_window.is_none_or(|usual| usual < *window)) {
            // An input limit that belongs to the usual window no longer holds.
            Some(window) => Capacity { context_window: Some(window), max_input: None, ..known },
            None => known,
        }
    }

    /// The thresholds of a request without what was learned meanwhile: any process has the same.
    pub(super) fn static_thresholds(&self, envelope: &Envelope) -> Thresholds {
        threshold(&self.capacity(envelope), &self.options.policy, envelope.max_output)
    }

    /// The thresholds of a history.
    pub(super) fn thresholds_of(&self, history: &History) -> Thresholds {
        self.thresholds_with(history, None)
    }

    /// The thresholds of a history, by what was just learned too.
    pub(super) fn thresholds_with(&self, history: &History, fresh: Option<Learned>) -> Thresholds {
        self.thresholds(&history.envelope, history.anchor().is_some(), fresh)
    }

    /// The thresholds of a request; `is_reported` says whether what it takes is known by the provider's usage.
    pub(super) fn thresholds(&self, envelope: &Envelope, is_reported: bool, fresh: Option<Learned>) -> Thresholds {
        let known = self.state().learned.get(&envelope.limited()).copied();
        let known = known.filter(|learned| learned.is_believed((self.options.clock)()));
        let learned = fresh.map(|fresh| fresh.with(known.as_ref())).or(known);
        let mut capacity = self.capacity(envelope);
        if let Some(learned) = learned.map(|learned| learned.limit(is_reported)) {
            capacity.max_input = Some(capacity.max_input.map_or(learned, |known| known.min(learned)));
        }
        threshold(&capacity, &self.options.policy, envelope.max_output)
    }
}
