//! The command line as typed: nothing is resolved here, and nothing is read.

#![expect(clippy::doc_markdown, reason = "these comments are what --help prints")]

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueHint};

/// Keeps an LLM agent inside its context window and loses nothing doing so.
#[derive(Debug, Parser)]
#[command(
    name = "plimsoll",
    version,
    max_term_width = 100,
    arg_required_else_help = true,
    after_help = "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 infeasible (it cannot fit)."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What the options of every command stand under, behind those that are a command's own.
const EVERYWHERE: &str = "Options of every command";

/// Options of every command.
#[derive(Debug, Clone, Args)]
pub(crate) struct Global {
    /// Where what leaves a context is kept: file:///…, s3://bucket/prefix or memory:
    /// [env: PLIMSOLL_STORE] [default: the user's data directory]
    #[arg(long, global = true, help_heading = EVERYWHERE, value_name = "URL")]
    pub(crate) store: Option<String>,
    /// A configuration to use instead of the user's and the project's [env: PLIMSOLL_CONFIG]
    #[arg(long, global = true, help_heading = EVERYWHERE, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,
    /// Where hooks log what went wrong [env: PLIMSOLL_LOG] [default: the user's state directory]
    #[arg(long, global = true, help_heading = EVERYWHERE, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) log: Option<String>,
    /// Colour and bars on a terminal: auto, always or never
    #[arg(long, global = true, help_heading = EVERYWHERE, value_name = "WHEN", default_value = "auto", hide_default_value = true,
        hide_possible_values = true)]
    pub(crate) color: ColorWhen,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ColorWhen {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Count(CountArgs),
    Context(ContextArgs),
    Models(ModelsArgs),
    Profiles(crate::cmd::profiles::ProfilesArgs),
    Compact(CompactArgs),
    Restore(crate::cmd::restore::RestoreArgs),
    Cap(CapArgs),
    Recall(RecallArgs),
    Store(crate::cmd::store::StoreArgs),
    Skills(crate::cmd::skills::SkillsArgs),
    Mcp(crate::cmd::mcp::McpArgs),
    Hook(crate::cmd::hook::HookArgs),
    Install(crate::cmd::install::InstallArgs),
    Uninstall(crate::cmd::install::UninstallArgs),
    Config(ConfigArgs),
    Doctor(crate::cmd::doctor::DoctorArgs),
    Run(crate::cmd::run::RunArgs),
    Serve(crate::cmd::serve::ServeArgs),
    Wrap(crate::cmd::wrap::WrapArgs),
    Completions(CompletionsArgs),
    Man(crate::cmd::man::ManArgs),
}

/// How a transcript is read.
#[derive(Debug, Args)]
pub(crate) struct Reading {
    /// The wire format, if it should not be detected: anthropic, openai-chat, openai-responses, gemini, claude-code, codex
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<String>,
    /// The largest input taken, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 64)]
    pub(crate) max_size: u64,
}

/// Count the tokens of text or of a transcript
///
/// A transcript is counted by role and by kind of block. Every count says how it was obtained: exact, reported,
/// calibrated or estimated.
#[derive(Debug, Args)]
#[command(after_help = "Example: plimsoll count session.jsonl --model claude-sonnet-4-5")]
pub(crate) struct CountArgs {
    /// Files of text or transcripts; claude:last, codex:last or claude:ID name a session; `-` or none is standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    /// Count as this model does
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Force a tokenizer: o200k_base, cl100k_base, o200k_harmony, or a model's own tokenizer.json
    #[arg(long, value_name = "NAME|FILE", conflicts_with = "model")]
    pub(crate) tokenizer: Option<String>,
    #[command(flatten)]
    pub(crate) reading: Reading,
    /// Print one JSON object a line: one a file, and a total for several
    #[arg(long)]
    pub(crate) json: bool,
}

/// Show what fills a transcript's context
///
/// With --html, a page that needs nothing but itself: the window and its thresholds, what fills it by kind and role, the
/// largest results and what can be done about them, the messages from first to last, and what a compaction would do. It
/// quotes the transcript.
#[derive(Debug, Args)]
#[command(after_help = "Example: plimsoll context session.jsonl
         plimsoll context claude:last --html -o context.html")]
pub(crate) struct ContextArgs {
    /// A transcript; claude:last, codex:last or claude:ID name a session; `-` or none is standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: Option<PathBuf>,
    /// Judge by this model's window and tokenizer [default: the model that the transcript names]
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// The context window in tokens, if it is known better
    #[arg(long, value_name = "TOKENS", value_parser = some_tokens)]
    pub(crate) window: Option<u64>,
    #[command(flatten)]
    pub(crate) reading: Reading,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Write a page of HTML
    #[arg(long, conflicts_with = "json")]
    pub(crate) html: bool,
    /// Write the page here instead of to standard output
    #[arg(short, long, value_name = "OUT", value_hint = ValueHint::FilePath, requires = "html")]
    pub(crate) output: Option<PathBuf>,
}

/// Show the limits of models, and where each number comes from
///
/// Exits with 1 if a named model is unknown.
///
/// What the user's own models.jsonl says, beside the user's config.toml, goes before what is published.
#[derive(Debug, Args)]
#[command(after_help = "Example: plimsoll models claude-sonnet-4-5", args_conflicts_with_subcommands = true)]
pub(crate) struct ModelsArgs {
    #[command(subcommand)]
    pub(crate) action: Option<crate::cmd::models::Action>,
    /// A model's name, or a part of several; without it, all are listed
    #[arg(value_name = "QUERY")]
    pub(crate) query: Option<String>,
    /// Print one JSON object, or an array when the query matches several
    #[arg(long)]
    pub(crate) json: bool,
}

/// Compact a transcript: the older part becomes a summary, the recent tail stays verbatim
///
/// Where that is enough for the target, only results that later ones stand for, large old results and pictures are left
/// out, each for a line with its recall id. What is removed is archived first; `plimsoll restore` gives it back byte for
/// byte. Session files of Claude Code and Codex are appended to in the program's own way, so that it resumes from there.
/// This is a manual compaction: it needs no threshold. When there is too little to compact, the output is the input
/// unchanged. `claude:last` and `codex:last` are the sessions of this directory that were written to last. One that a
/// program is at work on is not changed in place.
#[derive(Debug, Args)]
#[command(after_help = "Example: plimsoll compact session.jsonl -o compacted.jsonl
         plimsoll compact claude:last --in-place")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct CompactArgs {
    /// A transcript; claude:last, codex:last or claude:ID name a session; `-` or none is standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: Option<PathBuf>,
    /// Write the compacted transcript here instead of standard output
    #[arg(short, long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    /// Change FILE itself; a backup is kept beside it
    #[arg(long, conflicts_with = "output")]
    pub(crate) in_place: bool,
    /// Judge by this model's limits and tokenizer [default: the model that the transcript names]
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// The context window in tokens, if it is known better
    #[arg(long, value_name = "TOKENS", value_parser = some_tokens)]
    pub(crate) window: Option<u64>,
    /// The model's output limit in tokens, if it is known better
    #[arg(long, value_name = "TOKENS", value_parser = tokens)]
    pub(crate) max_output: Option<u64>,
    /// A bound on the whole result, in tokens: it is met, or the compaction is infeasible
    #[arg(long, value_name = "TOKENS", value_parser = tokens)]
    pub(crate) target_tokens: Option<u64>,
    /// A bound on the tail that stays verbatim, in tokens
    #[arg(long, value_name = "TOKENS", value_parser = tokens)]
    pub(crate) keep_tokens: Option<u64>,
    /// What the summary should pay attention to
    #[arg(long, value_name = "TEXT")]
    pub(crate) instructions: Option<String>,
    /// What kind of work it is: coding, workspace, research, chat or one of your own; see `plimsoll profiles`
    /// [default: as configured, else coding]
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    #[command(flatten)]
    pub(crate) summarizer: crate::cmd::summarizer::SummarizerArgs,
    /// Always write a summary, also where leaving out old results and pictures would be enough
    #[arg(long)]
    pub(crate) summary_only: bool,
    /// Compact even if there is little before the tail, or a program is at work on the session. A model's summary that
    /// was written before is used all the same; other --instructions get a new one
    #[arg(long)]
    pub(crate) force: bool,
    /// Show the plan; change and store nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
    /// Print the report as one JSON object on standard output; the transcript then only goes to -o or --in-place
    #[arg(long)]
    pub(crate) json: bool,
}

/// Cap a tool result: what fits is printed, the whole is stored
///
/// Standard input, or FILE, comes out unchanged if it is within the cap. Otherwise it is stored whole, and what is
/// printed is never longer than the cap: its beginning and its end, between them what a reader would look for, and a
/// line that names the recall id. If the store fails, that line says that the rest could not be saved. Standard output
/// carries exactly the capped bytes.
#[derive(Debug, Args)]
#[command(after_help = "Example: plimsoll cap build.log --max-bytes 8KiB --call make-1 --tool Bash")]
pub(crate) struct CapArgs {
    /// The result; `-` or none is standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: Option<PathBuf>,
    /// The most that is printed [default: as configured, else 128 KiB]
    #[arg(long, value_name = "BYTES", value_parser = size)]
    pub(crate) max_bytes: Option<u64>,
    /// The most that is printed in tokens, at four bytes a token
    #[arg(long, value_name = "TOKENS", value_parser = tokens, conflicts_with = "max_bytes")]
    pub(crate) max_tokens: Option<u64>,
    /// The session that the result belongs to
    #[arg(long, value_name = "ID", default_value = "cli", allow_hyphen_values = true)]
    pub(crate) session: String,
    /// The tool call [default: the file's name, or stdin]
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    pub(crate) call: Option<String>,
    /// The tool, such as Bash or Read: a hint of what the result is
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,
    /// How it is cut: default (by kind of content) or classic (head and tail) [default: as configured]
    #[arg(long, value_name = "SHAPE", value_parser = ["default", "classic"])]
    pub(crate) shape: Option<String>,
    /// Do not name the stored file in the text
    #[arg(long)]
    pub(crate) no_path: bool,
    /// Exit with 1 if the whole could not be stored
    #[arg(long)]
    pub(crate) strict: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Write what left a context, whole or a part of it; or search all of it
///
/// ID is a tool result's or an epoch's. An epoch's gives the part of the conversation that was removed; `restore` gives
/// all of it. Standard output carries exactly the stored bytes; what can be said about them goes to standard error. An
/// ID that begins with `-` is given after `--`.
#[derive(Debug, Args)]
#[command(after_help = "Example: plimsoll recall session/toolu_01 --grep 'error|warning' -C 3")]
pub(crate) struct RecallArgs {
    /// The recall id, as a marker, a report or a continuation message names it
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,
    /// From this byte on; alone, one page of 48 KiB
    #[arg(long, value_name = "BYTE")]
    pub(crate) offset: Option<u64>,
    /// At most this many bytes, ending on a character; fewer bytes than a character has give a part of it
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) length: Option<u64>,
    /// These lines, counted from 1, the last included; or one
    #[arg(long, value_name = "A:B|A", value_parser = lines, conflicts_with_all = ["offset", "length"])]
    pub(crate) lines: Option<(u64, u64)>,
    /// Lines that match this regular expression, with their numbers
    #[arg(long, value_name = "REGEX", conflicts_with_all = ["offset", "length", "lines"], allow_hyphen_values = true)]
    pub(crate) grep: Option<String>,
    /// Lines of context around each match
    #[arg(short = 'C', long, value_name = "LINES", default_value_t = 0)]
    pub(crate) context: usize,
    /// Search everything stored for this text, the most recent first
    #[arg(long, value_name = "QUERY", conflicts_with_all = ["id", "offset", "length", "lines", "grep"],
        allow_hyphen_values = true)]
    pub(crate) search: Option<String>,
    /// Search this session only
    #[arg(long, value_name = "ID", requires = "search", allow_hyphen_values = true)]
    pub(crate) session: Option<String>,
    /// QUERY is a regular expression
    #[arg(long, requires = "search", conflicts_with = "id")]
    pub(crate) regex: bool,
    /// Stop after so many hits
    #[arg(long, value_name = "HITS", default_value_t = 100, requires = "search")]
    pub(crate) limit: usize,
    /// Print JSON: an object, or with --search one a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Show the configuration: every setting, its value, and where that comes from
#[derive(Debug, Args)]
#[command(
    after_help = "Example: plimsoll config --sources",
    long_about = "Show the configuration: every setting, its value, and where that comes from

Settings come from layers, later ones win: defaults; /etc/plimsoll/config.toml; the user's plimsoll/config.toml; a \
                  project's .plimsoll.toml; environment variables; options. A project's file cannot move the store or \
                  the log. A file is TOML, a table for each word before the dot:

    [cap]
    max_bytes = \"32 KiB\"
    [compact]
    target = 0.3"
)]
pub(crate) struct ConfigArgs {
    /// A setting, or the beginning of several
    #[arg(value_name = "KEY")]
    pub(crate) key: Option<String>,
    /// Say where each value comes from, what else sets it, and what it does
    #[arg(long)]
    pub(crate) sources: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Print a script that completes plimsoll's command line in a shell
#[derive(Debug, Args)]
#[command(after_help = "Example: plimsoll completions bash > \\
             ~/.local/share/bash-completion/completions/plimsoll")]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub(crate) shell: clap_complete::Shell,
}

/// Reads a number of tokens as people write it: `200000`, `200_000`, `200k`, `1M`.
pub(crate) fn tokens(text: &str) -> Result<u64, String> {
    let plain: String = text.chars().filter(|c| *c != '_' && *c != ',').collect();
    let (digits, unit) = match plain.char_indices().last() {
        Some((at, 'k' | 'K')) => (plain.get(..at).unwrap_or(""), 1_000),
        Some((at, 'm' | 'M')) => (plain.get(..at).unwrap_or(""), 1_000_000),
        _ => (plain.as_str(), 1),
    };
    let number: u64 =
        digits.parse().map_err(|_| format!("`{text}` is not a number of tokens; give one like 200000 or 200k"))?;
    number.checked_mul(unit).ok_or_else(|| format!("`{text}` tokens are more than can be counted"))
}

/// Reads a number of tokens that is none where it is zero.
pub(crate) fn some_tokens(text: &str) -> Result<u64, String> {
    match tokens(text)? {
        0 => Err("a window of 0 tokens holds nothing; leave it out to use the model's".to_owned()),
        tokens => Ok(tokens),
    }
}

/// Reads a size as people write it: `8192`, `8KiB`, `1.5 KiB`, `8k`, `8KB`.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let read = plimsoll_engine::config::bytes(text);
    read.map(|bytes| bytes.0).ok_or_else(|| format!("`{text}` is no size; give one like 8192 or 8KiB"))
}

/// Reads a range of lines: `3:7`, `3:` to the end, `:7` from the start, `5` for one.
pub(crate) fn lines(text: &str) -> Result<(u64, u64), String> {
    let wrong = || format!("`{text}` is no range of lines; give one like 10:20, or one line like 5, counted from 1");
    let (first, last) = match text.split_once(':') {
        Some(ends) => ends,
        None if text.is_empty() => return Err(wrong()),
        None => (text, text),
    };
    let number = |digits: &str, open: u64| {
        if digits.is_empty() { Ok(open) } else { digits.parse::<u64>().map_err(|_| wrong()) }
    };
    let (first, last) = (number(first, 1)?, number(last, u64::MAX)?);
    if first == 0 || last < first { Err(wrong()) } else { Ok((first, last)) }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn tokens_are_read_as_people_write_them() {
        assert_eq!(tokens("200k"), Ok(200_000));
        assert_eq!(tokens("1M"), Ok(1_000_000));
        assert_eq!(tokens("12_345"), Ok(12_345));
        assert!(tokens("k").is_err());
        assert_eq!((tokens("0"), some_tokens("1k")), (Ok(0), Ok(1_000)));
        assert!(some_tokens("0").is_err() && some_tokens("0k").is_err());
        assert!(tokens("-3").is_err());
        assert!(tokens("").is_err());
        assert!(tokens("99999999999999999999").is_err());
        assert!(tokens("99999999999999999k").is_err());
    }

    #[test]
    fn lines_are_counted_from_one() {
        assert_eq!(lines("3:7"), Ok((3, 7)));
        assert_eq!(lines("3:"), Ok((3, u64::MAX)));
        assert_eq!(lines(":7"), Ok((1, 7)));
        assert_eq!(lines("5"), Ok((5, 5)));
        for wrong in ["0:3", "7:3", "0", "a:b", "-1:2", "a", "-1", ""] {
            assert!(lines(wrong).is_err(), "{wrong}");
        }
    }

    /// A command and all those under it.
    fn all(command: &clap::Command) -> Vec<clap::Command> {
        let mut all: Vec<clap::Command> = command.get_subcommands().flat_map(all).collect();
        all.push(command.clone());
        all
    }

    #[test]
    fn help_is_not_wrapped_twice() {
        for command in all(&Cli::command()) {
            let texts = [command.get_after_help(), command.get_long_about()].into_iter().flatten();
            for text in texts.map(ToString::to_string) {
                let lines: Vec<&str> = text.lines().collect();
                for (at, line) in lines.iter().enumerate() {
                    let is_example = line.starts_with("Example: ") || line.starts_with("    ");
                    assert!(
                        !is_example || line.len() <= 80,
                        "{}: too long for 80 columns: {line}",
                        command.get_name()
                    );
                    // What is wrapped at 80 columns is a paragraph of one line.
                    let goes_on = lines.get(at + 1).is_some_and(|next| !next.is_empty() && !next.starts_with("    "));
                    assert!(
                        is_example || line.is_empty() || !goes_on,
                        "{}: wrapped by hand: {line}",
                        command.get_name()
                    );
                }
            }
        }
    }

    #[test]
    fn options_of_every_command_stand_apart() {
        let mut command = Cli::command();
        command.build();
        for command in all(&command) {
            for option in command.get_arguments().filter(|argument| argument.is_global_set()) {
                let apart = option.get_help_heading() == Some(EVERYWHERE);
                assert!(apart || ["help", "version"].contains(&option.get_id().as_str()), "{option}");
            }
        }
    }

    #[test]
    fn every_command_has_an_example() {
        for command in Cli::command().get_subcommands() {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let example = help.contains("Example: ") && help.contains("plimsoll ");
            assert!(example, "{} has no example", command.get_name());
        }
    }
}
