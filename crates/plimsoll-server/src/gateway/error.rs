//! What the gateway says when it cannot pass a request on: plain, in the shape that the protocol's clients read.

use http::{HeaderValue, Response, StatusCode, header};
use plimsoll::wire::quote;

use super::relay::Answer;
use super::upstream::Kind;

/// A failure that is the gateway's to report. What an upstream answers is never turned into one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) status: StatusCode,
    pub(crate) message: String,
}

impl Fault {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }

    /// Writes the answer. The message begins with our name, so that nobody looks for the fault at the provider's.
    pub(crate) fn answer(&self, kind: Option<Kind>) -> Response<Answer> {
        let message = quote(&format!("plimsoll: {}", self.message));
        let body = match kind {
            Some(Kind::Anthropic) => {
                format!(r#"{{"type":"error","error":{{"type":"{}","message":{message}}}}}"#, self.anthropic())
            }
            Some(Kind::Gemini) => {
                let (code, status) = (self.status.as_u16(), self.gemini());
                format!(r#"{{"error":{{"code":{code},"message":{message},"status":"{status}"}}}}"#)
            }
            Some(Kind::OpenAi) | None => {
                let kind = self.openai();
                format!(r#"{{"error":{{"message":{message},"type":"{kind}","param":null,"code":null}}}}"#)
            }
        };
        let mut answer = Response::new(Answer::whole(body));
        *answer.status_mut() = self.status;
        answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        answer
    }

    fn anthropic(&self) -> &'static str {
        match self.status.as_u16() {
            401 => "authentication_error",
            403 => "permission_error",
            404 => "not_found_error",
            413 => "request_too_large",
            504 => "timeout_error",
            500.. => "api_error",
            _ => "invalid_request_error",
        }
    }

    fn openai(&self) -> &'static str {
        match self.status.as_u16() {
            500.. => "server_error",
            _ => "invalid_request_error",
        }
    }

    fn gemini(&self) -> &'static str {
        match self.status.as_u16() {
            401 => "UNAUTHENTICATED",
            403 => "PERMISSION_DENIED",
            404 => "NOT_FOUND",
            504 => "DEADLINE_EXCEEDED",
            500.. => "UNAVAILABLE",
            _ => "INVALID_ARGUMENT",
        }
    }
}
