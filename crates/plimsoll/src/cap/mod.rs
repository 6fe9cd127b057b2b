//! Tool results inside a cap: what is shown of a text that is too long, and the marker that says so.
//!
//! Everything here is pure: the same text, policy, id and path give the same preview, in one piece or as a stream.
//! Whoever calls stores the whole text first, and names the place in the [`Naming`].
//!
//! ```
//! use plimsoll::Bytes;
//! use plimsoll::cap::{Cap, Marker, Naming, Policy, cap};
//!
//! let id = "s1/toolu_01".parse()?;
//! let output: String = (1..=2_000).map(|n| match n {
//!     900 => "error[E0308]: mismatched types\n".to_owned(),
//!     n => format!("   Compiling crate number {n}\n"),
//! }).collect();
//!
//! let capped = cap(output.as_bytes(), &Policy::new(Cap::Bytes(Bytes(2_048))).for_tool("Bash"), &Naming::whole(&id));
//! let text = capped.as_str();
//! assert!(capped.was_capped && text.len() <= 2_048);
//! assert!(text.starts_with("   Compiling crate number 1\n") && text.ends_with("number 2000\n"));
//! assert!(text.contains("900: error[E0308]: mismatched types"));
//! let (_, marker) = Marker::find(&text).ok_or("a marker")?;
//! assert_eq!(marker.id, Some(id));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod alike;
mod batch;
mod blocks;
mod capper;
mod detect;
mod diff;
mod finds;
mod json;
mod kind;
mod limit;
mod lines;
mod marker;
mod minified;
mod notable;
mod outline;
mod policy;
mod preview;
mod recalled;
mod rows;
mod scan;
mod screen;
mod search;
mod skip;
mod snip;
mod words;

pub use batch::batch;
pub use blocks::{Block, CappedBlock, cap_blocks};
pub use capper::{Capper, Ended, cap};
pub use kind::Kind;
pub use limit::{Cap, DEFAULT, batch_for_budget, for_budget};
pub use marker::Marker;
pub use policy::{Capped, Naming, Policy, Saved, Shape};
pub use recalled::{RecallFooter, cap_recalled};
pub use snip::{snip, snip_bytes};

#[cfg(test)]
mod tests;
