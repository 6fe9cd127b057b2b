//! The kinds of content that are previewed differently.

use std::fmt;

/// What a text is, as far as its preview is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Kind {
    /// What a command printed: the end matters most, and what failed on the way.
    Output,
    /// A log: as command output.
    Log,
    /// A file that was read: the beginning matters most.
    File,
    /// Paths, search hits, names: as a file.
    Listing,
    /// A patch: which files, how many hunks and lines.
    Diff,
    /// One JSON value: its structure.
    Json,
    /// A JSON value a line: as a listing, and the structure of the first.
    JsonLines,
    /// Rows of separated columns: the header and how many rows.
    Table,
    /// Code without its white space: its ends, and the names it gives to things.
    Minified,
    /// No text at all.
    Binary,
    /// Anything else.
    Text,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 11] = [
        Self::Output,
        Self::Log,
        Self::File,
        Self::Listing,
        Self::Diff,
        Self::Json,
        Self::JsonLines,
        Self::Table,
        Self::Minified,
        Self::Binary,
        Self::Text,
    ];

    /// Gives the name that a marker uses.
    pub fn name(self) -> &'static str {
        match self {
            Self::Output => "command output",
            Self::Log => "log",
            Self::File => "file",
            Self::Listing => "listing",
            Self::Diff => "diff",
            Self::Json => "JSON",
            Self::JsonLines => "JSON lines",
            Self::Table => "table",
            Self::Minified => "minified code",
            Self::Binary => "binary data",
            Self::Text => "text",
        }
    }

    /// Finds a kind by the name that a marker uses.
    ///
    /// ```
    /// use plimsoll::cap::Kind;
    /// assert!(Kind::ALL.iter().all(|kind| Kind::named(kind.name()) == Some(*kind)));
    /// ```
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Gives what the results of a tool usually are, by the names that agent programs give their tools.
    ///
    /// ```
    /// use plimsoll::cap::Kind;
    /// assert_eq!(Kind::of_tool("Bash"), Some(Kind::Output));
    /// assert_eq!(Kind::of_tool("mcp__files__read_file"), Some(Kind::File));
    /// assert_eq!(Kind::of_tool("Grep"), Some(Kind::Listing));
    /// assert_eq!(Kind::of_tool("mystery"), None);
    /// ```
    pub fn of_tool(tool: &str) -> Option<Self> {
        const OUTPUT: [&str; 13] = [
            "bash",
            "shell",
            "exec",
            "execcommand",
            "localshell",
            "terminal",
            "runcommand",
            "execute",
            "executecommand",
            "runshellcommand",
            "powershell",
            "bashoutput",
            "taskoutput",
        ];
        const FILE: [&str; 9] =
            ["read", "readfile", "view", "cat", "openfile", "notebookread", "viewfile", "webfetch", "readmanyfiles"];
        const LISTING: [&str; 13] = [
            "grep",
            "glob",
            "ls",
            "list",
            "listdir",
            "listdirectory",
            "find",
            "search",
            "searchfiles",
            "ripgrep",
            "listfiles",
            "searchfilecontent",
            "websearch",
        ];
        let bare = tool.rsplit("__").next().unwrap_or(tool);
        let bare = bare.rsplit(['.', '/', ':']).next().unwrap_or(bare);
        let plain: String = bare.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
        let plain = plain.as_str();
        if OUTPUT.contains(&plain) {
            Some(Self::Output)
        } else if FILE.contains(&plain) {
            Some(Self::File)
        } else if LISTING.contains(&plain) {
            Some(Self::Listing)
        } else {
            None
        }
    }

    /// The percentage of what is shown that goes to the head; the tail has the rest.
    pub(super) fn head_share(self) -> usize {
        match self {
            Self::Output | Self::Log => 30,
            Self::File | Self::Listing | Self::Diff | Self::Table | Self::JsonLines => 70,
            Self::Json | Self::Minified | Self::Binary | Self::Text => 50,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
