//! What happens when a side is wrong, slow, large, or not there.

use std::time::Duration;

use plimsoll::Bytes;

use super::scripted::{Client, OK, Scripted, Step, ask, serve, write};
use crate::gateway::{Options, Upstream};

#[tokio::test]
async fn an_upstream_that_is_not_there_is_named_with_the_next_step() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let upstreams = ["anthropic", "openai", "gemini"]
        .map(|name| Upstream::new(name, &format!("http://{address}")).unwrap())
        .to_vec();
    let gateway = serve(Options::default().with_upstreams(upstreams).unwrap()).await;
    let body = |answer: String| {
        assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
        answer.split_once("\r\n\r\n").unwrap().1.to_owned()
    };
    let anthropic = body(ask(gateway, "POST /v1/messages HTTP/1.1", b"{}").await);
    insta::assert_snapshot!(anthropic, @r#"{"type":"error","error":{"type":"api_error","message":"plimsoll: the upstream anthropic cannot be reached (Connection refused (os error 111)); is it running, and is --upstream anthropic=URL right?"}}"#);
    let openai = body(ask(gateway, "POST /v1/responses HTTP/1.1", b"{}").await);
    assert!(openai.starts_with(r#"{"error":{"message":"plimsoll: the upstream openai"#), "{openai}");
    let gemini = body(ask(gateway, "POST /v1beta/models/g:generateContent HTTP/1.1", b"{}").await);
    assert!(gemini.contains(r#""code":502"#) && gemini.contains(r#""status":"UNAVAILABLE""#), "{gemini}");
}

#[tokio::test]
async fn an_upstream_that_says_nothing_is_not_waited_for_forever() {
    let scripted = Scripted::start(vec![Step::Ask]).await;
    let mut options = scripted.options();
    options.upstream_silence = Duration::from_millis(150);
    let answer = ask(serve(options).await, "POST /v1/messages HTTP/1.1", b"{}").await;
    assert!(answer.starts_with("HTTP/1.1 504 ") && answer.contains("has not answered for 0.15 s"), "{answer}");
}

#[tokio::test]
async fn an_upstream_that_falls_silent_is_cut_off() {
    let script = vec![write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n"), Step::Ask];
    let scripted = Scripted::start(script).await;
    let mut options = scripted.options();
    options.upstream_silence = Duration::from_millis(150);
    let answer = ask(serve(options).await, "POST /v1/messages HTTP/1.1", b"{}").await;
    assert!(answer.ends_with("3\r\nabc\r\n"), "{answer}");
}

#[tokio::test]
async fn an_upstream_that_closes_without_a_word_is_said_to_have() {
    let scripted = Scripted::start(vec![Step::Close]).await;
    let answer = ask(scripted.gateway().await, "POST /v1/messages HTTP/1.1", b"{}").await;
    assert!(answer.starts_with("HTTP/1.1 502 ") && answer.contains("before it answered"), "{answer}");
}

#[tokio::test]
async fn a_body_over_the_limit_gets_a_plain_413_and_one_under_it_passes() {
    let scripted = Scripted::start(vec![write(OK)]).await;
    let mut options = scripted.options();
    options.max_body = Bytes(100_000);
    let gateway = serve(options).await;
    let answer = ask(gateway, "POST /v1/messages HTTP/1.1", &vec![b' '; 100_000]).await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    let answer = ask(gateway, "POST /v1/messages HTTP/1.1", &vec![b' '; 9 << 20]).await;
    assert!(answer.starts_with("HTTP/1.1 413 ") && answer.contains("request_too_large"), "{answer}");
    assert!(answer.contains("larger than 0.09") && answer.contains("--max-body"), "{answer}");
    // In chunks, nobody has said how large it will be.
    let mut client = Client::connect(gateway).await;
    client.send("POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n").await;
    for _ in 0..3 {
        client.send(format!("c350\r\n{}\r\n", " ".repeat(50_000))).await;
    }
    client.send("0\r\n\r\n").await;
    client.until("HTTP/1.1 413 ").await;
    assert_eq!(scripted.requests.lock().unwrap().len(), 1);
    // What is not read whole has no limit.
    let answer = ask(gateway, "POST /v1/files HTTP/1.1", &vec![b' '; 1 << 20]).await;
    assert!(answer.starts_with("HTTP/1.1 200 ") && scripted.last().1.len() == 1 << 20, "{answer}");
}

#[tokio::test]
async fn mechanism_62_the_largest_body_that_a_provider_takes_is_under_the_limit() {
    let scripted = Scripted::start(vec![write(OK)]).await;
    let answer = ask(scripted.gateway().await, "POST /v1/messages HTTP/1.1", &vec![b'x'; 33 << 20]).await;
    assert!(answer.starts_with("HTTP/1.1 200 ") && scripted.last().1.len() == 33 << 20, "{answer}");
}

#[tokio::test]
async fn a_client_that_sends_its_headers_drop_by_drop_is_given_up() {
    let scripted = Scripted::start(vec![write(OK)]).await;
    let mut options = scripted.options();
    options.header_timeout = Duration::from_millis(300);
    let mut client = Client::connect(serve(options).await).await;
    let began = std::time::Instant::now();
    for byte in "POST /v1/messages HTTP/1.1\r\nhost: localhost\r\n".bytes().cycle() {
        use tokio::io::AsyncWriteExt as _;
        if client.0.write_all(&[byte]).await.is_err() || began.elapsed() > Duration::from_secs(5) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(began.elapsed() < Duration::from_secs(3), "it was let go on for {:?}", began.elapsed());
}

#[tokio::test]
async fn a_client_that_stops_inside_its_body_is_told() {
    let scripted = Scripted::start(vec![write(OK)]).await;
    let mut options = scripted.options();
    options.client_silence = Duration::from_millis(150);
    let mut client = Client::connect(serve(options).await).await;
    client.send("POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-length: 10\r\n\r\n{").await;
    let answer = String::from_utf8(client.rest().await).unwrap();
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
}

#[tokio::test]
async fn headers_have_a_limit() {
    let scripted = Scripted::start(vec![write(OK)]).await;
    let gateway = scripted.gateway().await;
    for size in [70 << 10, 1 << 20] {
        let mut client = Client::connect(gateway).await;
        let head = format!("POST /v1/messages HTTP/1.1\r\nhost: localhost\r\nx-long: {}\r\n\r\n", "x".repeat(size));
        let (mut reader, mut writer) = tokio::io::split(client.0);
        let sent = tokio::spawn(async move {
            // It may be refused before it has been read.
            let _ = tokio::io::AsyncWriteExt::write_all(&mut writer, head.as_bytes()).await;
        });
        let mut answer = Vec::new();
        let _ =
            tokio::time::timeout(Duration::from_secs(2), tokio::io::AsyncReadExt::read_buf(&mut reader, &mut answer))
                .await;
        let answer = String::from_utf8_lossy(&answer).into_owned();
        // A very long one is cut off while it is being sent; the connection may be gone before the answer is read.
        assert!(answer.starts_with("HTTP/1.1 431 ") || (size > 256 << 10 && answer.is_empty()), "{size}: {answer}");
        sent.abort();
        client = Client::connect(gateway).await;
        client.send("GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
        client.until("ok\n").await;
    }
    assert!(scripted.requests.lock().unwrap().is_empty());
}

#[tokio::test]
async fn connections_beyond_the_limit_wait_for_a_place() {
    let scripted = Scripted::start(vec![write(OK)]).await;
    let mut options = scripted.options();
    options.max_connections = 2;
    let gateway = serve(options).await;
    let first = Client::connect(gateway).await;
    let _second = Client::connect(gateway).await;
    let mut third = Client::connect(gateway).await;
    third.send("GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    let mut bytes = [0; 1];
    let early = tokio::time::timeout(Duration::from_millis(200), third.0.peek(&mut bytes)).await;
    assert!(early.is_err(), "a third was served");
    drop(first);
    third.until("ok\n").await;
}
