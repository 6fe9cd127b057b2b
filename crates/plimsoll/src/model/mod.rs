//! What is known of a model: its limits, where each number comes from, its name, its tokenizer.

mod catalogue;
pub mod collect;
mod endpoint;
mod limits;
mod name;
mod normalise;
mod prices;
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
pub use prices::{Priced, Prices};
pub use resolution::{Claim, Entry, Lookup, Matches, Outcome, Resolution};
pub use tokenizer::{TokenizerHint, tokenizer};
pub use user::{UserCatalogue, UserProblem};
