//! With nothing to do, each side gets exactly what the other one said.

use proptest::prelude::*;

use super::scripted::{Client, OK, Scripted, ask, unchunk, write};

/// A body as no serialiser would leave it: key order, white space, escapes, large numbers, duplicates, unknown fields.
const ODD: &str = "{ \"stream\":false,\n\t\"model\" : \"m\", \"zz\":1, \"a\":1e400, \"a\":123456789012345678901234567890123456\
    7890,\"e\":\"\\u00e9\\ud83d \\/\", \"x_unknown\":{\"b\":0.10,\"a\":-0}, \"messages\":[ {\"role\":\"user\" ,\"content\":\"é\"}],\
    \"n\":1.0 }\r\n ";

#[tokio::test]
async fn mechanism_57_an_odd_body_reaches_the_upstream_as_it_was_written() {
    let scripted = Scripted::start(vec![write(OK)]).await;
    let gateway = scripted.gateway().await;
    for path in ["/v1/messages?beta=true&x=%2F+", "/v1/chat/completions", "/v1/responses", "/v1/files?x"] {
        ask(gateway, &format!("POST {path} HTTP/1.1"), ODD.as_bytes()).await;
        let (head, body) = scripted.last();
        assert_eq!(body, ODD.as_bytes(), "{path}");
        assert!(head.starts_with(&format!("POST {path} HTTP/1.1\r\n")), "{head}");
    }
}

#[tokio::test]
async fn headers_keep_their_order_and_their_case() {
    let scripted = Scripted::start(vec![write(
        "HTTP/1.1 200 OK\r\nDate: then\r\nX-Request-ID: r1\r\nSet-Cookie: a\r\nset-cookie: b\r\ncontent-length: 0\r\n\r\n",
    )])
    .await;
    let gateway = scripted.gateway().await;
    let mut client = Client::connect(gateway).await;
    client
        .send(format!(
            "POST /v1/messages HTTP/1.1\r\nX-Api-Key: k\r\nHost: {gateway}\r\nanthropic-Beta: a,b\r\nX-STAINLESS-OS: Linux\r\n\
             Accept-Encoding: gzip, br\r\nConnection: close\r\ncontent-Length: 2\r\n\r\n{{}}"
        ))
        .await;
    let answer = String::from_utf8(client.rest().await).unwrap();
    let upstream = scripted.address;
    assert_eq!(
        scripted.last().0,
        format!(
            "POST /v1/messages HTTP/1.1\r\nX-Api-Key: k\r\nHost: {upstream}\r\nanthropic-Beta: a,b\r\nX-STAINLESS-OS: Linux\r\n\
             Accept-Encoding: gzip, br\r\ncontent-Length: 2\r\n\r\n"
        )
    );
    assert_eq!(
        answer.replace("connection: close\r\n", ""),
        "HTTP/1.1 200 OK\r\nDate: then\r\nX-Request-ID: r1\r\nSet-Cookie: a\r\nset-cookie: b\r\ncontent-length: 0\r\n\r\n"
    );
}

#[tokio::test]
async fn mechanism_65_error_bodies_and_their_headers_are_not_reworded() {
    for (status, body) in [
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 1 maximum"}}"#,
        ),
        (413, r#"{"error":{"message":"Request too large … tokens per minute (TPM)","code":"rate_limit_exceeded"}}"#),
        (429, "Too many requests"),
        (529, r#"{ "type":"error", "error":{"type":"overloaded_error","message":"Overloaded"} }"#),
    ] {
        let said =
            format!("HTTP/1.1 {status} Odd Words\r\nretry-after: 7\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        let scripted = Scripted::start(vec![write(&said)]).await;
        let answer = ask(scripted.gateway().await, "POST /v1/messages HTTP/1.1", b"{}").await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
        assert!(answer.contains("retry-after: 7\r\n") && answer.ends_with(&format!("\r\n\r\n{body}")), "{answer}");
        // Nobody asked for a second try.
        assert_eq!(scripted.requests.lock().unwrap().len(), 1);
    }
}

#[tokio::test]
async fn connections_are_kept_on_both_sides() {
    let scripted = Scripted::start(vec![write(OK)]).await;
    let mut client = Client::connect(scripted.gateway().await).await;
    for _ in 0..5 {
        client.send("POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\n{}").await;
        client.until("\r\n\r\nok").await;
    }
    assert_eq!((scripted.requests.lock().unwrap().len(), *scripted.connections.lock().unwrap()), (5, 1));
}

#[tokio::test]
async fn a_client_that_waits_to_be_asked_for_its_body_is_asked() {
    let scripted = Scripted::start(vec![write(OK)]).await;
    let mut client = Client::connect(scripted.gateway().await).await;
    client
        .send("POST /v1/messages HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n")
        .await;
    client.until("HTTP/1.1 100 Continue\r\n\r\n").await;
    client.send("{}").await;
    client.until("\r\n\r\nok").await;
    assert!(!scripted.last().0.contains("expect"));
}

#[tokio::test]
async fn other_methods_and_paths_pass_too() {
    let scripted = Scripted::start(vec![write("HTTP/1.1 204 No Content\r\netag: x\r\n\r\n")]).await;
    let gateway = scripted.gateway().await;
    for head in
        ["DELETE /v1/responses/r_1 HTTP/1.1", "GET /v1/models/a%2Fb?after=%20 HTTP/1.1", "PATCH /any HTTP/1.1"]
    {
        let answer = ask(gateway, head, b"").await;
        assert!(answer.starts_with("HTTP/1.1 204 ") && answer.contains("etag: x"), "{answer}");
        assert!(scripted.last().0.starts_with(&format!("{head}\r\n")), "{}", scripted.last().0);
        assert!(!scripted.last().0.contains("content-length"), "{}", scripted.last().0);
    }
}

#[tokio::test]
async fn an_answer_to_head_keeps_its_length() {
    let scripted = Scripted::start(vec![write("HTTP/1.1 200 OK\r\ncontent-length: 77\r\n\r\n")]).await;
    let answer = ask(scripted.gateway().await, "HEAD /v1/models HTTP/1.1", b"").await;
    assert!(answer.contains("content-length: 77\r\n") && answer.ends_with("\r\n\r\n"), "{answer}");
}

#[tokio::test]
async fn http_2_is_spoken_to_clients_that_begin_with_it() {
    use http_body_util::{BodyExt as _, Full};
    let scripted = Scripted::start(vec![write(OK)]).await;
    let gateway = scripted.gateway().await;
    let stream = hyper_util::rt::TokioIo::new(tokio::net::TcpStream::connect(gateway).await.unwrap());
    let executor = hyper_util::rt::TokioExecutor::new();
    let (mut sender, connection) = hyper::client::conn::http2::handshake(executor, stream).await.unwrap();
    tokio::spawn(connection);
    let request = http::Request::post(format!("http://{gateway}/v1/messages?beta=true"))
        .body(Full::new(bytes::Bytes::from_static(ODD.as_bytes())))
        .unwrap();
    let answer = sender.send_request(request).await.unwrap();
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), "ok");
    let (head, body) = scripted.last();
    assert!(head.starts_with("POST /v1/messages?beta=true HTTP/1.1\r\n") && body == ODD.as_bytes(), "{head}");
}

/// How an upstream marks the length of its body.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Framing {
    Length,
    Chunks,
    Close,
}

fn pieces(bytes: &[u8], cuts: &[usize]) -> Vec<Vec<u8>> {
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).chain([0, bytes.len()]).collect();
    cuts.sort_unstable();
    cuts.windows(2).map(|pair| bytes[pair[0]..pair[1]].to_vec()).filter(|piece| !piece.is_empty()).collect()
}

fn chunked(pieces: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for piece in pieces {
        bytes.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
        bytes.extend_from_slice(piece);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"0\r\n\r\n");
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn any_bytes_pass_both_ways_however_they_are_cut(
        request in proptest::collection::vec(any::<u8>(), 1..4000),
        answer in proptest::collection::vec(any::<u8>(), 0..4000),
        cuts in proptest::collection::vec(any::<usize>(), 0..6),
        chunks in any::<bool>(),
        watched in any::<bool>(),
        framing in prop_oneof![Just(Framing::Length), Just(Framing::Chunks), Just(Framing::Close)],
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let parts = pieces(&answer, &cuts);
            let head = match framing {
                Framing::Length => format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", answer.len()),
                Framing::Chunks => "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_owned(),
                Framing::Close => "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n".to_owned(),
            };
            let mut script = vec![write(head)];
            match framing {
                Framing::Chunks => script.push(write(chunked(&parts))),
                _ => script.extend(parts.iter().map(write)),
            }
            if framing == Framing::Close {
                script.push(super::scripted::Step::Close);
            }
            let scripted = Scripted::start(script).await;
            let mut client = Client::connect(scripted.gateway().await).await;
            let path = if watched { "/v1/chat/completions" } else { "/v1/files" };
            let mark = if chunks { "transfer-encoding: chunked".to_owned() } else { format!("content-length: {}", request.len()) };
            client.send(format!("POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{mark}\r\n\r\n")).await;
            let parts = pieces(&request, &cuts);
            if chunks {
                client.send(chunked(&parts)).await;
            } else {
                for part in parts {
                    client.send(part).await;
                }
            }
            let got = client.rest().await;
            let end = got.windows(4).position(|window| window == b"\r\n\r\n").unwrap() + 4;
            let head = String::from_utf8_lossy(&got[..end]).into_owned();
            let body = if head.contains("transfer-encoding: chunked") { unchunk(&got[end..]) } else { got[end..].to_vec() };
            assert_eq!(body, answer);
            assert_eq!(scripted.last().1, request);
        });
    }
}
