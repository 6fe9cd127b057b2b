//! Admission control: what has to be left out of a summary request so that it fits, and how long the answer may be.

use std::collections::BTreeMap;

use super::{RequestError, Shrunk};
use crate::units::Tokens;

/// The most that an answer is given: draft, reasoning and summary together.
pub const MOST_OUTPUT: Tokens = Tokens(20_000);

/// What stands in place of a result that is left out.
const PLACEHOLDER: Tokens = Tokens(16);

/// How many results are left out at a time, in percent of all.
const SHARES: [usize; 4] = [10, 20, 50, 100];

/// What bounds a request: the summariser's window, and what it can write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// The window that input and output share.
    pub window: Tokens,
    /// The most that the model can write, where that is known.
    pub max_output: Option<Tokens>,
}

/// The least that an answer needs: what it may take at most, but no more than a quarter of the window.
///
/// ```
/// use plimsoll::{Tokens, compact::{Room, least_output}};
/// assert_eq!(least_output(&Room { window: Tokens(200_000), max_output: None }), Tokens(20_000));
/// assert_eq!(least_output(&Room { window: Tokens(8_192), max_output: None }), Tokens(2_048));
/// ```
pub fn least_output(room: &Room) -> Tokens {
    room.max_output.unwrap_or(Tokens::MAX).min(MOST_OUTPUT).min(Tokens(room.window.0 / 4)).max(Tokens(1))
}

impl Room {
    /// How long the answer may be after this much input: the model's most, 20,000 tokens, or what remains; `None` if
    /// that is too little for a summary.
    ///
    /// ```
    /// use plimsoll::{Tokens, compact::Room};
    /// let room = Room { window: Tokens(32_000), max_output: Some(Tokens(64_000)) };
    /// assert_eq!(room.output(Tokens(2_000)), Some(Tokens(20_000)));
    /// assert_eq!(room.output(Tokens(22_000)), Some(Tokens(10_000)));
    /// assert_eq!(room.output(Tokens(31_000)), None);
    /// ```
    pub fn output(&self, input: Tokens) -> Option<Tokens> {
        let remains = self.window - input;
        let output = self.max_output.unwrap_or(Tokens::MAX).min(MOST_OUTPUT).min(remains);
        (output >= least_output(self)).then_some(output)
    }
}

/// What a part of a conversation is, as far as leaving it out goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PartKind {
    /// It always stays: an earlier summary.
    Kept,
    /// A message of the user: it leaves with its whole turn only, and the last one never.
    Request,
    /// What a tool returned: the first to be left out.
    Result,
    /// Anything else: what the model said and called, what the program added.
    Step,
}

/// A part of a conversation, by what it counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// What it counts.
    pub tokens: Tokens,
    /// What it is.
    pub kind: PartKind,
    /// Its turn, by number; 0 before the first message of the user.
    pub turn: usize,
}

/// What is sent of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Admission {
    /// Results that are left out, each with a note in its place: ascending.
    pub results: Vec<usize>,
    /// Parts that are left out without a trace of their own: ascending.
    pub dropped: Vec<usize>,
    /// How many whole turns are among them.
    pub turns: usize,
    /// How many parts of the last turn are among them.
    pub steps: usize,
    /// What the input counts.
    pub input: Tokens,
    /// The most that the answer may take.
    pub output: Tokens,
}

impl Admission {
    /// How much was left out.
    pub fn shrunk(&self) -> Shrunk {
        Shrunk { results: self.results.len(), turns: self.turns, steps: self.steps }
    }
}

/// Decides what is sent of a conversation whose parts count this much, beside what is `fixed`.
///
/// All of it if it fits. Otherwise results are left out from the middle outwards, 10, 20, 50 and 100 percent of them;
/// then the oldest whole turns; then the oldest steps of the last turn. Earlier summaries and the last message of the
/// user stay.
///
/// # Errors
/// [`RequestError::DoesNotFit`] if even then it is too much.
///
/// ```
/// use plimsoll::{Tokens, compact::{Part, PartKind, Room, admit}};
/// let part = |tokens, kind, turn| Part { tokens: Tokens(tokens), kind, turn };
/// let parts = [part(100, PartKind::Request, 1), part(9_000, PartKind::Result, 1), part(100, PartKind::Step, 1)];
/// let room = Room { window: Tokens(8_000), max_output: None };
/// let admission = admit(Tokens(1_000), &parts, &room).unwrap();
/// assert_eq!(admission.results, [1]);
/// assert_eq!((admission.input, admission.output), (Tokens(1_216), Tokens(6_784)));
/// ```
pub fn admit(fixed: Tokens, parts: &[Part], room: &Room) -> Result<Admission, RequestError> {
    let results: Vec<usize> = indices(parts, |part| part.kind == PartKind::Result);
    let all: Tokens = parts.iter().map(|part| part.tokens).sum();
    let mut admission = Admission {
        results: Vec::new(),
        dropped: Vec::new(),
        turns: 0,
        steps: 0,
        input: fixed + all,
        output: Tokens::ZERO,
    };
    let fits = |input: Tokens| room.output(input);
    for share in [0].into_iter().chain(SHARES) {
        let number = (results.len() * share).div_ceil(100);
        let gone = middle(&results, number);
        let saved: Tokens =
            gone.iter().filter_map(|index| parts.get(*index)).map(|part| part.tokens - PLACEHOLDER).sum();
        admission.input = fixed + all - saved;
        admission.results = gone;
        if let Some(output) = fits(admission.input) {
            admission.output = output;
            return Ok(admission);
        }
    }
    // What is left now are turns without results. A dropped part is left out as a whole, its note with it.
    let weight = |part: &Part| if part.kind == PartKind::Result { part.tokens.min(PLACEHOLDER) } else { part.tokens };
    let last = parts.iter().map(|part| part.turn).max().unwrap_or(0);
    let mut gone: Vec<usize> = Vec::new();
    let mut of_turns: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (index, part) in parts.iter().enumerate().filter(|(_, part)| part.turn < last && part.kind != PartKind::Kept)
    {
        of_turns.entry(part.turn).or_default().push(index);
    }
    for of_turn in of_turns.into_values() {
        admission.turns += 1;
        for index in of_turn {
            admission.input = admission.input - parts.get(index).map_or(Tokens::ZERO, weight);
            gone.push(index);
        }
        if let Some(output) = fits(admission.input) {
            return Ok(admitted(admission, gone, output));
        }
    }
    for index in indices(parts, |part| part.turn == last && matches!(part.kind, PartKind::Result | PartKind::Step)) {
        admission.input = admission.input - parts.get(index).map_or(Tokens::ZERO, weight);
        gone.push(index);
        admission.steps += 1;
        if let Some(output) = fits(admission.input) {
            return Ok(admitted(admission, gone, output));
        }
    }
    Err(RequestError::DoesNotFit { least: admission.input, output: least_output(room), window: room.window })
}

fn admitted(mut admission: Admission, mut gone: Vec<usize>, output: Tokens) -> Admission {
    gone.sort_unstable();
    admission.results.retain(|index| gone.binary_search(index).is_err());
    admission.dropped = gone;
    admission.output = output;
    admission
}

fn indices(parts: &[Part], wanted: impl Fn(&Part) -> bool) -> Vec<usize> {
    parts.iter().enumerate().filter(|(_, part)| wanted(part)).map(|(index, _)| index).collect()
}

/// So many of some indices, those nearest to the middle, ascending.
fn middle(of: &[usize], number: usize) -> Vec<usize> {
    let number = number.min(of.len());
    let start = (of.len() - number) / 2;
    of.get(start..start + number).unwrap_or(&[]).to_vec()
}
