//! Keeps an LLM agent inside its context window and loses nothing doing so.
//!
//! **Bytes in, edits out.** A conversation is never re-encoded: a view is laid over its bytes, measured, planned upon, and
//! every byte that no edit names leaves exactly as it came. This crate decides; it reads no file, no clock and no
//! environment, and talks to nobody. What a plan needs from outside, it names as data.
//!
//! The whole line, from bytes to bytes, with the embedded summariser:
//!
//! ```
//! use plimsoll::budget::{Capacity, Counting, Meter, Policy, Trigger, threshold};
//! use plimsoll::compact::{
//!     Chain, ContinuationParts, FRAME_BOUND, Plan, PlanOptions, Profile, Request, acknowledgement, apply, continuation,
//!     extract, plan,
//! };
//! use plimsoll::id::{EpochId, SessionId};
//! use plimsoll::transcript::Obligations;
//! use plimsoll::wire::{ParseOptions, parse};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let turn = |n: usize| format!(
//!     r#"{{"role":"user","content":"Step {n}: never use more than {n}00 MB."}},{{"role":"assistant","content":"Done."}},"#
//! );
//! let body = format!(
//!     r#"{{"model":"gpt-4o","messages":[{}{{"role":"user","content":"Go on."}}]}}"#,
//!     (1..40).map(turn).collect::<String>(),
//! );
//!
//! // bytes → view → measure
//! let document = parse(body.as_bytes(), &ParseOptions::default())?;
//! let mut meter = Meter::new(Counting::for_model(Some("gpt-4o")));
//! let measure = meter.measure(&document);
//!
//! // → plan: pure data
//! let mut options = PlanOptions::new(document.format(), Trigger::Manual);
//! options.target_tokens = Some(plimsoll::Tokens(900));
//! let planned = plan(
//!     document.transcript(),
//!     &Obligations::of(document.transcript()),
//!     &measure,
//!     &threshold(&Capacity::default(), &Policy::default(), document.max_output()),
//!     &options,
//! );
//! let Plan::Summarise(summarise) = planned else { panic!("{planned:?}") };
//!
//! // → summary, in the message that stands for what leaves. Archive `body` under this id first.
//! let chain = Chain::of(&document);
//! let prefix = chain.replaced(summarise.removed.end).ok_or("no prefix")?;
//! let epoch = EpochId::new(&SessionId::new("my-session"), prefix.as_bytes()).to_string();
//! let counter = meter.count().counter().clone();
//! let extracted = extract(document.transcript(), summarise.removed.clone(), &Request {
//!     budget: summarise.continuation_budget - FRAME_BOUND,
//!     ledger: summarise.ledger_budget,
//!     count: &|text| counter.count(text),
//!     recall: &epoch,
//!     splits_turn: summarise.splits_turn,
//!     profile: &Profile::default(),
//!     instructions: None,
//! });
//! let message = continuation(&ContinuationParts {
//!     epoch: &epoch,
//!     summary: &extracted.summary,
//!     ledger: None,
//!     keeps_tail: summarise.tail_messages() > 0,
//!     recall: Some(&epoch),
//! });
//!
//! // → apply → edits → splice → bytes
//! let applied = apply(&document, &summarise, &message, acknowledgement(), &mut meter)?;
//! let bytes = applied.bytes(&document)?;
//! assert!(applied.tokens_after.0 <= 900);
//! assert!(bytes.ends_with(br#"{"role":"user","content":"Go on."}]}"#));
//! # Ok(())
//! # }
//! ```
//!
//! | room | what it holds |
//! |---|---|
//! | [`wire`] | the formats: detection, tolerant parsing, edits, splicing |
//! | [`transcript`] | the neutral view; obligations between messages; turns |
//! | [`token`], [`model`] | counting, and what models can take, each with its provenance |
//! | [`budget`] | measures and thresholds |
//! | [`cap`] | tool results inside a cap: the cut, the preview, the marker |
//! | [`compact`] | plans, the ledger, the extract, the continuation, epochs |
//! | [`listing`] | skills and commands inside a budget |
//! | [`command`] | slash commands to agent programs, as values |
//! | [`id`] | ids that are path-safe by construction |

pub mod budget;
pub mod cap;
pub mod command;
pub mod compact;
pub mod id;
pub mod listing;
pub mod model;
pub mod token;
pub mod transcript;
mod units;
pub mod utf16;
pub mod wire;

pub use units::{Bytes, Tokens, counted, plural};
