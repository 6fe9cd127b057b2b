//! What is known of a model: its limits, where each number comes from, its name, its tokenizer.

mod catalogue;
mod endpoint;
mod limits;
mod name;
mod normalise;
mod resolution;
pub mod server;
mod snapshot;
mod text;
mod tokenizer;
mod user;

pub use catalogue::{Catalogue, CatalogueError};
pub use endpoint::Endpoint;
pub use limits::{DEFAULT_LIMIT, Limit, LimitKind, Limits, ModelLimit, Source, resolve_limits};
pub use name::{Name, Rule, Step};
pub use normalise::normalise;
pub use resolution::{Claim, Entry, Lookup, Matches, Outcome, Resolution};
pub use tokenizer::{TokenizerHint, tokenizer};
pub use user::{UserCatalogue, UserProblem};
