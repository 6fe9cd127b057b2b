//! What a request's headers, query and body ask of the gateway itself. Pure.

use http::HeaderMap;
use http::header::{self, HeaderName};
use memchr::memmem;
use plimsoll::Tokens;
use plimsoll::transcript::{BlockKind, Role};
use plimsoll::wire::{Format, MessageSpans, Span};
use plimsoll_engine::session::Recaller;

use super::route::Ask;

/// The headers that name a namespace of conversations, the first that is there counts. Sub-agents and side requests
/// share them: which conversation a request belongs to is found by its history.
const NAMESPACES: [&str; 4] = ["x-plimsoll-session", "x-claude-code-session-id", "session-id", "x-session-id"];
/// Where requests without a name belong.
const NAMELESS: &str = "gateway";
/// The parameter of the query that switches the gateway off for one request.
const SWITCH: &str = "plimsoll=bypass";

/// Words with which agent programs ask for a summary of their own, each with the words that must stand beside them.
const OWN_SUMMARIES: [(&str, &str); 4] = [
    // Claude Code, of all or of a part.
    ("Your task is to create a detailed summary of", "<summary>"),
    // Codex.
    ("You are performing a CONTEXT CHECKPOINT COMPACTION", "summary"),
    // OpenCode.
    ("Provide a detailed prompt for continuing our conversation above", ""),
    ("create a new anchored summary from the conversation", ""),
];
/// The item with which Codex asks for one.
const TRIGGER: &str = "compaction_trigger";
/// How much of a text may stand before such words, in bytes: programs begin with them, or say first how to answer.
const PREAMBLE: usize = 1_000;

/// The name of a request's namespace.
pub(crate) fn namespace(headers: &HeaderMap) -> &str {
    let named = NAMESPACES.iter().filter_map(|name| headers.get(*name)?.to_str().ok()).find(|name| !name.is_empty());
    named.unwrap_or(NAMELESS)
}

/// Says who can recall, where the client says so.
pub(crate) fn recaller(headers: &HeaderMap) -> Option<Recaller> {
    match headers.get("x-plimsoll-recall")?.to_str().ok()? {
        "tool" => Some(Recaller::Tool),
        "files" => Some(Recaller::Files),
        "always" => Some(Recaller::Always),
        "nobody" => Some(Recaller::Nobody),
        _ => None,
    }
}

/// The context window that the client opts into: Anthropic's beta of a million tokens, which no field of the body tells.
pub(crate) fn window(headers: &HeaderMap) -> Option<Tokens> {
    let betas = headers.get_all("anthropic-beta").iter().filter_map(|value| value.to_str().ok());
    let opts = betas.flat_map(|value| value.split(',')).any(|beta| beta.trim().starts_with("context-1m"));
    opts.then_some(Tokens(1_000_000))
}

/// Whether the client wants this request passed on as it is.
pub(crate) fn is_bypassed(headers: &HeaderMap, target: &str) -> bool {
    let said = headers.get("x-plimsoll").is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"bypass"));
    said || parameters(target).any(|parameter| parameter == SWITCH)
}

/// A path and query without the switch. Everything else stays as it was written.
pub(crate) fn without_switch(target: &str) -> String {
    let Some((path, query)) = target.split_once('?') else {
        return target.to_owned();
    };
    if !query.split('&').any(|parameter| parameter == SWITCH) {
        return target.to_owned();
    }
    let kept: Vec<&str> = query.split('&').filter(|parameter| *parameter != SWITCH).collect();
    if kept.is_empty() { path.to_owned() } else { format!("{path}?{}", kept.join("&")) }
}

fn parameters(target: &str) -> impl Iterator<Item = &str> {
    target.split_once('?').map_or("", |(_, query)| query).split('&')
}

/// Whether a signature covers the body, so that no byte of it may change: AWS Signature Version 4, or a digest.
pub(crate) fn is_signed(headers: &HeaderMap) -> bool {
    const DIGESTS: [&str; 5] = ["x-amz-content-sha256", "content-md5", "digest", "content-digest", "signature-input"];
    let aws = headers.get(header::AUTHORIZATION).is_some_and(|value| value.as_bytes().starts_with(b"AWS4-"));
    aws || DIGESTS.iter().any(|name| headers.contains_key(HeaderName::from_static(name)))
}

/// The format of what is asked, and whether anything new may be decided for it: a count is of what would be sent, and
/// the provider's own compaction compacts.
pub(crate) fn format(ask: Ask) -> Option<(Format, bool)> {
    match ask {
        Ask::Messages => Some((Format::Anthropic, true)),
        Ask::CountTokens => Some((Format::Anthropic, false)),
        Ask::Chat => Some((Format::OpenaiChat, true)),
        Ask::Responses => Some((Format::OpenaiResponses, true)),
        Ask::ResponsesCompact | Ask::ResponsesInputTokens => Some((Format::OpenaiResponses, false)),
        Ask::Other => None,
    }
}

/// Whether Codex says in a header that it asks for a compaction of its own, which is answered and never compacted itself.
pub(crate) fn is_codex_compaction(headers: &HeaderMap) -> bool {
    let codex = headers.get("x-codex-turn-metadata").and_then(|value| value.to_str().ok());
    codex.is_some_and(|metadata| metadata.contains("\"request_kind\":\"compaction\""))
}

/// Whether a conversation's last message asks for a compaction of the client's own. The words may stand anywhere else: in
/// a file that was read, in an earlier request. Only where the user's last text begins with them they ask.
pub(crate) fn asks_for_compaction(said: &[u8], format: Format) -> bool {
    let has = |words: &str| memmem::find(said, words.as_bytes()).is_some();
    if !has(TRIGGER) && !OWN_SUMMARIES.iter().any(|(words, beside)| has(words) && has(beside)) {
        return false;
    }
    let Some(view) = Span::new(0, said.len()).map(|whole| MessageSpans::view_spans(said, format, &[whole])) else {
        return false;
    };
    let Some(message) = view.transcript().messages.first().filter(|said| said.role == Role::User) else {
        return false;
    };
    let asks = |text: &str| {
        let near = |words: &str| text.find(words).is_some_and(|at| at <= PREAMBLE);
        OWN_SUMMARIES.iter().any(|(words, beside)| near(words) && text.contains(beside))
    };
    let is_trigger = |kind: &BlockKind<'_>| matches!(kind, BlockKind::Opaque(name) if name.decode() == TRIGGER);
    message.blocks.iter().any(|block| is_trigger(&block.kind)) || message.texts().any(|text| asks(&text.decode()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[(&'static str, &str)]) -> HeaderMap {
        lines.iter().map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap())).collect()
    }

    #[test]
    fn a_header_names_the_namespace_and_ours_comes_first() {
        assert_eq!(namespace(&headers(&[("x-claude-code-session-id", "c"), ("x-plimsoll-session", "p")])), "p");
        assert_eq!(namespace(&headers(&[("session-id", "s")])), "s");
        assert_eq!(namespace(&headers(&[("x-session-id", "")])), "gateway");
    }

    #[test]
    fn a_beta_header_opts_into_a_longer_window() {
        let longer = headers(&[("anthropic-beta", "oauth-2025-04-20, context-1m-2025-08-07")]);
        assert_eq!(
            (window(&longer), window(&headers(&[("anthropic-beta", "oauth")]))),
            (Some(Tokens(1_000_000)), None)
        );
    }

    #[test]
    fn one_request_can_be_passed_on_as_it_is() {
        assert!(is_bypassed(&headers(&[("x-plimsoll", "bypass")]), "/"));
        assert!(is_bypassed(&headers(&[]), "/v1/messages?beta=true&plimsoll=bypass"));
        assert!(!is_bypassed(&headers(&[]), "/v1/messages?xplimsoll=bypass"));
        assert_eq!(without_switch("/v1/messages?beta=true&plimsoll=bypass&x=%20"), "/v1/messages?beta=true&x=%20");
        assert_eq!(without_switch("/v1/messages?plimsoll=bypass"), "/v1/messages");
        assert_eq!(without_switch("/v1/messages?a=b&&c"), "/v1/messages?a=b&&c");
    }

    #[test]
    fn a_body_that_a_signature_covers_is_known() {
        assert!(is_signed(&headers(&[("authorization", "AWS4-HMAC-SHA256 Credential=x")])));
        assert!(
            is_signed(&headers(&[("x-amz-content-sha256", "x")])) && is_signed(&headers(&[("content-md5", "x")]))
        );
        assert!(!is_signed(&headers(&[("authorization", "Bearer sk")])));
    }

    #[test]
    fn a_clients_own_compaction_is_known_by_what_is_said_last() {
        let ask = "Your task is to create a detailed summary of the conversation so far. … <summary>";
        let own = |said: &str, format| asks_for_compaction(said.as_bytes(), format);
        assert!(own(&format!(r#"{{"role":"user","content":"{ask}"}}"#), Format::Anthropic));
        assert!(!own(&format!(r#"{{"role":"assistant","content":"{ask}"}}"#), Format::Anthropic));
        assert!(!own(r#"{"role":"user","content":"hi"}"#, Format::Anthropic));
        assert!(own(r#"{"type":"compaction_trigger"}"#, Format::OpenaiResponses));
        // Who reads of it, or asks about it, does not ask for it.
        let read = |text: &str| {
            format!(r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t","content":"{text}"}}]}}"#)
        };
        for text in [ask, "type: compaction_trigger", "You are performing a CONTEXT CHECKPOINT COMPACTION: a summary"]
        {
            assert!(!own(&read(text), Format::Anthropic), "{text}");
        }
        for text in [
            "What does compaction_trigger mean?",
            "Where does Codex say CONTEXT CHECKPOINT COMPACTION, and why a summary?",
        ] {
            assert!(!own(&format!(r#"{{"role":"user","content":"{text}"}}"#), Format::OpenaiChat), "{text}");
        }
        let codex = headers(&[("x-codex-turn-metadata", r#"{"session_id":"s","request_kind":"compaction"}"#)]);
        assert!(is_codex_compaction(&codex) && !is_codex_compaction(&headers(&[])));
    }
}
