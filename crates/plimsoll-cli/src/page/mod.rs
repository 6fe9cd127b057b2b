//! The page that shows what fills a context: one file that loads nothing, runs nothing and sends nothing.
//!
//! It is made of what a [`Picture`] holds, which is bounded here: of a long session the largest messages are shown one by
//! one and the others in sums, so that a page stays under [`LARGEST`] bytes whatever the transcript's size. There is no
//! script in it; what opens and closes are `details` elements, which a keyboard works too. Its policy forbids everything
//! but its own styles, should some content ever find a way to be more than text.

mod forecast;
mod html;
mod hull;
mod kinds;
mod results;
#[cfg(test)]
mod tests;
mod timeline;
mod turns;

use plimsoll::Tokens;
use plimsoll::token::Method;
use plimsoll_engine::{Context, Picture};

use crate::output::percent;
use html::Html;

/// The most that a page takes, in bytes.
#[cfg(test)]
const LARGEST: usize = 1 << 20;

/// Where a page is from.
pub(crate) struct About<'a> {
    /// The transcript as it is called.
    pub(crate) name: &'a str,
    /// The same as an argument of a command line; `None` if it has no name there.
    pub(crate) argument: Option<&'a str>,
    /// This program's version.
    pub(crate) version: &'static str,
}

/// Writes the page.
pub(crate) fn render(about: &About<'_>, picture: &Picture) -> String {
    let context = &picture.context;
    let mut html = Html::default();
    html.raw(HEAD).text(base(about.name)).raw(" · what fills its context</title>\n<style>\n").raw(STYLE);
    html.raw("</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#fills\">Skip to the numbers</a>\n");
    header(&mut html, about, picture);
    html.raw("<main>\n<section class=\"hero card\" aria-labelledby=\"state\">\n");
    hull::draw(&mut html, context);
    hull::state(&mut html, context);
    html.raw("</section>\n<div class=\"pair\">\n");
    kinds::by_kind(&mut html, context);
    kinds::by_role(&mut html, context);
    html.raw("</div>\n");
    timeline::draw(&mut html, picture);
    results::list(&mut html, picture);
    forecast::compaction(&mut html, about, picture);
    turns::list(&mut html, picture);
    forecast::odd(&mut html, context);
    html.raw("</main>\n");
    footer(&mut html, about, context);
    html.raw("</body>\n</html>\n");
    html.into_string()
}

fn header(html: &mut Html, about: &About<'_>, picture: &Picture) {
    let context = &picture.context;
    html.raw("<header>\n")
        .raw(MARK)
        .raw("<div><h1><bdi>")
        .text(base(about.name))
        .raw("</bdi></h1>\n<p class=\"meta\">");
    html.show(context.format).raw(" <i>·</i> <bdi>").text(short(context.model.as_deref().unwrap_or("unknown model")));
    html.raw("</bdi> <i>·</i> ").show(context.messages);
    html.raw(plimsoll::plural(context.messages, " message", " messages"));
    if base(about.name) != about.name {
        html.raw("</p>\n<p class=\"path\"><bdi>").text(about.name).raw("</bdi>");
    }
    html.raw("</p></div>\n</header>\n");
}

fn footer(html: &mut Html, about: &About<'_>, context: &Context) {
    html.raw("<footer><p>Tokens are ");
    html.raw(match context.counting.method {
        Method::Exact => "counted exactly",
        Method::Reported => "as the provider reported them",
        Method::Calibrated => "estimated, calibrated by what the provider reported",
        Method::Estimated => "estimated, rather too high than too low",
    });
    html.raw(" (").text(&context.counting.tokenizer).raw("). The window is from: <bdi>").text(&context.window_source);
    html.raw("</bdi>.</p>\n<p>Made by plimsoll ").raw(about.version);
    html.raw(". This page loads nothing and sends nothing; it quotes the transcript, so share it as you would share that.</p></footer>\n");
}

/// The last part of a path.
fn base(name: &str) -> &str {
    name.rsplit(['/', '\\']).next().filter(|base| !base.is_empty()).unwrap_or(name)
}

/// The beginning of a name: one from a document may be of any length.
fn short(name: &str) -> &str {
    name.char_indices().nth(120).and_then(|(at, _)| name.get(..at)).unwrap_or(name)
}

/// All that is in the context: what is recorded, and what usage tells beside it.
fn used(context: &Context) -> Tokens {
    context.tokens + context.unrecorded.unwrap_or_default()
}

/// A share in per cent, for a length.
fn share(part: Tokens, whole: Tokens) -> f64 {
    if whole.0 == 0 { 0.0 } else { (part.0 as f64 / whole.0 as f64 * 100.0).min(100.0) }
}

/// Opens a section with its heading.
fn section(html: &mut Html, id: &'static str, title: &'static str) {
    html.raw("<section class=\"card\" aria-labelledby=\"")
        .raw(id)
        .raw("\">\n<h2 id=\"")
        .raw(id)
        .raw("\">")
        .raw(title);
    html.raw("</h2>\n");
}

/// A number of tokens with its share of a whole.
fn amount(html: &mut Html, tokens: Tokens, whole: Tokens) {
    amount_of(html, tokens, &percent(tokens, whole));
}

/// A number of tokens with its share, as it is shown.
fn amount_of(html: &mut Html, tokens: Tokens, share: &str) {
    html.raw("<span class=\"n\">").show(tokens).raw("</span> <span class=\"share\">").text(share);
    html.raw("</span>");
}

const HEAD: &str = r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'">
<meta name="referrer" content="no-referrer">
<meta name="robots" content="noindex">
<title>"#;

const STYLE: &str = include_str!("page.css");

/// The mark on a ship's hull.
const MARK: &str = r#"<svg class="mark" viewBox="0 0 48 48" aria-hidden="true"><circle cx="24" cy="24" r="15"/><path d="M2 24h44"/></svg>
"#;
