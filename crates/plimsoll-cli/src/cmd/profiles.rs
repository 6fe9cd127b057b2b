//! `plimsoll profiles`: the kinds of work that a summary's wording depends on.

use std::collections::BTreeMap;

use anyhow::Result;
use clap::Args;
use plimsoll::compact::Profile;
use plimsoll_engine::profiles::{Found, Origin, profile, profiles, to_toml};
use serde::Serialize;

use crate::args::Global;
use crate::output::{Output, plain, style};
use crate::resolve::{Done, Usage, profile_folder};

/// Show the profiles of compaction: what kinds of work a summary can be about
///
/// A profile is the words by which a summary is asked for: what the work touches, how that is named, what must not be
/// missing. Your own are files in the folder profiles beside your configuration; `plimsoll profiles coding` shows what
/// one looks like.
#[derive(Debug, Args)]
#[command(after_help = "Example: plimsoll profiles workspace > ~/.config/plimsoll/profiles/mine.toml")]
pub(crate) struct ProfilesArgs {
    /// A profile to show, as TOML; without it, all are listed
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Print JSON: an object for one profile, an array for all
    #[arg(long)]
    json: bool,
}

/// A profile as `--json` shows it.
#[derive(Serialize)]
struct Shown<'a> {
    origin: String,
    built_in: bool,
    #[serde(flatten)]
    fields: BTreeMap<&'static str, &'a str>,
}

impl<'a> Shown<'a> {
    fn of(found: &'a Found) -> Self {
        let field = |name| Some((name, found.profile.field(name)?));
        Self {
            origin: found.origin.to_string(),
            built_in: found.origin == Origin::BuiltIn,
            fields: Profile::FIELDS.into_iter().filter_map(field).collect(),
        }
    }
}

pub(crate) fn run(arguments: &ProfilesArgs, global: &Global, output: &mut Output) -> Result<Done> {
    let folder = profile_folder(global);
    let Some(name) = &arguments.name else {
        return list(&profiles(folder.as_deref()), arguments.json, output);
    };
    let found = profile(name, folder.as_deref()).map_err(|error| Usage(plain(&error.to_string())))?;
    if arguments.json {
        output.json(&Shown::of(&found))?;
        return Ok(Done::Yes);
    }
    let text = match (&found.origin, Profile::built_in_file(name)) {
        (Origin::BuiltIn, Some(file)) => file.to_owned(),
        // With the words that it has from its base.
        _ => to_toml(&found.profile),
    };
    output.print(&text)?;
    Ok(Done::Yes)
}

fn list(
    all: &[Result<Found, plimsoll_engine::profiles::ProfileError>],
    json: bool,
    output: &mut Output,
) -> Result<Done> {
    let good: Vec<&Found> = all.iter().filter_map(|found| found.as_ref().ok()).collect();
    if json {
        output.json(&good.iter().map(|found| Shown::of(found)).collect::<Vec<_>>())?;
    } else {
        let (bold, dim, end) = (style::BOLD, style::DIM, style::END);
        let width = good.iter().map(|found| found.profile.name.len()).max().unwrap_or(0);
        let mut text = String::new();
        for found in good {
            let (name, about) = (plain(&found.profile.name), plain(&found.profile.about));
            let origin = plain(&found.origin.to_string());
            text.push_str(&format!("{bold}{name:<width$}{end}  {about}  {dim}{origin}{end}\n"));
        }
        output.print(&text)?;
    }
    let mut done = Done::Yes;
    for error in all.iter().filter_map(|found| found.as_ref().err()) {
        output.say(&format!("plimsoll: {}\n", plain(&error.to_string())))?;
        done = Done::Failed;
    }
    Ok(done)
}
