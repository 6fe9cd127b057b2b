#![allow(clippy::string_slice, reason = "a test may stop at once")]

use plimsoll::wire::{ParseOptions, parse, quote};
use plimsoll_engine::{CompactOptions, picture};
use proptest::prelude::*;

use super::*;

/// A page of a request body.
fn page(name: &str, body: &str) -> String {
    let document = parse(body.as_bytes(), &ParseOptions::default()).unwrap();
    let picture = picture(&document, &CompactOptions::default()).unwrap();
    render(&About { name, argument: Some(name), version: "1.2.3" }, &picture)
}

/// A body in which one text stands everywhere where content may stand.
fn body_of(text: &str) -> String {
    let text = quote(text);
    format!(
        r#"{{"model":{text},"max_tokens":9,"system":{text},"tools":[{{"name":{text},"description":{text},"input_schema":{{}}}}],"messages":[
        {{"role":"user","content":{text}}},
        {{"role":"assistant","content":[{{"type":"thinking","thinking":{text},"signature":"x"}},{{"type":"text","text":{text}}},
            {{"type":"tool_use","id":"a","name":{text},"input":{{{text}:{text}}}}}]}},
        {{"role":"user","content":[{{"type":"tool_result","tool_use_id":"a","content":{text}}}]}},
        {{"role":"assistant","content":[{{"type":"tool_use","id":"b","name":{text},"input":{{{text}:{text}}}}}]}},
        {{"role":"user","content":[{{"type":"tool_result","tool_use_id":"b","content":{text}}},{{"type":{text}}},
            {{"type":"image","source":{{"type":"base64","media_type":{text},"data":"aGk="}}}}]}}]}}"#
    )
}

const ELEMENTS: [&str; 43] = [
    "html", "head", "meta", "title", "style", "body", "a", "header", "main", "section", "footer", "div", "h1", "h2",
    "p", "bdi", "i", "b", "small", "span", "ul", "ol", "li", "code", "pre", "details", "summary", "svg", "defs",
    "clipPath", "path", "g", "rect", "circle", "text", "tspan", "title", "dl", "dt", "dd", "br", "hr", "em",
];
const EMPTY: [&str; 2] = ["meta", "br"];
const ATTRIBUTES: [&str; 33] = [
    "lang",
    "charset",
    "name",
    "content",
    "http-equiv",
    "class",
    "href",
    "id",
    "aria-labelledby",
    "aria-label",
    "aria-hidden",
    "role",
    "viewBox",
    "preserveAspectRatio",
    "style",
    "x",
    "y",
    "width",
    "height",
    "d",
    "cx",
    "cy",
    "r",
    "dir",
    "tabindex",
    "clip-path",
    "open",
    "title",
    "x1",
    "x2",
    "y1",
    "y2",
    "alt",
];

/// Reads a page as markup, and says what in it is not as this program writes it.
fn faults(page: &str) -> Option<String> {
    let page = page.strip_prefix("<!doctype html>")?;
    let style = page.find("<style>")?..page.find("</style>")?;
    let page = format!("{}{}", &page[..style.start], &page[style.end + "</style>".len()..]);
    let mut open: Vec<String> = Vec::new();
    let mut rest = page.as_str();
    while let Some(at) = rest.find('<') {
        let text = &rest[..at];
        if text.contains('>') || text.chars().any(|c| c.is_control() && c != '\n') {
            return Some(format!("text {text:?}"));
        }
        let end = rest[at..].find('>').map(|end| at + end);
        let Some(end) = end else { return Some("an open tag at the end".to_owned()) };
        let (tag, after) = (&rest[at + 1..end], &rest[end + 1..]);
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            if open.pop().as_deref() != Some(name) {
                return Some(format!("</{name}> closes nothing"));
            }
            continue;
        }
        let closed = tag.ends_with('/');
        let tag = tag.trim_end_matches('/');
        let (name, mut attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        if !ELEMENTS.contains(&name) {
            return Some(format!("element {name:?}"));
        }
        while !attributes.is_empty() {
            let Some((attribute, value)) = attributes.split_once("=\"") else { return Some(format!("in {tag:?}")) };
            let Some((value, more)) = value.split_once('"') else { return Some(format!("in {tag:?}")) };
            if !ATTRIBUTES.contains(&attribute) || value.contains('<') {
                return Some(format!("attribute {attribute:?} of {tag:?}"));
            }
            attributes = more.trim_start();
        }
        if !closed && !EMPTY.contains(&name) {
            open.push(name.to_owned());
        }
    }
    (!open.is_empty()).then(|| format!("{open:?} stay open"))
}

#[test]
fn the_reader_of_this_test_sees_what_is_wrong() {
    let page = page("a.json", &body_of("words"));
    assert_eq!(faults(&page), None);
    for hostile in ["<script>", "<b onclick=\"x\">", "<img src=x>", "</li>", "\u{1b}", "<b class=x>", ">"] {
        let broken = page.replacen("dir=\"auto\">words", &format!("dir=\"auto\">{hostile}"), 1);
        assert!(faults(&broken).is_some(), "{hostile}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn content_never_becomes_markup(
        any: String,
        parts in prop::collection::vec(
            prop::sample::select(vec![
                "<", ">", "\"", "'", "&", "&lt;", "</style>", "<script>alert(1)</script>", "<!--", "-->", "]]>", "</title>",
                "<img src=x onerror=alert(1)>", "\" onmouseover=\"alert(1)", "javascript:", "\u{0}", "\u{202e}", "\n", "é", "a",
                "{}", "%", "</code></pre>", "`",
            ]),
            0..12,
        ),
    ) {
        for text in [any, parts.concat()] {
            let page = page(&text, &body_of(&text));
            prop_assert_eq!(faults(&page), None);
        }
    }
}

#[test]
fn a_page_loads_nothing_and_runs_nothing() {
    let page = page("a.json", &body_of("words"));
    for loading in
        ["<script", " src=", "http://", "https://", "//", "@import", "<link", "<iframe", "<object", "data:"]
    {
        assert!(!page.contains(loading), "{loading}");
    }
    // The one reference is to the page's own shape of the hull.
    assert_eq!(page.matches("url(").count(), page.matches("url(#inside)").count());
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn what_a_section_is_called_by_is_there() {
    let page = page("a.json", &body_of("words"));
    let ids: Vec<&str> = page.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    for named in page.split("aria-labelledby=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
        assert_eq!(ids.iter().filter(|id| **id == named).count(), 1, "{named}");
    }
    assert!(page.contains("href=\"#fills\"") && ids.contains(&"fills"));
}

#[test]
fn a_page_of_a_long_session_stays_small() {
    // Texts that grow most by being escaped, in more messages and turns than are shown.
    let text = quote(&"\"'".repeat(400));
    let mut messages = Vec::new();
    for n in 0..2_500 {
        messages.push(format!(r#"{{"role":"user","content":{text}}}"#));
        messages.push(format!(
            r#"{{"role":"assistant","content":[{{"type":"tool_use","id":"t{n}","name":"Bash","input":{{"command":{text}}}}}]}}"#
        ));
        messages.push(format!(
            r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t{n}","content":{text}}}]}}"#
        ));
    }
    let body = format!(r#"{{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{}]}}"#, messages.join(","));
    let page = page("long.json", &body);
    assert!(page.len() < LARGEST, "{} bytes of {}", page.len(), body.len());
    assert_eq!(faults(&page), None);
    assert!(page.contains("smaller turns"));
}

#[test]
fn a_name_from_a_document_is_cut() {
    let body = body_of(&"<long>".repeat(200_000));
    let page = page("long.json", &body);
    assert!(page.len() < LARGEST / 10, "{} bytes of {}", page.len(), body.len());
    assert_eq!(faults(&page), None);
}

#[test]
fn everything_is_shown_or_summed() {
    let turns: Vec<String> = (0..300)
        .map(|n| {
            format!(r#"{{"role":"user","content":"Turn {n}"}},{{"role":"assistant","content":"{}"}}"#, "w ".repeat(n))
        })
        .collect();
    let page = page("t.json", &format!(r#"{{"model":"gpt-4o","max_tokens":9,"messages":[{}]}}"#, turns.join(",")));
    let shown = page.matches("<details").count();
    let summed: usize = page
        .split("class=\"skipped\">")
        .skip(1)
        .filter_map(|rest| rest.split(' ').next()?.parse::<usize>().ok())
        .sum();
    assert_eq!(shown + summed, 300);
    assert!(page.contains("Turn 0<") && page.contains("Turn 299<"), "the first and the last are shown");
}

#[test]
fn a_small_page() {
    let body = r#"{"model":"gpt-4o","max_tokens":9,"messages":[{"role":"system","content":"Be brief."},
        {"role":"user","content":"Is <b> allowed?"},{"role":"assistant","content":"No."}]}"#;
    let page = page("~/chats/a & b.json", body);
    let from = page.find("<section class=\"card\" aria-labelledby=\"compaction\">").unwrap();
    let shown = page[from..].split("</main>").next().unwrap();
    insta::assert_snapshot!(shown, @r#"
    <section class="card" aria-labelledby="compaction">
    <h2 id="compaction">What a compaction would do</h2>
    <p>Nothing: not enough messages to compact.</p>
    <pre class="command" tabindex="0" aria-label="Commands"><code>plimsoll compact ~/chats/a &amp; b.json --dry-run</code>
    <code>plimsoll compact ~/chats/a &amp; b.json --in-place</code></pre>
    </section>
    <section class="card" aria-labelledby="turns">
    <h2 id="turns">Turn by turn</h2>
    <p class="note">A turn is what somebody typed and all that followed. Open one for its messages.</p>
    <details class="turn"><summary><span class="where">#0</span><span class="words" dir="auto"><i>before anybody typed</i></span><span class="amount"><span class="n">7</span> <span class="share">30 %</span></span><span class="bar" aria-hidden="true"><span style="width:43.75%"></span></span></summary>
    <ol class="moments">
    <li class="k-text"><span class="where">#0</span><span class="kind">operator <i>·</i> text</span><span class="amount"><span class="n">7</span> <span class="share">100 %</span></span><span class="words" dir="auto">Be brief.</span></li>
    </ol></details>
    <details class="turn"><summary><span class="where">#1</span><span class="words" dir="auto">Is &lt;b&gt; allowed?</span><span class="amount"><span class="n">16</span> <span class="share">70 %</span></span><span class="bar" aria-hidden="true"><span style="width:100%"></span></span></summary>
    <ol class="moments">
    <li class="k-text"><span class="where">#1</span><span class="kind">user <i>·</i> text</span><span class="amount"><span class="n">10</span> <span class="share">63 %</span></span><span class="words" dir="auto">Is &lt;b&gt; allowed?</span></li>
    <li class="k-text"><span class="where">#2</span><span class="kind">model <i>·</i> text</span><span class="amount"><span class="n">6</span> <span class="share">38 %</span></span><span class="words" dir="auto">No.</span></li>
    </ol></details>
    </section>
    "#);
}
