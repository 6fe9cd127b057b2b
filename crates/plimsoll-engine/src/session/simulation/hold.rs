//! What goes out is held against the invariants, at every step.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use plimsoll::cap::Marker;
use plimsoll::compact::{Chain, Epoch};
use plimsoll::id::{EpochId, RecallId};
use plimsoll::transcript::{BlockKind, Obligations};
use plimsoll::wire::Document;

use super::super::reduce::key;
use super::super::{Begun, Prefix, Prepared, Request};
use super::script::Queue;
use super::talk;
use super::world::{World, read, sent_of, session};

impl World {
    /// Holds what goes out against the invariants.
    pub(super) fn check(&mut self, main: usize, replica: usize, body: &str, prepared: &Prepared<'_>) {
        let format = self.scenario.format;
        let (original, sent) = (read(body.as_bytes(), format), read(&prepared.bytes, format));
        // Obligations: what is whole as it comes is whole as it goes.
        let orphans = |document: &Document<'_>| Obligations::of(document.transcript()).orphans().to_vec();
        assert_eq!(orphans(&original), [], "the script writes whole conversations");
        assert_eq!(orphans(&sent), [], "{self:?}\n{}", String::from_utf8_lossy(&prepared.bytes));
        let last = |document: &Document<'_>| document.transcript().messages.len() - 1;
        let chain = Chain::of(&original);
        let sent_chain = Chain::of(&sent);
        assert!(last(&sent) <= last(&original) + 2);

        let down = self.flaky.down.load(Ordering::SeqCst);
        let excused = self.excused.contains(&main);
        // Prefix integrity, held against what was sent, not against what the session says.
        let epoch = prepared.report.epoch.clone();
        let earlier = (0..=chain.len()).rev().find_map(|prefix| self.sent.get(&chain.prefix(prefix)?));
        let without = talk::without_thinking(std::str::from_utf8(&prepared.bytes).unwrap());
        let without = Chain::of(&read(without.as_bytes(), format));
        if let Some((was, was_without, under)) = earlier {
            let extends = sent_chain.prefix(was.0) == Some(was.1);
            let moved = *under != epoch && epoch.is_some();
            // Reasoning that was bound to what an epoch replaced leaves when its turn is over, and nothing else does.
            let released = self.scenario.thinks
                && epoch.is_some()
                && without.prefix(was_without.0) == Some(was_without.1)
                && matches!(prepared.report.prefix, Prefix::Released | Prefix::New);
            assert!(extends || moved || released || excused, "{:?} {self:?}", prepared.report);
            assert!(prepared.report.prefix != Prefix::Broken || excused, "{:?} {self:?}", prepared.report);
        }
        let sent_now = sent_of(&sent_chain);
        assert_eq!(prepared.report.sent, Some(sent_now.1), "what is logged is what was sent");
        self.sent.insert(sent_of(&chain).1, (sent_now, sent_of(&without), epoch.clone()));

        // Nothing is changed but by a decision.
        if epoch.is_none() && prepared.report.capped == 0 && prepared.bytes.as_ref() == body.as_bytes() {
            return;
        }
        if let Some(compaction) = &prepared.report.compaction {
            self.tally.epochs += 1;
            self.tally.reduced += usize::from(compaction.reduced > 0);
            assert!(compaction.tokens_after < compaction.tokens_before, "{compaction:?}");
            assert!(compaction.durable || down, "{compaction:?} {self:?}");
            if compaction.durable {
                self.excused.remove(&main);
            } else {
                self.unrecorded.insert(compaction.epoch.clone());
            }
            self.makers.entry(compaction.epoch.clone()).or_insert(replica);
        } else if epoch.as_ref().and_then(|epoch| self.makers.get(epoch)).is_some_and(|maker| *maker != replica) {
            self.tally.found += 1;
        }
        self.tally.capped += prepared.report.capped;
        if down {
            // Nothing can be looked up; what is used now is looked up with a later request.
            return;
        }
        if let Some(epoch) = epoch {
            self.check_epoch(&epoch, &chain);
        }
        self.check_caps(&original, &sent);
    }

    /// Whatever an epoch removed, or left out, is archived as it was.
    pub(super) fn check_epoch(&mut self, epoch: &str, chain: &Chain) {
        if self.checked.contains(epoch) {
            return;
        }
        let RecallId::Epoch(id) = epoch.parse().unwrap() else { panic!("{epoch}") };
        let Some(record) = self.store.epoch_record(&id).unwrap() else {
            assert!(self.unrecorded.contains(epoch), "an epoch is durable before it is used; {epoch} {self:?}");
            return;
        };
        self.checked.insert(epoch.to_owned());
        let record = Epoch::from_json(&record).unwrap();
        assert!(record.matches(chain), "it is of this history");
        assert_eq!(id.plain(), EpochId::new(id.session(), key(&record).as_bytes()));
        let document = self.store.document(&id).unwrap();
        let bytes = document.pieces().collect::<Result<Vec<_>, _>>().unwrap().concat();
        let archived = read(&bytes, self.scenario.format);
        assert_eq!(Chain::of(&archived).prefix(record.prefix), chain.prefix(record.prefix), "{self:?}");
        // What is recalled is the removed messages, whole.
        let recalled = String::from_utf8(self.store.recall(&id.into()).unwrap()).unwrap();
        for piece in &record.reductions {
            let block = &archived.transcript().messages[piece.message].blocks[piece.block];
            let BlockKind::ToolResult(result) = &block.kind else { panic!("{block:?}") };
            let BlockKind::Text(text) = &result.content[piece.part.unwrap()].kind else { panic!("{block:?}") };
            let stored = self.store.recall(&piece.artifact.parse().unwrap()).unwrap();
            assert_eq!(String::from_utf8(stored).unwrap(), text.decode());
            assert!(recalled.contains(std::str::from_utf8(text.raw()).unwrap()), "{recalled}");
        }
        for (index, message) in archived.transcript().messages.iter().enumerate() {
            if record.removed.contains(&index) && !record.retained.contains(&index) {
                let entry = archived.entries()[message.entries[0] as usize].span;
                let text = std::str::from_utf8(entry.of(&bytes)).unwrap();
                assert!(recalled.contains(text), "{text}");
            }
        }
    }

    /// Whatever a capped result leaves out is stored as it was.
    pub(super) fn check_caps(&self, original: &Document<'_>, sent: &Document<'_>) {
        let texts = |document: &Document<'_>| {
            let mut texts = HashMap::new();
            for message in &document.transcript().messages {
                for result in message.results() {
                    let id = result.call_id.unwrap().decode().into_owned();
                    let text: String = result.texts().map(|text| text.decode().into_owned()).collect();
                    texts.insert(id, text);
                }
            }
            texts
        };
        let (whole, shown) = (texts(original), texts(sent));
        for (id, shown) in shown {
            let whole = &whole[&id];
            if *whole == shown {
                continue;
            }
            if let Some((_, id)) = shown.lines().next().unwrap().rsplit_once("; recall id ")
                && shown.contains("; left out here")
            {
                let stored = self.store.recall(&id.trim_end_matches(']').parse().unwrap()).unwrap();
                assert_eq!(String::from_utf8(stored).unwrap(), *whole);
                continue;
            }
            let (_, marker) = Marker::find(&shown).expect("what was left out is said");
            let Some(id) = marker.id else {
                assert!(self.scenario.store_fails > 0, "what is left out is stored; {shown}");
                continue;
            };
            let stored = self.store.recall(&id.into()).unwrap();
            assert_eq!(String::from_utf8(stored).unwrap(), *whole);
        }
    }

    /// A process that never saw this conversation sends the same, and counts the same.
    pub(super) fn compare_with_a_new_process(&mut self, main: usize, body: &str) {
        if self.excused.contains(&main) || self.replicas.len() > 1 {
            return;
        }
        let request = Request::new(body.as_bytes(), self.scenario.format).replay_only();
        let known = match self.replicas[0].session.begin(&request) {
            Begun::Ready(known) => known,
            Begun::Waits(_) => panic!("nothing is to be decided"),
        };
        let queue = Arc::new(Queue::default());
        let fresh = session(&self.scenario, &self.store, &self.summariser, &queue);
        let Begun::Ready(fresh) = fresh.begin(&request) else { panic!("nothing is to be decided") };
        assert_eq!(
            String::from_utf8_lossy(&fresh.bytes),
            String::from_utf8_lossy(&known.bytes),
            "{:?} {:?} {self:?}",
            fresh.report,
            known.report
        );
        assert_eq!(fresh.turn.counted, known.turn.counted, "{self:?}");
    }
}
