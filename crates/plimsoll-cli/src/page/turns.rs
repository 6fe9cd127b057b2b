//! The messages turn by turn, each turn to be opened: the largest one by one, the others in sums.

use std::collections::BTreeSet;
use std::ops::Range;

use plimsoll::Tokens;
use plimsoll::transcript::Author;
use plimsoll_engine::{Moment, Picture};

use super::html::Html;
use super::kinds::class;
use super::{amount, section, share};

/// The most messages that are shown one by one.
const MESSAGES: usize = 400;
/// The most turns that are shown one by one.
const TURNS: usize = 120;

/// A turn: what a person typed, and all that follows until they type again.
struct Turn {
    messages: Range<usize>,
    tokens: Tokens,
}

fn turns(moments: &[Moment]) -> Vec<Turn> {
    let starts = moments.iter().enumerate().filter(|(_, moment)| moment.author == Author::User).map(|(at, _)| at);
    let starts: BTreeSet<usize> = std::iter::once(0).chain(starts).collect();
    let ends = starts.iter().copied().skip(1).chain([moments.len()]);
    starts
        .iter()
        .zip(ends)
        .map(|(start, end)| {
            let all = moments.get(*start..end).unwrap_or_default();
            Turn { messages: *start..end, tokens: all.iter().fold(Tokens::ZERO, |sum, moment| sum + moment.tokens) }
        })
        .collect()
}

/// The places of the largest, at most so many.
fn largest(sizes: impl Iterator<Item = Tokens>, most: usize) -> BTreeSet<usize> {
    let mut by_size: Vec<(Tokens, usize)> = sizes.enumerate().map(|(at, tokens)| (tokens, at)).collect();
    by_size.sort_by(|one, other| other.cmp(one));
    by_size.into_iter().take(most).map(|(_, at)| at).collect()
}

/// The list.
pub(super) fn list(html: &mut Html, picture: &Picture) {
    let moments = &picture.moments;
    if moments.is_empty() {
        return;
    }
    section(html, "turns", "Turn by turn");
    html.raw("<p class=\"note\">A turn is what somebody typed and all that followed. Open one for its messages");
    html.raw(if moments.iter().any(|moment| moment.leaves) {
        "; a grey bar is a turn that would leave in a compaction.</p>\n"
    } else {
        ".</p>\n"
    });
    let turns = turns(moments);
    let mut shown = largest(turns.iter().map(|turn| turn.tokens), TURNS);
    // How it began and where it stands are asked for first.
    shown.extend([0, turns.len() - 1]);
    let alone = largest(moments.iter().map(|moment| moment.tokens), MESSAGES);
    let all = turns.iter().fold(Tokens::ZERO, |sum, turn| sum + turn.tokens);
    let tallest = turns.iter().map(|turn| turn.tokens).max().unwrap_or_default();
    let mut skipped = (0, Tokens::ZERO);
    for (at, turn) in turns.iter().enumerate() {
        if !shown.contains(&at) {
            skipped = (skipped.0 + 1, skipped.1 + turn.tokens);
            continue;
        }
        between(html, &mut skipped);
        one(html, moments, turn, &alone, (tallest, all));
    }
    between(html, &mut skipped);
    html.raw("</section>\n");
}

/// Says what was not shown, and begins anew.
fn between(html: &mut Html, skipped: &mut (usize, Tokens)) {
    let (count, tokens) = std::mem::take(skipped);
    if count > 0 {
        html.raw("<p class=\"skipped\">").show(count).raw(if count == 1 {
            " smaller turn, "
        } else {
            " smaller turns, "
        });
        html.show(tokens).raw(" tokens</p>\n");
    }
}

fn one(html: &mut Html, moments: &[Moment], turn: &Turn, alone: &BTreeSet<usize>, (tallest, all): (Tokens, Tokens)) {
    let messages = moments.get(turn.messages.clone()).unwrap_or_default();
    let Some(first) = messages.first() else { return };
    let typed = first.author == Author::User;
    html.raw(if messages.iter().all(|moment| moment.leaves) {
        "<details class=\"turn leaves\">"
    } else {
        "<details class=\"turn\">"
    });
    html.raw("<summary><span class=\"where\">#")
        .show(first.message)
        .raw("</span><span class=\"words\" dir=\"auto\">");
    if typed && !first.words.is_empty() {
        html.text(&first.words);
    } else {
        html.raw("<i>").raw(if typed { "no words" } else { "before anybody typed" }).raw("</i>");
    }
    html.raw("</span><span class=\"amount\">");
    amount(html, turn.tokens, all);
    html.raw("</span><span class=\"bar\" aria-hidden=\"true\"><span style=\"width:")
        .number(share(turn.tokens, tallest));
    html.raw("%\"></span></span></summary>\n<ol class=\"moments\">\n");
    let mut rest = (0, Tokens::ZERO);
    for moment in messages {
        if alone.contains(&moment.message) {
            smaller(html, &mut rest);
            row(html, moment, turn.tokens);
        } else {
            rest = (rest.0 + 1, rest.1 + moment.tokens);
        }
    }
    smaller(html, &mut rest);
    html.raw("</ol></details>\n");
}

fn smaller(html: &mut Html, rest: &mut (usize, Tokens)) {
    let (count, tokens) = std::mem::take(rest);
    if count > 0 {
        html.raw("<li class=\"rest\">").show(count).raw(if count == 1 {
            " small message, "
        } else {
            " small messages, "
        });
        html.show(tokens).raw(" tokens</li>\n");
    }
}

fn row(html: &mut Html, moment: &Moment, whole: Tokens) {
    html.raw("<li class=\"").raw(class(moment.kind)).raw("\"><span class=\"where\">#").show(moment.message);
    html.raw("</span><span class=\"kind\">").raw(who(moment)).raw(" <i>·</i> ").show(moment.kind.replace('_', " "));
    if let Some(tool) = &moment.tool {
        html.raw(" <i>·</i> <bdi>").text(tool).raw("</bdi>");
    }
    html.raw("</span><span class=\"amount\">");
    amount(html, moment.tokens, whole);
    html.raw("</span><span class=\"words\" dir=\"auto\">").text(&moment.words).raw("</span></li>\n");
}

fn who(moment: &Moment) -> &'static str {
    match moment.author {
        Author::User => "user",
        Author::Model => "model",
        Author::Tool => "tool",
        Author::Operator => "operator",
        Author::Machinery => "program",
        Author::Summary => "summary",
        _ => moment.role,
    }
}
