//! The server behind a store: calls to it, and their failures put into words.

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::list::{PaginatedListOptions, PaginatedListStore as _};
use object_store::path::Path;
use object_store::{BackoffConfig, RetryConfig};
use plimsoll::id::Key;

use super::access::Access;
use super::bridge::{Bridge, Task};
use super::fault::Fault;
use super::place::Place;
use super::wire::Wire;
use super::witness::{Asked, Failed, fault, witnessed};
use crate::error::{Result, StoreError};

/// A server, a place on it, and what was found out about it.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) place: Place,
    pub(super) client: Client,
    pub(super) trust: Mutex<Trust>,
    bridge: Bridge,
    asked: Asked,
    /// Whether the bucket is known to be there.
    bucket_seen: AtomicBool,
}

/// What a call needs; cheap to clone into it.
#[derive(Clone)]
pub(super) struct Client {
    pub(super) s3: AmazonS3,
    pub(super) wire: Wire,
    pub(super) region: String,
    /// Scheme, host, and path up to and with the bucket.
    pub(super) bucket_url: String,
}

/// Which conditional writes the server was seen to honour.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Trust {
    /// Those of one request.
    pub(super) put: bool,
    /// Those that end an upload in parts; `None` if that was not tried.
    pub(super) upload: Option<bool>,
}

impl Server {
    pub(super) fn new(place: Place, access: &Access) -> Result<Self> {
        let remote = |fault| StoreError::Remote { action: "open", place: place.to_string(), fault };
        if !access.has_credentials() {
            let looked = "AWS_ACCESS_KEY_ID is not set, and nothing else names any".to_owned();
            return Err(remote(Fault::NoCredentials { looked }));
        }
        let patience = access.patience;
        let retry = RetryConfig {
            backoff: BackoffConfig { init_backoff: patience.pause, max_backoff: patience.pause * 40, base: 2.0 },
            max_retries: patience.retries,
            retry_timeout: patience.give_up,
        };
        let wire = Wire::new(access);
        let mut builder = AmazonS3Builder::new()
            .with_bucket_name(place.bucket())
            .with_region(&access.region)
            .with_retry(retry)
            .with_disable_bulk_delete(true)
            .with_allow_http(true)
            .with_http_connector(wire.clone());
        for (key, value) in &access.handed_on {
            builder = builder.with_config(*key, value);
        }
        let mut bucket_url = format!("https://s3.{}.amazonaws.com/{}", access.region, place.bucket());
        if let Some(endpoint) = &access.endpoint {
            let endpoint = endpoint.as_str().trim_end_matches('/');
            builder = builder.with_endpoint(endpoint);
            bucket_url = format!("{endpoint}/{}", place.bucket());
        }
        if let Some(keys) = &access.keys {
            builder = builder.with_access_key_id(&keys.id).with_secret_access_key(&keys.secret);
            if let Some(token) = &keys.token {
                builder = builder.with_token(token);
            }
        }
        let asked = Asked { endpoint: access.server(), region: access.region.clone(), proxied: access.is_proxied() };
        // What the library refuses at this point is a value in a variable that is handed on.
        let s3 = builder.build().map_err(|error| StoreError::Setting {
            variable: "AWS_…",
            reason: format!("variables for encryption, requester or role do not fit together: {error}"),
        })?;
        Ok(Self {
            client: Client { s3, wire, region: access.region.clone(), bucket_url },
            trust: Mutex::default(),
            bridge: Bridge::default(),
            asked,
            bucket_seen: AtomicBool::new(false),
            place,
        })
    }

    /// Names a key as the library does. Keys and prefixes have been checked, so this changes nothing.
    pub(super) fn path(&self, key: &str) -> Path {
        let slash = if self.place.prefix().is_empty() { "" } else { "/" };
        let raw = format!("{}{slash}{key}", self.place.prefix());
        Path::parse(&raw).unwrap_or_else(|_| Path::from(raw))
    }

    /// Starts a call.
    pub(super) fn start<T: Send + 'static, F>(&self, call: impl FnOnce(Client) -> F) -> Result<Task<Answer<T>>>
    where
        F: Future<Output = object_store::Result<T>> + Send + 'static,
    {
        let call = witnessed(call(self.client.clone()));
        self.bridge.start(call).map_err(|error| self.no_thread(error))
    }

    /// Starts something that witnesses its calls itself.
    pub(super) fn start_raw<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> Result<Task<T>> {
        self.bridge.start(task).map_err(|error| self.no_thread(error))
    }

    /// Waits for a call.
    pub(super) fn wait<T>(&self, task: Task<T>) -> Result<T> {
        task.wait().map_err(|error| self.no_thread(error))
    }

    /// Makes a call and waits for it. The outer error is of this machine, the inner one of the server.
    pub(super) fn call<T: Send + 'static, F>(&self, call: impl FnOnce(Client) -> F) -> Result<Answer<T>>
    where
        F: Future<Output = object_store::Result<T>> + Send + 'static,
    {
        let answer = self.wait(self.start(call)?)?;
        if answer.is_ok() {
            self.note_bucket();
        }
        Ok(answer)
    }

    fn no_thread(&self, error: std::io::Error) -> StoreError {
        StoreError::from_io("start a thread for", self.place.to_string().as_ref(), 0, error)
    }

    pub(super) fn note_bucket(&self) {
        self.bucket_seen.store(true, Ordering::Relaxed);
    }

    /// Puts a failure into words.
    pub(super) fn explain(&self, action: &'static str, key: Option<&Key>, failed: &Failed) -> StoreError {
        let mut fault = fault(failed, &self.asked);
        // A `HEAD` is refused without a reason; asking for less gives one.
        if matches!(&fault, Fault::Denied { code } | Fault::Refused { code, .. } if code.is_empty() || code.starts_with("HTTP "))
            && let Ok(Err(reason)) = self.call(look)
        {
            fault = super::witness::fault(&reason, &self.asked);
        }
        self.remote(action, key, fault)
    }

    pub(super) fn remote(&self, action: &'static str, key: Option<&Key>, fault: Fault) -> StoreError {
        let place = key.map_or_else(|| self.place.to_string(), |key| self.place.join(&key.to_string()));
        StoreError::Remote { action, place, fault }
    }

    pub(super) fn endpoint(&self) -> String {
        self.asked.endpoint.clone()
    }

    /// Takes a failure for a missing record, unless it is the bucket that is missing.
    pub(super) fn missing<T>(&self, action: &'static str, key: &Key, failed: &Failed) -> Result<Option<T>> {
        if !failed.is_missing() {
            return Err(self.explain(action, Some(key), failed));
        }
        // A `HEAD` does not tell which of the two it is, nor whether it was an S3 server that did not find it.
        if failed.has_code() {
            self.note_bucket();
        } else if !self.bucket_seen.load(Ordering::Relaxed)
            && let Err(failed) = self.call(look)?
        {
            return Err(self.explain(action, Some(key), &failed));
        }
        Ok(None)
    }

    pub(super) fn trusted(&self) -> Trust {
        *self.trust.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a call came to.
pub(super) type Answer<T> = std::result::Result<T, Failed>;

/// Asks for the least that tells whether the bucket is there and may be read.
async fn look(client: Client) -> object_store::Result<()> {
    let options = PaginatedListOptions { max_keys: Some(1), ..PaginatedListOptions::default() };
    client.s3.list_paginated(None, options).await.map(drop)
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The library's own would show more than it should.
        f.debug_struct("Client").field("bucket_url", &self.bucket_url).finish_non_exhaustive()
    }
}
