//! `Pace`: time, pauses and chance, as a call takes them: the system's, or a test's.

use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::{BuildHasher as _, Hasher as _};
use std::time::{Duration, Instant, SystemTime};

use crate::summarise::BoxFuture;

/// Time, pauses and chance.
pub trait Pace: fmt::Debug + Send + Sync {
    /// How much time has gone by since some fixed moment. It never goes back.
    fn elapsed(&self) -> Duration;

    /// The date, for servers that name one.
    fn date(&self) -> SystemTime;

    /// A number from 0 up to 1, by chance, so that clients which failed together do not come back together.
    fn jitter(&self) -> f64;

    /// Pauses.
    fn sleep(&self, pause: Duration) -> BoxFuture<'_, ()>;
}

/// The system's own.
#[derive(Debug, Clone, Copy)]
pub struct SystemPace(Instant);

impl Default for SystemPace {
    fn default() -> Self {
        Self(Instant::now())
    }
}

impl Pace for SystemPace {
    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }

    fn date(&self) -> SystemTime {
        SystemTime::now()
    }

    fn jitter(&self) -> f64 {
        // The standard library seeds its hashers by chance; that is enough to spread clients.
        let drawn = RandomState::new().build_hasher().finish() >> 11;
        drawn as f64 / (1_u64 << 53) as f64
    }

    fn sleep(&self, pause: Duration) -> BoxFuture<'_, ()> {
        Box::pin(tokio::time::sleep(pause))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chance_stays_below_one_and_differs() {
        let pace = SystemPace::default();
        let drawn: Vec<f64> = (0..100).map(|_| pace.jitter()).collect();
        assert!(drawn.iter().all(|number| (0.0..1.0).contains(number)));
        assert!(drawn.iter().any(|number| (number - drawn[0]).abs() > 0.01));
    }
}
