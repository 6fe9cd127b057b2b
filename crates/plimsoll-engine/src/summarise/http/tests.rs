//! Calls against a server that speaks the real protocols byte for byte, and misbehaves on demand.

mod server;

use std::sync::Mutex;
use std::time::SystemTime;

use plimsoll::transcript::Usage;

use self::server::{Act, Reply, Server, anthropic, chat, end, head, part, responses, stream, whole};
use super::*;
use crate::summarise::sample::{good, with_job};
use crate::summarise::{Cancel, Stop, Summary, request, summarise};

const CANARY: &str = "sk-canary-0123456789";

/// Time that only goes by in pauses, which take none.
#[derive(Debug, Default)]
struct Still {
    pauses: Mutex<Vec<Duration>>,
}

impl Pace for Still {
    fn elapsed(&self) -> Duration {
        self.pauses.lock().unwrap().iter().sum()
    }

    fn date(&self) -> SystemTime {
        // Sun, 06 Nov 1994 08:49:37 GMT
        SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777)
    }

    fn jitter(&self) -> f64 {
        0.0
    }

    fn sleep(&self, pause: Duration) -> BoxFuture<'_, ()> {
        self.pauses.lock().unwrap().push(pause);
        Box::pin(std::future::ready(()))
    }
}

/// What a call came to.
struct Came {
    answer: Result<Answer, SummariserError>,
    /// The pauses that were made, in milliseconds.
    pauses: Vec<u128>,
    told: Vec<Progress>,
}

impl Came {
    /// Which error it is.
    #[track_caller]
    fn kind(&self) -> String {
        let error = self.answer.as_ref().expect_err("it failed");
        format!("{error:?}").split([' ', '{']).next().unwrap_or_default().to_owned()
    }

    #[track_caller]
    fn text(&self) -> &str {
        &self.answer.as_ref().unwrap().text
    }
}

fn patience() -> Patience {
    Patience { silence: Duration::from_millis(400), total: Duration::from_secs(20), ..Patience::default() }
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn ask_with(api: Api, base: &str, patience: Patience, cancel: &Cancel) -> Came {
    let pace = Arc::new(Still::default());
    let key = Key::of_environment(variable(api), Some(CANARY));
    let remote = Remote::new(api, "small", Some(base)).unwrap().with_key(key);
    let remote = remote.with_limits(Some(Tokens(32_000)), None).with_patience(patience).unwrap();
    let remote = remote.with_pace(pace.clone());
    let told = Mutex::new(Vec::new());
    let answer = with_job("big", |job| {
        let prompt = request(remote.service(), job).unwrap().unwrap();
        let mut asked = SummaryRequest::new(job, Some(&prompt), cancel);
        let note = |step| told.lock().unwrap().push(step);
        asked.progress = &note;
        run(remote.summarise(asked))
    });
    let pauses = pace.pauses.lock().unwrap().iter().map(Duration::as_millis).collect();
    let came = Came { answer, pauses, told: told.into_inner().unwrap() };
    // Whatever happens, the key is in nothing that anybody sees.
    let shown = format!("{:?} {:?} {remote:?}", came.answer, came.told);
    let said = came.answer.as_ref().err().map(ToString::to_string).unwrap_or_default();
    assert!(!shown.contains("canary") && !said.contains("canary"), "{said} {shown}");
    came
}

fn ask(api: Api, server: &Server) -> Came {
    ask_with(api, &server.url(), patience(), &Cancel::default())
}

/// Asks a server that gives these replies, through Chat Completions.
fn ask_chat(replies: impl IntoIterator<Item = Reply>) -> (Came, usize) {
    let server = Server::start(replies);
    let came = ask(Api::OpenaiChat, &server);
    (came, server.seen().len())
}

const DELTA: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"Half a summ\"}}]}\n\n";

#[test]
fn each_api_is_asked_in_its_own_protocol() {
    let usage = |input, read, write| {
        Some(Usage {
            input: Tokens(input),
            cache_read: Tokens(read),
            cache_write: Tokens(write),
            output: Tokens(300),
        })
    };
    for (api, answer, path, used, model) in [
        (
            Api::Anthropic,
            anthropic("Zusammenfassung: Größe 😀", "end_turn"),
            "/v1/messages",
            usage(20, 900, 80),
            "claude-real",
        ),
        (
            Api::OpenaiChat,
            chat("Zusammenfassung: Größe 😀", "stop"),
            "/v1/chat/completions",
            usage(100, 900, 0),
            "gpt-real",
        ),
        (
            Api::OpenaiResponses,
            responses("Zusammenfassung: Größe 😀"),
            "/v1/responses",
            usage(100, 900, 0),
            "gpt-real",
        ),
    ] {
        let server = Server::start([stream(answer)]);
        let came = ask(api, &server);
        let answer = came.answer.as_ref().unwrap();
        assert_eq!(answer.text, "Zusammenfassung: Größe 😀");
        assert_eq!((&answer.stop, answer.usage, answer.model.as_deref()), (&Stop::End, used, Some(model)));
        let seen = &server.seen()[0];
        assert_eq!(seen.line, format!("POST {path} HTTP/1.1"));
        assert_eq!(seen.header("content-type"), Some("application/json"));
        assert!(seen.header("user-agent").unwrap().starts_with("plimsoll/"));
        let bearer = format!("Bearer {CANARY}");
        if api == Api::Anthropic {
            assert_eq!(seen.header("x-api-key"), Some(CANARY));
            assert_eq!(seen.header("anthropic-version"), Some("2023-06-01"));
        } else {
            assert_eq!(seen.header("authorization"), Some(bearer.as_str()));
        }
        let body = seen.json();
        assert_eq!((body["model"].as_str(), body["stream"].as_bool()), (Some("small"), Some(true)));
        assert!(String::from_utf8_lossy(&seen.body).contains("Mend the widget"));
        assert!(came.told.is_empty() || matches!(came.told[0], Progress::Writing { .. }));
    }
}

#[test]
fn what_may_pass_is_tried_again_and_what_a_server_asks_for_is_honoured() {
    let limited = |after: &str| {
        whole(
            "429 Too Many Requests",
            &[("retry-after", after)],
            r#"{"error":{"type":"rate_limit_error","message":"slow down sk-canary-0123456789"}}"#,
        )
    };
    let (came, requests) = ask_chat([
        limited("3"),
        limited("Sun, 06 Nov 1994 08:49:47 GMT"),
        whole("529 Overloaded", &[], r#"{"error":{"message":"Overloaded"}}"#),
        stream(chat("done", "stop")),
    ]);
    assert_eq!((came.text(), requests), ("done", 4));
    // Three seconds, ten until the date, and then the half of four.
    assert_eq!(came.pauses, [3_000, 10_000, 2_000]);
    let Progress::Waiting { pause, reason } = &came.told[0] else { panic!("{:?}", came.told) };
    assert_eq!(*pause, Duration::from_secs(3));
    assert!(reason.contains("slow down [key]"), "{reason}");
}

#[test]
fn tries_are_bounded() {
    let down = || whole("500 Internal Server Error", &[("content-type", "text/html")], "<html><title>Oops</title>");
    let (came, requests) = ask_chat((0..9).map(|_| down()));
    assert_eq!((came.kind().as_str(), requests), ("Unavailable", 4));
    assert_eq!(came.pauses, [500, 1_000, 2_000]);
    let said = came.answer.unwrap_err().to_string();
    assert!(said.contains("status 500, 4 tries") && said.contains("“Oops”"), "{said}");
    let (came, requests) = ask_chat([whole("429 Too Many Requests", &[("retry-after", "3600")], "")]);
    assert_eq!((came.kind().as_str(), requests), ("RateLimited", 1));
    assert!(came.answer.unwrap_err().to_string().contains("asks to wait 3600 s"));
    let (came, requests) =
        ask_chat([whole("429 Too Many Requests", &[], r#"{"error":{"code":"insufficient_quota","message":"pay"}}"#)]);
    assert_eq!((came.kind().as_str(), requests), ("Unpaid", 1), "waiting brings no money back");
    let (came, _) = ask_chat([whole("501 Not Implemented", &[], "")]);
    let said = came.answer.unwrap_err().to_string();
    assert!(!said.contains("later") && said.contains("status 501"), "{said}");
}

#[test]
fn a_server_that_is_not_there_is_tried_again() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let came = ask_with(Api::Anthropic, &format!("http://{free}"), patience(), &Cancel::default());
    assert_eq!((came.kind().as_str(), came.pauses.len()), ("Unreachable", 3));
    let said = came.answer.unwrap_err().to_string();
    assert!(said.contains("4 tries") && said.contains("refused") && said.contains(&free.to_string()), "{said}");
}

#[test]
fn a_name_that_nobody_has_cannot_be_reached() {
    let patience = Patience { tries: 1, ..patience() };
    let came = ask_with(Api::OpenaiChat, "http://nobody.invalid/v1", patience, &Cancel::default());
    assert_eq!(came.kind(), "Unreachable");
}

#[test]
fn a_plain_server_at_a_secure_address_is_no_trusted_connection() {
    let server = Server::start([]);
    let base = server.url().replace("http://", "https://");
    let came = ask_with(Api::OpenaiChat, &base, patience(), &Cancel::default());
    assert_eq!((came.kind().as_str(), came.pauses.len()), ("Tls", 0), "{:?}", came.answer);
}

#[test]
fn silence_is_not_waited_out_and_not_asked_about_twice() {
    for reply in [vec![Act::Hang], vec![head("text/event-stream"), part(DELTA), Act::Hang]] {
        let (came, requests) = ask_chat([reply]);
        assert_eq!((came.kind().as_str(), requests), ("Timeout", 1));
        assert!(came.answer.unwrap_err().to_string().contains("nothing more came within 400ms"));
    }
}

#[test]
fn a_slow_answer_is_waited_for_as_long_as_it_comes_but_not_for_ever() {
    let text = chat("A summary that comes in drops, one every now and then, and not at once.", "stop");
    let drops = |pause: u64| -> Reply {
        let mut reply = vec![head("text/event-stream")];
        for chunk in text.as_bytes().chunks(100) {
            reply.extend([part(chunk), Act::Wait(Duration::from_millis(pause))]);
        }
        reply.push(end());
        reply
    };
    let (came, _) = ask_chat([drops(60)]);
    assert!(came.text().starts_with("A summary that comes in drops"));
    let server = Server::start([drops(60)]);
    let short = Patience { total: Duration::from_millis(250), ..patience() };
    let came = ask_with(Api::OpenaiChat, &server.url(), short, &Cancel::default());
    assert!(
        came.answer
            .unwrap_err()
            .to_string()
            .contains("no whole answer within 250ms; try again, or allow more with --summarizer-timeout")
    );
    server.wait_for_gone(1);
}

#[test]
fn a_character_cut_in_two_arrives_whole() {
    let text = "é😀漢".repeat(30);
    let mut reply = vec![head("text/event-stream")];
    for byte in chat(&text, "stop").as_bytes().chunks(1) {
        reply.push(part(byte));
    }
    reply.push(end());
    let (came, _) = ask_chat([reply]);
    assert_eq!(came.text(), text);
}

#[test]
fn an_answer_that_breaks_off_is_none_and_is_only_asked_for_again_where_nothing_had_come() {
    // Chunks without their end, and a connection that is simply closed.
    let cut = vec![head("text/event-stream"), part(DELTA)];
    let closed = vec![Act::Say(
        [b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n", DELTA.as_bytes()]
            .concat(),
    )];
    for reply in [cut, closed] {
        let (came, requests) = ask_chat([reply]);
        assert_eq!((came.kind().as_str(), requests), ("Cut", 1));
        assert!(came.answer.unwrap_err().to_string().contains("cut off after 57 B"));
    }
    let before = || vec![head("text/event-stream"), part(": processing\n\n")];
    let (came, requests) = ask_chat([vec![], before(), stream(chat("done", "stop"))]);
    assert_eq!((came.text(), requests), ("done", 3));
}

#[test]
fn what_is_no_answer_of_the_api_is_said_to_be_none() {
    let page = whole("200 OK", &[("content-type", "text/html")], "<!DOCTYPE html><title>Sign in</title>");
    let garbage = whole("200 OK", &[("content-type", "text/event-stream")], "data: \u{1}garbage\n\ndata: more\n\n");
    let words = whole("200 OK", &[("content-type", "text/plain")], "It works!");
    let other = whole("200 OK", &[("content-type", "application/json")], r#"{"status":"ok"}"#);
    for reply in [page, garbage, words, other] {
        let (came, requests) = ask_chat([reply]);
        assert_eq!((came.kind().as_str(), requests), ("NotUnderstood", 1), "{:?}", came.answer);
        assert!(came.answer.unwrap_err().to_string().contains("status 200"));
    }
    let torn = whole("200 OK", &[("content-type", "application/json")], r#"{"choices":[{"message":{"content":"Ha"#);
    assert_eq!(ask_chat([torn]).0.kind(), "Cut");
}

#[test]
fn a_wrong_content_type_does_not_matter_where_the_answer_is_right() {
    let reply = vec![head("text/plain"), part(chat("done", "stop")), end()];
    assert_eq!(ask_chat([reply]).0.text(), "done");
    let json = r#"{"model":"gpt-real","choices":[{"message":{"content":"done"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":2}}"#;
    let (came, _) = ask_chat([whole("200 OK", &[], json)]);
    assert_eq!(came.answer.unwrap().usage.unwrap().output, Tokens(2));
}

#[test]
fn refusals_say_what_to_do() {
    for (reply, kind, hint) in [
        (
            whole(
                "401 Unauthorized",
                &[],
                r#"{"error":{"message":"Incorrect API key provided: sk-canary-0123456789"}}"#,
            ),
            "KeyRefused",
            "[key]; check OPENAI_API_KEY",
        ),
        (
            whole("404 Not Found", &[], r#"{"error":{"message":"no model small"}}"#),
            "NotFound",
            "check the model's name and the base address",
        ),
        (whole("400 Bad Request", &[], r#"{"error":{"message":"bad temperature"}}"#), "Refused", "bad temperature"),
    ] {
        let (came, requests) = ask_chat([reply]);
        assert_eq!((came.kind().as_str(), requests), (kind, 1));
        let said = came.answer.unwrap_err().to_string();
        assert!(said.contains(hint) && said.contains("/v1/chat/completions"), "{said}");
    }
    let server = Server::start([whole("401 Unauthorized", &[], "{}")]);
    let remote = Remote::new(Api::OpenaiChat, "small", Some(&server.url())).unwrap();
    let error = with_job("big", |job| {
        let prompt = request(remote.service(), job).unwrap().unwrap();
        run(remote.summarise(SummaryRequest::new(job, Some(&prompt), &Cancel::default()))).unwrap_err()
    });
    assert!(
        error.to_string().contains("refuses a request without a key (status 401); set OPENAI_API_KEY"),
        "{error}"
    );
    assert_eq!(server.seen()[0].header("authorization"), None);
}

#[test]
fn overflows_are_recognised_in_each_providers_wording_and_inside_streams() {
    let refused = |body: &str| whole("400 Bad Request", &[], body);
    for (api, reply, limit) in [
        (
            Api::Anthropic,
            refused(
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9000 tokens > 8192 maximum"}}"#,
            ),
            Some(8_192),
        ),
        (
            Api::OpenaiChat,
            refused(
                r#"{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.","code":"context_length_exceeded"}}"#,
            ),
            Some(8_192),
        ),
        (
            Api::OpenaiChat,
            refused(
                r#"{"error":{"code":400,"message":"request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":8192}}"#,
            ),
            Some(8_192),
        ),
        (
            Api::OpenaiResponses,
            stream(
                "event: response.failed\ndata: {\"type\":\"response.failed\",\"response\":{\"status\":\"failed\",\"error\":{\"code\":\"context_length_exceeded\",\"message\":\"Your input exceeds the context window of this model.\"}}}\n\n",
            ),
            None,
        ),
        (
            Api::OpenaiChat,
            stream("data: {\"error\":{\"message\":\"prompt is too long\",\"code\":\"context_length_exceeded\"}}\n\n"),
            None,
        ),
    ] {
        let server = Server::start([reply]);
        let SummariserError::Overflow { overflow, .. } = ask(api, &server).answer.unwrap_err() else { panic!() };
        assert_eq!(overflow.limit, limit.map(Tokens));
    }
}

#[test]
fn an_answer_larger_than_any_summary_is_not_read_on() {
    let mut reply = vec![head("text/event-stream")];
    let long = format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{}\"}}}}]}}\n\n", "x".repeat(100_000));
    reply.extend((0..60).map(|_| part(&long)));
    reply.push(end());
    assert_eq!(ask_chat([reply]).0.kind(), "TooLarge");
    let mut reply = vec![head("text/event-stream")];
    reply.extend((0..20).map(|_| part("data: ".to_owned() + &"x".repeat(1 << 20))));
    assert_eq!(ask_chat([reply]).0.kind(), "TooLarge");
}

#[test]
fn a_redirect_is_not_followed_and_the_key_goes_nowhere() {
    let other = Server::start([stream(chat("stolen", "stop"))]);
    let to = format!("{}/v1/chat/completions?token=canary", other.url());
    for status in ["301 Moved Permanently", "307 Temporary Redirect", "308 Permanent Redirect"] {
        let (came, requests) = ask_chat([whole(status, &[("location", &to)], "")]);
        assert_eq!((came.kind().as_str(), requests), ("Redirected", 1));
        assert!(came.answer.unwrap_err().to_string().contains(&other.url()));
    }
    assert!(other.seen().is_empty());
}

#[test]
fn a_failure_inside_a_stream_is_told_and_tried_again_only_before_any_text() {
    let overloaded = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    let server = Server::start([stream(overloaded), stream(anthropic("done", "end_turn"))]);
    assert_eq!(ask(Api::Anthropic, &server).text(), "done");
    let text = "data: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"Half\"}}\n\n";
    let server = Server::start([stream(format!("{text}{overloaded}"))]);
    let came = ask(Api::Anthropic, &server);
    assert_eq!((came.kind().as_str(), server.seen().len()), ("Failed", 1));
    assert!(came.answer.unwrap_err().to_string().contains("overloaded_error: Overloaded"));
}

#[test]
fn what_a_model_answers_instead_of_a_summary_is_told_apart_with_what_it_cost() {
    let call = "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"id\":\"c\",\"function\":{\"name\":\"Bash\"}}]},\"finish_reason\":\"tool_calls\"}]}\n\n";
    let usage =
        "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":300}}\n\ndata: [DONE]\n\n";
    for (answer, kind) in [
        (chat("half", "length"), "Length"),
        (chat("no", "content_filter"), "Declined"),
        (chat(" \n", "stop"), "Empty"),
        (format!("{call}{usage}"), "ToolCall"),
    ] {
        let (came, requests) = ask_chat([stream(answer)]);
        assert_eq!((came.kind().as_str(), requests), (kind, 1));
        assert_eq!(came.answer.unwrap_err().usage().unwrap().output, Tokens(300));
    }
}

#[test]
fn a_server_that_keeps_the_connection_open_after_the_end_is_not_waited_for() {
    let mut open = stream(chat("done", "stop"));
    *open.last_mut().unwrap() = Act::Hang;
    assert_eq!(ask_chat([open]).0.text(), "done");
    // Without the mark that nothing follows, the reason to stop says that the text is whole.
    let unmarked = chat("done", "stop");
    let unmarked = unmarked.split("data: {\"choices\":[],").next().unwrap();
    let reply = vec![head("text/event-stream"), part(unmarked), Act::Hang];
    assert_eq!(ask_chat([reply]).0.text(), "done");
    // Signs of life that go on for longer than a call may take are no reason to wait for more.
    let mut trickle = vec![head("text/event-stream"), part(unmarked)];
    trickle.extend((0..300).flat_map(|_| [Act::Wait(Duration::from_millis(100)), part(": ping\n\n")]));
    assert_eq!(ask_chat([trickle]).0.text(), "done");
}

#[test]
fn a_cancel_ends_the_call_and_the_connection() {
    let server = Server::start([vec![head("text/event-stream"), part(DELTA), Act::Hang]]);
    let cancel = Cancel::default();
    let patience = Patience { silence: Duration::from_secs(20), ..patience() };
    let came = std::thread::scope(|scope| {
        scope.spawn(|| {
            while server.seen().is_empty() {
                std::thread::sleep(Duration::from_millis(5));
            }
            std::thread::sleep(Duration::from_millis(50));
            cancel.cancel();
        });
        ask_with(Api::OpenaiChat, &server.url(), patience, &cancel)
    });
    assert_eq!(came.answer, Err(SummariserError::Cancelled));
    server.wait_for_gone(1);
}

#[test]
fn driven_from_end_to_end_a_bad_answer_is_asked_for_again_and_a_dead_server_ends_in_the_extract() {
    let drive = |replies: Vec<Reply>| -> (Summary, Server) {
        let server = Server::start(replies);
        let remote =
            Remote::new(Api::Anthropic, "small", Some(&server.url())).unwrap().with_pace(Arc::new(Still::default()));
        let remote = remote.with_limits(Some(Tokens(32_000)), None);
        let summary = with_job("big", |job| run(summarise(&remote, job, &Cancel::default(), &|_| {})).unwrap());
        (summary, server)
    };
    let (summary, server) =
        drive(vec![stream(anthropic("I will mend it now.", "end_turn")), stream(anthropic(&good(), "end_turn"))]);
    assert_eq!((summary.by.as_str(), summary.calls, summary.fallback), ("anthropic:small", 2, None));
    assert_eq!(summary.usage.unwrap().output, Tokens(600));
    assert!(String::from_utf8_lossy(&server.seen()[1].body).contains("second attempt"));
    let (summary, _) = drive((0..4).map(|_| whole("503 Service Unavailable", &[], "")).collect());
    assert_eq!(summary.by, "extract");
    assert!(summary.fallback.unwrap().reason.contains("cannot serve now (status 503, 4 tries)"));
}

#[test]
fn what_a_refusal_says_of_the_limit_of_the_answer_is_heeded_once() {
    let refusal = |message: &str| {
        whole("400 Bad Request", &[], &serde_json::json!({"error": {"message": message}}).to_string())
    };
    let drive = |model: &str, replies: Vec<Reply>| -> (Summary, Server) {
        let server = Server::start(replies);
        let remote = Remote::new(Api::OpenaiChat, model, Some(&server.url())).unwrap();
        let summary = with_job("big", |job| run(summarise(&remote, job, &Cancel::default(), &|_| {})).unwrap());
        (summary, server)
    };
    let too_large = || refusal("max_tokens is too large: 20000. This model supports at most 1024 completion tokens.");
    let renamed =
        || refusal("Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead.");
    let (summary, server) = drive("small", vec![too_large(), renamed(), stream(chat(&good(), "stop"))]);
    assert_eq!((summary.by.as_str(), summary.calls), ("openai:small", 3), "{:?}", summary.fallback);
    assert_eq!(summary.asked.unwrap().max_output, Tokens(1_024));
    let bodies: Vec<serde_json::Value> = server.seen().iter().map(server::Seen::json).collect();
    assert_eq!((&bodies[0]["max_tokens"], &bodies[1]["max_tokens"]), (&20_000.into(), &1_024.into()));
    assert_eq!(
        (&bodies[2]["max_tokens"], &bodies[2]["max_completion_tokens"]),
        (&serde_json::Value::Null, &1_024.into())
    );
    let said = String::from_utf8_lossy(&server.seen()[1].body).into_owned();
    assert!(said.contains("610 tokens"), "a summary must leave room for its draft");
    // The conversation itself is asked otherwise in the same way.
    let (summary, server) = drive("big", vec![renamed(), stream(chat(&good(), "stop"))]);
    assert_eq!(summary.by, "openai:big", "{:?}", summary.fallback);
    assert!(server.seen()[1].body.starts_with(br#"{"model":"big","max_completion_tokens":"#));
    // A second refusal of the same kind ends it, and says what to do.
    let (summary, server) = drive("small", vec![too_large(), too_large()]);
    assert_eq!((summary.by.as_str(), server.seen().len()), ("extract", 2));
    assert!(
        summary.fallback.unwrap().reason.contains("writes at most 1024 tokens; give that as --summarizer-max-output")
    );
    let (summary, server) = drive("small", vec![renamed(), renamed()]);
    assert_eq!((summary.by.as_str(), server.seen().len()), ("extract", 2));
}

#[test]
fn a_key_is_in_no_debug_output() {
    let key = Key::of_environment("OPENAI_API_KEY", Some("sk-canary"));
    let remote = Remote::new(Api::OpenaiChat, "m", Some("http://user:canary@127.0.0.1:1/v1")).unwrap().with_key(key);
    let shown = format!("{remote:?}");
    assert!(!shown.contains("canary"), "{shown}");
    let headers = remote.headers(Some(&Secret::new("sk-canary"))).unwrap();
    assert!(!format!("{headers:?}").contains("canary"));
}

#[test]
fn each_api_gets_its_key_in_its_own_header() {
    let headers = |api, base| {
        let remote = Remote::new(api, "m", Some(base)).unwrap();
        let headers = remote.headers(Some(&Secret::new("k"))).unwrap();
        let one = |name: &str| headers.get(name).map(|value| value.to_str().unwrap().to_owned());
        (one("x-api-key"), one("authorization"), one("anthropic-version").is_some())
    };
    let base = "http://127.0.0.1:1";
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(headers(Api::Anthropic, base), (text("k"), None, true));
    assert_eq!(headers(Api::OpenaiChat, base), (None, text("Bearer k"), false));
    assert_eq!(headers(Api::OpenaiResponses, base), (None, text("Bearer k"), false));
    // Credentials in the address are for whatever stands before the API.
    assert_eq!(headers(Api::Anthropic, "http://a:b@127.0.0.1:1"), (text("k"), text("Basic YTpi"), true));
}

#[test]
fn a_key_that_no_header_can_carry_is_refused_without_being_shown() {
    let remote = Remote::new(Api::OpenaiChat, "m", Some("http://127.0.0.1:1")).unwrap();
    let error = remote.headers(Some(&Secret::new("sk-canary\nx"))).unwrap_err();
    assert!(!format!("{error} {error:?}").contains("canary"), "{error}");
    assert!(error.to_string().ends_with("no header can carry; check OPENAI_API_KEY"), "{error}");
}
