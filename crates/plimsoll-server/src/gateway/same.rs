//! `Same`: the conversation's own model as its summariser: at the upstream that the conversation goes to, with what its
//! client shows there.
//!
//! Credentials are held by the request that brings them, and by the making of a summary that it starts; with the last of
//! the two they are gone.

use std::fmt;
use std::sync::Arc;

use http::request::Parts;
use http::{HeaderMap, Uri};
use plimsoll::compact::Api;
use plimsoll_engine::summarise::{OwnConversation, OwnModel, Remote, Summariser, SummariserError};

/// Where a request goes, and what its client shows there.
pub(crate) struct Same {
    uri: Uri,
    headers: HeaderMap,
}

impl Same {
    /// Takes it from what an upstream gets.
    pub(crate) fn of(onward: &Parts) -> Arc<dyn OwnModel> {
        Arc::new(Self { uri: onward.uri.clone(), headers: onward.headers.clone() })
    }
}

impl OwnModel for Same {
    fn summariser(&self, of: &OwnConversation<'_>) -> Result<Arc<dyn Summariser>, SummariserError> {
        let unknown = || SummariserError::Request {
            service: "same".to_owned(),
            reason: format!("there is no way to ask a model in the format {}", of.format),
        };
        let api = Api::of(of.format).ok_or_else(unknown)?;
        let remote = Remote::new(api, of.model, Some(&self.uri.to_string()))?.on_behalf(&self.headers)?;
        Ok(Arc::new(remote.with_limits(Some(of.window), of.max_output)))
    }
}

impl fmt::Debug for Same {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Same")
    }
}
