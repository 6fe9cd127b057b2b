//! Failing open: whatever breaks inside, the request goes through, and a header and a metric say why.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

use plimsoll::compact::Api;
use plimsoll_engine::session::SessionOptions;
use plimsoll_engine::summarise::{Answer, BoxFuture, Service, Summariser, SummariserError, SummaryRequest};
use plimsoll_store::Store;

use super::kept::{MESSAGES, body, keep, metric, options, said, talk};
use super::scripted::{OK, Scripted, ask, serve, write};
use crate::gateway::Keep;

/// A gateway whose conversations are kept in other ways than usual.
async fn with(scripted: &Scripted, change: impl FnOnce(&mut SessionOptions)) -> SocketAddr {
    let mut keep = keep(&Store::memory());
    change(&mut keep.session);
    serve(options(scripted, keep)).await
}

#[tokio::test]
async fn a_panic_inside_is_caught_and_the_request_goes_through() {
    let scripted = Scripted::start(vec![write(OK)]).await;
    // Where a request is made ready, where what happens is watched, and where a store is opened.
    let deciding = with(&scripted, |session| session.clock = Arc::new(|| panic!("CANARY-content"))).await;
    let watching = with(&scripted, |session| session.watch = Arc::new(|_| panic!("CANARY-content"))).await;
    let broken = Keep::new(keep(&Store::memory()).session, Arc::new(|_| panic!("CANARY-content")));
    let opening = serve(options(&scripted, broken)).await;
    for (what, gateway) in [("deciding", deciding), ("watching", watching), ("opening", opening)] {
        for n in 1..=3_u8 {
            let whole = body(14);
            let answer = ask(gateway, MESSAGES, whole.as_bytes()).await;
            assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("\r\n\r\nok"), "{what}: {answer}");
            assert!(!answer.contains("CANARY"), "{what}: {answer}");
            if said(&answer) == Some("bypass; reason=fault") {
                assert_eq!(scripted.last().1, whole.as_bytes(), "{what}");
                let counted = metric(gateway, "plimsoll_notes_total{reason=\"fault\"}").await;
                assert!((counted - f64::from(n)).abs() < 0.1, "{what}: {counted}");
            } else {
                // Nobody who only looks on can harm what is decided.
                assert!(what == "watching" && said(&answer).unwrap().contains("epoch="), "{what}: {answer}");
            }
        }
    }
    // Of what is recalled, too, something is said.
    let answer = ask(opening, "GET /plimsoll/recall/s/c HTTP/1.1", b"").await;
    assert!(answer.starts_with("HTTP/1.1 500 ") && !answer.contains("CANARY"), "{answer}");
}

#[tokio::test]
async fn what_was_decided_holds_when_the_store_is_gone() {
    let scripted = Scripted::start(vec![write(OK)]).await;
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("store");
    let gateway = serve(options(&scripted, keep(&Store::local(&root)))).await;
    let first = ask(gateway, MESSAGES, talk(14).as_bytes()).await;
    assert!(said(&first).unwrap().contains("epoch="), "{first}");
    let sent = scripted.last().1;
    std::fs::remove_dir_all(&root).unwrap();
    std::fs::write(&root, "no folder").unwrap();
    let again = ask(gateway, MESSAGES, talk(14).as_bytes()).await;
    assert_eq!((said(&again), scripted.last().1), (said(&first), sent));
    assert!(metric(gateway, "plimsoll_prefix_total{prefix=\"broken\"}").await < 0.5);
}

#[tokio::test]
async fn without_a_store_a_header_that_says_bypass_means_the_clients_own_bytes() {
    let scripted = Scripted::start(vec![write(OK)]).await;
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("store");
    std::fs::write(&root, "no folder").unwrap();
    let gateway = serve(options(&scripted, keep(&Store::local(&root)))).await;
    let mut before: Option<Vec<u8>> = None;
    for turns in [3, 14, 14, 15] {
        let whole = talk(turns);
        let answer = ask(gateway, MESSAGES, whole.as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        let sent = scripted.last().1;
        let told = said(&answer).unwrap_or_default().to_owned();
        // The first request finds out that nobody can say whether this conversation was compacted before.
        assert_eq!(told.contains("bypass"), sent == whole.as_bytes(), "{turns}: {told}");
        assert_eq!(told.contains("epoch="), sent != whole.as_bytes(), "{turns}: {told}");
        assert!(metric(gateway, "plimsoll_notes_total{reason=\"store\"}").await > 0.5);
        if turns == 14 {
            assert!(before.replace(sent.clone()).is_none_or(|before| before == sent), "it is decided anew each time");
        }
    }
}

/// A summariser that says what a test says.
#[derive(Debug)]
struct Says {
    service: Service,
    what: Result<&'static str, ()>,
    calls: Arc<AtomicUsize>,
    panics: AtomicBool,
}

impl Summariser for Says {
    fn service(&self) -> &Service {
        &self.service
    }

    fn summarise<'a>(&'a self, _: SummaryRequest<'a>) -> BoxFuture<'a, Result<Answer, SummariserError>> {
        self.calls.fetch_add(1, SeqCst);
        assert!(!self.panics.load(SeqCst), "CANARY-content");
        let unavailable = || SummariserError::Unavailable {
            endpoint: "http://scripted".to_owned(),
            status: 503,
            attempts: 3,
            said: String::new(),
        };
        Box::pin(std::future::ready(self.what.map(Answer::ended).map_err(|()| unavailable())))
    }
}

#[tokio::test]
async fn what_is_no_summary_is_not_taken_for_one() {
    const WRONG: [Result<&str, ()>; 8] = [
        Err(()),
        Ok(""),
        Ok("<summary></summary>"),
        Ok("I'm sorry, but I can't help with that request. CANARY"),
        Ok("<summary>I cannot assist with summarising this conversation. CANARY</summary>"),
        Ok(r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded CANARY"}}"#),
        Ok("<summary>Error: 429 Too Many Requests CANARY</summary>"),
        Ok("Sure! Next I will look into part 15. CANARY"),
    ];
    for (what, panics) in WRONG.into_iter().map(|what| (what, false)).chain([(Ok("x"), true)]) {
        let scripted = Scripted::start(vec![write(OK)]).await;
        let calls = Arc::new(AtomicUsize::new(0));
        let service = Service::of_model("scripted", Api::Anthropic, "scripted-1");
        let says = Says { service, what, calls: Arc::clone(&calls), panics: AtomicBool::new(panics) };
        let gateway = with(&scripted, |session| session.summariser = Arc::new(says)).await;
        let whole = talk(14);
        let first = ask(gateway, MESSAGES, whole.as_bytes()).await;
        assert!(first.starts_with("HTTP/1.1 200 "), "{what:?}: {first}");
        let asked = calls.load(SeqCst);
        assert!((1..=4).contains(&asked), "{what:?}: asked {asked} times");
        let sent = scripted.last().1;
        assert!(!String::from_utf8_lossy(&sent).contains("CANARY"), "{what:?}");
        // The extract takes its place, and nobody is asked again for the same history.
        assert!(said(&first).unwrap_or_default().contains("epoch="), "{what:?} {panics}: {first}");
        for _ in 0..5 {
            let again = ask(gateway, MESSAGES, whole.as_bytes()).await;
            assert_eq!((said(&again), &scripted.last().1), (said(&first), &sent), "{what:?}");
        }
        assert_eq!(calls.load(SeqCst), asked, "{what:?}");
    }
}
