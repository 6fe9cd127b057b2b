//! What fills a context, by kind of content and by role.

use plimsoll::Tokens;
use plimsoll_engine::Context;

use super::html::Html;
use super::{amount_of, section, share};
use crate::output::{kind_rows, shares};

/// A part of a context, and the class that its colour goes by.
pub(super) struct Part {
    pub(super) name: &'static str,
    pub(super) class: &'static str,
    pub(super) tokens: Tokens,
    pub(super) about: &'static str,
}

/// Everything that is in the context; the parts add up to it.
pub(super) fn parts(context: &Context) -> Vec<Part> {
    let part = |(name, tokens)| Part { name, class: class(name), tokens, about: about(name) };
    let outside = [("system prompt", context.system), ("tools", context.tools)];
    let unrecorded = [("unrecorded", context.unrecorded.unwrap_or_default())];
    let all = outside.into_iter().chain(kind_rows(&context.by_kind)).chain(unrecorded);
    all.filter(|(_, tokens)| *tokens > Tokens::ZERO).map(part).collect()
}

/// The class of a kind, by the name that it has in a picture or in the rows of a report.
pub(super) fn class(kind: &str) -> &'static str {
    match kind {
        "text" => "k-text",
        "thinking" => "k-thinking",
        "tool calls" | "tool_call" => "k-call",
        "tool results" | "tool_result" => "k-result",
        "media" => "k-media",
        "compaction" => "k-compaction",
        "overhead" => "k-overhead",
        "system prompt" => "k-system",
        "tools" => "k-tools",
        "unrecorded" => "k-unrecorded",
        _ => "k-opaque",
    }
}

fn about(kind: &str) -> &'static str {
    match kind {
        "text" => "what was written, by people and by the model",
        "thinking" => "the model’s reasoning",
        "tool calls" => "names and arguments",
        "tool results" => "what tools answered",
        "media" => "pictures and documents",
        "compaction" => "a provider’s own summary",
        "overhead" => "what messages cost beside their content",
        "system prompt" => "stands before the messages",
        "tools" => "definitions of what may be called",
        "unrecorded" => "reported by the provider, not in the file",
        _ => "content of unknown types",
    }
}

/// The parts as bars, the largest first.
pub(super) fn by_kind(html: &mut Html, context: &Context) {
    section(html, "fills", "What fills it");
    let mut parts = parts(context);
    parts.sort_by_key(|part| std::cmp::Reverse(part.tokens));
    let tokens: Vec<Tokens> = parts.iter().map(|part| part.tokens).collect();
    let largest = parts.first().map_or(Tokens::ZERO, |part| part.tokens);
    html.raw("<ul class=\"bars\">\n");
    for (part, percent) in parts.iter().zip(shares(&tokens)) {
        row(html, part.name, part.about, part.class, (part.tokens, largest, &percent));
    }
    html.raw("</ul>\n</section>\n");
}

/// The messages by the role that they are sent under.
pub(super) fn by_role(html: &mut Html, context: &Context) {
    section(html, "roles", "Who takes the room");
    let roles = &context.by_role;
    let mut rows = [
        ("user", "typed words, and what programs send as the user", "r-user", roles.user),
        ("assistant", "the model’s side", "r-assistant", roles.assistant),
        ("tool", "results with a role of their own", "r-tool", roles.tool),
        (
            "system",
            "prompt, tools, and messages of the operator",
            "r-system",
            roles.system + context.system + context.tools,
        ),
        ("other", "roles that are not known", "r-other", roles.other),
    ];
    rows.sort_by_key(|(.., tokens)| std::cmp::Reverse(*tokens));
    let largest = rows.first().map_or(Tokens::ZERO, |(.., tokens)| *tokens);
    html.raw("<ul class=\"bars\">\n");
    let all: Vec<Tokens> = rows.iter().map(|(.., tokens)| *tokens).collect();
    let shown = rows.into_iter().zip(shares(&all)).filter(|((.., tokens), _)| *tokens > Tokens::ZERO);
    for ((name, about, class, tokens), percent) in shown {
        row(html, name, about, class, (tokens, largest, &percent));
    }
    html.raw("</ul>\n<p class=\"note\">Shares are of the ")
        .show(context.tokens)
        .raw(" tokens that are recorded.</p>\n</section>\n");
}

fn row(
    html: &mut Html,
    name: &'static str,
    about: &'static str,
    class: &'static str,
    (tokens, largest, percent): (Tokens, Tokens, &str),
) {
    html.raw("<li class=\"").raw(class).raw("\"><span class=\"label\"><b>").raw(name).raw("</b> <small>").raw(about);
    html.raw("</small></span><span class=\"amount\">");
    amount_of(html, tokens, percent);
    html.raw("</span><span class=\"bar\" aria-hidden=\"true\"><span style=\"width:").number(share(tokens, largest));
    html.raw("%\"></span></span></li>\n");
}
