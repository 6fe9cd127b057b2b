//! Content codings: a body is decoded to be looked at, within a bound; what is not changed goes on as it was encoded.

use std::io::{self, Read};

use bytes::Bytes;
use http::header::{self, HeaderMap};

/// Why a body is not looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Undecoded {
    /// In a coding that is not known here.
    Unknown,
    /// It does not hold what it says.
    Broken,
    /// It holds more than the limit.
    TooLarge,
}

/// Decodes a body for a view. Uncoded it is the body itself.
pub(crate) fn decoded(headers: &HeaderMap, body: &Bytes, limit: u64) -> Result<Bytes, Undecoded> {
    let mut codings = headers.get_all(header::CONTENT_ENCODING).iter();
    let Some(coding) = codings.next() else { return Ok(body.clone()) };
    if codings.next().is_some() {
        return Err(Undecoded::Unknown);
    }
    match coding.to_str().map(|coding| coding.trim().to_ascii_lowercase()).as_deref() {
        Ok("identity" | "") => Ok(body.clone()),
        Ok("gzip" | "x-gzip") => bounded(flate2::read::MultiGzDecoder::new(body.as_ref()), limit),
        Ok("deflate") => bounded(flate2::read::ZlibDecoder::new(body.as_ref()), limit),
        Ok("zstd") => {
            let decoder = ruzstd::decoding::StreamingDecoder::new(body.as_ref()).map_err(|_| Undecoded::Broken)?;
            bounded(decoder, limit)
        }
        _ => Err(Undecoded::Unknown),
    }
}

fn bounded(reader: impl Read, limit: u64) -> Result<Bytes, Undecoded> {
    let mut bytes = Vec::new();
    let read: io::Result<usize> = reader.take(limit.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|_| Undecoded::Broken)?;
    if bytes.len() as u64 > limit { Err(Undecoded::TooLarge) } else { Ok(bytes.into()) }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn headers(coding: &str) -> HeaderMap {
        HeaderMap::from_iter([(header::CONTENT_ENCODING, coding.parse().unwrap())])
    }

    #[test]
    fn a_coded_body_is_seen_as_what_it_holds() {
        let text = Bytes::from("{\"a\":1}".repeat(1000));
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        gzip.write_all(&text).unwrap();
        assert_eq!(decoded(&headers("GZIP"), &gzip.finish().unwrap().into(), 1 << 20), Ok(text.clone()));
        let zstd = ruzstd::encoding::compress_to_vec(text.as_ref(), ruzstd::encoding::CompressionLevel::Fastest);
        assert_eq!(decoded(&headers("zstd"), &zstd.into(), 1 << 20), Ok(text.clone()));
        assert_eq!(decoded(&HeaderMap::new(), &text, 1 << 20), Ok(text));
    }

    #[test]
    fn a_bomb_and_nonsense_are_not_looked_at() {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        gzip.write_all(&vec![0; 5 << 20]).unwrap();
        assert_eq!(decoded(&headers("gzip"), &gzip.finish().unwrap().into(), 1 << 20), Err(Undecoded::TooLarge));
        assert_eq!(decoded(&headers("gzip"), &Bytes::from_static(b"no"), 9), Err(Undecoded::Broken));
        assert_eq!(decoded(&headers("zstd"), &Bytes::from_static(b"no"), 9), Err(Undecoded::Broken));
        assert_eq!(decoded(&headers("br"), &Bytes::from_static(b"no"), 9), Err(Undecoded::Unknown));
        assert_eq!(decoded(&headers("gzip, br"), &Bytes::from_static(b"no"), 9), Err(Undecoded::Unknown));
    }
}
