//! `plimsoll count`: tokens of text or of transcripts, and how they were counted.

mod own;
#[cfg(feature = "tokenizer-json")]
mod tekken;

use std::path::Path;

use anyhow::Result;
use plimsoll::budget::{ByKind, ByRole, Count, Counting, Measure, Meter};
use plimsoll::token::{Encoding, Method};
use plimsoll::wire::{Document, Format, ParseError, parse};
use plimsoll::{Bytes, Tokens};
use serde::Serialize;

use self::own::Own;
use crate::args::CountArgs;
use crate::output::{Output, kind_rows, plain, style};
use crate::resolve::{About as _, Done, Usage, input, input_name, limit, named, parse_options};

/// One count as `count --json` prints it.
#[derive(Debug, Serialize)]
struct Counted {
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    tokens: Tokens,
    method: Method,
    tokenizer: String,
    bytes: Bytes,
    #[serde(flatten)]
    transcript: Option<InTranscript>,
}

#[derive(Debug, Serialize)]
struct InTranscript {
    format: Format,
    messages: usize,
    by_role: Roles,
    by_kind: ByKind,
}

#[derive(Debug, Serialize)]
struct Roles {
    /// The system prompt beside the messages, and system messages among them.
    system: Tokens,
    tools: Tokens,
    user: Tokens,
    assistant: Tokens,
    tool: Tokens,
    #[serde(skip_serializing_if = "is_none")]
    other: Tokens,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_none(tokens: &Tokens) -> bool {
    *tokens == Tokens::ZERO
}

pub(crate) fn run(arguments: &CountArgs, output: &mut Output) -> Result<Done> {
    let forced = forced(arguments)?;
    let inputs: Vec<Option<&Path>> = match arguments.files.as_slice() {
        [] => vec![None],
        files => files.iter().map(|file| Some(file.as_path())).collect(),
    };
    let several = inputs.len() > 1;
    let mut total: Option<Counted> = None;
    let progress = output.progress("counting");
    let (mut shown, mut failed) = (Vec::new(), Vec::new());
    for given in inputs {
        progress.stage(&format!("counting {}", plain(&input_name(given))));
        let counted = named(given).and_then(|file| {
            let name = input_name(file.as_deref());
            let counted = count(file.as_deref(), arguments, forced.as_ref()).about(&name)?;
            Ok((name, counted))
        });
        match counted {
            Ok((name, mut counted)) => {
                if several {
                    counted.file = Some(name);
                    total = Some(add(total, &counted));
                }
                shown.push(counted);
            }
            // One that cannot be read keeps nobody from the counts of the others.
            Err(error) if several => failed.push(error),
            Err(error) => return Err(error),
        }
    }
    shown.extend(total);
    drop(progress);
    for counted in &shown {
        if arguments.json {
            output.json(counted)?;
        } else {
            output.print(&line(counted))?;
        }
    }
    for error in &failed {
        output.say(&format!("plimsoll: {}\n", plain(&crate::sentence(error))))?;
    }
    Ok(if failed.is_empty() { Done::Yes } else { Done::Failed })
}

/// What counts, with its name.
type Counts = (Box<dyn Count>, String);

fn with_name(counting: Counting) -> Counts {
    let name = counting.name().to_owned();
    (Box::new(counting), name)
}

/// The counter that was asked for: an encoding by name, or a model's own tokenizer by its file.
fn forced(arguments: &CountArgs) -> Result<Option<Counts>> {
    let Some(name) = &arguments.tokenizer else {
        return Ok(None);
    };
    let unknown = match name.parse::<Encoding>() {
        Ok(encoding) => return Ok(Some(with_name(Counting::exact(encoding)))),
        Err(unknown) => unknown,
    };
    let path = Path::new(name);
    if !path.exists() && !name.contains(['/', '\\', '.']) {
        return Err(Usage(format!("--tokenizer: {unknown}; and no file has that name")).into());
    }
    let own = Own::read(path).map_err(|error| Usage(plain(&format!("--tokenizer: {error}"))))?;
    let name = own.name().to_owned();
    Ok(Some((Box::new(own), name)))
}

fn count(file: Option<&Path>, arguments: &CountArgs, forced: Option<&Counts>) -> Result<Counted> {
    let input = input(file, limit(&arguments.reading))?;
    let options = parse_options(&arguments.reading)?;
    let bytes = Bytes::from(input.bytes().len());
    match parse(input.bytes(), &options) {
        Ok(document) => {
            let recorded = document.model().map(|model| model.decode().into_owned());
            let model = arguments.model.clone().or(recorded);
            let own;
            let (counting, tokenizer) = if let Some(counts) = forced {
                counts
            } else {
                own = with_name(Counting::for_model(model.as_deref()));
                &own
            };
            let mut meter = Meter::new(counting.as_ref());
            let measure = meter.measure(&document);
            Ok(Counted {
                file: None,
                tokens: measure.total,
                method: measure.method,
                tokenizer: tokenizer.clone(),
                bytes,
                transcript: Some(in_transcript(&document, &measure)),
            })
        }
        // A forced format is a claim that it is a transcript. Otherwise what is none is text.
        Err(ParseError::Unrecognised { .. } | ParseError::Json(_) | ParseError::Empty)
            if options.format.is_none() =>
        {
            let text = String::from_utf8_lossy(input.bytes());
            let own;
            let (counting, tokenizer) = if let Some(counts) = forced {
                counts
            } else {
                own = with_name(match &arguments.model {
                    Some(model) => Counting::for_model(Some(model)),
                    None => Counting::exact(Encoding::O200kBase),
                });
                &own
            };
            // A count says how it was obtained once it has been.
            let tokens = counting.text(&text);
            Ok(Counted {
                file: None,
                tokens,
                method: counting.method(),
                tokenizer: tokenizer.clone(),
                bytes,
                transcript: None,
            })
        }
        Err(error) => Err(error.into()),
    }
}

fn in_transcript(document: &Document<'_>, measure: &Measure) -> InTranscript {
    let ByRole { system, user, assistant, tool, other, .. } = measure.by_role;
    InTranscript {
        format: document.format(),
        messages: document.transcript().messages.len(),
        by_role: Roles { system: system + measure.system, tools: measure.tools, user, assistant, tool, other },
        by_kind: measure.by_kind,
    }
}

/// Adds a count to the total: the total is as uncertain as its least certain part.
fn add(total: Option<Counted>, counted: &Counted) -> Counted {
    let zero = Counted {
        file: Some("total".to_owned()),
        tokens: Tokens::ZERO,
        method: counted.method,
        tokenizer: counted.tokenizer.clone(),
        bytes: Bytes(0),
        transcript: None,
    };
    let mut total = total.unwrap_or(zero);
    total.tokens += counted.tokens;
    total.bytes += counted.bytes;
    total.method = total.method.max(counted.method);
    if total.tokenizer != counted.tokenizer {
        "mixed".clone_into(&mut total.tokenizer);
    }
    total
}

fn line(counted: &Counted) -> String {
    let (bold, dim, end) = (style::BOLD, style::DIM, style::END);
    let file = counted.file.as_ref().map(|file| format!("  {}", plain(file))).unwrap_or_default();
    let mut text = format!(
        "{bold}{}{end} tokens{file}  {dim}{}, {}, {}{end}\n",
        counted.tokens.0, counted.method, counted.tokenizer, counted.bytes
    );
    if let Some(transcript) = counted.transcript.as_ref().filter(|_| counted.file.is_none()) {
        text.push_str(&format!(
            "{dim}{}, {}{end}\n",
            transcript.format,
            plimsoll::counted(transcript.messages, "message", "messages")
        ));
        let roles = &transcript.by_role;
        let rows = [
            ("system", roles.system),
            ("tools", roles.tools),
            ("user", roles.user),
            ("assistant", roles.assistant),
            ("tool", roles.tool),
            ("other", roles.other),
        ];
        text.push_str(&rows_of("by role", &rows));
        text.push_str(&rows_of("by kind", &kind_rows(&transcript.by_kind)));
    }
    text
}

fn rows_of(title: &str, rows: &[(&str, Tokens)]) -> String {
    let mut text = format!("{title}\n");
    for (name, tokens) in rows.iter().filter(|(_, tokens)| *tokens > Tokens::ZERO) {
        text.push_str(&format!("  {name:<13} {:>9}\n", tokens.0));
    }
    text
}
