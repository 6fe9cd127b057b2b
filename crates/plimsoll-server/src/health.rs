//! What the gateway says of itself: that it runs, whether it can serve, and what it counted.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use http::{HeaderValue, Method, Response, StatusCode, header};

use crate::gateway::{Answer, Own, Shared};

/// Answers a route of the gateway's own.
pub(crate) fn answer(own: Own, method: &Method, shared: &Arc<Shared>) -> Response<Answer> {
    let text = |body: String, kind: &'static str| {
        let length = body.len();
        let mut answer =
            Response::new(if method == Method::HEAD { Answer::Whole(None) } else { Answer::whole(body) });
        answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        answer.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(length));
        answer
    };
    match own {
        Own::Health => text("ok\n".to_owned(), "text/plain"),
        Own::Ready if shared.stopping.load(Relaxed) => {
            let mut answer = text("stopping\n".to_owned(), "text/plain");
            *answer.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
            answer
        }
        Own::Ready => text("ready\n".to_owned(), "text/plain"),
        Own::Metrics => text(shared.metrics.text(), "text/plain; version=0.0.4"),
        // Without sessions there is nothing to recall.
        Own::Hello | Own::Mcp | Own::Recall => Response::new(Answer::Whole(None)),
    }
}
