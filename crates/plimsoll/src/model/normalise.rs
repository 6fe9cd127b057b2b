//! Model names: from what programs write to the key under which the catalogue knows the model.

use super::name::{Name, Rule, Step};
use super::snapshot::snapshot;
use super::text::find_line;
use crate::Tokens;

/// Names longer than this many bytes are nobody's model: they are taken as they are.
const LONGEST: usize = 200;

/// The names of providers, hosts and publishers that may stand before a model's name, sorted, one a line.
const PREFIXES: &str = include_str!("prefixes.txt");

/// Regions of Bedrock's cross-region inference, as they stand before the vendor: `us.anthropic.claude-…`.
const REGIONS: [&str; 14] =
    ["us", "eu", "apac", "au", "jp", "global", "us-gov", "ca", "in", "sa", "me", "af", "il", "mx"];

/// Vendors as Bedrock writes them, with a dot after them.
const VENDORS: [&str; 18] = [
    "anthropic",
    "amazon",
    "meta",
    "mistral",
    "openai",
    "cohere",
    "ai21",
    "deepseek",
    "qwen",
    "moonshotai",
    "moonshot",
    "minimax",
    "zai",
    "nvidia",
    "google",
    "xai",
    "writer",
    "stability",
];

/// Tags after a colon that choose a price, a route or a mode, not another model.
const TAGS: [&str; 10] =
    ["free", "beta", "nitro", "floor", "online", "thinking", "exacto", "latest", "cloud", "default"];

/// Takes a model's name apart: provider prefixes, Bedrock and Vertex forms, case, separators, dates, fine-tunes,
/// context suffixes and tags (rule: specification of limits, *Names*). Total on any text; what is not understood stays
/// in the base, so that it matches nothing rather than something else.
///
/// ```
/// use plimsoll::{Tokens, model::normalise};
/// let name = normalise("bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0");
/// assert_eq!((name.base.as_str(), name.snapshot.as_deref()), ("claude-sonnet-4-5", Some("20250929")));
/// assert_eq!(normalise("claude-sonnet-4-20250514").base, "claude-sonnet-4"); // a date is no version
/// assert_eq!(normalise("ft:gpt-4o-2024-08-06:acme::a1b2").base, "gpt-4o");
/// assert_eq!(normalise("claude-opus-4-6[1m]").context, Some(Tokens(1_000_000)));
/// ```
pub fn normalise(name: &str) -> Name {
    let written = name.trim();
    let mut name =
        Name { base: written.to_owned(), snapshot: None, provider: None, context: None, steps: Vec::new() };
    if written.len() > LONGEST {
        return name;
    }
    // One rule may uncover the place where another applies. Each pass that changes the name shortens it or brings it
    // nearer to its only spelling, so this ends; the bound is for the reader.
    for _ in 0..LONGEST {
        let before = name.base.clone();
        name.pass();
        if name.base == before {
            break;
        }
    }
    name
}

impl Name {
    fn pass(&mut self) {
        let before = self.base.clone();
        self.apply(Rule::Case, Some(self.base.trim().to_ascii_lowercase()));
        if let Some((rest, tokens)) = context_suffix(&self.base)
            && self.apply(Rule::ContextSuffix, Some(rest))
        {
            self.context.get_or_insert(tokens);
        }
        self.apply(Rule::FineTune, fine_tune(&self.base));
        if let Some((provider, rest)) = provider_prefix(&self.base)
            && self.apply(Rule::ProviderPrefix, Some(rest))
        {
            self.provider = self.provider.take().or(provider);
        }
        if self.apply(Rule::BedrockPrefix, bedrock_prefix(&self.base)) {
            self.provider.get_or_insert_with(|| "bedrock".to_owned());
        }
        if let Some((rest, context)) = bedrock_revision(&self.base, self.provider.as_deref())
            && self.apply(Rule::BedrockRevision, Some(rest))
        {
            self.context = self.context.or(context);
        }
        self.apply(Rule::Tag, tag(&self.base));
        if self.apply(Rule::VertexVersion, vertex_version(&self.base)) {
            self.provider.get_or_insert_with(|| "vertex-ai".to_owned());
        }
        let fireworks = self.provider.as_deref().is_some_and(|provider| provider.starts_with("fireworks"));
        self.apply(Rule::Separator, Some(separators(&self.base, fireworks)));
        self.apply(Rule::Spelling, spelling(&self.base));
        // Only once nothing else applies: whether something is a prefix is judged by all that follows it.
        if self.snapshot.is_none()
            && self.base == before
            && let Some((rest, snapshot)) = snapshot(&self.base)
            && self.is_settled(&rest)
            && self.apply(Rule::Snapshot, Some(rest))
        {
            self.snapshot = Some(snapshot);
        }
    }

    /// Whether no rule applies to a name once its snapshot is off: else the snapshot would not stand behind what is left.
    fn is_settled(&self, rest: &str) -> bool {
        let mut probe = self.clone();
        rest.clone_into(&mut probe.base);
        probe.snapshot = Some(String::new());
        probe.pass();
        probe.base == rest
    }

    /// Takes a changed name over and says so. A rule that would leave no name has not understood it.
    fn apply(&mut self, rule: Rule, changed: Option<String>) -> bool {
        let name =
            |text: &String| text.starts_with(|first: char| first.is_ascii_alphanumeric()) || rule == Rule::Case;
        let Some(changed) = changed.filter(|changed| name(changed) && *changed != self.base) else {
            return false;
        };
        self.base.clone_from(&changed);
        self.steps.push(Step { rule, name: changed });
        true
    }
}

/// `ft:gpt-4o:org::id` → `gpt-4o`.
fn fine_tune(base: &str) -> Option<String> {
    base.strip_prefix("ft:")?.split(':').next().map(str::to_owned)
}

/// `name[1m]` → the name and 1,000,000. Only a whole number of thousands or millions is a window.
fn context_suffix(base: &str) -> Option<(String, Tokens)> {
    let (rest, suffix) = base.strip_suffix(']')?.rsplit_once('[')?;
    let rest = rest.trim_end();
    (!rest.is_empty()).then_some(())?;
    Some((rest.to_owned(), scaled(suffix)?))
}

/// `1m` → 1,000,000; `200k` → 200,000.
fn scaled(text: &str) -> Option<Tokens> {
    let (digits, unit) = match text.strip_suffix('m') {
        Some(digits) => (digits, 1_000_000),
        None => (text.strip_suffix('k')?, 1_000),
    };
    let count = (digits.len() <= 6 && digits.bytes().all(|byte| byte.is_ascii_digit())).then_some(digits)?;
    count.parse::<u64>().ok().filter(|count| *count > 0).map(|count| Tokens(count * unit))
}

/// Removes one segment before a `/` that is known to be no part of a model's name.
fn provider_prefix(base: &str) -> Option<(Option<String>, String)> {
    if base.starts_with("arn:aws") {
        let rest = base.rsplit_once('/')?.1;
        return Some((Some("bedrock".to_owned()), rest.to_owned()));
    }
    let (head, rest) = base.split_once('/')?;
    match head {
        // `projects/P/locations/L/publishers/…`, `accounts/A/models/…`: the word names what follows it.
        "projects" | "locations" | "publishers" | "accounts" => {
            let (owner, rest) = rest.split_once('/')?;
            let provider = (head == "accounts" && owner == "fireworks").then(|| "fireworks-ai".to_owned());
            Some((provider.or_else(|| (head != "accounts").then(|| "vertex-ai".to_owned())), rest.to_owned()))
        }
        "models" => Some((None, rest.to_owned())),
        _ => {
            let head = head.trim_start_matches('~').replace('_', "-");
            if region(&head) {
                return Some((None, rest.to_owned()));
            }
            is_prefix(&head).then(|| (Some(provider_of(&head).to_owned()), rest.to_owned()))
        }
    }
}

fn is_prefix(head: &str) -> bool {
    find_line(PREFIXES.as_bytes(), head.as_bytes()).is_some()
}

/// A cloud's region or deployment type as a path segment: `us-east-1`, `eu`, `global-standard`.
fn region(segment: &str) -> bool {
    let numbered = segment.rsplit_once('-').is_some_and(|(place, number)| {
        number.len() == 1 && number.bytes().all(|byte| byte.is_ascii_digit()) && place.contains('-')
    });
    REGIONS.contains(&segment) || ["global-standard", "standard"].contains(&segment) || numbered
}

/// One name for one provider, where the collections write several.
pub(super) fn provider_of(head: &str) -> &str {
    match head {
        "amazon-bedrock" | "bedrock-converse" | "bedrock-mantle" => "bedrock",
        "google-vertex" | "google-vertex-anthropic" | "vertex" => "vertex-ai",
        "fireworks" => "fireworks-ai",
        "together" | "togetherai" | "togethercomputer" => "together-ai",
        "google" => "gemini",
        "moonshotai" | "moonshot-ai" => "moonshot",
        "z-ai" | "zai-org" => "zai",
        "x-ai" => "xai",
        "mistralai" => "mistral",
        "deepseek-ai" => "deepseek",
        "novita-ai" => "novita",
        "azure-openai" => "azure",
        other => other,
    }
}

/// `us.anthropic.claude-…` → `claude-…`; `deepseek.r1` → `deepseek-r1`.
fn bedrock_prefix(base: &str) -> Option<String> {
    let (head, rest) = base.split_once('.')?;
    let (vendor, rest) = if REGIONS.contains(&head) { rest.split_once('.')? } else { (head, rest) };
    if !VENDORS.contains(&vendor) || !rest.starts_with(|first: char| first.is_ascii_alphabetic()) {
        return None;
    }
    // DeepSeek's names go on from the vendor: `deepseek.v3.2` is `deepseek-v3.2`.
    let goes_on = vendor == "deepseek" && !rest.starts_with("deepseek");
    Some(if goes_on { format!("{vendor}-{rest}") } else { rest.to_owned() })
}

/// `-v1:0`, `-1:0`, `-v1:0:48k`; and, behind a Bedrock prefix, the bare `-v1` of `claude-opus-4-6-v1`.
fn bedrock_revision(base: &str, provider: Option<&str>) -> Option<(String, Option<Tokens>)> {
    let digits = |text: &str| !text.is_empty() && text.len() <= 3 && text.bytes().all(|byte| byte.is_ascii_digit());
    let (stem, tail) = base.rsplit_once('-')?;
    let mut parts = tail.split(':');
    let revision = parts.next()?;
    let number = revision.strip_prefix('v').unwrap_or(revision);
    let minor = parts.next();
    let context = parts.next().map(scaled);
    if !digits(number) || parts.next().is_some() || context == Some(None) {
        return None;
    }
    let is_revision = match minor {
        Some(minor) => digits(minor),
        None => provider == Some("bedrock") && stem.starts_with("claude") && revision.starts_with('v'),
    };
    // `claude-v2:1` is version 2.1, from before there were revisions.
    let is_version = ["claude", "claude-instant"].contains(&stem);
    (is_revision && !is_version).then(|| (stem.to_owned(), context.flatten()))
}

/// `name:free` → `name`; `gpt-oss:20b` → `gpt-oss-20b`.
fn tag(base: &str) -> Option<String> {
    let (rest, tag) = base.rsplit_once(':')?;
    if TAGS.contains(&tag) {
        return Some(rest.to_owned());
    }
    let size = tag.strip_suffix('b')?;
    let is_size = !size.is_empty() && size.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    is_size.then(|| format!("{rest}-{tag}"))
}

/// `name@20250929` → `name-20250929`; `name@default` and `name@eu` → `name`.
fn vertex_version(base: &str) -> Option<String> {
    let (rest, version) = base.rsplit_once('@')?;
    if rest.is_empty() {
        return None;
    }
    if ["default", "latest"].contains(&version) || region(version) {
        return Some(rest.to_owned());
    }
    version.starts_with(|first: char| first.is_ascii_digit()).then(|| format!("{rest}-{version}"))
}

/// A `.` between digits is written `-`; Fireworks writes `p`.
fn separators(base: &str, fireworks: bool) -> String {
    let bytes = base.as_bytes();
    let digit_at = |index: Option<usize>| index.and_then(|index| bytes.get(index)).is_some_and(u8::is_ascii_digit);
    base.char_indices()
        .map(|(index, letter)| {
            let separates = letter == '.' || (fireworks && letter == 'p');
            if separates && digit_at(index.checked_sub(1)) && digit_at(index.checked_add(1)) { '-' } else { letter }
        })
        .collect()
}

/// The spellings of Llama: `llama3`, `llama-v3`, `meta-llama-3` are `llama-3`; and Anthropic's aliases of Claude 4,
/// `claude-sonnet-4-0` and `claude-opus-4-0`, which name no version after 4 (Anthropic's models overview).
fn spelling(base: &str) -> Option<String> {
    if let Some(model @ ("claude-sonnet-4" | "claude-opus-4")) = base.strip_suffix("-0") {
        return Some(model.to_owned());
    }
    let llama = base.strip_prefix("meta-").filter(|rest| rest.starts_with("llama")).unwrap_or(base);
    let rest = llama.strip_prefix("llama")?;
    let version = rest.strip_prefix("-v").or_else(|| rest.strip_prefix('-')).unwrap_or(rest);
    version.starts_with(|first: char| first.is_ascii_digit()).then(|| format!("llama-{version}"))
}

#[cfg(test)]
#[path = "normalise/tests.rs"]
mod tests;
