//! Upgrades, such as to `WebSocket`: the upstream is asked, and if it agrees, bytes pass both ways until either side ends.

use http::{HeaderMap, Response, StatusCode, header};
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;

/// Puts back the two headers that ask for the upgrade, which otherwise belong to one connection.
pub(crate) fn prepare(headers: &mut HeaderMap, original: &HeaderMap) {
    headers.insert(header::CONNECTION, header::HeaderValue::from_static("upgrade"));
    for value in original.get_all(header::UPGRADE) {
        headers.append(header::UPGRADE, value.clone());
    }
}

/// Joins both connections if the upstream agrees; its answer goes to the client either way.
pub(crate) fn join(mut answer: Response<Incoming>, client: OnUpgrade) -> Response<Incoming> {
    if answer.status() != StatusCode::SWITCHING_PROTOCOLS {
        let headers = std::mem::take(answer.headers_mut());
        *answer.headers_mut() = super::headers::back(headers);
        return answer;
    }
    let upstream = hyper::upgrade::on(&mut answer);
    tokio::spawn(async move {
        let Ok((client, upstream)) = tokio::try_join!(client, upstream) else { return };
        let (mut client, mut upstream) = (TokioIo::new(client), TokioIo::new(upstream));
        // Either side may end it in any way.
        let _ = tokio::io::copy_bidirectional(&mut client, &mut upstream).await;
    });
    answer
}
