//! What is known of a model: its limits, where each number comes from, its name, its tokenizer.

mod catalogue;
mod endpoint;
mod limits;
mod normalise;
pub mod server;
mod tokenizer;
mod user;

pub use catalogue::{
    Catalogue, CatalogueError, Claim, Entry, Lookup, Matches, Outcome, Resolution,
};
pub use endpoint::Endpoint;
pub use limits::{DEFAULT_LIMIT, Limit, LimitKind, Limits, ModelLimit, Source, resolve_limits};
pub use normalise::{Name, Rule, Step, normalise};
pub use tokenizer::{TokenizerHint, tokenizer};
pub use user::{UserCatalogue, UserProblem};
