//! The conversations that a gateway keeps inside their windows: which session and which store a request belongs to.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use plimsoll::id::SessionId;
use plimsoll_engine::event::Event;
use plimsoll_engine::session::{Lookup, Session, SessionOptions, Tokio};
use plimsoll_engine::summarise::Extract;
use plimsoll_store::Store;

use crate::metrics::Metrics;

/// How many namespaces are held in memory. What is decided is in the store: one that is forgotten loses nothing but time.
const SESSIONS: usize = 128;
/// How long a namespace that nobody uses is held.
const IDLE: Duration = Duration::from_secs(2 * 60 * 60);
/// How many conversations of one namespace are held: clients without a session id share one.
const HISTORIES: usize = 64;

/// Opens the store of a tenant; `None` is the one tenant of a gateway without keys.
pub type Stores = Arc<dyn Fn(Option<&str>) -> Result<Store, String> + Send + Sync>;

/// How conversations are kept inside their windows.
#[derive(Clone)]
#[non_exhaustive]
pub struct Keep {
    /// How sessions work. Where their work is done, who watches and when the store is asked is the gateway's to say.
    pub session: SessionOptions,
    /// Each tenant's store.
    pub stores: Stores,
    /// Lets the model of each conversation write its summaries itself, asked at its own upstream with the credentials of
    /// the client whose request made one due. The session's summariser is asked then for nothing.
    pub same: bool,
}

impl Keep {
    /// Keeps conversations with these options, and what leaves them in these stores.
    pub fn new(session: SessionOptions, stores: Stores) -> Self {
        Self { session, stores, same: false }
    }
}

impl fmt::Debug for Keep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keep").field("session", &self.session).finish_non_exhaustive()
    }
}

/// A namespace of a tenant.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Named {
    tenant: Option<String>,
    namespace: String,
}

/// The sessions of a gateway.
pub(crate) struct Kept {
    options: SessionOptions,
    same: bool,
    stores: Stores,
    opened: Mutex<HashMap<Option<String>, Store>>,
    sessions: Mutex<HashMap<Named, (Session, Instant)>>,
}

impl Kept {
    pub(crate) fn new(keep: &Keep, metrics: &Arc<Metrics>) -> Self {
        let mut options = keep.session.clone();
        if options.shadow {
            // Who changes nothing spends nobody's tokens either.
            options.summariser = Arc::new(Extract::default());
        }
        // A client of a gateway has no way to compact by hand.
        options.unattended = true;
        options.histories = options.histories.max(HISTORIES);
        options.spawn = Arc::new(Tokio::new(tokio::runtime::Handle::current()));
        let (metrics, watched) = (Arc::clone(metrics), Arc::clone(&options.watch));
        options.watch = Arc::new(move |event: &Event| {
            metrics.happened(event);
            watched(event);
        });
        let stores = Arc::clone(&keep.stores);
        Self {
            options,
            same: keep.same && !keep.session.shadow,
            stores,
            opened: Mutex::default(),
            sessions: Mutex::default(),
        }
    }

    /// The store of a tenant. It may block.
    pub(crate) fn store(&self, tenant: Option<&str>) -> Result<Store, String> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let tenant = tenant.map(str::to_owned);
        if let Some(store) = opened.get(&tenant) {
            return Ok(store.clone());
        }
        let store = (self.stores)(tenant.as_deref())?;
        opened.insert(tenant, store.clone());
        Ok(store)
    }

    /// The session of a namespace.
    pub(crate) fn session(&self, tenant: Option<&str>, namespace: &str) -> Result<Session, String> {
        let named = Named { tenant: tenant.map(str::to_owned), namespace: namespace.to_owned() };
        let now = Instant::now();
        if let Some((session, used)) = self.locked().get_mut(&named) {
            *used = now;
            return Ok(session.clone());
        }
        let store = self.store(tenant)?;
        let mut options = self.options.clone();
        if store.backend().is_remote() {
            // An ordinary request pays no round trip.
            options.lookup = Lookup::Threshold;
        }
        let session = Session::with_options(SessionId::new(namespace), store, options);
        let mut sessions = self.locked();
        sessions.retain(|_, (_, used)| now.saturating_duration_since(*used) < IDLE);
        if sessions.len() >= SESSIONS {
            let oldest = sessions.iter().min_by_key(|(_, (_, used))| *used).map(|(named, _)| named.clone());
            oldest.and_then(|named| sessions.remove(&named));
        }
        // Of two requests that come first at once, one makes the session of both.
        let (session, _) = sessions.entry(named).or_insert((session, now));
        Ok(session.clone())
    }

    /// Whether conversations are summarised by their own models.
    pub(crate) fn is_same(&self) -> bool {
        self.same
    }

    /// Whether the sessions only look on.
    pub(crate) fn is_shadow(&self) -> bool {
        self.options.shadow
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, HashMap<Named, (Session, Instant)>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_namespace_of_one_tenant_is_not_anothers() {
        let opened: Arc<Mutex<Vec<Option<String>>>> = Arc::default();
        let log = Arc::clone(&opened);
        let stores: Stores = Arc::new(move |tenant| {
            log.lock().unwrap().push(tenant.map(str::to_owned));
            if tenant == Some("broken") { Err("no".to_owned()) } else { Ok(Store::memory()) }
        });
        let kept = Kept::new(&Keep::new(SessionOptions::default(), stores), &Arc::new(Metrics::new(&[])));
        for tenant in [Some("alice"), Some("bob"), Some("alice"), None] {
            kept.session(tenant, "s").unwrap();
            kept.session(tenant, "t").unwrap();
        }
        assert!(kept.session(Some("broken"), "s").is_err());
        assert_eq!(kept.locked().len(), 6);
        // Each store was opened once.
        let tenants = [Some("alice"), Some("bob"), None, Some("broken")].map(|tenant| tenant.map(str::to_owned));
        assert_eq!(*opened.lock().unwrap(), tenants);
        for n in 0..SESSIONS * 2 {
            kept.session(None, &n.to_string()).unwrap();
        }
        assert!(kept.locked().len() <= SESSIONS);
    }
}
