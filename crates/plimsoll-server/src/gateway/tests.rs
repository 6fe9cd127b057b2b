//! The gateway at the socket: a scripted upstream on one side, a client that writes its own bytes on the other.

mod access;
mod again;
mod examine;
mod faults;
mod hostile;
mod kept;
mod loops;
mod mechanisms;
mod open;
mod same;
mod scripted;
mod simulation;
mod streams;
mod transparent;
