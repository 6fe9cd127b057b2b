//! Who writes a summary: as it is typed and configured, made into something that can be asked; and how it goes.

#![expect(clippy::doc_markdown, reason = "these comments are what --help prints")]

use std::time::Duration;

use anyhow::Result;
use clap::Args;
use plimsoll::Tokens;
use plimsoll::compact::Api;
use plimsoll::model::{Catalogue, Endpoint, Limits, Lookup, Source, resolve_limits};
use plimsoll::wire::Document;
use plimsoll_engine::config::Config;
use plimsoll_engine::summarise::{Cancel, Choice, Extract, Key, Patience, Progress, Remote, Summariser, variable};

use crate::args::tokens;
use crate::output::{Progress as Shown, plain};
use crate::resolve::Usage;

/// Who writes the summary.
#[derive(Debug, Args)]
pub(crate) struct SummarizerArgs {
    /// Who writes the summary: extract (embedded, offline), same (the conversation's own model), anthropic:MODEL,
    /// openai:MODEL (Chat Completions) or responses:MODEL [default: as configured, else extract]
    #[arg(long, value_name = "SUMMARIZER")]
    pub(crate) summarizer: Option<String>,
    /// The base address of the summarizer's API, with or without its version [default: its maker's]
    #[arg(long, value_name = "BASE")]
    pub(crate) summarizer_url: Option<String>,
    /// The summarizer's context window in tokens, if it is known better
    #[arg(long, value_name = "TOKENS", value_parser = tokens)]
    pub(crate) summarizer_window: Option<u64>,
    /// The most tokens that the summarizer can write, if it is known better
    #[arg(long, value_name = "TOKENS", value_parser = tokens)]
    pub(crate) summarizer_max_output: Option<u64>,
    /// The environment variable that holds the key [default: ANTHROPIC_API_KEY or OPENAI_API_KEY]
    #[arg(long, value_name = "NAME", conflicts_with = "summarizer_key_command")]
    pub(crate) summarizer_key_env: Option<String>,
    /// A command that prints the key
    #[arg(long, value_name = "COMMAND")]
    pub(crate) summarizer_key_command: Option<String>,
    /// The most seconds that the summary may take, all tries together
    #[arg(long, value_name = "SECONDS", default_value_t = 1_200)]
    pub(crate) summarizer_timeout: u64,
}

/// What the conversation's own model can take, where the user says it, and what is known of models.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Own<'o> {
    pub(crate) model: Option<&'o str>,
    pub(crate) window: Option<Tokens>,
    pub(crate) max_output: Option<Tokens>,
    pub(crate) catalogue: &'o Catalogue,
}

impl SummarizerArgs {
    /// Which summariser is meant: the option goes before the configuration.
    pub(crate) fn choice(&self, config: &Config) -> Result<Choice> {
        let (from, named) = match (self.summarizer.as_deref(), config.summarizer()) {
            (Some(named), _) => ("--summarizer", named),
            (None, Some(named)) => ("compact.summarizer", named),
            (None, None) => return Ok(Choice::Extract),
        };
        Ok(named.parse::<Choice>().map_err(|error| Usage(format!("{from}: {}", plain(&error.to_string()))))?)
    }

    /// Makes the summariser for a document.
    pub(crate) fn build(
        &self,
        choice: &Choice,
        config: &Config,
        document: &Document<'_>,
        own: Own<'_>,
    ) -> Result<Box<dyn Summariser>> {
        let usage = |error: String| Usage(format!("--summarizer {}: {}", plain(&choice.to_string()), plain(&error)));
        let Some((api, model)) = choice.model(document, own.model).map_err(|error| usage(error.to_string()))? else {
            return Ok(Box::new(Extract::default()));
        };
        let same = *choice == Choice::Same;
        let own = Own { window: own.window.filter(|_| same), max_output: own.max_output.filter(|_| same), ..own };
        Ok(Box::new(self.remote(api, &model, config, own)?))
    }

    /// Makes the summariser that is a model, whatever the conversation. Its limits are `own` where nothing else is said.
    pub(crate) fn remote(&self, api: Api, model: &str, config: &Config, own: Own<'_>) -> Result<Remote> {
        let usage = |error: String| Usage(format!("--summarizer {}: {}", plain(model), plain(&error)));
        let base = self.summarizer_url.as_deref().or_else(|| config.summarizer_url());
        let remote = Remote::new(api, model, base).map_err(|error| usage(error.to_string()))?;
        let window = self.summarizer_window.map(Tokens).or_else(|| config.summarizer_window()).or(own.window);
        let max_output = self.summarizer_max_output.map(Tokens).or(own.max_output);
        let (window, max_output) = limits(own.catalogue, model, window, max_output, base);
        let mut patience = Patience::default();
        patience.total = Duration::from_secs(self.summarizer_timeout);
        let remote = remote.with_limits(window, max_output).with_key(self.key(config, variable(api)));
        Ok(remote.with_patience(patience).map_err(|error| usage(error.to_string()))?)
    }

    /// Refuses what says how another model is asked, where a conversation's own model is, which its client's request
    /// says.
    pub(crate) fn only_same(&self) -> Result<()> {
        let given = [
            (self.summarizer_url.is_some(), "--summarizer-url"),
            (self.summarizer_window.is_some(), "--summarizer-window"),
            (self.summarizer_max_output.is_some(), "--summarizer-max-output"),
            (self.summarizer_key_env.is_some(), "--summarizer-key-env"),
            (self.summarizer_key_command.is_some(), "--summarizer-key-command"),
        ];
        match given.iter().find(|(given, _)| *given) {
            Some((_, option)) => {
                let says = "`same` asks each conversation's own model at its upstream, with its client's credentials";
                Err(Usage(format!("{option} does not go with --summarizer same: {says}")).into())
            }
            None => Ok(()),
        }
    }

    /// Refuses a maker's own service without a key, which would refuse every summary.
    pub(crate) fn has_key(&self, api: Api, config: &Config) -> Result<()> {
        let elsewhere = self.summarizer_url.is_some() || config.summarizer_url().is_some();
        let key = self.key(config, variable(api));
        if elsewhere || !key.is_absent() {
            return Ok(());
        }
        let name = key.named();
        Err(Usage(format!(
            "--summarizer: {name} is not set, and the makers' own services answer nobody without a key; set it, name \
             another variable with --summarizer-key-env, or give a server that needs none with --summarizer-url"
        ))
        .into())
    }

    /// Where the key comes from: what is typed goes before what is configured, a command before a variable.
    fn key(&self, config: &Config, usual: &str) -> Key {
        let command = match (&self.summarizer_key_command, &self.summarizer_key_env) {
            (Some(command), _) => Some(command.as_str()),
            (None, Some(_)) => None,
            (None, None) => config.summarizer_key_command(),
        };
        if let Some(command) = command {
            return Key::of_command(command);
        }
        let variable = self.summarizer_key_env.as_deref().or_else(|| config.summarizer_key_env()).unwrap_or(usual);
        Key::of_environment(variable, std::env::var(variable).ok().as_deref())
    }
}

/// What a model can take: as the user says, else as it is known. A famous name on a private server means little.
fn limits(
    catalogue: &Catalogue,
    model: &str,
    window: Option<Tokens>,
    max_output: Option<Tokens>,
    base: Option<&str>,
) -> (Option<Tokens>, Option<Tokens>) {
    let number = |tokens: Option<Tokens>| tokens.map(|tokens| tokens.0);
    let user = Limits::stated(&Source::User, number(window), None, number(max_output));
    let known = if let Lookup::Known(limits) = catalogue.lookup(model) { limits } else { Limits::default() };
    let endpoint = base.map_or(Endpoint::Public, Endpoint::of_url);
    let fallback = plimsoll::model::DEFAULT_LIMIT;
    let limits = resolve_limits(Some(&user), None, Some(&known), endpoint, fallback);
    let tokens = |limit: Option<&plimsoll::model::Limit>| limit.map(|limit| limit.tokens);
    // How much a model writes is its own, wherever it runs; to ask for less than a server would give costs little.
    let max_output = limits.max_output.as_ref().or(known.max_output.as_ref());
    (tokens(limits.max_input.as_ref().or(limits.context_window.as_ref())), tokens(max_output))
}

/// Shows how far a summary is.
pub(crate) fn show(progress: &Shown, step: &Progress) {
    progress.stage(&plain(&words(step)));
}

fn words(step: &Progress) -> String {
    match step {
        Progress::Asking { service, input } => format!("asking {service}: {input} tokens"),
        Progress::Waiting { pause, reason } => format!("waiting {:.1} s: {reason}", pause.as_secs_f32()),
        Progress::Writing { output } => format!("the summary is being written: about {output} tokens"),
        Progress::Rejected { reason } => format!("asking once more: {reason}"),
        Progress::FallingBack { reason } => format!("extracting instead: {reason}"),
        _ => "summarising".to_owned(),
    }
}

/// Runs a future to its end. Ctrl-C, or whoever asks this process to end, cancels it.
pub(crate) fn interruptible<T>(cancel: &Cancel, work: impl Future<Output = T>) -> Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        tokio::pin!(work);
        tokio::select! {
            done = &mut work => return Ok(done),
            () = interrupted() => cancel.cancel(),
        }
        // What is under way comes to its end by itself, and sees that it was cancelled.
        Ok(work.await)
    })
}

/// Waits until the process is asked to end.
async fn interrupted() {
    let ctrl_c = async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                () = ctrl_c => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    ctrl_c.await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_famous_name_on_a_private_server_does_not_bring_its_window() {
        let limits = |model: &str, window, base| limits(&Catalogue::embedded(), model, window, None, base);
        let known = limits("gpt-4o", None, None);
        assert_eq!(known.0, Some(Tokens(128_000)));
        let private = limits("claude-sonnet-4-5", None, Some("http://127.0.0.1:8080"));
        assert!(private.0.is_none_or(|window| window <= Tokens(128_000)), "{private:?}");
        let said = limits("claude-sonnet-4-5", Some(Tokens(8_192)), Some("http://127.0.0.1:8080"));
        assert_eq!(said.0, Some(Tokens(8_192)));
    }

    #[test]
    fn what_a_model_writes_at_most_is_known_wherever_it_runs() {
        let most = |base| limits(&Catalogue::embedded(), "gpt-4o", None, None, base).1;
        assert_eq!(most(Some("http://10.0.0.1/v1")), most(None));
        assert!(most(None).is_some());
        let said = limits(&Catalogue::embedded(), "gpt-4o", None, Some(Tokens(2_000)), Some("http://10.0.0.1/v1"));
        assert_eq!(said.1, Some(Tokens(2_000)));
    }

    #[test]
    fn progress_is_told_in_words() {
        let told = words(&Progress::Waiting { pause: Duration::from_millis(2_500), reason: "busy".to_owned() });
        assert_eq!(told, "waiting 2.5 s: busy");
        assert_eq!(
            words(&Progress::Asking { service: "openai:m".to_owned(), input: Tokens(12_345) }),
            "asking openai:m: 12.3K tokens"
        );
    }
}
