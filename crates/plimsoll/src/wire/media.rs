//! Media given by URL: a `data:` URL carries its type and its bytes, any other only points somewhere.

use memchr::{memchr, memmem};

use super::Text;
use crate::transcript::{Media, MediaKind};

/// Reads media from the URL that names it (RFC 2397 for `data:`).
pub(super) fn from_url(kind: MediaKind, url: Option<Text<'_>>) -> Media<'_> {
    let (media_type, data) = url.and_then(data_url).unwrap_or((None, None));
    Media { kind, media_type, data, low_detail: false }
}

/// Splits `data:TYPE;base64,DATA`; `None` for every other URL.
fn data_url(url: Text<'_>) -> Option<(Option<Text<'_>>, Option<Text<'_>>)> {
    let raw = url.raw();
    if !raw.get(..5)?.eq_ignore_ascii_case(b"data:") {
        return None;
    }
    let comma = memchr(b',', raw)?;
    let head = raw.get(5..comma)?;
    let end = memchr(b';', head).unwrap_or(head.len());
    let media_type = Some(url.part(5..5 + end)).filter(|text| !text.is_empty());
    // Without `base64` what follows is percent-encoded text; there is no telling it apart cheaply, so it counts as data.
    Some((media_type, Some(url.part(comma + 1..raw.len()))))
}

/// Reads media whose bytes stand in a field of their own, with or without a `data:` prefix.
pub(super) fn from_data<'a>(kind: MediaKind, data: Option<Text<'a>>, media_type: Option<Text<'a>>) -> Media<'a> {
    match data.and_then(data_url) {
        Some((found, inner)) => Media { kind, media_type: media_type.or(found), data: inner, low_detail: false },
        None => Media { kind, media_type, data, low_detail: false },
    }
}

/// What kind of media a media type names.
pub(super) fn kind_of(media_type: Option<Text<'_>>) -> MediaKind {
    let raw = media_type.map(Text::raw).unwrap_or_default();
    if raw.starts_with(b"image") {
        MediaKind::Image
    } else if raw.starts_with(b"audio") {
        MediaKind::Audio
    } else if memmem::find(raw, b"pdf").is_some() || raw.starts_with(b"text") {
        MediaKind::Document
    } else {
        MediaKind::File
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_data_url_gives_its_type_and_its_data() {
        let read = |url: &'static str| {
            let media = from_url(MediaKind::Image, Some(Text::json(url.as_bytes(), url.contains('\\'))));
            let show = |text: Option<Text<'_>>| text.map(|text| text.decode().into_owned());
            (show(media.media_type), show(media.data))
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(read("data:image/png;base64,QUJD"), (some("image/png"), some("QUJD")));
        assert_eq!(read(r"data:image\/png;base64,QU\/D"), (some("image/png"), some("QU/D")));
        assert_eq!(read("data:,x"), (None, some("x")));
        assert_eq!(read("https://example.org/a,b.png"), (None, None));
        assert_eq!(read("data:no comma"), (None, None));
    }
}
