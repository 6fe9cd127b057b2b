//! Project chores.

mod catalogue;

use anyhow::{Result, bail};

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        Some("catalogue") => catalogue::run(arguments),
        _ => bail!("usage: cargo xtask catalogue"),
    }
}
