//! `Calibration`: how a model's true counts compare with estimates, learned from the usage that providers report.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Tokens;

/// Estimates are compared in these many parts.
const WHOLE: u64 = 10_000;
/// A ratio stays between a half and twice.
const LOWEST: u64 = WHOLE / 2;
const HIGHEST: u64 = WHOLE * 2;
/// What differs by more than this factor was not counted for the same content: it teaches nothing.
const INCOMPARABLE: u64 = 3;
/// Usage of fewer tokens than this is mostly overhead.
const FEWEST: Tokens = Tokens(500);
/// Reports before a ratio is used.
const NEEDED: u32 = 3;
/// Reports that a ratio goes by: an older one counts less with each new one.
const REMEMBERED: u32 = 16;
/// Models that are kept, in all.
const MODELS: usize = 64;

/// The class of scripts that most of a text is written in, as far as estimates differ by it.
///
/// ```
/// use plimsoll::token::Script;
/// assert_eq!(Script::of("fn main() {}"), Script::Latin);
/// assert_eq!(Script::of("窗口的大小是有限的, ok"), Script::Wide);
/// assert_eq!(Script::of("Размер окна ограничен"), Script::Other);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Script {
    /// ASCII and Latin letters: most languages of the west, code, data.
    Latin,
    /// Chinese, Japanese, Korean.
    Wide,
    /// Every other script.
    Other,
}

impl Script {
    /// Every class.
    pub const ALL: [Self; 3] = [Self::Latin, Self::Wide, Self::Other];

    /// The class of a text: the one with the most bytes of letters; ASCII where there are none.
    pub fn of(text: &str) -> Self {
        let mut bytes = [0_usize; 3];
        for byte in text.bytes() {
            match byte {
                b'A'..=b'Z' | b'a'..=b'z' => bytes[0] += 1,
                0xC3..=0xCA => bytes[0] += 2,
                0xCB..=0xDF => bytes[2] += 2,
                0xE3..=0xED => bytes[1] += 3,
                0xE0 | 0xE1 => bytes[2] += 3,
                _ => {}
            }
        }
        let [latin, wide, other] = bytes;
        if wide > latin && wide >= other {
            Self::Wide
        } else if other > latin {
            Self::Other
        } else {
            Self::Latin
        }
    }
}

/// One class's ratio.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Ratio {
    /// Reported tokens for 10,000 estimated ones.
    of_whole: u64,
    /// By how much reports lie off it on average, in the same parts.
    spread: u64,
    /// How many there were, up to those remembered.
    reports: u32,
}

/// What usage has taught of one model: for each class of scripts the ratio of reported to estimated tokens. It moves with
/// what is reported, is bounded between a half and twice, and serialises.
///
/// ```
/// use plimsoll::Tokens;
/// use plimsoll::token::{Calibration, Counter, Family, Method, Script};
/// let mut calibration = Calibration::default();
/// for _ in 0..4 {
///     calibration.observe(Script::Latin, Tokens(10_000), Tokens(11_000));
/// }
/// assert_eq!(calibration.apply(Script::Latin, Tokens(2_000)), Some(Tokens(2_200)));
/// assert_eq!(calibration.apply(Script::Wide, Tokens(2_000)), None);
/// let counter = Counter::estimated(Family::Claude).calibrated(&calibration);
/// assert_eq!(counter.method(), Method::Calibrated);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Calibration {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    latin: Option<Ratio>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    wide: Option<Ratio>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    other: Option<Ratio>,
}

impl Calibration {
    /// Learns from a report: what was estimated for a request, and what the provider counted. Requests below 500 tokens,
    /// and reports that cannot be of the same content (a third or three times of the estimate), teach nothing.
    pub fn observe(&mut self, script: Script, estimated: Tokens, reported: Tokens) {
        let (estimate, report) = (u128::from(estimated.0), u128::from(reported.0));
        let factor = u128::from(INCOMPARABLE);
        let comparable = report <= estimate.saturating_mul(factor) && estimate <= report.saturating_mul(factor);
        if estimated < FEWEST || reported < FEWEST || !comparable {
            return;
        }
        let seen = u64::try_from(report * u128::from(WHOLE) / estimate).unwrap_or(WHOLE).clamp(LOWEST, HIGHEST);
        let kept = self.ratio_mut(script);
        let Some(ratio) = kept else {
            *kept = Some(Ratio { of_whole: seen, spread: 0, reports: 1 });
            return;
        };
        ratio.reports = ratio.reports.saturating_add(1).min(REMEMBERED);
        let weight = u64::from(ratio.reports);
        // By how much it was off, before it knew.
        let off = seen.abs_diff(ratio.of_whole) * WHOLE / seen;
        ratio.of_whole = (ratio.of_whole * (weight - 1) + seen) / weight;
        ratio.spread = (ratio.spread * (weight - 1) + off).div_ceil(weight);
    }

    /// Corrects an estimate; `None` until three reports have told how.
    pub fn apply(&self, script: Script, estimated: Tokens) -> Option<Tokens> {
        let ratio = self.settled(script)?;
        let tokens = (u128::from(estimated.0) * u128::from(ratio.of_whole)).div_ceil(u128::from(WHOLE));
        Some(Tokens(u64::try_from(tokens).unwrap_or(u64::MAX)))
    }

    /// How far a corrected estimate of about a request's size may be off either way, in percent: three times what reports
    /// were off on average, and at least 2. `None` until there is a ratio.
    pub fn margin_percent(&self, script: Script) -> Option<u32> {
        let ratio = self.settled(script)?;
        let percent = (ratio.spread * 3).div_ceil(WHOLE / 100).max(2);
        u32::try_from(percent).ok()
    }

    fn settled(&self, script: Script) -> Option<Ratio> {
        let ratio = match script {
            Script::Latin => self.latin,
            Script::Wide => self.wide,
            Script::Other => self.other,
        };
        ratio.filter(|ratio| ratio.reports >= NEEDED)
    }

    fn ratio_mut(&mut self, script: Script) -> &mut Option<Ratio> {
        match script {
            Script::Latin => &mut self.latin,
            Script::Wide => &mut self.wide,
            Script::Other => &mut self.other,
        }
    }
}

/// The calibrations of several models, for whoever keeps them from one run to the next. At most 64 models are kept; the one
/// that learned least gives way to a new one.
///
/// ```
/// use plimsoll::Tokens;
/// use plimsoll::token::{Calibrations, Script};
/// let mut kept = Calibrations::default();
/// kept.observe("claude-sonnet-4-5", Script::Latin, Tokens(10_000), Tokens(9_700));
/// let json = serde_json::to_string(&kept).unwrap();
/// assert_eq!(serde_json::from_str::<Calibrations>(&json).unwrap(), kept);
/// assert!(kept.of("claude-sonnet-4-5").is_some() && kept.of("gpt-5").is_none());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Calibrations(BTreeMap<String, Calibration>);

impl Calibrations {
    /// Learns from a report of a model. See [`Calibration::observe`].
    pub fn observe(&mut self, model: &str, script: Script, estimated: Tokens, reported: Tokens) {
        if !self.0.contains_key(model) && self.0.len() >= MODELS {
            let learned = |calibration: &Calibration| {
                let ratios = [calibration.latin, calibration.wide, calibration.other];
                ratios.iter().flatten().map(|ratio| ratio.reports).sum::<u32>()
            };
            let least = self.0.iter().min_by_key(|(_, calibration)| learned(calibration));
            if let Some(name) = least.map(|(name, _)| name.clone()) {
                self.0.remove(&name);
            }
        }
        self.0.entry(model.to_owned()).or_default().observe(script, estimated, reported);
    }

    /// What is known of a model.
    pub fn of(&self, model: &str) -> Option<&Calibration> {
        self.0.get(model)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn nothing_is_corrected_before_three_reports() {
        let mut calibration = Calibration::default();
        for _ in 0..2 {
            calibration.observe(Script::Wide, Tokens(1_000), Tokens(1_200));
            assert_eq!(calibration.apply(Script::Wide, Tokens(1_000)), None);
            assert_eq!(calibration.margin_percent(Script::Wide), None);
        }
        calibration.observe(Script::Wide, Tokens(1_000), Tokens(1_200));
        assert_eq!(calibration.apply(Script::Wide, Tokens(1_000)), Some(Tokens(1_200)));
        assert_eq!(calibration.margin_percent(Script::Wide), Some(2));
        assert_eq!(calibration.apply(Script::Latin, Tokens(1_000)), None, "classes do not teach each other");
    }

    #[test]
    fn what_is_not_of_the_same_content_teaches_nothing() {
        let mut calibration = Calibration::default();
        for (estimated, reported) in [(100, 100), (10_000, 0), (10_000, 3_000), (10_000, 40_000), (0, 10_000)] {
            calibration.observe(Script::Latin, Tokens(estimated), Tokens(reported));
        }
        assert_eq!(calibration, Calibration::default());
    }

    #[test]
    fn a_ratio_follows_a_model_whose_tokenizer_changed() {
        let mut calibration = Calibration::default();
        for reported in [1_000; 20].into_iter().chain([1_300; 60]) {
            calibration.observe(Script::Latin, Tokens(1_000), Tokens(reported));
        }
        let corrected = calibration.apply(Script::Latin, Tokens(10_000)).unwrap();
        assert!((12_800..=13_000).contains(&corrected.0), "{corrected}");
    }

    #[test]
    fn only_so_many_models_are_kept() {
        let mut kept = Calibrations::default();
        kept.observe("mine", Script::Latin, Tokens(1_000), Tokens(1_000));
        kept.observe("mine", Script::Latin, Tokens(1_000), Tokens(1_000));
        for model in 0..200 {
            kept.observe(&format!("model-{model}"), Script::Latin, Tokens(1_000), Tokens(1_000));
        }
        assert_eq!(kept.0.len(), MODELS);
        assert!(kept.of("mine").is_some() && kept.of("model-199").is_some());
    }

    proptest! {
        #[test]
        fn a_ratio_is_bounded_whatever_is_reported(reports: Vec<(u64, u64)>, estimate: u64) {
            let mut calibration = Calibration::default();
            for (estimated, reported) in reports {
                calibration.observe(Script::Other, Tokens(estimated), Tokens(reported));
            }
            if let Some(tokens) = calibration.apply(Script::Other, Tokens(estimate)) {
                prop_assert!(u128::from(tokens.0) <= 2 * u128::from(estimate));
                prop_assert!(tokens.0 >= estimate / 2);
            }
        }

        #[test]
        fn the_margin_stated_holds_for_reports_like_those_before(
            level in 6_000..19_000_u64,
            noise in prop::collection::vec(-300..300_i64, 60..100),
        ) {
            // Reports that scatter by up to 3 percent around some level.
            let mut calibration = Calibration::default();
            let (mut within, mut judged) = (0, 0);
            for off in noise {
                let reported = level.saturating_add_signed(off * i64::try_from(level).unwrap() / 10_000);
                let stated = calibration.apply(Script::Latin, Tokens(10_000)).zip(calibration.margin_percent(Script::Latin));
                if let Some((tokens, margin)) = stated {
                    judged += 1;
                    within += u64::from(tokens.0.abs_diff(reported) * 100 <= u64::from(margin) * reported + 100);
                }
                calibration.observe(Script::Latin, Tokens(10_000), Tokens(reported));
            }
            prop_assert!(within * 100 >= judged * 90, "{within} of {judged}");
        }
    }
}
