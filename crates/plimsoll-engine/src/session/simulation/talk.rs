//! A conversation as a client keeps it, and how it writes it down in each format.

use plimsoll::wire::{Format, quote};

use super::chance::Chance;

const HM: &str = r#"{"type":"thinking","thinking":"Hm.","signature":"c2ln"}"#;
const SO: &str = r#"{"type":"thinking","thinking":"So.","signature":"c2ln"}"#;

/// A body without the thinking that stands in it.
pub(crate) fn without_thinking(body: &str) -> String {
    body.replace(&format!("{HM},"), "").replace(&format!("{SO},"), "")
}

/// A step of a conversation.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    User(String),
    Say { text: String, thinks: bool },
    Calls { ids: Vec<String>, thinks: bool },
    Results { of: Vec<(String, String)> },
}

/// A conversation as its client keeps it.
#[derive(Debug, Clone)]
pub(crate) struct Talk {
    pub(crate) format: Format,
    pub(crate) system: String,
    pub(crate) steps: Vec<Step>,
    /// Whether signed reasoning is in it.
    pub(crate) thinks: bool,
    calls: usize,
    name: u64,
}

impl Talk {
    pub(crate) fn new(format: Format, name: u64, thinks: bool) -> Self {
        let system = format!("You write code, agent {name}.");
        Self { format, system, steps: Vec::new(), thinks, calls: 0, name }
    }

    pub(crate) fn user(&mut self, chance: &mut Chance, words: usize) {
        let text = format!("Never touch file {}. {}", chance.below(1_000), chance.words(words));
        self.steps.push(Step::User(text));
    }

    /// The model answers: with words, or with calls, which are answered at once; so many percent of the results are
    /// large.
    pub(crate) fn reply(&mut self, chance: &mut Chance, largest: usize, large: usize) {
        let thinks = self.thinks && chance.percent(60);
        if chance.percent(45) {
            let words = 20 + chance.below(60);
            self.steps.push(Step::Say { text: chance.words(words), thinks });
            return;
        }
        let count = 1 + chance.below(3);
        let ids: Vec<String> = (0..count).map(|at| format!("call_{}_{}", self.name, self.calls + at)).collect();
        self.calls += count;
        self.steps.push(Step::Calls { ids: ids.clone(), thinks });
        let of = ids.into_iter().map(|id| {
            let words = if chance.percent(large) { chance.below(largest) } else { 40 + chance.below(120) };
            let text = format!("result of {id}\n{}", chance.words(words).replace("queue ", "queue\n"));
            (id, text)
        });
        self.steps.push(Step::Results { of: of.collect() });
    }

    /// Whether a request may be made of it.
    pub(crate) fn is_to_send(&self) -> bool {
        matches!(self.steps.last(), Some(Step::User(_) | Step::Results { .. }))
    }

    /// Goes back to before a message of the user.
    pub(crate) fn rewind(&mut self, chance: &mut Chance) {
        // Seldom far.
        let users = self.users();
        let back = if chance.percent(80) { 1 + chance.below(3) } else { 1 + chance.below(users.len()) };
        if let Some(at) = users.len().checked_sub(back).and_then(|user| users.get(user)) {
            self.steps.truncate(*at);
        }
    }

    /// Changes an earlier message of the user.
    pub(crate) fn edit(&mut self, chance: &mut Chance) {
        let users = self.users();
        let at = users.get(chance.below(users.len())).copied();
        if let Some(Step::User(text)) = at.and_then(|at| self.steps.get_mut(at)) {
            text.push_str(" Or rather not.");
        }
    }

    fn users(&self) -> Vec<usize> {
        let steps = self.steps.iter().enumerate();
        steps.filter(|(_, step)| matches!(step, Step::User(_))).map(|(at, _)| at).collect()
    }

    /// Writes the request.
    pub(crate) fn body(&self) -> String {
        let last = self.steps.len().saturating_sub(1);
        let elements: Vec<String> =
            self.steps.iter().enumerate().flat_map(|(at, step)| self.write(step, at == last)).collect();
        let elements = elements.join(",");
        let system = quote(&self.system);
        match self.format {
            Format::OpenaiChat => format!(
                r#"{{"model":"m","messages":[{{"role":"system","content":{system}}},{elements}],"tools":[{{"type":"function","function":{{"name":"plimsoll_recall"}}}}],"stream":true}}"#
            ),
            Format::OpenaiResponses => format!(
                r#"{{"model":"m","instructions":{system},"tools":[{{"type":"function","name":"plimsoll_recall"}}],"input":[{elements}],"stream":true}}"#
            ),
            _ => format!(
                r#"{{"model":"m","max_tokens":500,"system":{system},"tools":[{{"name":"plimsoll_recall","input_schema":{{}}}}],"messages":[{elements}],"stream":true}}"#
            ),
        }
    }

    fn write(&self, step: &Step, marked: bool) -> Vec<String> {
        let anthropic = self.format == Format::Anthropic;
        let responses = self.format == Format::OpenaiResponses;
        let mark = if marked && anthropic { r#","cache_control":{"type":"ephemeral"}"# } else { "" };
        let reasoning = || r#"{"type":"reasoning","summary":[],"encrypted_content":"c2VhbGVk"}"#.to_owned();
        match step {
            Step::User(text) if anthropic && marked => {
                let text = quote(text);
                vec![format!(r#"{{"role":"user","content":[{{"type":"text","text":{text}{mark}}}]}}"#)]
            }
            Step::User(text) if responses => {
                let text = quote(text);
                vec![format!(
                    r#"{{"type":"message","role":"user","content":[{{"type":"input_text","text":{text}}}]}}"#
                )]
            }
            Step::User(text) => vec![format!(r#"{{"role":"user","content":{}}}"#, quote(text))],
            Step::Say { text, thinks } => {
                let text = quote(text);
                if responses {
                    let said = format!(
                        r#"{{"type":"message","role":"assistant","content":[{{"type":"output_text","text":{text}}}]}}"#
                    );
                    return if *thinks { vec![reasoning(), said] } else { vec![said] };
                }
                if anthropic && *thinks {
                    return vec![format!(
                        r#"{{"role":"assistant","content":[{HM},{{"type":"text","text":{text}}}]}}"#
                    )];
                }
                vec![format!(r#"{{"role":"assistant","content":{text}}}"#)]
            }
            Step::Calls { ids, thinks } if anthropic => {
                let calls = ids.iter().map(|id| {
                    format!(r#"{{"type":"tool_use","id":"{id}","name":"Bash","input":{{"command":"cat {id}.rs"}}}}"#)
                });
                let blocks: Vec<String> = thinks.then(|| SO.to_owned()).into_iter().chain(calls).collect();
                vec![format!(r#"{{"role":"assistant","content":[{}]}}"#, blocks.join(","))]
            }
            Step::Calls { ids, thinks } if responses => {
                let calls = ids.iter().map(|id| {
                    format!(r#"{{"type":"function_call","call_id":"{id}","name":"Bash","arguments":"{{\"command\":\"cat {id}.rs\"}}"}}"#)
                });
                thinks.then(reasoning).into_iter().chain(calls).collect()
            }
            Step::Calls { ids, .. } => {
                let calls: Vec<String> = ids
                    .iter()
                    .map(|id| format!(r#"{{"id":"{id}","type":"function","function":{{"name":"Bash","arguments":"{{\"command\":\"cat {id}.rs\"}}"}}}}"#))
                    .collect();
                vec![format!(r#"{{"role":"assistant","content":null,"tool_calls":[{}]}}"#, calls.join(","))]
            }
            Step::Results { of } if anthropic => {
                let blocks: Vec<String> = of
                    .iter()
                    .enumerate()
                    .map(|(at, (id, text))| {
                        let mark = if at + 1 == of.len() { mark } else { "" };
                        format!(r#"{{"type":"tool_result","tool_use_id":"{id}","content":{}{mark}}}"#, quote(text))
                    })
                    .collect();
                vec![format!(r#"{{"role":"user","content":[{}]}}"#, blocks.join(","))]
            }
            Step::Results { of } if responses => of
                .iter()
                .map(|(id, text)| {
                    format!(r#"{{"type":"function_call_output","call_id":"{id}","output":{}}}"#, quote(text))
                })
                .collect(),
            Step::Results { of } => of
                .iter()
                .map(|(id, text)| format!(r#"{{"role":"tool","tool_call_id":"{id}","content":{}}}"#, quote(text)))
                .collect(),
        }
    }
}
