//! What is searched for in lines: parts of words, marks, and beginnings of lines.

/// Parts of words that are searched for. What is found is then read as a whole word by [`weigh`](super::notable::weigh).
///
/// The first letter is left out where it may be a capital. A line feed stands for the beginning of a line. None is shorter
/// than four bytes: that many are compared at once.
///
/// Their order matters for speed alone: a vectorised search takes every eighth together, and looks closer wherever the
/// first bytes of one mixed with those of another of its eight might stand. This order was searched for by machine, as
/// one in which that hardly happens in prose, logs, JSON and code; sorted by what they mean it did a dozen times in a KiB,
/// and took several times as long.
pub(super) const TROUBLE: [&str; 48] = [
    "ehler",
    "HTTP/",
    "FAIL",
    "SEVERE",
    "ot found",
    "navailable",
    "tack overflow",
    "goroutine ",
    "egmentation fault",
    "ERR!",
    "rror",
    "Traceback",
    "*** ",
    "nhandled",
    "xit ",
    "ailure",
    "imed out",
    "BackOff",
    "RITICAL",
    "denied",
    "ore dumped",
    "\nnot ok",
    "xited ",
    "aused by:",
    "egfault",
    "WARN",
    "RROR",
    "nresolved ",
    "ould not ",
    "anic",
    "undefined ",
    "atal",
    "FATAL",
    "CONFLICT (",
    "o such file",
    "arning",
    "orbidden",
    "Killed",
    "xception",
    "ailed",
    "eadlock",
    "PANIC",
    "rreur",
    "annot ",
    "\nE   ",
    "ad Gateway",
    "! [r",
    "ateway Time",
];

/// What is searched for besides in text that is not ASCII alone: the marks of test runners, and what other languages call
/// an error. It is read by [`weigh`](super::notable::weigh), too.
pub(super) const MARKS: [&str; 14] =
    ["✖", "✗", "✕", "✘", "❌", "× ", "エラー", "错误", "錯誤", "失败", "失敗", "오류", "실패", "шибка"];

/// Beginnings of lines that make an outline of a file: headings and definitions.
pub(super) const OUTLINE: [&str; 30] = [
    "\n# ",
    "\n## ",
    "\n### ",
    "\nfn ",
    "\npub fn ",
    "\npub(crate) fn ",
    "\nasync fn ",
    "\npub async fn ",
    "\nstruct ",
    "\npub struct ",
    "\nenum ",
    "\npub enum ",
    "\ntrait ",
    "\npub trait ",
    "\nimpl",
    "\nmod ",
    "\npub mod ",
    "\nclass ",
    "\ndef ",
    "\nasync def ",
    "\n    def ",
    "\nfunction ",
    "\nasync function ",
    "\nexport ",
    "\ninterface ",
    "\nfunc ",
    "\ntype ",
    "\npublic ",
    "\nnamespace ",
    "\nmodule ",
];
