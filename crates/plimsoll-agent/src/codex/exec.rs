//! Codex for one prompt and nothing else: `codex exec --json`, which reads its prompt to the end of standard input.
//!
//! It has no approvals to ask for, no commands and no further turns; what the app server can do and this cannot is
//! refused, with that as what would work. Recorded with 0.171.0.

use plimsoll::Tokens;
use plimsoll::command::{Command, Commands};
use serde_json::{Map, Value, json};

use crate::agent::Agent;
use crate::driver::{Decision, Driver, Ended, Launch, Record, Step, Thread, TurnEnd};
use crate::error::AgentError;
use crate::event::{EventKind, Usage};
use crate::json::{owned, text, tokens};
use crate::outcome::Stop;
use crate::probe::Capabilities;
use crate::request::{AgentSession, Approvals, Input, Request};

use super::failure;
use super::items::Items;

/// The state of one run.
#[derive(Debug, Default)]
pub(crate) struct Exec {
    version: Option<String>,
    model: Option<String>,
    items: Items,
    /// The last whole message of the answer.
    answer: Option<String>,
    /// Whether the one turn was begun.
    begun: bool,
}

fn unsupported(what: &str, instead: &str) -> AgentError {
    AgentError::Unsupported { agent: Agent::Codex, what: what.to_owned(), instead: instead.to_owned() }
}

impl Driver for Exec {
    fn launch(&mut self, request: &Request, thread: &Thread, can: &Capabilities) -> Result<Launch, AgentError> {
        self.version = can.version().map(str::to_owned);
        self.model.clone_from(&request.model);
        if !can.is_silent() && !can.mentions("--json") {
            return Err(AgentError::FlagRejected {
                agent: Agent::Codex,
                version: self.version.clone(),
                flag: "exec --json".to_owned(),
                instead: "a newer version does".to_owned(),
            });
        }
        let other = "leave out that it is one-shot: the app server can";
        if request.approvals == Approvals::Ask {
            return Err(unsupported("ask for approvals in a one-shot run", other));
        }
        if request.instructions.is_some() {
            return Err(unsupported(
                "be given instructions in a one-shot run without showing them to everyone",
                other,
            ));
        }
        // The host named the directory: that is the trust which the program asks for.
        let mut arguments = vec!["exec", "--json", "--skip-git-repo-check"];
        if let Some(sandbox) = super::sandbox(request.permission) {
            arguments.extend(["--sandbox", sandbox]);
        }
        if let Some(model) = &request.model {
            arguments.extend(["--model", model]);
        }
        if let Thread::Resume(id) = thread {
            arguments.extend(["resume", id.as_str()]);
        }
        arguments.push("-");
        Ok(Launch { arguments: arguments.into_iter().map(Into::into).collect(), ..Launch::default() })
    }

    fn help(&self) -> Option<&'static [&'static str]> {
        Some(&["exec", "--help"])
    }

    fn refuses(&self, command: &Command) -> Option<AgentError> {
        let what = format!("take `/{}` in a one-shot run", command.name());
        Some(unsupported(&what, "leave out that it is one-shot: the app server has commands"))
    }

    /// So that a command is refused with what would work, not as one that is unknown.
    fn offers(&self, _command: &Command) -> bool {
        true
    }

    fn start(&mut self) -> Vec<Step> {
        vec![Step::Ready(Some(Commands::default()))]
    }

    fn record(&mut self, record: Record<'_>, steps: &mut Vec<Step>) {
        let Ok(message) = serde_json::from_str::<Value>(record.json.get()) else {
            steps.push(Step::Unknown(String::new()));
            return;
        };
        match text(&message, "type") {
            "thread.started" => match AgentSession::new(text(&message, "thread_id")) {
                Ok(session) => steps.push(Step::Event(EventKind::Started {
                    agent: Agent::Codex,
                    session,
                    model: self.model.clone(),
                    version: self.version.clone(),
                })),
                Err(_) => steps.push(Step::Unknown("thread.started".to_owned())),
            },
            "turn.started" => {}
            kind @ ("item.started" | "item.updated" | "item.completed") => {
                let done = kind == "item.completed";
                let item = as_served(message.get("item").unwrap_or(&Value::Null));
                if done && text(&item, "type") == "agentMessage" {
                    self.answer = owned(&item, "text");
                }
                match self.items.read(item, done) {
                    Some(events) => steps.extend(events.into_iter().map(Step::Event)),
                    None => steps.push(Step::Unknown(kind.to_owned())),
                }
            }
            "turn.completed" => {
                let usage = usage(message.get("usage").unwrap_or(&Value::Null));
                let text = self.answer.take();
                steps.push(Step::TurnEnded(TurnEnd { text, stop: Stop::End, usage: Some(usage), error: None }));
            }
            "turn.failed" => {
                let error = failure::of_turn(message.get("error").unwrap_or(&Value::Null));
                let text = self.answer.take();
                steps.push(Step::TurnEnded(TurnEnd { text, stop: Stop::Error, usage: None, error: Some(error) }));
            }
            other => steps.push(Step::Unknown(other.to_owned())),
        }
    }

    fn turn(&mut self, input: &Input) -> Vec<Step> {
        let Input::Prompt(prompt) = input else {
            return vec![Step::Fail(unsupported(
                "take a command in a one-shot run",
                "leave out that it is one-shot",
            ))];
        };
        if std::mem::replace(&mut self.begun, true) {
            let instead = "leave out that it is one-shot, or begin another run";
            return vec![Step::Fail(unsupported("take a second prompt in a one-shot run", instead))];
        }
        vec![Step::Write(prompt.as_str().to_owned()), Step::Shut]
    }

    fn respond(&mut self, approval: &str, _decision: &Decision) -> Result<Vec<Step>, AgentError> {
        Err(AgentError::NoApproval { id: approval.to_owned() })
    }

    fn interrupt(&mut self) -> Vec<Step> {
        Vec::new()
    }

    fn set_model(&mut self, _model: &str) -> Result<Vec<Step>, AgentError> {
        Err(unsupported("change its model in a one-shot run", "name the model in the request"))
    }

    fn explain(&self, ended: &Ended<'_>) -> Option<AgentError> {
        failure::ended(ended, self.version.as_deref())
    }
}

/// An item as the app server writes it, so that both are read by the same code: names in its case.
fn as_served(item: &Value) -> Value {
    let Some(fields) = item.as_object() else {
        return Value::Null;
    };
    let mut served: Map<String, Value> =
        fields.iter().map(|(name, value)| (in_camel_case(name), value.clone())).collect();
    for name in ["type", "status"] {
        if let Some(word) = served.get_mut(name)
            && let Some(given) = word.as_str()
        {
            *word = in_camel_case(given).into();
        }
    }
    if text(item, "type") == "reasoning" {
        served.insert("summary".to_owned(), json!([text(item, "text")]));
    }
    Value::Object(served)
}

fn in_camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let mut joined = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        joined.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        joined.push_str(letters.as_str());
    }
    joined
}

/// What was used. Its input includes what a cache held.
fn usage(report: &Value) -> Usage {
    let count = |field| tokens(report, field).unwrap_or(Tokens(0));
    let (read, write) = (count("cached_input_tokens"), count("cache_write_input_tokens"));
    Usage {
        input: count("input_tokens") - read - write,
        output: count("output_tokens"),
        cache_read: read,
        cache_write: write,
        ..Usage::default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;

    /// As `codex exec --json` 0.171.0 wrote it, with a tool call; long texts shortened.
    const RECORDED: &str = r#"{"type":"thread.started","thread_id":"01a22997-6afe-78a0-883f-bfc39950e459"}
{"type":"item.completed","item":{"id":"item_0","type":"error","message":"Model metadata not found"}}
{"type":"turn.started"}
{"type":"item.started","item":{"id":"item_1","type":"command_execution","command":"/bin/bash -lc 'seq 1 3'","aggregated_output":"","exit_code":null,"status":"in_progress"}}
{"type":"item.completed","item":{"id":"item_1","type":"command_execution","command":"/bin/bash -lc 'seq 1 3'","aggregated_output":"1\n2\n3\n","exit_code":0,"status":"completed"}}
{"type":"item.completed","item":{"id":"item_2","type":"agent_message","text":"hello from fake"}}
{"type":"turn.completed","usage":{"input_tokens":23369,"cached_input_tokens":369,"cache_write_input_tokens":0,"output_tokens":8,"reasoning_output_tokens":0}}"#;

    fn steps(lines: &str) -> Vec<Step> {
        let (mut driver, mut steps) = (Exec::default(), Vec::new());
        for line in lines.lines() {
            let json: &RawValue = serde_json::from_str(line).unwrap();
            driver.record(Record { json, offset: 0 }, &mut steps);
        }
        steps
    }

    #[test]
    fn a_recorded_run_gives_the_events_of_the_app_server() {
        let shown: Vec<String> = steps(RECORDED)
            .iter()
            .map(|step| match step {
                Step::Event(event) => serde_json::to_string(event).unwrap(),
                Step::TurnEnded(end) => format!(
                    "end {:?} {:?} {:?}",
                    end.stop,
                    end.text,
                    end.usage.map(|u| (u.input, u.cache_read, u.output))
                ),
                other => format!("{other:?}"),
            })
            .collect();
        insta::assert_snapshot!(shown.join("\n"), @r#"
        {"event":"started","agent":"codex","session":"01a22997-6afe-78a0-883f-bfc39950e459","model":null,"version":null}
        Unknown("item.completed")
        {"event":"tool_call","id":"item_1","name":"commandExecution","input":{"command":"/bin/bash -lc 'seq 1 3'"}}
        {"event":"tool_result","id":"item_1","text":"1\n2\n3\n","omitted_bytes":0,"is_error":false}
        {"event":"text","text":"hello from fake"}
        end End Some("hello from fake") Some((Tokens(23000), Tokens(369), Tokens(8)))
        "#);
    }

    #[test]
    fn a_failed_turn_says_why() {
        let failed = r#"{"type":"turn.failed","error":{"message":"unexpected status 401 Unauthorized"}}"#;
        let steps = steps(failed);
        let [Step::TurnEnded(TurnEnd { stop: Stop::Error, error: Some(error), .. })] = steps.as_slice() else {
            panic!("{steps:?}")
        };
        assert_eq!(error.kind(), "not_logged_in");
    }

    #[test]
    fn one_prompt_is_written_whole_and_the_input_shut() {
        let mut driver = Exec::default();
        let input = Input::Prompt(crate::Prompt::new("Say hello.\nTwice.").unwrap());
        let first = driver.turn(&input);
        assert!(matches!(first.as_slice(), [Step::Write(text), Step::Shut] if text == "Say hello.\nTwice."));
        assert!(matches!(driver.turn(&input).as_slice(), [Step::Fail(AgentError::Unsupported { .. })]));
        assert!(driver.refuses(&Command::Clear).is_some());
    }
}
