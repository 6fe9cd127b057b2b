use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};

use plimsoll::compact::Api;
use plimsoll::wire::{Overflow, OverflowKind, Stop};

use super::*;
use crate::summarise::sample::{good, with_job};
use crate::summarise::{BoxFuture, Extract};

type Asked = (Form, String, Tokens);

/// A model that answers by a list, and remembers what it was asked.
#[derive(Debug)]
struct Scripted {
    service: Service,
    answers: Mutex<VecDeque<Option<Result<Answer, SummariserError>>>>,
    asked: Mutex<Vec<Asked>>,
}

impl Scripted {
    fn new(answers: impl IntoIterator<Item = Result<Answer, SummariserError>>) -> Self {
        let mut service = Service::of_model("openai:small", Api::OpenaiChat, "small");
        service.window = Some(Tokens(32_000));
        let answers = Mutex::new(answers.into_iter().map(Some).collect());
        Self { service, answers, asked: Mutex::default() }
    }
}

impl Summariser for Scripted {
    fn service(&self) -> &Service {
        &self.service
    }

    fn summarise<'a>(&'a self, request: SummaryRequest<'a>) -> BoxFuture<'a, Result<Answer, SummariserError>> {
        let prompt = request.prompt.expect("a model is asked something");
        assert!(!format!("{request:?}").contains("widget"), "what is asked is not for logs");
        self.asked.lock().unwrap().push((prompt.form, prompt.instruction.clone(), prompt.input));
        match self.answers.lock().unwrap().pop_front().expect("no more calls than answers") {
            Some(answer) => Box::pin(std::future::ready(answer)),
            None => Box::pin(std::future::pending()),
        }
    }
}

/// Runs a future that never has to wait for anything.
fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("it waits"),
    }
}

fn run(model: &Scripted, job: &Job<'_>) -> (Summary, Vec<Progress>) {
    let told = Mutex::new(Vec::new());
    let summary = now(summarise(model, job, &Cancel::default(), &|step| told.lock().unwrap().push(step))).unwrap();
    (summary, told.into_inner().unwrap())
}

fn usage(output: u64) -> Usage {
    Usage { input: Tokens(1_000), output: Tokens(output), ..Usage::default() }
}

#[test]
fn a_good_answer_is_taken_and_the_facts_stand_beside_it() {
    with_job("big", |job| {
        let model = Scripted::new([Ok(Answer { usage: Some(usage(300)), ..Answer::ended(good()) })]);
        let (summary, told) = run(&model, job);
        assert!(summary.text.starts_with("## 1. Primary request") && !summary.text.contains("notes"));
        assert!(summary.facts.as_deref().unwrap().contains("Never touch `main`."));
        assert_eq!((summary.by.as_str(), summary.calls, summary.fallback), ("openai:small", 1, None));
        assert_eq!(summary.usage, Some(usage(300)));
        let Progress::Asking { input, .. } = &told[0] else { panic!("{told:?}") };
        assert_eq!(Some(*input), summary.asked.map(|asked| asked.input));
        assert!(summary.carried.constraints >= 1);
    });
}

#[test]
fn a_rejected_answer_is_asked_for_once_more_with_the_reason() {
    with_job("big", |job| {
        let model = Scripted::new([
            Ok(Answer { usage: Some(usage(20)), ..Answer::ended("Sure, I have mended it.") }),
            Ok(Answer { usage: Some(usage(300)), ..Answer::ended(good()) }),
        ]);
        let (summary, told) = run(&model, job);
        assert_eq!((summary.by.as_str(), summary.calls), ("openai:small", 2));
        assert_eq!(summary.usage.unwrap().output, Tokens(320), "both answers were paid for");
        let asked = model.asked.lock().unwrap();
        assert!(!asked[0].1.contains("second attempt") && asked[1].1.contains("second attempt"));
        assert!(told.iter().any(|step| matches!(step, Progress::Rejected { .. })));
    });
}

#[test]
fn two_answers_that_are_no_summary_end_in_the_extract_which_says_why() {
    let service = || "openai:small".to_owned();
    let bad: [Result<Answer, SummariserError>; 4] = [
        Ok(Answer::ended("Sure, I have mended it.")),
        Ok(Answer { stop: Stop::Length, ..Answer::ended(good()) }),
        Err(SummariserError::ToolCall { service: service(), usage: Some(usage(5)) }),
        Err(SummariserError::Empty { service: service(), usage: None }),
    ];
    for first in &bad {
        for second in &bad {
            with_job("big", |job| {
                let model = Scripted::new([first.clone(), second.clone()]);
                let (summary, told) = run(&model, job);
                assert_eq!((summary.by.as_str(), summary.calls, summary.facts), ("extract", 2, None));
                assert!(summary.text.contains("Never touch `main`."));
                assert!(!summary.text.contains("I have mended it"));
                let fallback = summary.fallback.unwrap();
                assert_eq!(fallback.from, "openai:small");
                assert_eq!(fallback.reason.ends_with(", twice"), first == second, "{}", fallback.reason);
                assert!(matches!(told.last(), Some(Progress::FallingBack { reason }) if *reason == fallback.reason));
            });
        }
    }
}

#[test]
fn a_service_that_fails_ends_in_the_extract_at_once() {
    with_job("big", |job| {
        let error = SummariserError::KeyRefused {
            endpoint: "https://api.example.com/v1".into(),
            status: 401,
            key_source: "OPENAI_API_KEY".into(),
            said: String::new(),
        };
        let (summary, _) = run(&Scripted::new([Err(error.clone())]), job);
        assert_eq!((summary.by.as_str(), summary.calls), ("extract", 1));
        assert_eq!(summary.fallback.unwrap().reason, error.to_string());
    });
}

#[test]
fn a_summariser_that_panics_when_asked_or_later_ends_in_the_extract() {
    #[derive(Debug)]
    struct Panics(Service, bool);

    impl Summariser for Panics {
        fn service(&self) -> &Service {
            &self.0
        }

        fn summarise<'a>(&'a self, _: SummaryRequest<'a>) -> BoxFuture<'a, Result<Answer, SummariserError>> {
            assert!(self.1, "a fault at once");
            Box::pin(async { panic!("a fault while it is waited for") })
        }
    }

    with_job("big", |job| {
        for later in [false, true] {
            let model = Panics(Service::of_model("openai:small", Api::OpenaiChat, "small"), later);
            let summary = now(summarise(&model, job, &Cancel::default(), &|_| {})).unwrap();
            assert_eq!(summary.by, "extract");
            assert!(summary.fallback.unwrap().reason.contains("openai:small panicked"));
        }
    });
}

#[test]
fn a_request_that_is_too_long_is_asked_once_more_with_as_much_less() {
    let overflow = |tokens: Option<u64>, limit: Option<u64>| {
        Err(SummariserError::Overflow {
            endpoint: "http://127.0.0.1:1".into(),
            model: "small".into(),
            overflow: Overflow { tokens: tokens.map(Tokens), limit: limit.map(Tokens), kind: OverflowKind::Tokens },
        })
    };
    for (tokens, limit) in [(Some(9_000), Some(4_096)), (None, Some(4_096)), (None, None)] {
        with_job("big", |job| {
            let mut model = Scripted::new([overflow(tokens, limit), Ok(Answer::ended(good()))]);
            model.service.window = Some(Tokens(9_000));
            let (summary, _) = run(&model, job);
            assert_eq!((summary.by.as_str(), summary.calls), ("openai:small", 2), "{:?}", summary.fallback);
            let asked = model.asked.lock().unwrap();
            assert!(asked[1].2 < asked[0].2, "{tokens:?} {limit:?}: {} then {}", asked[0].2, asked[1].2);
            assert!(asked[1].2 < Tokens(4_096));
            // Again too long, and the extract stands in: it does not go on for ever.
            let model = Scripted::new([overflow(tokens, limit), overflow(tokens, limit)]);
            assert_eq!(run(&model, job).0.by, "extract");
        });
    }
}

#[test]
fn a_window_in_which_nothing_fits_is_never_asked() {
    with_job("big", |job| {
        let mut model = Scripted::new([]);
        model.service.window = Some(Tokens(300));
        let (summary, _) = run(&model, job);
        assert_eq!((summary.by.as_str(), summary.calls), ("extract", 0));
        assert!(summary.fallback.unwrap().reason.contains("window of 300 tokens"));
    });
}

#[test]
fn the_conversations_own_model_is_asked_in_the_conversation_itself() {
    with_job("small", |job| {
        let mut model = Scripted::new([Ok(Answer::ended(good()))]);
        model.service.continues = true;
        let first = request(&model.service, job).unwrap().unwrap();
        let kept = job.document.entries()[job.plan.removed.end - 1].span.end();
        assert!(first.body.starts_with(br#"{"model":"small","max_tokens":"#));
        let prefix = &job.document.bytes()[60..kept];
        assert!(first.body.windows(prefix.len()).any(|part| part == prefix), "the prefix is sent byte for byte");
        let (summary, _) = run(&model, job);
        assert_eq!(summary.asked.unwrap().form, Form::SameConversation);
        assert_eq!(summary.by, "openai:small");
    });
}

#[test]
fn a_cancel_leaves_nothing_behind_whenever_it_comes() {
    with_job("big", |job| {
        let cancel = Cancel::default();
        cancel.cancel();
        let unasked = Scripted::new([]);
        for summariser in [&unasked as &dyn Summariser, &Extract::default()] {
            assert_eq!(now(summarise(summariser, job, &cancel, &|_| {})).unwrap_err(), Aborted);
        }
        assert!(unasked.asked.lock().unwrap().is_empty(), "nobody is asked any more");
        let model = Scripted::new([]);
        model.answers.lock().unwrap().push_back(None);
        let cancel = Cancel::default();
        let mut running = pin!(summarise(&model, job, &cancel, &|_| {}));
        let mut context = Context::from_waker(Waker::noop());
        assert!(running.as_mut().poll(&mut context).is_pending());
        cancel.cancel();
        assert!(matches!(running.as_mut().poll(&mut context), Poll::Ready(Err(Aborted))));
    });
}

#[test]
fn the_extract_behind_the_interface_is_the_extract() {
    with_job("big", |job| {
        let summary = now(summarise(&Extract::default(), job, &Cancel::default(), &|_| {})).unwrap();
        let extract = of_job(job);
        assert_eq!(
            (summary.text, summary.ledger, summary.carried),
            (extract.summary, extract.ledger, extract.carried)
        );
        assert_eq!((summary.by.as_str(), summary.calls, summary.facts, summary.fallback), ("extract", 0, None, None));
    });
}

#[test]
fn a_summary_can_be_made_on_another_thread() {
    fn is_send<T: Send>(value: T) -> T {
        value
    }
    with_job("big", |job| {
        let (extract, cancel) = (Extract::default(), Cancel::default());
        now(is_send(summarise(&extract, job, &cancel, &|_| {}))).unwrap();
    });
}
