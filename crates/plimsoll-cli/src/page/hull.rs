//! The picture at the top: a hull that is loaded up to somewhere, with the lines that it should not be loaded over.

use plimsoll::Tokens;
use plimsoll_engine::Context;

use super::html::Html;
use super::kinds::parts;
use super::{share, used};
use crate::output::percent;

/// Where the hull's inside begins and ends, in units of the picture, downwards.
const TOP: f64 = 26.0;
const BOTTOM: f64 = 276.0;
/// The least distance between two labels.
const APART: f64 = 24.0;

/// Where a number of tokens stands in the hull.
fn level(tokens: Tokens, window: Tokens) -> f64 {
    BOTTOM - (BOTTOM - TOP) * share(tokens, window) / 100.0
}

/// The hull, filled layer by layer.
pub(super) fn draw(html: &mut Html, context: &Context) {
    let (used, window) = (used(context), context.window);
    html.raw("<svg class=\"hull\" viewBox=\"0 0 620 292\" role=\"img\" aria-label=\"")
        .show(used)
        .raw(" of ")
        .show(window);
    html.raw(" tokens: ").text(&percent(used, window)).raw(" of the window\">\n");
    html.raw(concat!(
        "<defs><clipPath id=\"inside\"><path d=\"M20 26V150C20 236 86 276 200 276S380 236 380 150V26Z\"/></clipPath></defs>\n",
        "<g clip-path=\"url(#inside)\"><rect class=\"empty\" x=\"0\" y=\"0\" width=\"400\" height=\"292\"/>\n",
    ));
    let mut loaded = Tokens::ZERO;
    let mut parts = parts(context);
    // What is heaviest lies at the bottom.
    parts.sort_by_key(|part| std::cmp::Reverse(part.tokens));
    let mut below = BOTTOM;
    for part in &parts {
        loaded += part.tokens;
        let above = level(loaded, window);
        html.raw("<rect class=\"")
            .raw(part.class)
            .raw("\" x=\"0\" y=\"")
            .number(above)
            .raw("\" width=\"400\" height=\"");
        html.number((below - above).max(0.0)).raw("\"/>");
        below = above;
    }
    let surface = level(used, window);
    html.raw("\n<path class=\"surface\" d=\"M0 ").number(surface).raw("H400\"/></g>\n");
    html.raw("<path class=\"shell\" d=\"M20 14V150C20 236 86 276 200 276S380 236 380 150V14\"/>\n");
    marks(html, context);
    html.raw("</svg>\n");
}

/// The load lines: each at its height, its label beside it, no two labels upon each other.
fn marks(html: &mut Html, context: &Context) {
    let marks = &context.thresholds;
    let lines = [
        ("window", context.window, "line window"),
        ("hard", marks.hard, "line hard"),
        ("compact", marks.compact, "line compact"),
        ("warn", marks.warn, "line warn"),
        ("target", marks.target, "line target"),
    ];
    let mut least = TOP - 4.0;
    for (name, tokens, class) in lines {
        let at = level(tokens, context.window);
        let label = at.max(least);
        least = label + APART;
        html.raw("<g class=\"").raw(class).raw("\"><path d=\"M").number(if name == "window" { 380.0 } else { 20.0 });
        html.raw(" ")
            .number(at)
            .raw("H384L398 ")
            .number(label)
            .raw("H404\"/><text x=\"409\" y=\"")
            .number(label + 5.5);
        html.raw("\"><tspan class=\"name\">")
            .raw(name)
            .raw("</tspan> <tspan>")
            .show(tokens)
            .raw("</tspan></text></g>\n");
    }
    // The mark itself: a circle through which the line goes that it is not to be loaded over.
    let at = level(marks.compact, context.window);
    html.raw("<g class=\"plimsoll\"><circle cx=\"66\" cy=\"")
        .number(at)
        .raw("\" r=\"13\"/><path d=\"M42 ")
        .number(at);
    html.raw("H90\"/></g>\n");
}

/// What the picture comes to, in words and in one large number.
pub(super) fn state(html: &mut Html, context: &Context) {
    let (used, marks) = (used(context), &context.thresholds);
    let (class, words, next) = judged(context);
    html.raw("<div class=\"state ").raw(class).raw("\">\n<p class=\"big\">").text(&percent(used, context.window));
    html.raw("</p>\n<p class=\"of\"><b>").show(used).raw("</b> of ").show(context.window).raw(" tokens</p>\n");
    html.raw("<h2 id=\"state\">").raw(words).raw("</h2>\n<p class=\"next\">");
    if used < marks.compact {
        html.raw("<b>").show(marks.compact - used).raw("</b> tokens are left before a compaction is due");
        if let Some(per_message) = used.0.checked_div(context.messages as u64).filter(|tokens| *tokens > 0) {
            let messages = (marks.compact - used).0 / per_message;
            // So many that nobody would count them say no more than the share does.
            if messages <= 2_000 {
                html.raw(": about <b>").show(messages).raw("</b> messages like these");
            }
        }
        html.raw(".");
    } else {
        html.raw(next);
    }
    html.raw("</p>\n<p class=\"note\">Input may use ")
        .show(context.budget)
        .raw(" of the window; the rest is kept for the answer.</p>\n</div>\n");
}

/// How it stands: a class, a sentence, and what follows where it is over the line.
fn judged(context: &Context) -> (&'static str, &'static str, &'static str) {
    let (used, marks) = (used(context), &context.thresholds);
    if used > context.window {
        ("over", "Overloaded", "It does not fit: the provider would refuse the next request.")
    } else if used > context.budget {
        ("over", "Overloaded", "Less room is left than the model’s answer may need.")
    } else if used >= marks.hard {
        ("over", "Loaded to the rim", "The next request has to wait for a compaction.")
    } else if used >= marks.compact {
        ("over", "Over the line", "A compaction is due.")
    } else if used >= marks.warn {
        ("warned", "Near the line", "")
    } else {
        ("fine", "Well below the line", "")
    }
}
