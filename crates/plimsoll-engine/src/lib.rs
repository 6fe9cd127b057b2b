//! The imperative shell of Plimsoll.
