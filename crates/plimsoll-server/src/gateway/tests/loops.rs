//! Loops: no client can make the gateway compact again and again.

use futures_util::future::join_all;

use super::kept::{MESSAGES, WINDOW, body, keep, kept, metric, options, said, talk};
use super::scripted::{Client, OK, Scripted, ask, serve, write};
use plimsoll_store::Store;

async fn summaries(gateway: std::net::SocketAddr) -> f64 {
    metric(gateway, "plimsoll_summaries_total").await
}

#[tokio::test]
async fn a_client_that_repeats_its_request_a_thousand_times_costs_one_summary() {
    let scripted = Scripted::start(vec![write(OK)]).await;
    let gateway = kept(&scripted).await;
    let whole = talk(14);
    let head = format!("{MESSAGES}\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n", whole.len());
    let mut clients = Vec::new();
    for _ in 0..4 {
        clients.push(Client::connect(gateway).await);
    }
    let mut epochs = std::collections::HashSet::new();
    for _ in 0..250 {
        // Four at once, from the first one on.
        let answers = join_all(clients.iter_mut().map(|client| async {
            client.send(&head).await;
            client.send(&whole).await;
            client.until("\r\n\r\nok").await
        }));
        for answer in answers.await {
            let told = said(&answer).and_then(|told| told.split("epoch=").nth(1));
            epochs.insert(told.unwrap_or_else(|| panic!("{answer}")).to_owned());
        }
    }
    let requests = scripted.requests.lock().unwrap().clone();
    assert_eq!(requests.len(), 1000);
    assert!(requests.iter().all(|(_, sent)| *sent == requests[0].1), "one of them differs");
    assert_eq!(epochs.len(), 1, "{epochs:?}");
    assert!((summaries(gateway).await - 1.0).abs() < 0.1);
}

#[tokio::test]
async fn what_stands_around_the_messages_may_change_every_time() {
    let scripted = Scripted::start(vec![write(OK)]).await;
    let gateway = kept(&scripted).await;
    for n in 0..100 {
        let whole = talk(14).replace(
            "\"max_tokens\":256",
            &format!(
                r#""max_tokens":{},"temperature":0.{n},"metadata":{{"user_id":"{n}"}},"system":"It is {n} o'clock.""#,
                256 + n
            ),
        );
        let answer = ask(gateway, MESSAGES, whole.as_bytes()).await;
        assert!(said(&answer).unwrap_or_default().contains("epoch="), "{answer}");
    }
    assert!((summaries(gateway).await - 1.0).abs() < 0.1, "{}", summaries(gateway).await);
}

#[tokio::test]
async fn a_client_whose_tools_alone_are_too_long_costs_no_summary() {
    let scripted = Scripted::start(vec![write(OK)]).await;
    let gateway = kept(&scripted).await;
    let tools = format!(r#""system":"{}","max_tokens":256"#, "Rules of great length. ".repeat(2_500));
    for n in 0..200 {
        let whole = body(n % 3).replace("\"max_tokens\":256", &tools);
        let answer = ask(gateway, MESSAGES, whole.as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        assert_eq!(scripted.last().1, whole.as_bytes());
        assert_eq!(said(&answer), Some("bypass; reason=infeasible"), "{answer}");
    }
    assert!(metric(gateway, "plimsoll_epochs_total").await < 0.5);
    assert!(summaries(gateway).await < 0.5);
    assert!(metric(gateway, "plimsoll_notes_total{reason=\"infeasible\"}").await > 0.5);
}

#[tokio::test]
async fn a_session_that_goes_on_past_its_threshold_is_not_summarised_with_every_request() {
    let scripted = Scripted::start(vec![write(OK)]).await;
    let gateway = kept(&scripted).await;
    for turns in 8..80 {
        // Each one goes on where the one before ended.
        let next = format!("Go on with part {}, please.", turns + 1);
        ask(gateway, MESSAGES, talk(turns).replace("And now the end.", &next).as_bytes()).await;
        assert!((scripted.last().1.len() as u64) < WINDOW * 5, "turn {turns}");
    }
    // A turn is about 600 tokens: an epoch has to buy several of them.
    let summaries = summaries(gateway).await;
    assert!((3.0..36.0).contains(&summaries), "{summaries} summaries in 72 turns");
}

/// One question, and so many calls with their results after it.
fn one_turn(calls: usize) -> String {
    let mut messages =
        vec![r#"{"role":"user","content":"Never touch /srv/archive. Look into every file."}"#.to_owned()];
    for n in 0..calls {
        messages.push(format!(
            r#"{{"role":"assistant","content":[{{"type":"tool_use","id":"t{n}","name":"Read","input":{{"path":"/srv/file_{n}.txt"}}}}]}}"#
        ));
        let line = format!("line of file {n} that says something of no great weight\\n");
        messages.push(format!(
            r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t{n}","content":"{}"}}]}}"#,
            line.repeat(40)
        ));
    }
    format!(r#"{{"model":"claude-sonnet-4-5","max_tokens":256,"messages":[{}]}}"#, messages.join(","))
}

#[tokio::test]
async fn a_session_of_one_long_turn_stays_inside_its_window() {
    let scripted = Scripted::start(vec![write(OK)]).await;
    // Nobody can recall: only a summary makes room.
    let gateway = serve(options(&scripted, keep(&Store::memory()))).await;
    for calls in 1..100 {
        let answer = ask(gateway, MESSAGES, one_turn(calls).as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        let sent = String::from_utf8(scripted.last().1).unwrap();
        assert!((sent.len() as u64) < WINDOW * 5, "{calls} calls: {} bytes", sent.len());
        assert!(sent.contains("Never touch /srv/archive"), "{calls} {sent}");
        for n in 0..calls {
            let (call, result) = (format!("\"id\":\"t{n}\""), format!("\"tool_use_id\":\"t{n}\""));
            assert_eq!(sent.contains(&call), sent.contains(&result), "{n} of {calls}: half a pair");
        }
        assert!(sent.contains(&format!("\"tool_use_id\":\"t{}\"", calls - 1)), "{calls}");
    }
    assert!(summaries(gateway).await < 40.0);
}

#[tokio::test]
async fn with_the_history_on_the_server_only_new_results_are_capped() {
    let scripted = Scripted::start(vec![write(OK)]).await;
    let gateway = kept(&scripted).await;
    let line = "a line of the result that says something of no great weight\\n";
    let items = |lines: usize, words: usize| {
        format!(
            r#"{{"model":"m","previous_response_id":"resp_1", "n":1e400,"input":[{{"type":"function_call_output","call_id":"c1","output":"{}"}},{{"role":"user","content":"{}"}}],"tools":[{{"type":"function","name":"recall"}}]}}"#,
            line.repeat(lines),
            "words ".repeat(words)
        )
    };
    for path in ["/v1/responses", "/v1/responses?x=1"] {
        let head = format!("POST {path} HTTP/1.1\r\nx-plimsoll-recall: always");
        // Far past the window, and nothing is compacted.
        let whole = items(1, 60_000);
        let answer = ask(gateway, &head, whole.as_bytes()).await;
        assert_eq!(scripted.last().1, whole.as_bytes());
        assert!(!answer.contains("epoch="), "{answer}");
        let whole = items(2_000, 100);
        let answer = ask(gateway, &head, whole.as_bytes()).await;
        assert!(!answer.contains("epoch="), "{answer}");
        let sent = String::from_utf8(scripted.last().1).unwrap();
        assert!(sent.len() < whole.len() / 4 && sent.contains("recall id"), "{sent}");
        let (before, _) = whole.split_once(line).unwrap();
        let (_, after) = whole.rsplit_once(line).unwrap();
        assert!(sent.starts_with(before) && sent.ends_with(after), "{sent}");
        // The same again is the same again.
        ask(gateway, &head, whole.as_bytes()).await;
        assert_eq!(scripted.last().1, sent.as_bytes());
    }
    assert!(summaries(gateway).await < 0.5);
}
