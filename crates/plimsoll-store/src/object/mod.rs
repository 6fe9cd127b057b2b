//! A store in a bucket, on S3 or on a server that speaks its protocol (`s3://bucket/prefix`).
//!
//! Records stand under the same keys as on disk, below the prefix. What the guarantees of
//! [`Backend`](crate::backend::Backend) rest on here:
//!
//! 1. **Create-only**: every record is created by a conditional request (`If-None-Match: *`), whether by one `PUT` or as
//!    the end of an upload in parts. A server that does not honour that is found out before the first write of a
//!    process, and refused. A writer whose answer was lost finds its own stamp on the record and knows that it won. What
//!    comes later under a name that was freed by a removal is another record.
//! 2. **Durable**: S3 answers when the data is stored in several places; other servers as they are set up.
//! 3. **Whole or nothing**: objects appear whole. A killed writer leaves at most an upload in parts that nobody sees, and
//!    which [`sweep`](crate::backend::Backend::sweep) ends; a lifecycle rule of the bucket can do so, too.
//! 4. **Private**: as the bucket's policy has it. Nothing is ever marked public.
//! 5. **Confined**: keys are made from ids, and the prefix stands before each.
//!
//! Listings and reads show every write that has returned before (S3 since 2020; any server this is used with must).
//! Times are the server's. Where a bucket keeps old versions, removed records go on costing until a lifecycle rule of
//! the bucket removes those. Of a request that failed without an answer, it may stay open whether it was carried out.

mod fault;
mod place;

#[cfg(feature = "s3")]
mod access;
#[cfg(feature = "s3")]
mod baton;
#[cfg(feature = "s3")]
mod bridge;
#[cfg(feature = "s3")]
mod create;
#[cfg(feature = "s3")]
mod draft;
#[cfg(feature = "s3")]
mod list;
#[cfg(feature = "s3")]
mod read;
#[cfg(feature = "s3")]
mod server;
#[cfg(feature = "s3")]
mod store;
#[cfg(feature = "s3")]
mod upload;
#[cfg(feature = "s3")]
mod wire;
#[cfg(feature = "s3")]
mod witness;

#[cfg(feature = "s3")]
pub use access::Access;
pub use fault::{Fault, Unreached};
pub use place::Place;
#[cfg(feature = "s3")]
pub use store::S3Store;

#[cfg(test)]
#[cfg(feature = "s3")]
mod tests;
