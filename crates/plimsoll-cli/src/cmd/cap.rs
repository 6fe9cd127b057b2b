//! `plimsoll cap`: a tool result inside its cap on standard output, the whole of it in the store.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use plimsoll::cap::{Cap, Policy, Saved, Shape};
use plimsoll::id::{SessionId, ToolCallId};
use plimsoll::{Bytes, Tokens};
use plimsoll_engine::config::Config;
use plimsoll_engine::spill::{Spilled, ToolResult, begin};
use serde::Serialize;

use crate::args::{CapArgs, Global};
use crate::output::{Output, plain};
use crate::resolve::{Done, config, store_or_closed, without_files};

/// What `cap --json` prints.
#[derive(Debug, Serialize)]
struct Report<'a> {
    text: std::borrow::Cow<'a, str>,
    was_capped: bool,
    artifact: Option<String>,
    bytes: Bytes,
    lines: u64,
    omitted_bytes: Bytes,
    kind: &'static str,
    path: Option<PathBuf>,
    saved: &'static str,
    saved_bytes: Bytes,
    warning: Option<String>,
}

pub(crate) fn run(arguments: &CapArgs, global: &Global, output: &mut Output) -> Result<Done> {
    // A mistake in a configuration must not cost the result that is being piped in.
    let config = match config(global) {
        Ok(config) => config,
        Err(mistake) => {
            output.say(&format!("plimsoll: warning: {mistake}; the configuration is left aside\n"))?;
            without_files(global)?
        }
    };
    // Nor must a store that cannot be opened.
    let store = store_or_closed(&config);
    let file = arguments.file.as_deref().filter(|file| *file != Path::new("-"));
    let name = file.and_then(Path::file_name).map_or_else(|| "stdin".into(), |name| name.to_string_lossy());
    let session = SessionId::new(&arguments.session);
    let call = ToolCallId::new(arguments.call.as_deref().unwrap_or(&name));
    let mut result = ToolResult::new(&session, &call);
    if let Some(tool) = &arguments.tool {
        result = result.of_tool(tool);
    }
    if !arguments.no_path {
        result = result.with_path();
    }

    let mut stream = begin(&store, result, &policy(arguments, &config));
    let read = match file {
        Some(path) => stream.read_from(File::open(path).with_context(|| format!("cannot read {}", path.display()))?),
        None => stream.read_from(io::stdin().lock()),
    };
    let named = || file.map_or_else(|| "standard input".to_owned(), |path| path.display().to_string());
    let read = read.with_context(|| format!("cannot read {}", plain(&named())));
    // What came before a failure to read is not lost for it.
    let spilled = stream.finish();
    let warning = warning(&spilled);
    if arguments.json {
        output.json(&report(&spilled, warning.clone()))?;
    } else {
        output.bytes(&spilled.text)?;
    }
    if let Some(warning) = &warning {
        output.say(&format!("plimsoll: warning: {}\n", plain(warning)))?;
    }
    read?;
    Ok(if warning.is_some() && arguments.strict { Done::Failed } else { Done::Yes })
}

/// Why not all of it can be recalled, if so.
fn warning(spilled: &Spilled) -> Option<String> {
    if let Some(fault) = &spilled.fault {
        return Some(format!("what is left out could not be saved: {fault}"));
    }
    match spilled.saved {
        Saved::First(first) => Some(format!(
            "only the first {first} of {} are saved; raise store.max_stream to keep more",
            spilled.bytes
        )),
        _ => None,
    }
}

fn policy(arguments: &CapArgs, config: &Config) -> Policy {
    let cap = match (arguments.max_bytes, arguments.max_tokens) {
        (Some(bytes), _) => Cap::Bytes(Bytes(bytes)),
        (None, Some(tokens)) => Cap::Tokens(Tokens(tokens)),
        (None, None) => config.cap().map_or_else(Cap::default, Cap::Bytes),
    };
    let classic = arguments.shape.as_deref().map_or(config.classic(), |shape| shape == "classic");
    Policy::new(cap).with_shape(if classic { Shape::Classic } else { Shape::Default })
}

fn report(spilled: &Spilled, warning: Option<String>) -> Report<'_> {
    let (saved, saved_bytes) = match spilled.saved {
        Saved::Whole => ("whole", spilled.bytes),
        Saved::First(first) => ("first", first),
        Saved::Not => ("not", Bytes(0)),
    };
    Report {
        text: String::from_utf8_lossy(&spilled.text),
        was_capped: spilled.was_capped,
        artifact: spilled.artifact.as_ref().map(ToString::to_string),
        bytes: spilled.bytes,
        lines: spilled.lines,
        omitted_bytes: spilled.omitted,
        kind: spilled.kind.name(),
        path: spilled.path.clone(),
        saved,
        saved_bytes,
        warning,
    }
}
