//! The client against servers that misbehave on purpose: each answers as a script says.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use plimsoll::id::{ArtifactId, Folder, Key, Record, SessionId, ToolCallId};

use super::{Access, Fault, S3Store, Unreached};
use crate::StoreError;
use crate::backend::{Backend as _, Created};

/// A request as a script sees it.
#[derive(Debug, Clone)]
struct Request {
    method: String,
    target: String,
    headers: HashMap<String, String>,
    body: Vec<u8>,
}

/// What a script answers.
enum Reply {
    Answer(u16, Vec<(&'static str, String)>, Vec<u8>),
    /// The connection ends without a word.
    HangUp,
    /// Nothing is said for a long time.
    Silence,
    /// What comes back is no HTTP.
    Garbage,
}

fn answer(status: u16, body: &str) -> Reply {
    Reply::Answer(status, vec![("content-type", "application/xml".to_owned())], body.as_bytes().to_vec())
}

fn refusal(status: u16, code: &str) -> Reply {
    answer(status, &format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>canary</Message></Error>"))
}

/// A server on this machine, and every request that it got.
struct Scripted {
    endpoint: String,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Scripted {
    fn new(script: impl Fn(usize, &Request) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (seen, script) = (Arc::clone(&requests), Arc::new(script));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (seen, script) = (Arc::clone(&seen), Arc::clone(&script));
                thread::spawn(move || serve(&stream, &seen, &*script));
            }
        });
        Self { endpoint, requests }
    }

    fn store(&self) -> S3Store {
        store(&[("AWS_ENDPOINT_URL", &self.endpoint)])
    }

    fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    fn count(&self, method: &str) -> usize {
        self.requests().iter().filter(|request| request.method == method).count()
    }
}

fn serve(stream: &TcpStream, seen: &Mutex<Vec<Request>>, script: &dyn Fn(usize, &Request) -> Reply) {
    let mut reader = BufReader::new(stream);
    let mut writer = stream;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        let mut words = line.split_whitespace().map(ToOwned::to_owned);
        let (Some(method), Some(target)) = (words.next(), words.next()) else { return };
        let mut headers = HashMap::new();
        loop {
            let mut header = String::new();
            reader.read_line(&mut header).unwrap();
            let Some((name, value)) = header.trim_end().split_once(':') else { break };
            headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
        let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let request = Request { method, target, headers, body };
        let number = {
            let mut seen = seen.lock().unwrap();
            seen.push(request.clone());
            seen.len()
        };
        match script(number, &request) {
            Reply::Answer(status, headers, body) => {
                write!(writer, "HTTP/1.1 {status} As Scripted\r\n").unwrap();
                for (name, value) in headers {
                    write!(writer, "{name}: {value}\r\n").unwrap();
                }
                write!(writer, "content-length: {}\r\n\r\n", body.len()).unwrap();
                if request.method != "HEAD" {
                    writer.write_all(&body).unwrap();
                }
            }
            Reply::HangUp => return,
            Reply::Silence => thread::sleep(Duration::from_secs(60)),
            Reply::Garbage => return writer.write_all(b"SSH-2.0-OpenSSH_9.9\r\n").unwrap(),
        }
    }
}

fn store(environment: &[(&str, &str)]) -> S3Store {
    let keys = [
        ("AWS_ACCESS_KEY_ID", "canary-id"),
        ("AWS_SECRET_ACCESS_KEY", "canary-secret"),
        ("AWS_SESSION_TOKEN", "canary-token"),
    ];
    let environment: HashMap<&str, &str> = keys.iter().chain(environment).copied().collect();
    let mut access = Access::from_env(|name| environment.get(name).map(OsString::from)).unwrap();
    access.patience.answer = Duration::from_millis(700);
    access.patience.connect = Duration::from_millis(700);
    access.patience.pause = Duration::from_millis(5);
    access.patience.give_up = Duration::from_secs(2);
    S3Store::new("s3://bucket/prefix".parse().unwrap(), &access).unwrap()
}

fn key(call: &str) -> Key {
    Record::Text(ArtifactId::new(&SessionId::new("s"), &ToolCallId::new(call))).key()
}

/// Takes the fault out of an error, and sees to it that nothing secret is in it.
#[track_caller]
fn fault(error: StoreError) -> Fault {
    let told = format!("{error} {error:?}");
    assert!(!told.contains("canary"), "{told}");
    match error {
        StoreError::Remote { fault, .. } => fault,
        other => panic!("{other:?}"),
    }
}

fn is_mark(request: &Request) -> bool {
    request.target.contains("plimsoll-store.txt")
}

/// A server that honours conditions, for the mark; what else is asked is up to the script.
fn honest(script: impl Fn(usize, &Request) -> Reply + Send + Sync + 'static) -> Scripted {
    Scripted::new(move |number, request| match request {
        request if is_mark(request) => refusal(412, "PreconditionFailed"),
        request => script(number, request),
    })
}

#[test]
fn a_server_that_ignores_conditions_is_refused_before_anything_is_written() {
    let server = Scripted::new(|_, _| Reply::Answer(200, vec![("etag", "\"x\"".to_owned())], Vec::new()));
    let error = server.store().create(&key("c"), &[b"content"]).unwrap_err();
    let text = error.to_string().replace(&server.endpoint, "http://server");
    assert!(matches!(fault(error), Fault::Unconditional { .. }));
    insta::assert_snapshot!(text, @"could not write to s3://bucket/prefix: http://server does not honour conditional writes (If-None-Match), so what others wrote could be overwritten; use a server that does (SeaweedFS does, and Amazon's S3 by its documentation), or a newer version of it");
    assert!(server.requests().iter().all(is_mark), "{:?}", server.requests());
    assert!(server.requests().iter().all(|request| request.headers["if-none-match"] == "*"));
}

#[test]
fn a_server_that_ignores_conditions_of_uploads_gets_one_request_or_none() {
    let server = Scripted::new(|_, request| match (request.method.as_str(), request.target.as_str()) {
        ("PUT", _) if is_mark(request) && !request.target.contains("partNumber") => {
            refusal(412, "PreconditionFailed")
        }
        ("POST", target) if target.contains("uploads") => {
            answer(200, "<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>")
        }
        ("POST", _) => answer(200, "<CompleteMultipartUploadResult><ETag>e</ETag></CompleteMultipartUploadResult>"),
        ("HEAD", _) => answer(404, ""),
        ("GET", _) => answer(200, "<ListBucketResult></ListBucketResult>"),
        _ => Reply::Answer(200, vec![("etag", "\"x\"".to_owned())], Vec::new()),
    });
    let store = server.store();
    let content = vec![7; 9 << 20];
    assert_eq!(store.create(&key("c"), &[&content]).unwrap(), Created::New);
    let put = server
        .requests()
        .into_iter()
        .find(|request| request.target.ends_with("/c.txt") && request.method == "PUT")
        .unwrap();
    assert_eq!((put.headers["if-none-match"].as_str(), put.body.len()), ("*", content.len()));
    let ends: Vec<Request> =
        server.requests().into_iter().filter(|r| r.target.contains("uploadId=u") && r.method == "POST").collect();
    assert!(ends.len() == 1 && is_mark(&ends[0]) && ends[0].headers["if-none-match"] == "*");
}

#[test]
fn a_writer_whose_answer_is_lost_finds_out_that_it_won() {
    // The first `PUT` is carried out, and its answer never comes. The next look finds the writer's own stamp.
    let kept: Arc<Mutex<Option<Request>>> = Arc::default();
    let server = honest(move |_, request| {
        let mut kept = kept.lock().unwrap();
        if request.method == "PUT" {
            if kept.is_some() {
                return refusal(412, "PreconditionFailed");
            }
            *kept = Some(request.clone());
            return Reply::HangUp;
        }
        let kept = kept.as_ref().unwrap();
        let copied = |name: &'static str| (name, kept.headers[name].clone());
        let headers = vec![copied("x-amz-meta-plimsoll-writer"), copied("x-amz-meta-plimsoll-blake3")];
        Reply::Answer(200, headers, kept.body.clone())
    });
    let store = server.store();
    assert_eq!(store.create(&key("c"), &[b"content"]).unwrap(), Created::New);
    // Another write of the same is not the first one.
    assert_eq!(store.create(&key("c"), &[b"content"]).unwrap(), Created::Same);
    assert_eq!(store.create(&key("c"), &[b"CONTENT"]).unwrap(), Created::Different);
}

#[test]
fn an_object_that_was_copied_without_its_hash_is_read_to_be_compared() {
    let content = vec![5_u8; 300 << 10];
    let present = content.clone();
    let server = honest(move |_, request| match request.method.as_str() {
        "PUT" => refusal(412, "PreconditionFailed"),
        _ => Reply::Answer(200, vec![], present.clone()),
    });
    let store = server.store();
    assert_eq!(store.create(&key("c"), &[&content]).unwrap(), Created::Same);
    let mut other = content;
    other[9] ^= 1;
    assert_eq!(store.create(&key("c"), &[&other]).unwrap(), Created::Different);
    assert_eq!(store.create(&key("c"), &[&other[1..]]).unwrap(), Created::Different);
}

#[test]
fn a_name_that_is_freed_while_it_is_created_is_tried_anew() {
    let puts = Mutex::new(0);
    let server = honest(move |_, request| match request.method.as_str() {
        "PUT" => {
            let mut puts = puts.lock().unwrap();
            *puts += 1;
            // As S3 says when a removal runs at the same time.
            if *puts == 1 {
                refusal(409, "ConditionalRequestConflict")
            } else {
                Reply::Answer(200, vec![("etag", "\"e\"".to_owned())], vec![])
            }
        }
        _ => refusal(404, "NoSuchKey"),
    });
    assert_eq!(server.store().create(&key("c"), &[b"x"]).unwrap(), Created::New);
}

#[test]
fn a_busy_server_is_asked_again_and_then_told() {
    let server =
        honest(
            |number, _| {
                if number < 4 { refusal(503, "SlowDown") } else { Reply::Answer(200, vec![], b"content".to_vec()) }
            },
        );
    assert_eq!(server.store().get(&key("c")).unwrap().unwrap(), b"content");
    assert_eq!(server.count("GET"), 4);

    let server = honest(|_, _| refusal(503, "SlowDown"));
    assert_eq!(fault(server.store().get(&key("c")).unwrap_err()), Fault::Busy { status: 503 });
    assert_eq!(server.count("GET"), 6);
    let server = honest(|_, _| refusal(500, "InternalError"));
    let code = "InternalError".to_owned();
    assert_eq!(fault(server.store().list(&Folder::Results).unwrap_err()), Fault::Server { status: 500, code });
}

#[test]
fn a_server_that_says_nothing_is_not_waited_for_for_ever() {
    let started = Instant::now();
    let server = honest(|_, _| Reply::Silence);
    let fault = fault(server.store().get(&key("c")).unwrap_err());
    assert!(matches!(fault, Fault::Unreachable { how: Unreached::Timeout, .. }), "{fault:?}");
    assert!(started.elapsed() < Duration::from_secs(8), "{:?}", started.elapsed());
}

#[test]
fn a_server_that_hangs_up_or_speaks_otherwise_is_told_apart() {
    let server = honest(|_, _| Reply::HangUp);
    let broken = fault(server.store().get(&key("c")).unwrap_err());
    assert!(matches!(broken, Fault::Unreachable { how: Unreached::Broken, .. }), "{broken:?}");
    let server = honest(|_, _| Reply::Garbage);
    let other = fault(server.store().get(&key("c")).unwrap_err());
    assert!(matches!(other, Fault::Answer { .. }), "{other:?}");
    let server = honest(|_, _| answer(200, "<html>Welcome</html"));
    let page = fault(server.store().list(&Folder::Results).unwrap_err());
    assert!(matches!(page, Fault::Answer { .. }), "{page:?}");
}

#[test]
fn a_web_server_that_finds_nothing_is_no_empty_store() {
    let server = Scripted::new(|_, _| answer(404, "<html>404 Not Found</html>"));
    for error in [server.store().get(&key("c")).unwrap_err(), server.store().head(&key("c")).unwrap_err()] {
        assert_eq!(fault(error), Fault::Refused { status: 404, code: String::new() });
    }
    let server = Scripted::new(|_, _| refusal(404, "NoSuchKey"));
    assert_eq!(server.store().get(&key("c")).unwrap(), None);
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn names_that_do_not_exist_are_told() {
    let store = store(&[("AWS_ENDPOINT_URL", "https://s3.host.invalid")]);
    let fault = fault(store.get(&key("c")).unwrap_err());
    assert!(matches!(fault, Fault::Unreachable { how: Unreached::NoSuchHost, .. }), "{fault:?}");
}

#[test]
fn refusals_are_told_by_their_code_also_where_an_answer_has_no_body() {
    for (status, code, expected) in [
        (403, "AccessDenied", Fault::Denied { code: "AccessDenied".to_owned() }),
        (403, "InvalidAccessKeyId", Fault::Credentials { code: "InvalidAccessKeyId".to_owned() }),
        (400, "ExpiredToken", Fault::Credentials { code: "ExpiredToken".to_owned() }),
        (403, "RequestTimeTooSkewed", Fault::Clock),
    ] {
        let server = Scripted::new(move |_, _| refusal(status, code));
        // `HEAD` has only the status, so something else is asked for the reason.
        assert_eq!(fault(server.store().head(&key("c")).unwrap_err()), expected);
        assert_eq!(fault(server.store().get(&key("c")).unwrap_err()), expected);
        assert_eq!(fault(server.store().create(&key("c"), &[b"x"]).unwrap_err()), expected);
        assert_eq!(fault(server.store().sweep(SystemTime::now()).unwrap_err()), expected);
    }
    let elsewhere = || {
        let headers = vec![
            ("x-amz-bucket-region", "eu-north-1".to_owned()),
            ("location", "https://elsewhere.invalid/".to_owned()),
        ];
        Reply::Answer(301, headers, Vec::new())
    };
    let server = Scripted::new(move |_, _| elsewhere());
    let right = Some("eu-north-1".to_owned());
    assert_eq!(
        fault(server.store().head(&key("c")).unwrap_err()),
        Fault::Region { used: "us-east-1".to_owned(), right }
    );
}

#[test]
fn keys_go_to_the_server_as_signatures_and_are_shown_nowhere() {
    let server = honest(|_, _| Reply::Answer(200, vec![], b"x".to_vec()));
    let store = server.store();
    assert!(!format!("{store:?} {store:#?}").contains("canary"));
    store.get(&key("c")).unwrap();
    for request in server.requests() {
        assert!(!format!("{request:?}").contains("canary-secret"));
        assert!(request.headers["authorization"].starts_with("AWS4-HMAC-SHA256 Credential=canary-id/"));
        assert_eq!(request.headers["x-amz-security-token"], "canary-token");
    }
}

#[test]
fn a_server_without_a_list_of_uploads_has_nothing_to_sweep() {
    let server = Scripted::new(|_, request| {
        if request.target.contains("uploads") {
            refusal(501, "NotImplemented")
        } else {
            answer(200, "<ListBucketResult></ListBucketResult>")
        }
    });
    assert_eq!(server.store().sweep(SystemTime::now()).unwrap(), 0);
}

#[test]
fn without_keys_opening_says_where_they_go() {
    let access = Access::from_env(|name| (name == "AWS_ENDPOINT_URL").then(|| "http://127.0.0.1:9".into())).unwrap();
    let error = S3Store::new("s3://bucket".parse().unwrap(), &access).unwrap_err();
    insta::assert_snapshot!(error, @"could not open s3://bucket: no credentials: AWS_ACCESS_KEY_ID is not set, and nothing else names any; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (profile files are not read: `aws configure export-credentials --format env` prints what a profile holds)");
    assert!(matches!(fault(error), Fault::NoCredentials { .. }));
}

#[test]
fn where_a_machine_has_no_role_that_is_told_soon() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let metadata = format!("http://{}", silent.local_addr().unwrap());
    let environment: HashMap<&str, String> = HashMap::from([("AWS_METADATA_ENDPOINT", metadata)]);
    let mut access = Access::from_env(|name| environment.get(name).map(OsString::from)).unwrap();
    access.patience.answer = Duration::from_millis(300);
    access.patience.give_up = Duration::from_millis(300);
    let store = S3Store::new("s3://bucket".parse().unwrap(), &access).unwrap();
    let fault = fault(store.get(&key("c")).unwrap_err());
    // Not a fault of S3: it was not even asked.
    assert!(matches!(fault, Fault::NoCredentials { .. }), "{fault:?}");
}
