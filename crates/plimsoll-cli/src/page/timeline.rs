//! The messages from first to last: how large each is, and how the context grew.

use plimsoll::Tokens;
use plimsoll_engine::{Moment, Outcome, Picture};

use super::html::Html;
use super::kinds::class;
use super::{section, share};

/// The most columns; where there are more messages, several share one.
const COLUMNS: usize = 160;
/// The picture's size, in its own units.
const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 180.0;

/// Some messages in a row.
struct Column {
    first: usize,
    last: usize,
    /// By class, so that a column has few parts.
    parts: Vec<(&'static str, Tokens)>,
    tokens: Tokens,
}

fn columns(moments: &[Moment]) -> Vec<Column> {
    let each = moments.len().div_ceil(COLUMNS).max(1);
    moments
        .chunks(each)
        .filter_map(|chunk| {
            let (first, last) = (chunk.first()?.message, chunk.last()?.message);
            let mut parts: Vec<(&'static str, Tokens)> = Vec::new();
            for moment in chunk {
                let class = class(moment.kind);
                match parts.iter_mut().find(|(known, _)| *known == class) {
                    Some((_, tokens)) => *tokens += moment.tokens,
                    None => parts.push((class, moment.tokens)),
                }
            }
            let tokens = parts.iter().fold(Tokens::ZERO, |sum, (_, tokens)| sum + *tokens);
            Some(Column { first, last, parts, tokens })
        })
        .collect()
}

/// The chart.
pub(super) fn draw(html: &mut Html, picture: &Picture) {
    let columns = columns(&picture.moments);
    if columns.is_empty() {
        return;
    }
    section(html, "timeline", "From first to last");
    let largest = columns.iter().map(|column| column.tokens).max().unwrap_or_default();
    let all = picture.moments.iter().fold(Tokens::ZERO, |sum, moment| sum + moment.tokens);
    html.raw("<p class=\"note\">Each column is ");
    let each = picture.moments.len().div_ceil(COLUMNS).max(1);
    if each == 1 {
        html.raw("a message");
    } else {
        html.show(each).raw(" messages");
    }
    html.raw(", the tallest of ").show(largest).raw(" tokens. The line is how the conversation grew, to ").show(all);
    html.raw(".</p>\n<div class=\"chart\"><svg viewBox=\"0 0 1000 184\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"Sizes of ");
    html.show(picture.moments.len()).raw(" messages in order; the largest are listed below\">\n");
    let step = WIDTH / columns.len() as f64;
    let gap = if step > 4.0 { 1.0 } else { 0.0 };
    let mut line = vec![(0.0, HEIGHT)];
    let (mut x, mut sum) = (0.0, Tokens::ZERO);
    for column in &columns {
        let mut y = HEIGHT;
        html.raw("<g><title>");
        numbers(html, column.first, column.last);
        html.raw(" · ").show(column.tokens).raw(" tokens</title>");
        for (class, tokens) in column.parts.iter().filter(|(_, tokens)| tokens.0 > 0) {
            // What is not nothing is seen.
            let height = (share(*tokens, largest) / 100.0 * (HEIGHT - 10.0)).max(0.8);
            y -= height;
            html.raw("<rect class=\"")
                .raw(class)
                .raw("\" x=\"")
                .number(x)
                .raw("\" y=\"")
                .number(y)
                .raw("\" width=\"");
            html.number(step - gap).raw("\" height=\"").number(height).raw("\"/>");
        }
        html.raw("</g>\n");
        x += step;
        sum += column.tokens;
        line.push((x, HEIGHT - share(sum, all) / 100.0 * (HEIGHT - 6.0)));
    }
    html.raw("<path class=\"growth\" d=\"M");
    for (at, (x, y)) in line.iter().enumerate() {
        html.raw(if at == 0 { "" } else { "L" }).number(*x).raw(" ").number(*y);
    }
    html.raw("\"/>\n");
    let leaving = picture.moments.iter().filter(|moment| moment.leaves).count();
    if picture.compaction.outcome == Outcome::Applied && leaving > 0 {
        let x = leaving as f64 / picture.moments.len() as f64 * WIDTH;
        html.raw("<path class=\"cut\" d=\"M").number(x).raw(" 0V180\"/>\n");
    }
    html.raw("</svg></div>\n<p class=\"axis\" aria-hidden=\"true\"><span>#0</span>");
    if picture.compaction.outcome == Outcome::Applied && leaving > 0 {
        html.raw("<span class=\"cutname\">dashed: where a compaction would cut, before #")
            .show(leaving)
            .raw("</span>");
    }
    html.raw("<span>#").show(picture.moments.len() - 1).raw("</span></p>\n");
    legend(html, &columns);
    html.raw("</section>\n");
}

/// `#3`, or `#3–9`.
fn numbers(html: &mut Html, first: usize, last: usize) {
    html.raw("#").show(first);
    if last != first {
        html.raw("–").show(last);
    }
}

fn legend(html: &mut Html, columns: &[Column]) {
    let kinds = [
        ("text", "text"),
        ("thinking", "thinking"),
        ("tool_call", "tool calls"),
        ("tool_result", "tool results"),
        ("media", "media"),
        ("compaction", "compaction"),
        ("opaque", "other"),
    ];
    html.raw("<ul class=\"legend\">");
    for (kind, name) in kinds {
        let class = class(kind);
        if columns.iter().any(|column| column.parts.iter().any(|(known, _)| *known == class)) {
            html.raw("<li class=\"").raw(class).raw("\">").raw(name).raw("</li>");
        }
    }
    html.raw("</ul>\n");
}
