//! A run, as a host holds it.

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::driver::Decision;
use crate::error::{AgentError, Failed};
use crate::event::Event;
use crate::outcome::Outcome;
use crate::request::Input;

/// An agent at work. Dropping it kills the agent and everything the agent started.
///
/// ```no_run
/// # async fn example(request: plimsoll_agent::Request) -> Result<(), Box<dyn std::error::Error>> {
/// use plimsoll_agent::{EventKind, Host, start};
/// let mut run = start(request, &Host::default()).await?;
/// while let Some(event) = run.next().await {
///     if let EventKind::Text { text } = event.kind {
///         println!("{text}");
///     }
/// }
/// let outcome = run.finish().await?;
/// println!("{} tokens of output", outcome.usage.output);
/// # Ok(())
/// # }
/// ```
#[doc(alias = "Run::events")]
#[derive(Debug)]
pub struct Run {
    pub(crate) events: mpsc::Receiver<Event>,
    pub(crate) wishes: mpsc::UnboundedSender<Wish>,
    pub(crate) task: Option<JoinHandle<Result<Outcome, Failed>>>,
}

/// What a host wants of a run that is under way.
pub(crate) enum Wish {
    Send(Input, oneshot::Sender<Result<(), AgentError>>),
    Respond(String, Decision, oneshot::Sender<Result<(), AgentError>>),
    SetModel(String, oneshot::Sender<Result<(), AgentError>>),
    Cancel,
}

impl Run {
    /// Waits for the next event; `None` when there will be no more.
    ///
    /// As long as nobody takes events, the agent is not read on, and waits in its turn.
    pub async fn next(&mut self) -> Option<Event> {
        self.events.recv().await
    }

    /// Gives the events as they come. It is [`next`](Self::next) for who wants the channel.
    pub fn events(&mut self) -> &mut mpsc::Receiver<Event> {
        &mut self.events
    }

    /// Sends a further prompt or command. Its turn comes when those before it are over: nothing ever enters a turn that
    /// is under way. What was taken here and could not be sent is in [`Outcome::unsent`].
    ///
    /// # Errors
    /// [`AgentError::UnknownCommand`] if the agent has no such command; [`AgentError::Over`] if the run is over.
    #[doc(alias = "Run::send")]
    pub async fn send(&self, input: impl Into<Input>) -> Result<(), AgentError> {
        let input = input.into();
        self.wish(|answer| Wish::Send(input, answer)).await
    }

    /// Answers a request for approval.
    ///
    /// # Errors
    /// [`AgentError::NoApproval`] if it is not open any more; [`AgentError::Over`] if the run is over.
    pub async fn respond(&self, approval: &str, decision: Decision) -> Result<(), AgentError> {
        self.wish(|answer| Wish::Respond(approval.to_owned(), decision, answer)).await
    }

    /// Asks for another model from the next turn on.
    ///
    /// # Errors
    /// [`AgentError::Unsupported`] if the agent cannot; [`AgentError::Over`] if the run is over.
    pub async fn set_model(&self, model: &str) -> Result<(), AgentError> {
        self.wish(|answer| Wish::SetModel(model.to_owned(), answer)).await
    }

    /// Stops the agent: its turn is interrupted if it has a way to, and it is killed if that does not help.
    /// [`finish`](Self::finish) then gives an outcome that says so.
    pub fn cancel(&self) {
        // A run that is over needs no cancelling.
        let _ = self.wishes.send(Wish::Cancel);
    }

    /// Waits for the end. Events that were not taken are dropped.
    ///
    /// # Errors
    /// [`Failed`], with why, and with what there was until then.
    pub async fn finish(mut self) -> Result<Outcome, Failed> {
        self.events.close();
        while self.events.recv().await.is_some() {}
        let lost = || Failed { error: AgentError::Over, outcome: Box::default() };
        match self.task.take() {
            Some(task) => task.await.unwrap_or_else(|_| Err(lost())),
            None => Err(lost()),
        }
    }

    async fn wish(
        &self,
        wish: impl FnOnce(oneshot::Sender<Result<(), AgentError>>) -> Wish,
    ) -> Result<(), AgentError> {
        let (answer, answered) = oneshot::channel();
        self.wishes.send(wish(answer)).map_err(|_| AgentError::Over)?;
        answered.await.unwrap_or(Err(AgentError::Over))
    }
}
