//! Counts standard input as `o200k_base` and prints the number: what a whole process costs for one small file.
#![allow(clippy::print_stdout, reason = "the number is the output")]

use std::io::{self, Read};

use plimsoll::token::{Counter, Encoding};

fn main() -> io::Result<()> {
    let mut text = String::new();
    io::stdin().read_to_string(&mut text)?;
    println!("{}", Counter::exact(Encoding::O200kBase).count(&text).0);
    Ok(())
}
