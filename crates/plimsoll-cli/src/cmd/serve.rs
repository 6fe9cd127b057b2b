//! `plimsoll serve`: the gateway.

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::{Args, ValueHint};
use plimsoll::Tokens;
use plimsoll::budget::Capacity;
use plimsoll::cap::Cap;
use plimsoll_engine::config::Config;
use plimsoll_engine::doctor;
use plimsoll_engine::profiles::profile as profile_named;
use plimsoll_engine::session::{Recaller, SessionOptions};
use plimsoll_engine::summarise::Choice;
use plimsoll_server::ServerError;
use plimsoll_server::gateway::{Gateway, Keep, Keys, Options, Sink, Upstream};
use plimsoll_store::{Location, Store};

use super::summarizer::{Own, SummarizerArgs};
use crate::args::{Global, size, some_tokens, tokens};
use crate::output::{Output, plain};
use crate::resolve::{Done, Usage, catalogue, config, location, profile_folder, tenant_store};

/// Put a gateway in front of models: conversations stay inside their windows, everything else passes as it is
///
/// Clients use its address as their base URL. Without --upstream it passes on to the makers of each protocol: Anthropic,
/// OpenAI and Gemini. It prints one line with its address when it is ready, and runs until it is stopped.
#[derive(Debug, Args)]
#[command(after_help = "Example: plimsoll serve --upstream anthropic=https://api.anthropic.com
         ANTHROPIC_BASE_URL=http://127.0.0.1:8642 claude

         plimsoll serve --upstream openai=http://127.0.0.1:11434 --window 32k
         OPENAI_BASE_URL=http://127.0.0.1:8642/v1 my-agent

Elsewhere than on this machine it needs a key, which clients send as x-plimsoll-key:
         PLIMSOLL_KEY=alice:$(openssl rand -hex 24) \\
             plimsoll serve --listen 0.0.0.0:8642")]
pub(crate) struct ServeArgs {
    /// Where to listen; port 0 takes any that is free
    #[arg(long, value_name = "ADDRESS", value_parser = address, default_value = "127.0.0.1:8642")]
    pub(crate) listen: SocketAddr,
    #[command(flatten)]
    pub(crate) gateway: GatewayArgs,
    /// Listen elsewhere than on this machine without a key
    #[arg(long)]
    pub(crate) insecure: bool,
    /// A name under which clients reach it, besides localhost and addresses; may be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) allow_host: Vec<String>,
    /// A web origin that may use it; may be repeated
    #[arg(long, value_name = "ORIGIN")]
    pub(crate) allow_origin: Vec<String>,
    /// The most connections at once; further ones wait
    #[arg(long, value_name = "NUMBER", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_connections: u32,
}

/// What every gateway is told.
#[derive(Debug, Args)]
pub(crate) struct GatewayArgs {
    /// Where requests go; may be repeated. Named anthropic, openai or gemini, it gets that protocol's requests; any is
    /// reached at /u/NAME/
    #[arg(long, value_name = "NAME=URL")]
    pub(crate) upstream: Vec<String>,
    /// The context window in tokens, if it is known better
    #[arg(long, value_name = "TOKENS", value_parser = some_tokens)]
    pub(crate) window: Option<u64>,
    /// The model's output limit in tokens, if it is known better
    #[arg(long, value_name = "TOKENS", value_parser = tokens)]
    pub(crate) max_output: Option<u64>,
    /// Who can recall what a capped result leaves out, since only then results are capped: tool (clients whose tools
    /// contain Plimsoll's recall), files (clients that can open files here), always, nobody
    #[arg(long, value_name = "WHO", value_parser = ["tool", "files", "always", "nobody"])]
    pub(crate) recall: Option<String>,
    #[command(flatten)]
    pub(crate) summarizer: SummarizerArgs,
    /// Decide and report, but change nothing
    #[arg(long, conflicts_with = "passthrough")]
    pub(crate) shadow: bool,
    /// Pass everything on as it is, and keep nothing
    #[arg(long)]
    pub(crate) passthrough: bool,
    /// The largest request body that is read
    #[arg(long, value_name = "BYTES", value_parser = some_size, default_value = "64MiB")]
    pub(crate) max_body: u64,
    /// How many seconds to wait for a connection to an upstream
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) connect_timeout: u64,
    /// How many seconds an upstream may be silent
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) upstream_silence: u64,
    /// Write a line of JSON a request, without content, to this file; `-` is standard error
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) request_log: Option<PathBuf>,
}

impl GatewayArgs {
    /// Settles how the gateway works. `recaller` is who can recall if nothing is said of it.
    pub(crate) fn options(&self, global: &Global, recaller: Recaller) -> Result<Options> {
        let mut options = Options::default();
        if !self.upstream.is_empty() {
            // Read here and not by the parser of arguments, which would print what was typed, a password in it too.
            let upstreams = self.upstream.iter().map(|upstream| upstream.parse::<Upstream>());
            options = upstreams
                .collect::<Result<Vec<_>, _>>()
                .and_then(|upstreams| Options::default().with_upstreams(upstreams))
                .map_err(|error| Usage(format!("--upstream NAME=URL: {error}")))?;
        }
        options.max_body = plimsoll::Bytes(self.max_body);
        options.connect_timeout = Duration::from_secs(self.connect_timeout);
        options.upstream_silence = Duration::from_secs(self.upstream_silence);
        options.log = self.request_log.as_deref().map(sink).transpose()?;
        if self.passthrough {
            return Ok(options);
        }
        let config = config(global)?;
        let choice = self.summarizer.choice(&config)?;
        let session = self.session(&config, global, &choice, recaller)?;
        // What is wrong with how the store is named is said now, and not at the first request.
        let store = tenant_store(&config, None)?;
        warn_of_store(location(&config)?, store);
        let stores = move |tenant: Option<&str>| tenant_store(&config, tenant).map_err(|error| error.to_string());
        let mut keep = Keep::new(session, Arc::new(stores));
        keep.same = choice == Choice::Same;
        options.keep = Some(keep);
        Ok(options)
    }

    fn session(
        &self,
        config: &Config,
        global: &Global,
        choice: &Choice,
        recaller: Recaller,
    ) -> Result<SessionOptions> {
        let mut session = SessionOptions::default().with_policy(config.policy());
        session.catalogue = catalogue(global)?;
        match choice {
            Choice::Same => self.summarizer.only_same()?,
            Choice::Model { api, model } => {
                self.summarizer.has_key(*api, config)?;
                let nothing = Own { model: None, window: None, max_output: None, catalogue: &session.catalogue };
                let remote = self.summarizer.remote(*api, model, config, nothing)?;
                session.summariser = Arc::new(remote);
            }
            // The embedded one is what a session has.
            _ => {}
        }
        if self.window.is_some() || self.max_output.is_some() {
            let (window, output) = (self.window.map(Tokens), self.max_output.map(Tokens));
            let capacity = Capacity { context_window: window, max_output: output, ..Capacity::default() };
            session = session.with_capacity(capacity);
        }
        session.profile = profile_named(config.profile(), profile_folder(global).as_deref())
            .map_err(|error| Usage(plain(&error.to_string())))?
            .profile;
        session.cap = config.cap().map(Cap::Bytes);
        session.shadow = self.shadow;
        Ok(session.with_recaller(match self.recall.as_deref() {
            Some("tool") => Recaller::Tool,
            Some("files") => Recaller::Files,
            Some("always") => Recaller::Always,
            Some("nobody") => Recaller::Nobody,
            _ => recaller,
        }))
    }
}

/// Reads the size of the largest body; one of 0 bytes would let no request through.
fn some_size(text: &str) -> std::result::Result<u64, String> {
    match size(text)? {
        0 => Err("a limit of 0 bytes lets no request through; leave it out for 64 MiB".to_owned()),
        size => Ok(size),
    }
}

/// Reads where to listen. A name could be any machine's: only this one's own is taken.
fn address(text: &str) -> std::result::Result<SocketAddr, String> {
    let numbers = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
    numbers.as_deref().unwrap_or(text).parse().map_err(|_| {
        "give an address in numbers and a port, such as 127.0.0.1:8642 or [::1]:0; of names, only localhost"
            .to_owned()
    })
}

/// Tries the store beside the start, and warns if it cannot be written to: requests go through all the same.
fn warn_of_store(location: Location, store: Store) {
    std::thread::spawn(move || {
        for fault in doctor::store_faults(&location, &store) {
            let fix = fault.fix.map(|fix| format!("; {fix}")).unwrap_or_default();
            let says = plain(&format!("{}{fix}", fault.says));
            // Nobody may be there to read it.
            let _ = writeln!(
                std::io::stderr(),
                "plimsoll: the store: {says}. Requests go through, but what is compacted or capped is not kept"
            );
        }
    });
}

/// Opens a log.
fn sink(path: &Path) -> Result<Sink> {
    if path == Path::new("-") {
        return Ok(Arc::new(|line| {
            // Whoever reads it may have gone away.
            let _ = writeln!(std::io::stderr().lock(), "{line}");
        }));
    }
    let mut create = std::fs::OpenOptions::new();
    create.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut create, 0o600);
    let file = create.open(path).with_context(|| format!("--request-log {}", path.display()))?;
    let file = Mutex::new(file);
    Ok(Arc::new(move |line| {
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        // A disk that is full is no reason to stop.
        let _ = file.write_all(format!("{line}\n").as_bytes());
    }))
}

/// The keys that the environment names.
fn keys() -> Result<Keys> {
    let Some(text) = std::env::var_os("PLIMSOLL_KEY").filter(|text| !text.is_empty()) else {
        return Ok(Keys::default());
    };
    let text = text.into_string().map_err(|_| Usage("PLIMSOLL_KEY is not UTF-8".to_owned()))?;
    Ok(Keys::parse(&text).map_err(|error| Usage(error.to_string()))?)
}

pub(crate) fn run(arguments: &ServeArgs, global: &Global, output: &mut Output) -> Result<Done> {
    let mut options = arguments.gateway.options(global, Recaller::Tool)?;
    options.keys = keys()?;
    options.insecure = arguments.insecure;
    options.allowed_hosts.clone_from(&arguments.allow_host);
    options.allowed_origins.clone_from(&arguments.allow_origin);
    options.max_connections = usize::try_from(arguments.max_connections)?;
    runtime()?.block_on(async {
        let stop = stopped()?;
        let gateway = match Gateway::bind(arguments.listen, options).await {
            Err(error @ ServerError::Open { .. }) => return Err(Usage(error.to_string()).into()),
            bound => bound?,
        };
        output.print(&format!("plimsoll listens on http://{}\n", gateway.address()))?;
        output.finish()?;
        gateway.serve(stop).await;
        Ok(Done::Yes)
    })
}

/// Where a gateway runs: on every core, since each conversation can keep one busy.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime> {
    // A panic is caught where it happens. Its message may hold what a client sent: only its place is said.
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map_or_else(String::new, ToString::to_string);
        let _ = writeln!(std::io::stderr(), "plimsoll: a fault at {place}; please report it");
    }));
    Ok(tokio::runtime::Builder::new_multi_thread().enable_all().build()?)
}

/// Waits for a signal to stop.
fn stopped() -> Result<impl Future<Output = ()>> {
    #[cfg(unix)]
    let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    Ok(async move {
        #[cfg(unix)]
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = terminate.recv() => {}
        }
        #[cfg(not(unix))]
        let _ = tokio::signal::ctrl_c().await;
    })
}
