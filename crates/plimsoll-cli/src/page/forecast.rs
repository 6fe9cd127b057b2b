//! What a compaction would do, and what is odd about the transcript.

use plimsoll::Tokens;
use plimsoll::compact::Carried;
use plimsoll_engine::{Context, Outcome, Picture};

use super::html::Html;
use super::{About, section, share};
use crate::output::{carried_counts, percent};

/// What `plimsoll compact` would do now.
pub(super) fn compaction(html: &mut Html, about: &About<'_>, picture: &Picture) {
    let report = &picture.compaction;
    section(html, "compaction", "What a compaction would do");
    match report.outcome {
        Outcome::Applied => {
            let leaves = report.messages_before - report.kept_tail_messages.min(report.messages_before);
            html.raw("<p>The first <b>").show(leaves).raw("</b> messages would become a summary");
            if let Some(tokens) = report.summary_tokens {
                html.raw(" of <b>").show(tokens).raw("</b> tokens");
            }
            html.raw("; the last <b>")
                .show(report.kept_tail_messages)
                .raw("</b> would stay as they are. Everything that leaves can be had again, byte for byte.</p>\n");
            html.raw("<ul class=\"bars before\">\n");
            row(
                html,
                "before",
                "b-before",
                report.tokens_before,
                report.tokens_before.max(report.tokens_after),
                None,
            );
            row(
                html,
                "after",
                "b-after",
                report.tokens_after,
                report.tokens_before.max(report.tokens_after),
                Some(report.tokens_before),
            );
            html.raw("</ul>\n");
            if let Some(carried) = &report.carried {
                chips(html, carried);
            }
            if let Some(turns) = report.break_even_turns {
                html.raw("<p class=\"note\">Rewriting the prompt cache has paid for itself after ").show(turns);
                html.raw(plimsoll::plural(turns, " turn.</p>\n", " turns.</p>\n"));
            }
        }
        Outcome::Skipped => {
            html.raw("<p>Nothing: ")
                .text(report.reason.as_deref().unwrap_or("there is too little to compact"))
                .raw(".</p>\n");
        }
        Outcome::Infeasible => {
            html.raw("<p>It cannot fit: ")
                .text(report.reason.as_deref().unwrap_or("too much must stay"))
                .raw(".</p>\n");
        }
    }
    if let Some(argument) = about.argument.filter(|_| report.outcome != Outcome::Infeasible) {
        html.raw("<pre class=\"command\" tabindex=\"0\" aria-label=\"Commands\"><code>plimsoll compact ")
            .text(argument);
        html.raw(" --dry-run</code>\n<code>plimsoll compact ").text(argument).raw(" --in-place</code></pre>\n");
    }
    html.raw("</section>\n");
}

fn row(
    html: &mut Html,
    name: &'static str,
    class: &'static str,
    tokens: Tokens,
    largest: Tokens,
    of: Option<Tokens>,
) {
    html.raw("<li class=\"")
        .raw(class)
        .raw("\"><span class=\"label\"><b>")
        .raw(name)
        .raw("</b></span><span class=\"amount\"><span class=\"n\">");
    html.show(tokens).raw("</span>");
    if let Some(before) = of {
        html.raw(" <span class=\"share\">").text(&percent(tokens, before)).raw("</span>");
    }
    html.raw("</span><span class=\"bar\" aria-hidden=\"true\"><span style=\"width:").number(share(tokens, largest));
    html.raw("%\"></span></span></li>\n");
}

/// What the summary would carry verbatim.
fn chips(html: &mut Html, carried: &Carried) {
    html.raw("<p class=\"carried\">It would carry</p><ul class=\"chips\">");
    for (count, one, many) in carried_counts(carried).into_iter().filter(|(count, ..)| *count > 0) {
        html.raw("<li><b>").show(count).raw("</b> ").raw(plimsoll::plural(count, one, many)).raw("</li>");
    }
    if carried.left_out > 0 {
        html.raw("<li class=\"dim\"><b>").show(carried.left_out).raw("</b> more by recall only</li>");
    }
    html.raw("</ul>\n");
}

/// What the file does not record, and what is not as the format has it.
pub(super) fn odd(html: &mut Html, context: &Context) {
    let unrecorded = context.unrecorded.filter(|tokens| *tokens > Tokens::ZERO);
    if unrecorded.is_none() && context.orphans == 0 && context.oddities.is_empty() {
        return;
    }
    section(html, "odd", "Worth knowing");
    html.raw("<ul class=\"facts\">\n");
    if let Some(tokens) = unrecorded {
        html.raw("<li><b>").show(tokens).raw("</b> tokens, ").text(&percent(tokens, super::used(context)));
        html.raw(" of all, are not in the file: the program’s system prompt and tools, which only the provider’s report of usage tells of. No compaction makes them smaller.</li>\n");
    }
    if context.orphans > 0 {
        html.raw("<li><b>").show(context.orphans).raw(if context.orphans == 1 {
            "</b> tool call or result stands without its counterpart: interrupted, or cut off.</li>\n"
        } else {
            "</b> tool calls or results stand without their counterpart: interrupted, or cut off.</li>\n"
        });
    }
    for odd in &context.oddities {
        html.raw("<li><b>").show(odd.count).raw("</b> × ").raw(odd.kind).raw("</li>\n");
    }
    html.raw("</ul>\n</section>\n");
}
