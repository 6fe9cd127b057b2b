//! Generated bodies of every format: odd spellings, any space, any key order.
