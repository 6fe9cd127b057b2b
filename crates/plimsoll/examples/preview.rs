//! Shows what a reader sees of standard input when it is capped: `preview BYTES [TOOL] < FILE`.

use std::io::{Read as _, Write as _};

use plimsoll::Bytes;
use plimsoll::cap::{Capper, Naming, Policy};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let limit = arguments.next().ok_or("usage: preview BYTES [TOOL] < FILE")?.parse()?;
    let policy = Policy::new(Bytes(limit));
    let policy = arguments.next().map_or(policy, |tool| policy.for_tool(&tool));

    let id = "session/call".parse()?;
    let mut capper = Capper::new(policy);
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = std::io::stdin().lock().read(&mut buffer)?;
        let Some(chunk) = buffer.get(..read).filter(|chunk| !chunk.is_empty()) else {
            break;
        };
        capper.push(chunk);
    }
    let capped = capper.finish(&Naming::whole(&id));
    std::io::stdout().lock().write_all(&capped.text)?;
    Ok(())
}
