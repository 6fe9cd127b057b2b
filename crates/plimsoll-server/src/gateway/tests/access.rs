//! Who may use the gateway, at the socket; and that nothing it writes holds what a client sent.

use std::sync::{Arc, Mutex};

use super::scripted::{Client, OK, Scripted, Step, ask, serve, write};
use crate::ServerError;
use crate::gateway::{Gateway, Keys, Options};

const KEY: &str = "gateway-secret-canary-1";

#[tokio::test]
async fn another_machine_needs_a_key_or_the_operators_word() {
    let bind = |options: Options| Gateway::bind("0.0.0.0:0".parse().unwrap(), options);
    let error = bind(Options::default()).await.unwrap_err();
    assert!(matches!(error, ServerError::Open { .. }) && error.to_string().contains("PLIMSOLL_KEY"), "{error}");
    let keyed = Options { keys: Keys::parse(KEY).unwrap(), ..Options::default() };
    assert!(bind(keyed).await.is_ok());
    let insecure = Options { insecure: true, ..Options::default() };
    assert!(bind(insecure).await.is_ok());
}

#[tokio::test]
async fn a_taken_port_is_named_with_the_next_step() {
    let first = Gateway::bind("127.0.0.1:0".parse().unwrap(), Options::default()).await.unwrap();
    let error = Gateway::bind(first.address(), Options::default()).await.unwrap_err().to_string();
    assert!(error.contains(&first.address().to_string()) && error.contains("--listen"), "{error}");
}

#[tokio::test]
async fn a_web_page_is_refused() {
    let scripted = Scripted::start(vec![write(OK)]).await;
    let gateway = scripted.gateway().await;
    for (head, refused) in [
        ("host: evil.example", true),
        ("host: localhost\r\norigin: https://evil.example", true),
        ("host: localhost\r\norigin: null", true),
        ("host: 127.0.0.1:80\r\norigin: http://localhost:3000", false),
    ] {
        for path in ["POST /v1/messages", "GET /metrics", "GET /health"] {
            let mut client = Client::connect(gateway).await;
            client.send(format!("{path} HTTP/1.1\r\n{head}\r\nconnection: close\r\n\r\n")).await;
            let answer = String::from_utf8(client.rest().await).unwrap();
            assert_eq!(answer.starts_with("HTTP/1.1 403 "), refused, "{path} {head}: {answer}");
            assert!(!answer.to_ascii_lowercase().contains("access-control"), "{answer}");
        }
    }
}

#[tokio::test]
async fn a_key_is_asked_for_and_goes_no_further() {
    let scripted = Scripted::start(vec![write(OK)]).await;
    let mut options = scripted.options();
    options.keys = Keys::parse(&format!("team:{KEY}")).unwrap();
    let gateway = serve(options).await;
    for (head, status) in [
        ("x-other: 1".to_owned(), 401),
        ("authorization: Bearer sk-upstream".to_owned(), 401),
        ("x-plimsoll-key: gateway-secret-canary-2".to_owned(), 401),
        (format!("x-plimsoll-key: {KEY}\r\nauthorization: Bearer sk-upstream"), 200),
        (format!("authorization: Bearer {KEY}"), 200),
        (format!("x-api-key: {KEY}"), 200),
    ] {
        for path in ["POST /v1/messages", "GET /metrics"] {
            let answer = ask(gateway, &format!("{path} HTTP/1.1\r\n{head}"), b"").await;
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{path} {head}: {answer}");
        }
        let seen = scripted.requests.lock().unwrap().pop();
        assert_eq!(seen.is_some(), status == 200, "{head}");
        if let Some((request, _)) = seen {
            assert!(!request.contains(KEY), "{request}");
            assert_eq!(request.contains("sk-upstream"), head.contains("sk-upstream"), "{request}");
        }
    }
    // Whether it runs may be asked without a key.
    for path in ["GET /health", "GET /ready", "HEAD /", "HEAD /api/hello"] {
        let answer = ask(gateway, &format!("{path} HTTP/1.1"), b"").await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{path}: {answer}");
    }
}

#[tokio::test]
async fn nothing_that_a_client_sent_is_in_the_log_the_metrics_or_an_error() {
    const CANARY: &str = "CANARY-7f3a";
    let lines: Arc<Mutex<Vec<String>>> = Arc::default();
    let sink = Arc::clone(&lines);
    let head = format!(
        "POST /v1/messages?key={CANARY} HTTP/1.1\r\nauthorization: Bearer {CANARY}\r\nx-api-key: {CANARY}\r\ncookie: {CANARY}"
    );
    let body = format!("{{\"{CANARY}\":1}}");
    let mut said = String::new();
    // An answer, an answer that breaks off, none, and requests that are refused.
    for (script, keyed) in [
        (vec![write(OK)], false),
        (vec![write("HTTP/1.1 200 OK\r\n"), Step::Close], false),
        (vec![Step::Reset], false),
        (vec![], true),
    ] {
        let scripted = Scripted::start(script).await;
        let mut options = scripted.options();
        let sink = Arc::clone(&sink);
        options.log = Some(Arc::new(move |line| sink.lock().unwrap().push(line.to_owned())));
        if keyed {
            options.keys = Keys::parse(KEY).unwrap();
        }
        let gateway = serve(options).await;
        said += &ask(gateway, &head, body.as_bytes()).await;
        said += &ask(gateway, &head.replace("/v1/", &format!("/u/{}/", "x")), body.as_bytes()).await;
        said += &ask(gateway, &format!("GET /metrics HTTP/1.1\r\nx-plimsoll-key: {KEY}"), b"").await;
    }
    let lines = lines.lock().unwrap().join("\n");
    assert!(
        lines.lines().count() >= 3 && lines.contains(r#""route":"messages","upstream":"openai","status":200"#),
        "{lines}"
    );
    assert!(said.contains("plimsoll_requests_total{"), "{said}");
    for text in [&lines, &said] {
        assert!(!text.contains(CANARY) && !text.contains(KEY), "{text}");
    }
}
