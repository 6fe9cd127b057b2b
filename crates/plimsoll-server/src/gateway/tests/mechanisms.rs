//! What was reported of comparable gateways, each where conversations are kept: at the socket, by its mechanism.

use plimsoll::wire::Format;
use serde_json::Value;

use super::kept::{MESSAGES, body, keep, kept, messages, metric, options, said, talk, with_result};
use super::scripted::{Client, OK, Scripted, Step, ask, serve, write};
use plimsoll_store::Store;

/// A text as no serialiser would write it.
const TEXT: &str = r"caf\u00e9 \ud83d\ude00 lone \ud83d \/ é";
/// Values that no serialiser keeps: duplicates, large numbers, floats that end in zero, unknown fields.
const ODD: &str =
    r#""n" : 1e400,"n":1234567890123456789012345678901234567890, "x_unknown":{"b":0.10 ,"a":-0, "c":1.0}"#;

/// How each format is asked, and how a conversation of so many turns is written down in it, oddly.
fn odd(format: Format, turns: usize) -> (&'static str, String, Vec<String>) {
    let text = TEXT;
    let words = |n: usize| format!("{text} part {n} {}", "has words of no great weight. ".repeat(50));
    let mut all = Vec::new();
    for n in 0..turns {
        if format == Format::OpenaiResponses {
            all.push(format!(
                    r#"{{ "type":"message","role":"user" , "content":[ {{"text":"go on {n} {text}","type":"input_text"}} ]}}"#
                ));
            all.push(format!(
                    "{{\"role\":\"assistant\",\n\"type\":\"message\", \"content\":[{{\"type\":\"output_text\",\"text\":\"{}\"}}] }}",
                    words(n)
                ));
        } else {
            all.push(format!(r#"{{ "content" : "go on {n} {text}",{ODD}, "role":"user" }}"#));
            all.push(format!("{{\"role\":\"assistant\",\n\t\"content\" :\"{}\", {ODD}}}", words(n)));
        }
    }
    all.push(match format {
        Format::OpenaiResponses => {
            format!(
                r#"{{"role":"user","content":[{{"type":"input_text","text":"and now {text}"}}] ,"type":"message"}}"#
            )
        }
        _ => format!(r#"{{"role":"user" ,{ODD},"content":"and now {text}"}}"#),
    });
    let (head, list) = match format {
        Format::Anthropic => ("POST /v1/messages HTTP/1.1", "messages"),
        Format::OpenaiChat => ("POST /v1/chat/completions HTTP/1.1", "messages"),
        _ => ("POST /v1/responses HTTP/1.1", "input"),
    };
    let joined = all.join(" ,\r\n");
    let whole = format!(
        "{{ {ODD},\"stream\" :false, \"{list}\" : [ {joined} ]\n,\"model\":\"m\",\"e\":\"{text}\", {ODD} }}\n "
    );
    (head, whole, all)
}

const FORMATS: [Format; 3] = [Format::Anthropic, Format::OpenaiChat, Format::OpenaiResponses];

#[tokio::test]
async fn mechanism_57_an_odd_body_that_is_understood_and_left_alone_leaves_as_it_came() {
    let scripted = Scripted::start(vec![write(OK)]).await;
    let gateway = kept(&scripted).await;
    for format in FORMATS {
        for turns in [0, 1, 3] {
            let (head, whole, _) = odd(format, turns);
            let answer = ask(gateway, head, whole.as_bytes()).await;
            assert_eq!(String::from_utf8(scripted.last().1).unwrap(), whole, "{format}");
            assert_eq!(said(&answer), None, "{format}");
        }
    }
}

#[tokio::test]
async fn mechanism_57_only_what_is_summarised_changes_once_something_is() {
    let scripted = Scripted::start(vec![write(OK)]).await;
    let gateway = kept(&scripted).await;
    for format in FORMATS {
        let (head, whole, all) = odd(format, 24);
        let answer = ask(gateway, head, whole.as_bytes()).await;
        assert!(said(&answer).unwrap_or_default().contains("epoch="), "{format} {answer}");
        let sent = String::from_utf8(scripted.last().1).unwrap();
        assert!(sent.len() < whole.len() / 2, "{format}");
        // What stands around the messages is as it was, from the first byte to the last.
        let (before, after) = (whole.split_once(" [ ").unwrap().0, whole.rsplit_once("]\n").unwrap().1);
        assert!(sent.starts_with(before) && sent.ends_with(after), "{format} {sent}");
        // And so is every message that stays, to what stands between them.
        let kept = all.iter().rev().take_while(|message| sent.contains(message.as_str())).count();
        assert!((2..all.len()).contains(&kept), "{format}: {kept} of {}", all.len());
        let tail = all[all.len() - kept..].join(" ,\r\n");
        assert!(sent.contains(&tail), "{format} {sent}");
    }
}

#[tokio::test]
async fn mechanism_57_only_a_capped_text_changes_once_one_is_capped() {
    let scripted = Scripted::start(vec![write(OK)]).await;
    let gateway = kept(&scripted).await;
    let whole = with_result(1000).replace("\"model\":", &format!(" {ODD},\n\"model\" : "));
    let answer = ask(gateway, MESSAGES, whole.as_bytes()).await;
    assert!(said(&answer).unwrap_or_default().contains("capped=1"), "{answer}");
    let sent = String::from_utf8(scripted.last().1).unwrap();
    let (before, rest) = whole.split_once("\"line 0 of many").unwrap();
    let after = rest.rsplit_once("</b>\"").unwrap().1;
    assert!(sent.starts_with(before) && sent.ends_with(after), "{sent}");
}

/// A stream with a tool's input in pieces, one of them inside a character, with an escape and a large number.
fn tool_stream() -> Vec<Vec<u8>> {
    let event = |name: &str, data: &str| format!("event: {name}\ndata: {data}\n\n").into_bytes();
    let mut whole = vec![
        event(
            "message_start",
            r#"{"type":"message_start","message":{"model":"m","usage":{"input_tokens":9,"output_tokens":1}}}"#,
        ),
        event(
            "content_block_start",
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t1","name":"Read","input":{}}}"#,
        ),
    ];
    for piece in [r#"{\"path\":"#, r#"\"/srv/é\", \"n\": 12345678901234567890"#, r"}"] {
        whole.push(event(
            "content_block_delta",
            &format!(
                r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"input_json_delta","partial_json":"{piece}"}}}}"#
            ),
        ));
    }
    whole.push(event("content_block_stop", r#"{"type":"content_block_stop","index":0}"#));
    whole.push(event("message_stop", r#"{"type":"message_stop"}"#));
    let whole = whole.concat();
    // Every place at which a frame may break, the inside of the character among them.
    let inside = whole.windows(2).position(|pair| pair == "é".as_bytes()).unwrap() + 1;
    let (first, last) = whole.split_at(inside);
    first.chunks(97).chain(last.chunks(61)).map(<[u8]>::to_vec).collect()
}

#[tokio::test]
async fn mechanism_58_and_59_a_tools_input_streams_through_in_pieces_while_it_is_read() {
    let pieces = tool_stream();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: ";
    let length: usize = pieces.iter().map(Vec::len).sum();
    let mut script = vec![write(format!("{head}{length}\r\n\r\n"))];
    for piece in &pieces {
        script.extend([write(piece), Step::Ask]);
    }
    let mut scripted = Scripted::start(script).await;
    let mut client = Client::connect(kept(&scripted).await).await;
    let sent = body(2);
    client
        .send(format!(
            "{MESSAGES}\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{sent}",
            sent.len()
        ))
        .await;
    let mut got = Vec::new();
    for piece in &pieces {
        let ask = scripted.asks.recv().await.unwrap();
        // Each piece is there before the next one is written.
        let all = async {
            use tokio::io::AsyncReadExt as _;
            while !got.ends_with(piece) {
                assert_ne!(client.0.read_buf(&mut got).await.unwrap(), 0);
            }
        };
        tokio::time::timeout(std::time::Duration::from_secs(10), all).await.expect("a piece was held back");
        ask.send(()).unwrap();
    }
    got.extend(client.rest().await);
    assert!(got.ends_with(&pieces.concat()), "{}", String::from_utf8_lossy(&got));
}

#[tokio::test]
async fn mechanism_59_the_input_of_a_tool_is_the_same_after_a_compaction() {
    let scripted = Scripted::start(vec![write(OK)]).await;
    let gateway = kept(&scripted).await;
    let input = r#"{ "path":"/srv/file_N.txt","n":12345678901234567890123 ,"deep":{"a":[1.0, {}]},"e":"\u00e9\/" }"#;
    let plain = r#"{"path":"/srv/file_N.txt"}"#;
    let mut whole = body(30);
    for n in 1..=30 {
        let n = n.to_string();
        // Every third tool takes nothing.
        let input = if n.ends_with('4') { "{}".to_owned() } else { input.replace('N', &n) };
        whole = whole.replace(&format!("\"input\":{}", plain.replace('N', &n)), &format!("\"input\":{input}"));
    }
    let answer = ask(gateway, MESSAGES, whole.as_bytes()).await;
    assert!(said(&answer).unwrap_or_default().contains("epoch="), "{answer}");
    let sent = String::from_utf8(scripted.last().1).unwrap();
    let mut kept = 0;
    for n in 1..=30 {
        if sent.contains(&format!("\"type\":\"tool_use\",\"id\":\"t{n}\"")) {
            let input = if n % 10 == 4 { "{}".to_owned() } else { input.replace('N', &n.to_string()) };
            assert!(sent.contains(&format!(r#""id":"t{n}","name":"Read","input":{input}}}"#)), "{sent}");
            kept += 1;
        }
    }
    assert!((1..=30).contains(&kept), "{kept} {sent}");
}

#[tokio::test]
async fn mechanism_60_marks_for_the_cache_stay_where_they_were() {
    const MARK: &str = r#""cache_control":{"type":"ephemeral","ttl":"1h"}"#;
    let scripted = Scripted::start(vec![write(OK)]).await;
    let gateway = kept(&scripted).await;
    for (turns, changed) in [(2, false), (16, true), (17, true)] {
        let whole = body(turns).replace(
            r#""messages":["#,
            &format!(
                r#""system":[{{"type":"text","text":"You help.",{MARK}}}],"tools":[{{"name":"recall","input_schema":{{}},{MARK}}}],"messages":["#
            ),
        );
        // One on the last question, one on the result before it: they move with every request.
        let question = format!(r#"{{"role":"user","content":"And now step {}."}}"#, turns + 1);
        let marked =
            format!(r#"{{"role":"user","content":[{{"type":"text","text":"And now step {}.",{MARK}}}]}}"#, turns + 1);
        let whole = whole.replace(&question, &marked);
        let whole = whole.replace(
            &format!(r#""type":"tool_result","tool_use_id":"t{turns}","#),
            &format!(r#""type":"tool_result","tool_use_id":"t{turns}",{MARK},"#),
        );
        assert_eq!(whole.matches("cache_control").count(), 4);
        let answer = ask(gateway, MESSAGES, whole.as_bytes()).await;
        assert_eq!(said(&answer).unwrap_or_default().contains("epoch="), changed, "{answer}");
        let sent = String::from_utf8(scripted.last().1).unwrap();
        assert_eq!(sent.matches(MARK).count(), 4, "{sent}");
        let value: Value = serde_json::from_str(&sent).unwrap();
        let ephemeral = |value: &Value| value["cache_control"]["ttl"] == "1h";
        assert!(ephemeral(&value["system"][0]) && ephemeral(&value["tools"][0]), "{sent}");
        let messages = value["messages"].as_array().unwrap();
        assert!(ephemeral(&messages.last().unwrap()["content"][0]), "{sent}");
        assert!(ephemeral(&messages[messages.len() - 3]["content"][0]), "{sent}");
    }
}

#[tokio::test]
async fn mechanism_61_conversations_that_begin_alike_are_not_taken_for_one_another() {
    let scripted = Scripted::start(vec![write(OK)]).await;
    let gateway = kept(&scripted).await;
    // No name, the same first ten turns; then each has its own way, and requests come in turns.
    let of = |who: &str, turns: usize| {
        let whole = talk(turns);
        whole
            .replace("Go on with part 1", &format!("Go on with part 1{}", " as ever".repeat(200)))
            .replace("with part 11,", &format!("with part 11 as {who} wants,"))
            .replace("And now the end.", &format!("And now the end for {who}."))
    };
    for turns in [9, 12, 14, 16, 18] {
        for (who, other) in [("Alice", "Bob"), ("Bob", "Alice")] {
            let answer = ask(gateway, MESSAGES, of(who, turns).as_bytes()).await;
            let sent = String::from_utf8(scripted.last().1).unwrap();
            assert!(sent.contains(&format!("the end for {who}")) && !sent.contains(other), "{turns} {who} {sent}");
            assert_eq!(said(&answer).is_some_and(|said| said.contains("epoch=")), turns > 9, "{turns} {answer}");
        }
    }
    assert!(metric(gateway, "plimsoll_prefix_total{prefix=\"broken\"}").await < 0.5);
}

#[tokio::test]
async fn mechanism_61_names_that_begin_alike_are_different_names() {
    let scripted = Scripted::start(vec![write(OK)]).await;
    let gateway = kept(&scripted).await;
    // Longer than any file name, of characters that no file name has; only the last one tells them apart.
    let name = |last: char| format!("{}/../:{last}", "session ".repeat(60));
    let mut ids = Vec::new();
    for last in ['a', 'b'] {
        let head = format!("{MESSAGES}\r\nx-plimsoll-session: {}", name(last));
        let whole = with_result(1000).replace("needle", &format!("needle-of-{last}"));
        ask(gateway, &head, whole.as_bytes()).await;
        let sent = messages(&scripted.last().1);
        let text = sent[2]["content"][0]["content"].as_str().unwrap().to_owned();
        let id = text.split("recall id ").nth(1).unwrap().split([']', ';', ' ']).next().unwrap().to_owned();
        ids.push((last, id));
    }
    assert_ne!(ids[0].1, ids[1].1);
    for (last, id) in ids {
        let found = ask(gateway, &format!("GET /plimsoll/recall/{id}?grep=needle HTTP/1.1"), b"").await;
        assert!(found.contains(&format!("needle-of-{last}")), "{found}");
    }
}

#[tokio::test]
async fn mechanism_62_the_very_request_that_is_to_be_compacted_is_not_too_large_for_it() {
    let scripted = Scripted::start(vec![write(OK)]).await;
    let gateway = kept(&scripted).await;
    let whole = talk(1200);
    assert!(whole.len() > 2 << 20);
    let answer = ask(gateway, MESSAGES, whole.as_bytes()).await;
    assert!(said(&answer).unwrap_or_default().contains("epoch="), "{answer}");
    assert!(scripted.last().1.len() < 40_000);
}

#[tokio::test]
async fn mechanism_63_no_page_is_let_near_what_is_stored() {
    let scripted = Scripted::start(vec![write(OK)]).await;
    let store = Store::memory();
    let mut options = options(&scripted, keep(&store));
    options.keys = crate::gateway::Keys::parse("alice:alice-secret-of-the-gateway").unwrap();
    let keyed = serve(options).await;
    let open = kept(&scripted).await;
    let of = |gateway| async move {
        let mut answers = Vec::new();
        for path in ["/mcp", "/plimsoll/recall/s1/c1"] {
            for method in ["OPTIONS", "GET", "POST"] {
                for origin in ["", "\r\norigin: https://evil.example\r\naccess-control-request-method: GET"] {
                    let head = format!("{method} {path} HTTP/1.1\r\ncontent-type: application/json{origin}");
                    answers.push((head.clone(), !origin.is_empty(), ask(gateway, &head, b"").await));
                }
            }
        }
        answers
    };
    for (head, from_a_page, answer) in of(keyed).await.into_iter().chain(of(open).await) {
        assert!(!answer.to_ascii_lowercase().contains("access-control-"), "{head}: {answer}");
        assert!(!answer.starts_with("HTTP/1.1 2"), "{head}: {answer}");
        if from_a_page {
            assert!(answer.starts_with("HTTP/1.1 40"), "{head}: {answer}");
        }
    }
    assert!(
        of(keyed).await.iter().all(|(_, page, answer)| *page
            || answer.starts_with("HTTP/1.1 401 ")
            || answer.starts_with("HTTP/1.1 40"))
    );
}

#[tokio::test]
async fn mechanism_64_what_the_providers_cache_saves_is_not_claimed() {
    let usage = r#""usage":{"input_tokens":3,"cache_read_input_tokens":2400,"cache_creation_input_tokens":50,"output_tokens":1}"#;
    let whole = format!(r#"{{"type":"message","content":[],"stop_reason":"end_turn",{usage}}}"#);
    let whole = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{whole}",
        whole.len()
    );
    let scripted = Scripted::start(vec![write(whole)]).await;
    let gateway = kept(&scripted).await;
    for turns in [1, 2, 3] {
        ask(gateway, MESSAGES, body(turns).as_bytes()).await;
        assert!(metric(gateway, "plimsoll_tokens_saved_net").await.abs() < 0.1);
    }
    // What an epoch saves is less than what it left out: what caches have to read anew is taken off.
    let answer = ask(gateway, MESSAGES, talk(14).as_bytes()).await;
    let told = said(&answer).unwrap();
    let (before, after) = told.strip_prefix("tokens=").unwrap().split(';').next().unwrap().split_once("->").unwrap();
    let left_out = before.parse::<f64>().unwrap() - after.parse::<f64>().unwrap();
    assert!(metric(gateway, "plimsoll_tokens_saved_net").await < left_out, "{told}");
}
