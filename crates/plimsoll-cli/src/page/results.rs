//! The largest tool results, and what can be done about each.

use plimsoll_engine::install::Agent;
use plimsoll_engine::{LargeResult, Outcome, Picture};

use super::html::Html;
use super::{amount, section, share, used};

/// The list, the largest first.
pub(super) fn list(html: &mut Html, picture: &Picture) {
    if picture.results.is_empty() {
        return;
    }
    section(html, "results", "The largest tool results");
    let whole = used(&picture.context);
    let largest = picture.results.first().map(|result| result.tokens).unwrap_or_default();
    html.raw("<ol class=\"results\">\n");
    for result in &picture.results {
        html.raw("<li><p class=\"what\"><b><bdi>").text(result.tool.as_deref().unwrap_or("unknown tool"));
        html.raw("</bdi></b> <code dir=\"auto\">").text(&result.arguments).raw("</code></p>\n<p class=\"size\">");
        amount(html, result.tokens, whole);
        html.raw(" <span class=\"where\">#").show(result.message).raw("</span></p>\n");
        html.raw("<span class=\"bar\" aria-hidden=\"true\"><span class=\"k-result\" style=\"width:");
        html.number(share(result.tokens, largest)).raw("%\"></span></span>\n<p class=\"hints\">");
        hints(html, picture, result);
        html.raw("</p></li>\n");
    }
    html.raw("</ol>\n");
    if picture.compaction.outcome == Outcome::Applied {
        html.raw("<p class=\"note\">What would leave in a compaction can be recalled afterwards; what would stay is in the tail, which stays verbatim.</p>\n");
    }
    let over = picture.results.iter().filter(|result| is_over(picture, result)).count();
    if over > 0 {
        html.raw("<p class=\"note\">A result is over the cap above ").show(picture.cap);
        html.raw(". <code>plimsoll install ").raw(agent(picture)).raw(
            " --apply</code> caps those to come: the model sees head, tail and a recall id, the whole is kept.</p>\n",
        );
    }
    html.raw("</section>\n");
}

fn is_over(picture: &Picture, result: &LargeResult) -> bool {
    result.recall.is_none() && result.bytes > picture.cap
}

/// The agent that plimsoll can be installed into, for a transcript of its own.
fn agent(picture: &Picture) -> &'static str {
    let format = picture.context.format.to_string();
    let own = Agent::ALL.iter().map(|(name, _)| *name).find(|name| format.starts_with(name));
    own.unwrap_or("claude")
}

fn hints(html: &mut Html, picture: &Picture, result: &LargeResult) {
    if let Some(id) = &result.recall {
        html.raw("<span class=\"tag\">capped</span> the whole: <code>plimsoll recall ").text(id).raw("</code> ");
    }
    if let Some(later) = result.repeated_in {
        html.raw("<span class=\"tag warn\">out of date</span> the same call was answered again in #")
            .show(later)
            .raw(" ");
    }
    if is_over(picture, result) {
        html.raw("<span class=\"tag warn\">over the cap</span> ").show(result.bytes).raw(" ");
    }
    if picture.compaction.outcome == Outcome::Applied {
        html.raw(if result.leaves {
            "<span class=\"tag\">would leave</span>"
        } else {
            "<span class=\"tag\">would stay</span>"
        });
    }
}
