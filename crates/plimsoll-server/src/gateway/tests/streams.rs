//! Streams: nothing is held back, nothing is made up, and each end notices when the other one goes.

use std::time::Duration;

use super::scripted::{Client, Scripted, Step, ask, serve, write};

const STREAM: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
const CLOSED: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
const REQUEST: &str = "POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-length: 15\r\n\r\n{\"stream\":true}";

fn chunk(text: impl AsRef<[u8]>) -> Step {
    let text = text.as_ref();
    let mut bytes = format!("{:x}\r\n", text.len()).into_bytes();
    bytes.extend_from_slice(text);
    bytes.extend_from_slice(b"\r\n");
    Step::Write(bytes)
}

#[tokio::test]
async fn mechanism_58_every_frame_is_there_before_the_next_one_is_sent() {
    // The head alone, an event, a ping, and half a character each come while the upstream waits.
    let script = vec![
        write(STREAM),
        Step::Ask,
        chunk("event: a\ndata: 1\n\n"),
        Step::Ask,
        chunk(": ping\n\n"),
        Step::Ask,
        chunk(b"data: \xc3"),
        Step::Ask,
        chunk(b"\xa9\n\n"),
        write("0\r\n\r\n"),
    ];
    let mut scripted = Scripted::start(script).await;
    let mut client = Client::connect(scripted.gateway().await).await;
    client.send(REQUEST).await;
    for seen in ["\r\n\r\n", "data: 1\n\n", ": ping\n\n", "data: "] {
        let ask = scripted.asks.recv().await.unwrap();
        client.until(seen).await;
        ask.send(()).unwrap();
    }
    client.until("0\r\n\r\n").await;
}

#[tokio::test]
async fn a_stream_cut_upstream_is_cut_for_the_client() {
    let event = "event: a\ndata: {\"text\":\"whole\"}\n\n";
    let half = "event: b\ndata: {\"te";
    for (name, script) in [
        ("chunks, closed", vec![write(STREAM), chunk(event), chunk(half), Step::Close]),
        (
            "chunks, reset",
            vec![write(STREAM), chunk(event), chunk(half), Step::Wait(Duration::from_millis(50)), Step::Reset],
        ),
        ("inside a chunk", vec![write(STREAM), chunk(event), write(format!("40\r\n{half}")), Step::Close]),
        ("nothing but the end", vec![write(CLOSED), write(event), write(half), Step::Close]),
        (
            "a length",
            vec![write("HTTP/1.1 200 OK\r\ncontent-length: 999\r\n\r\n"), write(event), write(half), Step::Close],
        ),
    ] {
        let scripted = Scripted::start(script).await;
        let mut client = Client::connect(scripted.gateway().await).await;
        client.send(REQUEST).await;
        let got = String::from_utf8(client.rest().await).unwrap();
        // Everything that came, nothing that did not, and no mark of an end.
        assert!(got.contains("whole") && got.contains("{\"te"), "{name}: {got}");
        assert!(!got.ends_with("0\r\n\r\n") && !got.contains("plimsoll"), "{name}: {got}");
    }
}

#[tokio::test]
async fn a_stream_that_ends_by_closing_ends_well_after_a_whole_event() {
    for end in ["data: {}\n\n", "data: [DONE]\n"] {
        let scripted = Scripted::start(vec![write(CLOSED), write(end), Step::Close]).await;
        let answer = ask(scripted.gateway().await, "POST /v1/messages HTTP/1.1", b"{}").await;
        assert!(answer.ends_with("0\r\n\r\n"), "{answer}");
    }
}

#[tokio::test]
async fn a_client_that_goes_cancels_its_request() {
    for script in [
        // Before the answer, and inside it.
        vec![Step::Ask, write(STREAM)],
        vec![write(STREAM), chunk("data: 1\n\n"), Step::Ask],
    ] {
        let mut scripted = Scripted::start(script).await;
        let mut client = Client::connect(scripted.gateway().await).await;
        client.send(REQUEST).await;
        let _waiting = scripted.asks.recv().await.unwrap();
        drop(client);
        let gone = tokio::time::timeout(Duration::from_secs(5), scripted.gone.recv()).await;
        assert_eq!(gone, Ok(Some(())), "the upstream goes on");
    }
}

#[tokio::test]
async fn a_slow_client_slows_the_upstream_and_is_given_up() {
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n";
    let scripted = Scripted::start(vec![write(head), Step::Pour]).await;
    let mut options = scripted.options();
    options.client_silence = Duration::from_millis(800);
    let mut client = Client::connect(serve(options).await).await;
    client.send(REQUEST).await;
    tokio::time::sleep(Duration::from_millis(400)).await;
    let first = *scripted.poured.lock().unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    let second = *scripted.poured.lock().unwrap();
    // What buffers of the system hold, and no more.
    assert!(second < 64 << 20 && second - first < 8 << 20, "{first} {second}");
    tokio::time::sleep(Duration::from_millis(800)).await;
    // What it reads now ends.
    client.rest().await;
}

#[tokio::test]
async fn an_upgrade_is_tunnelled() {
    let agreed = "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-accept: x\r\n\r\n";
    let scripted = Scripted::start(vec![write(agreed), write("\x00hello")]).await;
    let mut client = Client::connect(scripted.gateway().await).await;
    client
        .send("GET /v1/realtime?model=m HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: k\r\n\r\n")
        .await;
    let head = client.until("\x00hello").await;
    assert!(head.starts_with("HTTP/1.1 101 ") && head.contains("sec-websocket-accept: x"), "{head}");
    let (request, _) = scripted.last();
    assert!(request.to_ascii_lowercase().contains("upgrade: websocket\r\n"), "{request}");
    assert!(request.to_ascii_lowercase().contains("connection: upgrade\r\n"), "{request}");
    // And bytes go the other way: the script reads them as one more message.
    client.send("GET /inside HTTP/1.1\r\n\r\n").await;
    client.until("\x00hello").await;
    assert!(scripted.last().0.starts_with("GET /inside "));
}

#[tokio::test]
async fn a_refused_upgrade_is_an_answer_like_any_other() {
    let scripted = Scripted::start(vec![write("HTTP/1.1 426 Upgrade Required\r\ncontent-length: 2\r\n\r\nno")]).await;
    let mut client = Client::connect(scripted.gateway().await).await;
    client.send("GET /v1/x HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n").await;
    let answer = client.until("\r\n\r\nno").await;
    assert!(answer.starts_with("HTTP/1.1 426 "), "{answer}");
}

#[tokio::test]
async fn what_is_under_way_ends_before_the_gateway_does() {
    let mut scripted =
        Scripted::start(vec![write(STREAM), chunk("data: 1\n\n"), Step::Ask, write("0\r\n\r\n")]).await;
    let gateway = crate::gateway::Gateway::bind("127.0.0.1:0".parse().unwrap(), scripted.options()).await.unwrap();
    let address = gateway.address();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let served = tokio::spawn(gateway.serve(async {
        let _ = stopped.await;
    }));
    let mut client = Client::connect(address).await;
    client.send(REQUEST).await;
    let ask = scripted.asks.recv().await.unwrap();
    stop.send(()).unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(tokio::net::TcpStream::connect(address).await.is_err(), "somebody new was let in");
    ask.send(()).unwrap();
    assert!(String::from_utf8(client.rest().await).unwrap().ends_with("0\r\n\r\n"));
    tokio::time::timeout(Duration::from_secs(5), served).await.unwrap().unwrap();
}
