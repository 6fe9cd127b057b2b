//! The gateway at the socket: a scripted upstream on one side, a client that writes its own bytes on the other.

mod access;
mod again;
mod examine;
mod faults;
mod kept;
mod same;
mod scripted;
mod streams;
mod transparent;
