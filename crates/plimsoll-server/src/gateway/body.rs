//! Bodies on their way to an upstream: read whole within bounds, or passed on as they come.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::StatusCode;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use tokio::time::timeout;

use super::error::Fault;

/// How much more than the limit is taken in, and dropped, so that a client that is still sending reads its refusal.
const GRACE: u64 = 256 << 20;
/// How long that may take.
const GRACE_TIME: Duration = Duration::from_secs(5);

/// A body as an upstream gets it.
#[derive(Debug)]
pub(crate) enum Outgoing {
    /// At hand.
    Whole(Option<Bytes>),
    /// As the client sends it.
    Through(Incoming),
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match self.get_mut() {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Through(body) => Pin::new(body).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(bytes) => bytes.as_ref().is_none_or(Bytes::is_empty),
            Self::Through(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Self::Through(body) => body.size_hint(),
        }
    }
}

/// Reads a body whole.
///
/// # Errors
/// 413 if it is larger than `limit`, 408 if the client falls silent, 400 if it breaks off.
pub(crate) async fn read(mut body: Incoming, limit: u64, silence: Duration) -> Result<Bytes, Fault> {
    let announced = body.size_hint().exact();
    if announced.is_some_and(|bytes| bytes > limit) {
        drain(body).await;
        return Err(too_large(limit));
    }
    let mut whole = BytesMut::new();
    let mut first: Option<Bytes> = None;
    loop {
        let Ok(next) = timeout(silence, body.frame()).await else {
            let seconds = silence.as_secs_f32();
            let message = format!("the request's body stopped coming for {seconds} s; send it again");
            return Err(Fault::new(StatusCode::REQUEST_TIMEOUT, message));
        };
        let Some(frame) = next else { break };
        let frame = frame.map_err(|_| Fault::new(StatusCode::BAD_REQUEST, "the request's body broke off"))?;
        // Trailers of a request mean nothing to any of the protocols that are read here.
        let Ok(data) = frame.into_data() else { continue };
        let have = whole.len() + first.as_ref().map_or(0, Bytes::len);
        if (have + data.len()) as u64 > limit {
            drain(body).await;
            return Err(too_large(limit));
        }
        if have == 0 {
            // A body that comes in one piece is not copied.
            first = Some(data);
            continue;
        }
        if let Some(first) = first.take() {
            let size = announced.and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(first.len() * 2);
            whole.reserve(size.max(first.len() + data.len()));
            whole.extend_from_slice(&first);
        }
        whole.extend_from_slice(&data);
    }
    Ok(first.unwrap_or_else(|| whole.freeze()))
}

async fn drain(mut body: Incoming) {
    let all = async {
        let mut dropped = 0;
        while let Some(Ok(frame)) = body.frame().await {
            dropped += frame.data_ref().map_or(0, |data| data.len() as u64);
            if dropped > GRACE {
                break;
            }
        }
    };
    // However it ends, the refusal is sent.
    let _ = timeout(GRACE_TIME, all).await;
}

fn too_large(limit: u64) -> Fault {
    let mib = limit as f64 / f64::from(1 << 20);
    let message = format!("the request's body is larger than {mib} MiB; raise it with --max-body if that is meant");
    Fault::new(StatusCode::PAYLOAD_TOO_LARGE, message)
}
