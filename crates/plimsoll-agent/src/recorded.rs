//! Replays recordings to a driver, for tests: what a program wrote, as its answer to an input.

use crate::agent::Agent;
use crate::conversation::{Conversation, Effect};
use crate::driver::Driver;
use crate::error::AgentError;
use crate::event::EventKind;
use crate::outcome::{Exit, Outcome};
use crate::request::Input;

/// What a replay came to.
pub(crate) struct Replayed {
    pub(crate) events: Vec<EventKind>,
    pub(crate) written: Vec<String>,
    pub(crate) outcome: Outcome,
    pub(crate) error: Option<AgentError>,
}

/// Replays a recording of a run with these inputs.
pub(crate) fn replay(agent: Agent, driver: Box<dyn Driver>, recording: &[u8], inputs: Vec<Input>) -> Replayed {
    let mut inputs = inputs.into_iter();
    let mut conversation = Conversation::new(agent, driver, inputs.next().unwrap());
    let mut effects = conversation.start();
    for input in inputs {
        effects.extend(conversation.send(input).unwrap());
    }
    let mut offset = 0;
    for line in recording.split(|byte| *byte == b'\n') {
        conversation.line(line, offset, &mut effects);
        offset += u64::try_from(line.len()).unwrap() + 1;
    }
    let (mut events, mut written) = (Vec::new(), Vec::new());
    for effect in effects {
        match effect {
            Effect::Emit(event, _) => events.push(event),
            Effect::Write(line) => written.push(line),
            _ => {}
        }
    }
    let (outcome, error) = conversation.finish(Exit { code: Some(0), signal: None }, String::new());
    Replayed { events, written, outcome, error }
}

/// The events as JSON lines.
pub(crate) fn lines(events: &[EventKind]) -> String {
    events.iter().map(|event| serde_json::to_string(event).unwrap()).collect::<Vec<_>>().join("\n")
}
