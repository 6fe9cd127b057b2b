//! Where Plimsoll keeps what leaves a context.
