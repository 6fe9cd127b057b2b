//! What nobody means well with: messages that two readers could understand differently, and answers that are odd.

use std::io::Write as _;
use std::time::Duration;

use super::kept::{MESSAGES, body, kept, said};
use super::scripted::{Client, OK, Scripted, Step, ask, serve, write};

/// What the gateway says to bytes on a connection of their own, and what its upstream got.
async fn told(gateway: std::net::SocketAddr, scripted: &Scripted, bytes: &str) -> (String, Vec<(String, Vec<u8>)>) {
    let before = scripted.requests.lock().unwrap().len();
    let mut client = Client::connect(gateway).await;
    client.send(bytes).await;
    let mut answer = Vec::new();
    let all = async {
        use tokio::io::AsyncReadExt as _;
        while client.0.read_buf(&mut answer).await.is_ok_and(|read| read > 0) {}
    };
    let _ = tokio::time::timeout(Duration::from_millis(250), all).await;
    let requests = scripted.requests.lock().unwrap();
    (String::from_utf8_lossy(&answer).into_owned(), requests[before..].to_vec())
}

#[tokio::test]
async fn a_message_whose_end_is_not_certain_is_refused_or_read_in_one_way() {
    let scripted = Scripted::start(vec![write(OK)]).await;
    let gateway = scripted.gateway().await;
    let smuggled = "POST /v1/smuggled HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n";
    for path in ["/v1/messages", "/v1/files"] {
        for (marks, payload) in [
            ("content-length: 4\r\ntransfer-encoding: chunked", format!("0\r\n\r\n{smuggled}")),
            ("transfer-encoding: chunked\r\ncontent-length: 4", format!("0\r\n\r\n{smuggled}")),
            ("content-length: 2\r\ncontent-length: 60", format!("{{}}{smuggled}")),
            ("content-length: 2, 60", format!("{{}}{smuggled}")),
            ("content-length: +2", format!("{{}}{smuggled}")),
            ("content-length: 0x2", format!("{{}}{smuggled}")),
            ("content-length: -2", format!("{{}}{smuggled}")),
            ("content-length:", format!("{{}}{smuggled}")),
            ("content-length : 2", format!("{{}}{smuggled}")),
            ("transfer-encoding: chunked, identity", format!("0\r\n\r\n{smuggled}")),
            ("transfer-encoding: xchunked", format!("0\r\n\r\n{smuggled}")),
            ("transfer-encoding: identity\r\ncontent-length: 2", format!("{{}}{smuggled}")),
            ("transfer-encoding : chunked", format!("0\r\n\r\n{smuggled}")),
            ("transfer-encoding:\u{b}chunked", format!("0\r\n\r\n{smuggled}")),
            ("x: y\r\n transfer-encoding: chunked", format!("0\r\n\r\n{smuggled}")),
            ("x: y\rtransfer-encoding: chunked", format!("0\r\n\r\n{smuggled}")),
            ("transfer-encoding: chunked", format!("2\n{{}}\n0\n\n{smuggled}")),
            ("transfer-encoding: chunked", format!("-1\r\n{{}}\r\n0\r\n\r\n{smuggled}")),
            ("transfer-encoding: chunked", format!("10000000000000002\r\n{{}}\r\n0\r\n\r\n{smuggled}")),
        ] {
            let bytes = format!("POST {path} HTTP/1.1\r\nhost: localhost\r\n{marks}\r\n\r\n{payload}");
            let (answer, requests) = told(gateway, &scripted, &bytes).await;
            let heads: Vec<&str> = requests.iter().map(|(head, _)| head.as_str()).collect();
            // Whatever came, the upstream gets at most one mark of the end, and it is the right one.
            for head in &heads {
                let head = head.to_ascii_lowercase();
                let marks =
                    head.matches("\r\ncontent-length").count() + head.matches("\r\ntransfer-encoding").count();
                assert!(marks <= 1, "{marks} {head}");
            }
            // Of a length and chunks the chunks count, and the connection ends (RFC 9112, section 6.1).
            assert!(heads.iter().all(|head| !head.contains("smuggled")), "{marks:?}: {answer} {heads:?}");
            let both = marks.contains("content-length: 4");
            assert_eq!(answer.matches("HTTP/1.1 200 OK").count(), usize::from(both), "{marks:?}: {answer} {heads:?}");
        }
    }
}

#[tokio::test]
async fn an_answer_with_two_marks_of_its_end_is_passed_on_with_one() {
    for marks in
        ["content-length: 3\r\ntransfer-encoding: chunked", "transfer-encoding: chunked\r\ncontent-length: 3"]
    {
        for body in ["8\r\nabcdefgh\r\n0\r\n\r\n", "2\r\nab\r\n0\r\n\r\n"] {
            let scripted = Scripted::start(vec![write(format!("HTTP/1.1 200 OK\r\n{marks}\r\n\r\n{body}"))]).await;
            let gateway = scripted.gateway().await;
            for path in ["/v1/messages", "/v1/files"] {
                let answer = ask(gateway, &format!("POST {path} HTTP/1.1"), b"{}").await;
                let (head, got) = answer.split_once("\r\n\r\n").unwrap();
                assert!(!head.to_ascii_lowercase().contains("content-length"), "{marks}: {answer}");
                assert_eq!(got, body, "{marks}: {answer}");
            }
        }
    }
    // With two lengths it has none.
    let scripted =
        Scripted::start(vec![write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 5\r\n\r\nabcde")]).await;
    let answer = ask(scripted.gateway().await, "POST /v1/messages HTTP/1.1", b"{}").await;
    assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
}

#[tokio::test]
async fn a_target_is_a_path_and_names_no_other_server() {
    let scripted = Scripted::start(vec![write(OK)]).await;
    let gateway = scripted.gateway().await;
    for (target, path) in [
        ("http://localhost/v1/models?x=%20", "/v1/models?x=%20"),
        ("/v1//models/../x", "/v1//models/../x"),
        ("/v1/models?a=http://evil.example/", "/v1/models?a=http://evil.example/"),
        ("//evil.example/v1/models", "//evil.example/v1/models"),
    ] {
        let answer = ask(gateway, &format!("GET {target} HTTP/1.1"), b"").await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{target}: {answer}");
        let head = scripted.last().0;
        assert!(head.starts_with(&format!("GET {path} HTTP/1.1\r\n")), "{head}");
        assert!(head.contains(&format!("host: {}\r\n", scripted.address)), "{head}");
    }
    let before = scripted.requests.lock().unwrap().len();
    for (request, status) in [
        ("GET http://evil.example/v1/models HTTP/1.1", "403"),
        ("CONNECT evil.example:443 HTTP/1.1", "405"),
        ("GET evil.example HTTP/1.1", "40"),
        ("GET /v1/models\u{1} HTTP/1.1", "400"),
    ] {
        let answer = ask(gateway, request, b"").await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{request}: {answer}");
    }
    // For the server itself, all of it: nobody's to answer.
    let answer = ask(gateway, "OPTIONS * HTTP/1.1", b"").await;
    assert!(answer.starts_with("HTTP/1.1 ") && !answer.starts_with("HTTP/1.1 5"), "{answer}");
    assert!(scripted.requests.lock().unwrap().len() <= before + 1);
}

#[tokio::test]
async fn headers_that_a_connection_names_stay_behind_and_credentials_among_them_are_not_smuggled_on() {
    let scripted = Scripted::start(vec![write(OK)]).await;
    let gateway = scripted.gateway().await;
    let head = "POST /v1/messages HTTP/1.1\r\nhost: localhost\r\nconnection: close, X-Secret\r\nConnection: x-other\r\nx-secret: 1\r\nX-OTHER: 2\r\nproxy-authorization: Basic x\r\nte: trailers\r\ntrailer: x-t\r\nx-stays: 3\r\ncontent-length: 2\r\n\r\n{}";
    let (answer, _) = told(gateway, &scripted, head).await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    let seen = scripted.last().0.to_ascii_lowercase();
    for gone in ["x-secret", "x-other", "proxy-authorization", "\r\nte:", "connection:"] {
        assert!(!seen.contains(gone), "{gone}: {seen}");
    }
    assert!(seen.contains("x-stays: 3\r\n") && seen.contains("content-length: 2\r\n"), "{seen}");
    // What a message needs is not taken from it by naming it.
    let head = "POST /v1/messages HTTP/1.1\r\nhost: localhost\r\nconnection: close, content-length, host\r\ncontent-length: 2\r\n\r\n{}";
    let (answer, requests) = told(gateway, &scripted, head).await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    let (seen, got) = requests.last().unwrap();
    assert!(got == b"{}" && seen.to_ascii_lowercase().contains(&format!("host: {}", scripted.address)), "{seen}");
}

#[tokio::test]
async fn names_from_a_client_end_in_no_header_and_no_path() {
    let scripted = Scripted::start(vec![write(OK)]).await;
    let gateway = kept(&scripted).await;
    for name in ["../../etc/passwd", "a%0d%0aset-cookie: x", "é\u{200b}", "\"; epoch=1", "x\tset-cookie: y"] {
        let head = format!("{MESSAGES}\r\nx-plimsoll-session: {name}");
        let answer = ask(gateway, &head, body(14).as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{name}: {answer}");
        let told = said(&answer).unwrap_or_default();
        assert_eq!((told.matches("epoch=").count(), told.contains("set-cookie:")), (1, false), "{name}: {told}");
        assert!(!told.contains("..") && told.is_ascii(), "{name}: {told}");
        assert!(!answer.to_ascii_lowercase().contains("\r\nset-cookie"), "{answer}");
    }
}

#[tokio::test]
async fn a_chunks_extensions_and_trailers_are_bounded_and_go_no_further() {
    let scripted = Scripted::start(vec![write(OK)]).await;
    let gateway = scripted.gateway().await;
    let start = "HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n";
    for path in ["/v1/messages", "/v1/files"] {
        let small = format!("POST {path} {start}2;name=value;x=\"y\"\r\n{{}}\r\n0\r\nx-trailer: 1\r\n\r\n");
        let mut client = Client::connect(gateway).await;
        client.send(small).await;
        let answer = String::from_utf8(client.rest().await).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 "), "{path}: {answer}");
        assert_eq!(scripted.last().1, b"{}", "{path}");
        assert!(!scripted.last().0.contains("name=value"), "{path}");
    }
    let before = scripted.requests.lock().unwrap().len();
    for payload in [
        format!("2;{}\r\n{{}}\r\n0\r\n\r\n", "x".repeat(1 << 20)),
        "1;xxxxxxxxxxxxxxxxxxxxxxxx\r\n \r\n".repeat(40_000) + "0\r\n\r\n",
        format!("2\r\n{{}}\r\n0\r\nx: {}\r\n\r\n", "x".repeat(1 << 20)),
        "2\r\n{}\r\n0\r\n".to_owned() + &"x: y\r\n".repeat(50_000) + "\r\n",
    ] {
        let client = Client::connect(gateway).await;
        let (mut reader, mut writer) = tokio::io::split(client.0);
        let head = format!("POST /v1/messages {start}");
        let sent = tokio::spawn(async move {
            use tokio::io::AsyncWriteExt as _;
            let _ = writer.write_all(head.as_bytes()).await;
            let _ = writer.write_all(payload.as_bytes()).await;
            writer
        });
        let mut answer = Vec::new();
        let all = tokio::io::AsyncReadExt::read_to_end(&mut reader, &mut answer);
        let ended = tokio::time::timeout(Duration::from_secs(10), all).await;
        let answer = String::from_utf8_lossy(&answer).into_owned();
        assert!(ended.is_ok() && !answer.starts_with("HTTP/1.1 2"), "{answer}");
        sent.abort();
    }
    assert_eq!(scripted.requests.lock().unwrap().len(), before);
}

#[tokio::test]
async fn a_client_of_http_1_0_gets_an_answer_that_it_can_read() {
    let scripted = Scripted::start(vec![write(
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
    )])
    .await;
    let gateway = scripted.gateway().await;
    for head in ["", "Host: localhost\r\n", "Connection: keep-alive\r\n"] {
        let (answer, requests) =
            told(gateway, &scripted, &format!("POST /v1/messages HTTP/1.0\r\n{head}content-length: 2\r\n\r\n{{}}"))
                .await;
        assert!(answer.starts_with("HTTP/1.0 200 ") || answer.starts_with("HTTP/1.1 200 "), "{answer}");
        assert!(!answer.contains("chunked") && answer.ends_with("\r\n\r\nabcde"), "{answer}");
        assert!(requests[0].0.starts_with("POST /v1/messages HTTP/1.1\r\n"), "{requests:?}");
        assert!(requests[0].0.to_ascii_lowercase().contains("host: "), "{requests:?}");
    }
}

#[tokio::test]
async fn requests_that_are_sent_before_the_answers_are_answered_in_order() {
    let scripts = (0..4)
        .map(|n| {
            vec![
                Step::Wait(Duration::from_millis(40 - 10 * n)),
                write(format!("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\na{n}")),
            ]
        })
        .collect();
    let scripted = Scripted::start_each(scripts).await;
    let gateway = scripted.gateway().await;
    let one =
        |n: usize| format!("POST /v1/messages?n={n} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\n{{}}");
    let mut client = Client::connect(gateway).await;
    client.send((0..4).map(one).collect::<String>()).await;
    let answers = client.until("\r\n\r\na3").await;
    let order: Vec<usize> = (0..4).map(|n| answers.find(&format!("\r\n\r\na{n}")).unwrap()).collect();
    assert!(order.is_sorted(), "{answers}");
    let requests = scripted.requests.lock().unwrap();
    assert!(requests.iter().enumerate().all(|(n, (head, _))| head.contains(&format!("?n={n} "))), "{requests:?}");
}

#[tokio::test]
async fn interim_answers_of_an_upstream_do_not_stand_for_its_answer() {
    for interim in [
        "HTTP/1.1 100 Continue\r\n\r\n",
        "HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n",
        "HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n",
    ] {
        let scripted = Scripted::start(vec![write(interim), Step::Wait(Duration::from_millis(30)), write(OK)]).await;
        let answer = ask(scripted.gateway().await, "POST /v1/messages HTTP/1.1", b"{}").await;
        assert!(answer.contains("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\nok"), "{interim}: {answer}");
    }
    // Unless it is no interim answer: nobody asked for another protocol.
    let scripted = Scripted::start(vec![
        write("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n"),
        Step::Close,
    ])
    .await;
    let answer = ask(scripted.gateway().await, "POST /v1/messages HTTP/1.1", b"{}").await;
    assert!(answer.starts_with("HTTP/1.1 502 ") || answer.is_empty(), "{answer}");
}

#[tokio::test]
async fn an_answer_that_comes_before_the_request_has_ended_reaches_the_client() {
    // The upstream refuses a large body by its head alone, and closes.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                let mut head = [0; 512];
                let _ = stream.read(&mut head).await;
                let _ = stream
                    .write_all(b"HTTP/1.1 413 Too Large\r\ncontent-length: 5\r\nconnection: close\r\n\r\nlarge")
                    .await;
                // It is read to its end, so that nothing is reset.
                let mut rest = Vec::new();
                let _ = tokio::time::timeout(Duration::from_secs(2), stream.read_to_end(&mut rest)).await;
            });
        }
    });
    let upstream = crate::gateway::Upstream::new("openai", &format!("http://{address}")).unwrap();
    let options = crate::gateway::Options::default().with_upstreams(vec![upstream]).unwrap();
    let gateway = serve(options).await;
    for path in ["/v1/messages", "/v1/files"] {
        let mut client = Client::connect(gateway).await;
        let size = 3 << 20;
        client
            .send(format!(
                "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {size}\r\n\r\n"
            ))
            .await;
        // What passes through is answered while it is being sent; what is read whole, afterwards.
        client.send(vec![b' '; if path == "/v1/files" { size / 2 } else { size }]).await;
        let answer = client.until("\r\n\r\nlarge").await;
        assert!(answer.starts_with("HTTP/1.1 413 "), "{path}: {answer}");
    }
}

#[tokio::test]
async fn a_client_that_ends_its_side_has_gone_away() {
    // It cannot be told from one that crashed, and a model that answers nobody costs.
    let mut scripted = Scripted::start(vec![Step::Ask, write(OK)]).await;
    let gateway = scripted.gateway().await;
    let mut client = Client::connect(gateway).await;
    client.send("POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\n{}").await;
    let _waiting = scripted.asks.recv().await.unwrap();
    tokio::io::AsyncWriteExt::shutdown(&mut client.0).await.unwrap();
    let gone = tokio::time::timeout(Duration::from_secs(5), scripted.gone.recv()).await;
    assert_eq!(gone, Ok(Some(())), "the upstream goes on");
}

#[tokio::test]
async fn a_body_that_unfolds_to_more_than_the_limit_passes_unread() {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    for _ in 0..100 {
        gzip.write_all(&vec![b' '; 1 << 20]).unwrap();
    }
    let gzip = gzip.finish().unwrap();
    // In the other coding: one block that says that a byte stands 128 KiB long, many times.
    let mut zstd = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58];
    for _ in 0..800 {
        let block: u32 = (128 << 10) << 3 | 1 << 1;
        zstd.extend_from_slice(&block.to_le_bytes()[..3]);
        zstd.push(b' ');
    }
    zstd.extend_from_slice(&[1, 0, 0]);
    let scripted = Scripted::start(vec![write(OK)]).await;
    let gateway = kept(&scripted).await;
    for (coding, bomb) in [("gzip", gzip), ("zstd", zstd)] {
        let head = format!("{MESSAGES}\r\ncontent-encoding: {coding}");
        let answer = ask(gateway, &head, &bomb).await;
        assert_eq!(said(&answer), Some("bypass; reason=too-large-decoded"), "{coding}");
        assert_eq!(scripted.last().1, bomb, "{coding}");
    }
}
