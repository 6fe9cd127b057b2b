use proptest::prelude::*;

use super::*;
use crate::driver::Launch;
use crate::driver::{Capabilities, Thread};
use crate::event::Usage;
use crate::request::{Prompt, Request};

/// A protocol of one word a line: `ready`, `end WORDS`, anything else is a piece of the answer.
#[derive(Debug, Default)]
struct Toy;

impl Driver for Toy {
    fn launch(&mut self, _: &Request, _: &Thread, _: &Capabilities) -> Result<Launch, AgentError> {
        Ok(Launch::default())
    }

    fn offers(&self, command: &Command) -> bool {
        matches!(command, Command::Compact { .. })
    }

    fn start(&mut self) -> Vec<Step> {
        vec![Step::Write("greet".to_owned())]
    }

    fn record(&mut self, record: Record<'_>, steps: &mut Vec<Step>) {
        let word: String = serde_json::from_str(record.json.get()).unwrap();
        steps.push(match word.as_str() {
            "ready" => Step::Ready(Some(Commands::new(["review", "clear"], ["review"]))),
            "end" => {
                Step::TurnEnded(TurnEnd { text: None, stop: Stop::End, usage: Some(Usage::default()), error: None })
            }
            text => Step::Event(EventKind::Text { text: text.to_owned() }),
        });
    }

    fn turn(&mut self, input: &Input) -> Vec<Step> {
        vec![Step::Write(match input {
            Input::Prompt(prompt) => prompt.as_str().to_owned(),
            Input::Command(command) => command.wire(),
        })]
    }

    fn respond(&mut self, approval: &str, _: &Decision) -> Result<Vec<Step>, AgentError> {
        Err(AgentError::NoApproval { id: approval.to_owned() })
    }

    fn interrupt(&mut self) -> Vec<Step> {
        vec![Step::Write("interrupt".to_owned())]
    }

    fn set_model(&mut self, _: &str) -> Result<Vec<Step>, AgentError> {
        Ok(Vec::new())
    }

    fn explain(&self, _: &Ended<'_>) -> Option<AgentError> {
        None
    }
}

fn prompt(text: &str) -> Input {
    Prompt::new(text).unwrap().into()
}

fn begin(input: Input) -> (Conversation, Vec<Effect>) {
    let mut conversation = Conversation::new(Agent::Acp, Box::<Toy>::default(), input);
    let effects = conversation.start();
    (conversation, effects)
}

fn say(conversation: &mut Conversation, word: &str) -> Vec<Effect> {
    let mut effects = Vec::new();
    conversation.line(format!("{word:?}").as_bytes(), 0, &mut effects);
    effects
}

fn finish(conversation: Conversation) -> (Outcome, Option<AgentError>) {
    conversation.finish(Exit::default(), String::new())
}

#[test]
fn a_command_after_a_prompt_leaves_it_its_answer() {
    let (mut conversation, _) = begin(prompt("hello"));
    say(&mut conversation, "ready");
    conversation.send(Command::Clear.into()).unwrap();
    for word in ["an ", "answer", "end", "cleared", "end"] {
        say(&mut conversation, word);
    }
    let (outcome, error) = finish(conversation);
    assert!(error.is_none());
    assert_eq!((outcome.text.as_str(), outcome.turns), ("an answer", 2));
}

#[test]
fn a_prompt_acknowledged_during_a_compaction_is_sent_after_it_or_told() {
    let (mut conversation, _) = begin(Command::compact("").into());
    say(&mut conversation, "ready");
    conversation.send(prompt("and now")).unwrap();
    let effects = say(&mut conversation, "end");
    assert!(effects.iter().any(|effect| matches!(effect, Effect::Write(line) if line == "and now")));
    // And one that comes too late for a run that is cut off is given back.
    conversation.send(prompt("too late")).unwrap();
    let (outcome, error) = finish(conversation);
    assert!(matches!(error, Some(AgentError::NoTerminalRecord { .. })));
    assert_eq!(outcome.unsent, [prompt("too late")]);
}

#[test]
fn a_compaction_that_no_event_reports_is_refused_with_what_was_said() {
    let (mut conversation, _) = begin(Command::compact("").into());
    say(&mut conversation, "ready");
    say(&mut conversation, "too short");
    let effects = say(&mut conversation, "end");
    assert!(effects.iter().any(|effect| matches!(
        effect,
        Effect::Emit(EventKind::Compaction(step), None) if *step == Compaction::refused("too short")
    )));
}

#[test]
fn what_the_protocol_has_counts_beside_what_the_agent_reports() {
    let (mut conversation, _) = begin(prompt("hello"));
    say(&mut conversation, "ready");
    assert!(conversation.send(Command::compact("").into()).is_ok());
    let refused = conversation.send(Command::new("reveiw", "").unwrap().into()).unwrap_err();
    insta::assert_snapshot!(refused, @"acp has no command `/reveiw`; nothing was sent; did you mean `/review`?");
}

#[test]
fn a_run_that_is_cancelled_before_its_turn_sends_nothing() {
    let (mut conversation, _) = begin(prompt("hello"));
    let effects = conversation.cancel();
    assert!(matches!(effects[..], [Effect::Stop]));
    assert!(say(&mut conversation, "ready").iter().all(|effect| !matches!(effect, Effect::Write(_))));
    let (outcome, error) = finish(conversation);
    assert!(error.is_none());
    assert_eq!((outcome.stop, outcome.unsent), (Stop::Cancelled, vec![prompt("hello")]));
}

#[derive(Debug, Clone)]
enum Move {
    Say(&'static str),
    Send(Input),
    Cancel,
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let step = prop_oneof![
        4 => prop_oneof![Just("ready"), Just("end"), Just("words")].prop_map(Move::Say),
        3 => prop_oneof![
            Just(prompt("p")),
            Just(Command::Clear.into()),
            Just(Command::compact("x").into()),
            Just(Command::new("nope", "").unwrap().into()),
        ]
        .prop_map(Move::Send),
        1 => Just(Move::Cancel),
    ];
    prop::collection::vec(step, 0..40)
}

proptest! {
    #[test]
    fn nothing_enters_a_turn_under_way_and_nothing_is_lost(moves in moves()) {
        let (mut conversation, effects) = begin(prompt("p"));
        let (mut in_turn, mut closed, mut taken, mut sent) = (false, 0, 1, 0);
        let mut ready = false;
        let mut check = |effects: Vec<Effect>, in_turn: &mut bool| -> Result<(), TestCaseError> {
            for effect in effects {
                match effect {
                    Effect::Write(line) if line == "greet" || line == "interrupt" => {}
                    Effect::Write(line) => {
                        prop_assert!(!*in_turn, "{} entered a turn", line);
                        prop_assert!(!line.contains("nope"));
                        prop_assert_eq!(closed, 0);
                        *in_turn = true;
                        sent += 1;
                    }
                    Effect::Close | Effect::Stop => closed += 1,
                    Effect::Emit(..) | Effect::Session(_) | Effect::Wait(_) | Effect::Shut => {}
                }
            }
            prop_assert!(closed <= 1);
            Ok(())
        };
        check(effects, &mut in_turn)?;
        for step in moves {
            let effects = match step {
                Move::Say(word) => {
                    if word == "end" {
                        in_turn = false;
                    }
                    ready |= word == "ready";
                    say(&mut conversation, word)
                }
                Move::Send(input) => match conversation.send(input) {
                    Ok(effects) => {
                        taken += 1;
                        effects
                    }
                    Err(_) => Vec::new(),
                },
                Move::Cancel => conversation.cancel(),
            };
            prop_assert!(ready || effects.iter().all(|effect| !matches!(effect, Effect::Write(_))));
            check(effects, &mut in_turn)?;
        }
        let (outcome, _) = finish(conversation);
        // Everything that was taken was either sent or is told.
        prop_assert_eq!(sent + outcome.unsent.len(), taken);
    }
}
