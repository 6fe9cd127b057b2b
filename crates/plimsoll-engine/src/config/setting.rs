//! The table of settings: everything that can be configured, in one place.

use plimsoll::Bytes;
use plimsoll::budget::{Mark, RESERVE_CAP};

use super::value::{Kind, Value};

/// Something that can be configured.
#[derive(Debug, Clone)]
pub struct Setting {
    /// Its key: the table and the name in a file, joined by a dot.
    pub key: &'static str,
    /// The environment variable that sets it.
    pub variable: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// What holds if nothing sets it.
    pub default: Value,
    /// Whether a project's file may set it.
    pub project: bool,
    /// What it does, in a sentence.
    pub about: &'static str,
}

const fn size(key: &'static str, variable: &'static str, bytes: u64, about: &'static str) -> Setting {
    let default = Value::Bytes(Bytes(bytes));
    Setting { key, variable, kind: Kind::Bytes, default, project: false, about }
}

const fn mark(key: &'static str, variable: &'static str, fraction: f64, about: &'static str) -> Setting {
    let default = Value::Mark(Mark::Fraction(fraction));
    Setting { key, variable, kind: Kind::Mark, default, project: true, about }
}

/// Every setting, by its key in alphabetical order.
pub static SETTINGS: [Setting; 21] = [
    Setting {
        key: "cap.max_bytes",
        variable: "PLIMSOLL_CAP_MAX_BYTES",
        kind: Kind::Bytes,
        default: Value::Unset,
        project: true,
        about: "the most of a tool result that enters a context; unset: 5 % of the input budget where a model's \
                window is known, within 2 and 64 KiB, otherwise 128 KiB",
    },
    Setting {
        key: "cap.shape",
        variable: "PLIMSOLL_CAP_SHAPE",
        kind: Kind::Word(&["default", "classic"]),
        default: Value::Unset,
        project: true,
        about: "how a capped result looks: default (by kind of content) or classic (head and tail)",
    },
    Setting {
        key: "compact.auto",
        variable: "PLIMSOLL_COMPACT_AUTO",
        kind: Kind::Switch,
        default: Value::Switch(true),
        project: true,
        about: "whether to compact without being asked; false means never, on an overflow neither",
    },
    mark("compact.compact", "PLIMSOLL_COMPACT_COMPACT", 0.85, "where to compact"),
    mark("compact.hard", "PLIMSOLL_COMPACT_HARD", 0.95, "where requests wait for the compaction"),
    mark("compact.prepare", "PLIMSOLL_COMPACT_PREPARE", 0.75, "where a summary may be prepared in the background"),
    Setting {
        key: "compact.profile",
        variable: "PLIMSOLL_COMPACT_PROFILE",
        kind: Kind::Text,
        default: Value::Unset,
        project: true,
        about: "what kind of work is summarised: coding, workspace, research, chat, or a profile of the user's own; \
                unset: coding",
    },
    Setting {
        key: "compact.reserve",
        variable: "PLIMSOLL_COMPACT_RESERVE",
        kind: Kind::Tokens,
        default: Value::Tokens(RESERVE_CAP),
        project: true,
        about: "the most that is kept free for a model's answer",
    },
    Setting {
        key: "compact.summarizer",
        variable: "PLIMSOLL_SUMMARIZER",
        kind: Kind::Text,
        default: Value::Unset,
        project: false,
        about: "who writes summaries: extract, same, anthropic:MODEL, openai:MODEL or responses:MODEL; unset: extract",
    },
    Setting {
        key: "compact.summarizer_key_command",
        variable: "PLIMSOLL_SUMMARIZER_KEY_COMMAND",
        kind: Kind::Text,
        default: Value::Unset,
        project: false,
        about: "a command that prints the summarizer's key, run by the shell",
    },
    Setting {
        key: "compact.summarizer_key_env",
        variable: "PLIMSOLL_SUMMARIZER_KEY_ENV",
        kind: Kind::Text,
        default: Value::Unset,
        project: false,
        about: "the environment variable that holds the summarizer's key; unset: ANTHROPIC_API_KEY or OPENAI_API_KEY, \
                as its API has it",
    },
    Setting {
        key: "compact.summarizer_url",
        variable: "PLIMSOLL_SUMMARIZER_URL",
        kind: Kind::Text,
        default: Value::Unset,
        project: false,
        about: "the base address of the summarizer's API; unset: its maker's",
    },
    Setting {
        key: "compact.summarizer_window",
        variable: "PLIMSOLL_SUMMARIZER_WINDOW",
        kind: Kind::Tokens,
        default: Value::Unset,
        project: false,
        about: "the summarizer's context window; unset: as known of its model",
    },
    mark("compact.target", "PLIMSOLL_COMPACT_TARGET", 0.40, "what a compaction aims at"),
    mark("compact.warn", "PLIMSOLL_COMPACT_WARN", 0.70, "where to warn"),
    Setting {
        key: "log.file",
        variable: "PLIMSOLL_LOG",
        kind: Kind::Text,
        default: Value::Unset,
        project: false,
        about: "where hooks log what went wrong; unset: plimsoll/log in the user's state directory",
    },
    size(
        "store.max_artifact",
        "PLIMSOLL_STORE_MAX_ARTIFACT",
        256 << 20,
        "the most of one tool result that is stored; of a larger one, its first part",
    ),
    size(
        "store.max_session",
        "PLIMSOLL_STORE_MAX_SESSION",
        1 << 30,
        "how much a session may hold before pruning is tried",
    ),
    size("store.max_stream", "PLIMSOLL_STORE_MAX_STREAM", 16 << 30, "the same as max_artifact, for `plimsoll cap`"),
    size("store.max_total", "PLIMSOLL_STORE_MAX_TOTAL", 4 << 30, "how much all sessions may hold before pruning"),
    Setting {
        key: "store.url",
        variable: "PLIMSOLL_STORE",
        kind: Kind::Text,
        default: Value::Unset,
        project: false,
        about: "where what leaves a context is kept: file:///…, s3://bucket/prefix or memory:; unset: the user's \
                data directory",
    },
];

impl Setting {
    /// Finds a setting by its key.
    pub fn named(key: &str) -> Option<&'static Self> {
        SETTINGS.iter().find(|setting| setting.key == key)
    }

    /// Finds the setting whose key is closest to one that is none, if any is close.
    pub(super) fn near(key: &str) -> Option<&'static Self> {
        let distance = |setting: &&Self| strsim::levenshtein(setting.key, key);
        SETTINGS.iter().min_by_key(distance).filter(|setting| distance(setting) <= 3)
    }
}
