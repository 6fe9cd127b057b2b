//! What `doctor` says of upstreams, at the socket.

use plimsoll_engine::summarise::http_date;

use super::scripted::{Scripted, Step, write};
use crate::gateway::{Examined, ShownKey, Upstream, examine};

fn key(key: Option<&str>) -> ShownKey {
    ShownKey { variable: "OPENAI_API_KEY", key: key.map(str::to_owned) }
}

/// What is said of an upstream that answers so, one answer a request.
async fn told(answers: &[(u16, &str, &str)], path: &str, shown: Option<&str>) -> (String, Examined, Scripted) {
    let scripts = answers.iter().map(|(status, more, body)| -> Vec<Step> {
        let length = body.len();
        vec![write(format!("HTTP/1.1 {status} X\r\n{more}content-length: {length}\r\n\r\n{body}"))]
    });
    let scripted = Scripted::start_each(scripts.collect()).await;
    let upstream = Upstream::new("openai", &format!("http://{}{path}", scripted.address)).unwrap();
    let examined = examine(&[(upstream, key(shown))], false).await.unwrap();
    let lines = examined.checks.iter().map(|check| {
        let fix = check.fix.as_deref().map(|fix| format!(" → {fix}")).unwrap_or_default();
        format!("{:?} {}{fix}\n", check.level, check.says.replace(&scripted.address.to_string(), "HOST"))
    });
    let told: String = lines.collect();
    assert!(!told.contains("canary"), "{told}");
    (told, examined, scripted)
}

#[tokio::test]
async fn an_upstream_that_answers_is_well_and_unknown_windows_are_told() {
    let models = r#"{"data":[{"id":"gpt-4o"},{"id":"our-own","max_model_len":32768},{"id":"other.gguf","meta":{"n_ctx_train":8192}}]}"#;
    let date = "date: Mon, 30 Nov 2026 09:00:00 GMT\r\n";
    let (told, examined, scripted) = told(&[(200, date, models)], "/v1", Some("sk-canary")).await;
    insta::assert_snapshot!(told, @r"
    Ok openai=http://HOST/v1 answers, and has 3 models
    Warn the window of our-own is not known here, so 128.0K tokens are assumed; its server says 32768 → --window 32768
    Warn the window of other.gguf is not known, so 128.0K tokens are assumed; it was trained with 8192 → give --window TOKENS: what its server was started with
    ");
    assert_eq!(examined.date, http_date("Mon, 30 Nov 2026 09:00:00 GMT"));
    let head = scripted.last().0;
    assert!(head.starts_with("GET /v1/models ") && head.contains("Bearer sk-canary"), "{head}");
}

#[tokio::test]
async fn a_key_that_is_refused_is_told_from_one_that_is_not_there() {
    let (refused, ..) = told(&[(401, "", "{}")], "", Some("sk-canary")).await;
    insta::assert_snapshot!(refused, @"Fail openai=http://HOST refuses the key in OPENAI_API_KEY (401) → set OPENAI_API_KEY to a key that it takes");
    let (missing, ..) = told(&[(401, "", "{}")], "", None).await;
    insta::assert_snapshot!(missing, @r"
    Ok openai=http://HOST answers
    Note openai=http://HOST wants a key, and OPENAI_API_KEY is not set: clients have to bring one
    ");
}

#[tokio::test]
async fn a_wrong_path_is_told_in_every_form() {
    let (twice, _, scripted) = told(&[(200, "", "{}")], "/v1/v1", None).await;
    assert!(twice.starts_with("Fail") && twice.contains("leave /v1 out"), "{twice}");
    assert!(scripted.requests.lock().unwrap().is_empty(), "that is seen without asking");
    let (route, ..) = told(&[(200, "", "{}")], "/v1/chat/completions", None).await;
    assert!(route.contains("leave /chat/completions out"), "{route}");
    let (nowhere, ..) = told(&[(404, "", "no"), (404, "", "no")], "/api", None).await;
    assert!(nowhere.starts_with("Fail") && nowhere.contains("before /v1/models"), "{nowhere}");
    let (page, ..) = told(&[(200, "", "<!doctype html>")], "", None).await;
    assert!(page.starts_with("Fail") && page.contains("web page"), "{page}");
    let (moved, ..) = told(&[(308, "location: https://h.test/v1?k=canary\r\n", "")], "", None).await;
    assert!(moved.contains("sends requests on to https://h.test/v1 →"), "{moved}");
}

#[tokio::test]
async fn a_server_without_a_list_of_models_is_asked_at_its_route_for_nothing() {
    let (told, _, scripted) = told(&[(404, "", "no"), (400, "", "{}")], "", None).await;
    assert!(told.starts_with("Ok "), "{told}");
    let (head, body) = scripted.last();
    assert!(head.starts_with("POST /v1/chat/completions ") && body == b"{}", "{head}");
}

#[tokio::test]
async fn nobody_there_and_plain_http_behind_https_are_told_apart() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let says = |examined: Examined| format!("{:?}", examined.checks);
    let upstream = Upstream::new("openai", &format!("http://{free}")).unwrap();
    let gone = says(examine(&[(upstream, key(None))], false).await.unwrap());
    assert!(gone.contains("cannot be reached: ") && gone.contains("start it"), "{gone}");
    // A server that answers whatever comes in plain HTTP.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        std::io::Write::write_all(&mut stream, b"HTTP/1.1 400 No\r\n\r\n").unwrap();
        std::thread::sleep(std::time::Duration::from_millis(200));
    });
    let upstream = Upstream::new("openai", &format!("https://{address}")).unwrap();
    let plain = says(examine(&[(upstream, key(None))], false).await.unwrap());
    assert!(plain.contains("securely") && plain.contains("say http://"), "{plain}");
}
