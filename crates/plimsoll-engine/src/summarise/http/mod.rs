//! `Remote`: a model that is asked over HTTP, through the API of its provider.
//!
//! One call is several tries: what may pass by itself (a limit on requests, a server that is down, a connection that
//! is not made) is tried again, later and later, as long as nothing of an answer has been written.

mod address;
mod behalf;
mod date;
mod judge;
mod key;
mod pace;
mod patience;
mod read;

use std::sync::Arc;
use std::time::Duration;

use plimsoll::Tokens;
use plimsoll::compact::{Api, SummaryRequest as Prompt};
use plimsoll_store::tls;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use tokio::time::timeout;

use self::address::Address;
use self::judge::Failure;
use self::key::Secret;
use super::cancel::until;
use super::{Answer, BoxFuture, Progress, Service, Summariser, SummariserError, SummaryRequest, Waited};

pub use date::parse as http_date;
pub use key::Key;
pub use pace::{Pace, SystemPace};
pub use patience::Patience;

/// The version of Anthropic's API that is spoken.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// A model that is asked over HTTP: Anthropic Messages, `OpenAI` Chat Completions or Responses, at any base address.
///
/// Answers are streamed. Keys are sent to the base address and nowhere else: redirects are not followed. Proxies that the
/// environment names are used, but never for this machine itself.
///
/// ```no_run
/// use plimsoll::compact::Api;
/// use plimsoll_engine::summarise::{Key, Remote, Summariser};
/// let key = Key::of_environment("OPENAI_API_KEY", std::env::var("OPENAI_API_KEY").ok().as_deref());
/// let model = Remote::new(Api::OpenaiChat, "gpt-5-mini", None)?.with_key(key);
/// assert_eq!(model.service().name, "openai:gpt-5-mini");
/// # Ok::<(), plimsoll_engine::summarise::SummariserError>(())
/// ```
#[derive(Debug)]
pub struct Remote {
    service: Service,
    api: Api,
    model: String,
    address: Address,
    key: Key,
    /// What a client sends there, on whose behalf this is asked.
    client_headers: Option<HeaderMap>,
    patience: Patience,
    pace: Arc<dyn Pace>,
    client: reqwest::Client,
}

impl Remote {
    /// Makes a summariser of a model. `base` is the API's base address, with or without its version; `None` is its
    /// maker's.
    ///
    /// # Errors
    /// [`SummariserError::Address`] if that is no address, [`SummariserError::Tls`] if no secure connections can be made
    /// on this system.
    pub fn new(api: Api, model: &str, base: Option<&str>) -> Result<Self, SummariserError> {
        let address = Address::new(api, base)?;
        let patience = Patience::default();
        let client = client(&address, &patience, false)?;
        let mut service = Service::of_model(format!("{}:{model}", prefix(api)), api, model);
        service.continues = true;
        let key = Key::of_environment(variable(api), None);
        let pace = Arc::new(SystemPace::default());
        let model = model.to_owned();
        Ok(Self { service, api, model, address, key, client_headers: None, patience, pace, client })
    }

    /// Sends this key along.
    #[must_use]
    pub fn with_key(mut self, key: Key) -> Self {
        self.key = key;
        self
    }

    /// Asks on behalf of a client: with the headers that it sends itself, its credentials among them, instead of a key.
    ///
    /// Headers that speak of one connection or of one body stay behind. No proxy is used. Credentials are marked as
    /// sensitive, and taken out of what a server says of them.
    ///
    /// # Errors
    /// [`SummariserError::Tls`], as in [`Remote::new`].
    pub fn on_behalf(mut self, headers: &HeaderMap) -> Result<Self, SummariserError> {
        self.client_headers = Some(behalf::headers(headers));
        self.key = Key::of_client();
        self.client = client(&self.address, &self.patience, true)?;
        Ok(self)
    }

    /// Sets what the model can take, where it is known.
    #[must_use]
    pub const fn with_limits(mut self, window: Option<Tokens>, max_output: Option<Tokens>) -> Self {
        self.service.window = window;
        self.service.max_output = max_output;
        self
    }

    /// Waits, and tries again, as this says.
    ///
    /// # Errors
    /// [`SummariserError::Tls`], as in [`Remote::new`].
    pub fn with_patience(mut self, patience: Patience) -> Result<Self, SummariserError> {
        self.client = client(&self.address, &patience, self.client_headers.is_some())?;
        self.patience = patience;
        Ok(self)
    }

    /// Reads time, pauses and draws by chance by these means.
    #[must_use]
    pub fn with_pace(mut self, pace: Arc<dyn Pace>) -> Self {
        self.pace = pace;
        self
    }

    /// The address that is asked, without credentials and query.
    pub fn endpoint(&self) -> &str {
        self.address.shown()
    }

    /// Asks until there is an answer, or no use in asking again.
    async fn ask(&self, prompt: &Prompt, progress: &(dyn Fn(Progress) + Sync)) -> Result<Answer, SummariserError> {
        let start = self.pace.elapsed();
        let key = self.key.get(self.address.shown()).await?;
        let headers = self.headers(key.as_ref())?;
        let secrets: Vec<Secret> = match &self.client_headers {
            Some(headers) => behalf::secrets(headers),
            None => key.into_iter().collect(),
        };
        let mut tries = 0;
        loop {
            tries += 1;
            let failure = match self.once(prompt, headers.clone(), &secrets, progress).await {
                Ok(answer) => return answer.usable(&self.service.name),
                Err(failure) => *failure,
            };
            let elapsed = self.pace.elapsed().saturating_sub(start);
            let pause = self.patience.pause(tries, failure.asked, elapsed, self.pace.jitter());
            let error = failure.error.after(tries);
            let Some(pause) = pause.filter(|_| failure.passing) else { return Err(error) };
            progress(Progress::Waiting { pause, reason: error.to_string() });
            self.pace.sleep(pause).await;
        }
    }

    /// Asks once.
    async fn once(
        &self,
        prompt: &Prompt,
        headers: HeaderMap,
        secrets: &[Secret],
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<Answer, Box<Failure>> {
        let judge = judge::Judge { endpoint: self.address.shown(), model: &self.model, secrets, source: &self.key };
        let url = self.address.url().clone();
        let sending = self.client.post(url).headers(headers).body(prompt.body.clone()).send();
        let response = match timeout(self.patience.silence, sending).await {
            Err(_) => return Err(judge.timeout(Waited::NextPart, self.patience.silence)),
            Ok(Err(error)) => return Err(judge.unsent(&error, self.patience.connect)),
            Ok(Ok(response)) => response,
        };
        read::answer(response, self.api, &judge, self.patience.silence, progress, &*self.pace).await
    }

    fn headers(&self, key: Option<&Secret>) -> Result<HeaderMap, SummariserError> {
        let mut headers = self.client_headers.clone().unwrap_or_default();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream, application/json"));
        let secret = |text: String| {
            let unusable = |_| SummariserError::KeyUnusable {
                endpoint: self.address.shown().to_owned(),
                key_source: self.key.named(),
            };
            let mut value = HeaderValue::from_str(&text).map_err(unusable)?;
            value.set_sensitive(true);
            Ok(value)
        };
        let bearer = |key: &Secret| secret(format!("Bearer {}", key.reveal()));
        match (self.api, key) {
            (Api::Anthropic, key) => {
                headers.entry("anthropic-version").or_insert(HeaderValue::from_static(ANTHROPIC_VERSION));
                if let Some(key) = key {
                    headers.insert(HeaderName::from_static("x-api-key"), secret(key.reveal().to_owned())?);
                }
            }
            (_, Some(key)) => {
                headers.insert(AUTHORIZATION, bearer(key)?);
            }
            (_, None) => {}
        }
        if let Some((user, password)) = self.address.credentials() {
            let pair = address::base64(format!("{user}:{password}").as_bytes());
            headers.insert(AUTHORIZATION, secret(format!("Basic {pair}"))?);
        }
        Ok(headers)
    }
}

impl Summariser for Remote {
    fn service(&self) -> &Service {
        &self.service
    }

    fn summarise<'a>(&'a self, request: SummaryRequest<'a>) -> BoxFuture<'a, Result<Answer, SummariserError>> {
        Box::pin(async move {
            let Some(prompt) = request.prompt else {
                let reason = "there is no prompt; this is a fault of Plimsoll".to_owned();
                return Err(SummariserError::Request { service: self.service.name.clone(), reason });
            };
            let asking = timeout(self.patience.total, self.ask(prompt, request.progress));
            match until(request.cancel, asking).await {
                None => Err(SummariserError::Cancelled),
                Some(Ok(answer)) => answer,
                Some(Err(_)) => Err(SummariserError::Timeout {
                    endpoint: self.address.shown().to_owned(),
                    waited: Waited::Whole,
                    limit: self.patience.total,
                }),
            }
        })
    }
}

/// How an API is called in front of a model's name.
pub(super) const fn prefix(api: Api) -> &'static str {
    match api {
        Api::Anthropic => "anthropic",
        Api::OpenaiResponses => "responses",
        _ => "openai",
    }
}

/// The environment variable in which an API's key is looked for.
pub const fn variable(api: Api) -> &'static str {
    match api {
        Api::Anthropic => "ANTHROPIC_API_KEY",
        _ => "OPENAI_API_KEY",
    }
}

fn client(address: &Address, patience: &Patience, direct: bool) -> Result<reqwest::Client, SummariserError> {
    let trouble = |reason: String| SummariserError::Tls { endpoint: address.shown().to_owned(), reason };
    let mut builder = reqwest::Client::builder()
        .tls_backend_preconfigured(tls::client(address.is_secure()).map_err(|error| trouble(error.to_string()))?)
        .user_agent(concat!("plimsoll/", env!("CARGO_PKG_VERSION")))
        // Wherever a server sends a request, the key would go along.
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(patience.connect)
        .pool_idle_timeout(Duration::from_secs(30));
    if direct || address.is_here() {
        builder = builder.no_proxy();
    }
    builder.build().map_err(|error| trouble(error.without_url().to_string()))
}

#[cfg(test)]
mod tests;
