//! A model's own tokenizer, read from the `tokenizer.json` or `tekken.json` that is published beside its weights.

use std::cell::Cell;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use plimsoll::Tokens;
use plimsoll::budget::Count;
use plimsoll::token::{Counter, Family, Method};

/// Why a file cannot be counted with.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OwnError {
    /// It cannot be read.
    #[error("cannot read the tokenizer {}: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    /// It is a file of another kind, and which one.
    #[error("{} is {kind}, not a tokenizer.json or tekken.json; {step}", path.display())]
    Kind { path: PathBuf, kind: &'static str, step: &'static str },
    /// It is damaged, or newer than what is understood.
    #[cfg(feature = "tokenizer-json")]
    #[error("{} is no tokenizer that can be read: {reason}; take the file from the model's own page", path.display())]
    Unusable { path: PathBuf, reason: String },
    /// This build reads no such files.
    #[cfg(not(feature = "tokenizer-json"))]
    #[error("cannot count with {}: this build has no support for tokenizer.json and tekken.json (the cargo feature `tokenizer-json`)", path.display())]
    NotBuilt { path: PathBuf },
}

/// Bytes at the start of a file that tell whether it holds weights.
const WEIGHTS_START: u64 = 4_096;
/// What a model's tokenizer is called where it lies beside the weights.
const NAMES: [&str; 2] = ["tokenizer.json", "tekken.json"];

/// A tokenizer from a file. Text that looks like a special token is counted as text.
#[derive(Debug)]
pub(crate) struct Own {
    name: String,
    #[cfg(feature = "tokenizer-json")]
    tokenizer: Tokenizer,
    /// Whether some text could not be encoded and was estimated.
    estimated: Cell<bool>,
}

#[cfg(feature = "tokenizer-json")]
#[derive(Debug)]
enum Tokenizer {
    HuggingFace(Box<tokenizers::Tokenizer>),
    Tekken(super::tekken::Tekken),
}

impl Own {
    /// Reads a tokenizer: from its file, from the model's folder, or from beside the file of the model's weights.
    pub(crate) fn read(path: &Path) -> Result<Self, OwnError> {
        let found = |folder: &Path| NAMES.map(|name| folder.join(name)).into_iter().find(|path| path.is_file());
        let path =
            if path.is_dir() { found(path).unwrap_or_else(|| path.join("tokenizer.json")) } else { path.to_owned() };
        let path = path.as_path();
        let failed = |source| OwnError::Read { path: path.to_owned(), source };
        let mut file = File::open(path).map_err(failed)?;
        let mut bytes = Vec::new();
        file.by_ref().take(WEIGHTS_START).read_to_end(&mut bytes).map_err(failed)?;
        // Weights are gigabytes, so no more of them is read than tells what they are.
        let weights = bytes.starts_with(b"GGUF") || path.extension().is_some_and(|kind| kind == "safetensors");
        if weights {
            let folder = path.parent().unwrap_or(Path::new(""));
            if let Some(beside) = found(folder) {
                return Self::read(&beside);
            }
        } else {
            file.read_to_end(&mut bytes).map_err(failed)?;
        }
        if let Some((kind, step)) = other_kind(&bytes) {
            return Err(OwnError::Kind { path: path.to_owned(), kind, step });
        }
        Self::of_bytes(path, &bytes)
    }

    #[cfg(feature = "tokenizer-json")]
    fn of_bytes(path: &Path, bytes: &[u8]) -> Result<Self, OwnError> {
        let unusable = |reason: String| OwnError::Unusable { path: path.to_owned(), reason };
        let name = path.display().to_string();
        if is_tekken(bytes) {
            let tokenizer = Tokenizer::Tekken(super::tekken::Tekken::read(bytes).map_err(unusable)?);
            return Ok(Self { name, tokenizer, estimated: Cell::new(false) });
        }
        let mut tokenizer = tokenizers::Tokenizer::from_bytes(bytes).map_err(|error| unusable(error.to_string()))?;
        tokenizer.set_encode_special_tokens(true);
        tokenizer.with_truncation(None).map_err(|error| unusable(error.to_string()))?;
        tokenizer.with_padding(None);
        let tokenizer = Tokenizer::HuggingFace(Box::new(tokenizer));
        Ok(Self { name, tokenizer, estimated: Cell::new(false) })
    }

    #[cfg(not(feature = "tokenizer-json"))]
    fn of_bytes(path: &Path, _: &[u8]) -> Result<Self, OwnError> {
        Err(OwnError::NotBuilt { path: path.to_owned() })
    }

    /// How it is called in results.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

/// What else people have beside a model and might name, and what to do instead.
fn other_kind(bytes: &[u8]) -> Option<(&'static str, &'static str)> {
    let start = bytes.get(..4_096).unwrap_or(bytes);
    let has = |needle: &[u8]| start.windows(needle.len()).any(|window| window == needle);
    if start.starts_with(b"GGUF") {
        Some((
            "a model file of llama.cpp",
            "put the tokenizer.json of the model beside it, or ask its server: POST /tokenize",
        ))
    } else if has(b"\"tokenizer_class\"") && !has(b"\"model\"") {
        Some(("a tokenizer's configuration", "name the tokenizer.json beside it"))
    } else if start.first() == Some(&b'\n') || has(b"<unk>\x15") {
        Some(("a SentencePiece model", "name the tokenizer.json that is published beside it"))
    } else {
        None
    }
}

/// Whether a file is one of Mistral's: its vocabulary may stand before what tells of it, or after.
#[cfg(feature = "tokenizer-json")]
fn is_tekken(bytes: &[u8]) -> bool {
    let has = |part: &[u8]| part.windows(20).any(|window| window == b"\"default_vocab_size\"");
    let (start, end) = (bytes.get(..4_096).unwrap_or(bytes), bytes.len().saturating_sub(4_096));
    has(start) || has(bytes.get(end..).unwrap_or_default())
}

impl Count for Own {
    fn text(&self, text: &str) -> Tokens {
        #[cfg(feature = "tokenizer-json")]
        let counted = match &self.tokenizer {
            Tokenizer::HuggingFace(tokenizer) => tokenizer.encode_fast(text, false).ok().map(|encoded| encoded.len()),
            Tokenizer::Tekken(tekken) => tekken.count(text),
        };
        #[cfg(feature = "tokenizer-json")]
        if let Some(tokens) = counted {
            return Tokens::from(tokens);
        }
        self.estimated.set(true);
        Counter::estimated(Family::Generic).count(text)
    }

    fn method(&self) -> Method {
        if self.estimated.get() { Method::Estimated } else { Method::Exact }
    }
}

#[cfg(all(test, feature = "tokenizer-json"))]
mod tests {
    use super::*;

    /// Words and unknown ones; `<s>` is special.
    const WORDS: &str = r#"{"version":"1.0","truncation":{"direction":"Right","max_length":2,"strategy":"LongestFirst","stride":0},
        "padding":null,"added_tokens":[{"id":3,"content":"<s>","single_word":false,"lstrip":false,"rstrip":false,
        "normalized":false,"special":true}],"normalizer":null,"pre_tokenizer":{"type":"Whitespace"},"post_processor":null,
        "decoder":null,"model":{"type":"WordLevel","vocab":{"one":0,"two":1,"[UNK]":2,"<s>":3},"unk_token":"[UNK]"}}"#;

    #[test]
    fn a_models_own_tokenizer_counts_all_of_a_text_and_special_tokens_as_text() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokenizer.json");
        std::fs::write(&path, WORDS).unwrap();
        let (gguf, safe) = (folder.path().join("model-q4.gguf"), folder.path().join("model.safetensors"));
        std::fs::write(&gguf, b"GGUF\x03\0\0\0").unwrap();
        std::fs::write(&safe, [8, 0, 0, 0, 0, 0, 0, 0]).unwrap();
        for named in [path.as_path(), folder.path(), &gguf, &safe] {
            let own = Own::read(named).unwrap();
            assert_eq!(own.text("one two three one"), Tokens(4), "no truncation");
            assert_eq!(own.text("<s>"), Tokens(3), "`<`, `s` and `>`");
            assert_eq!(own.method(), Method::Exact);
            assert!(own.name().ends_with("tokenizer.json"));
        }
    }

    #[test]
    fn a_tekken_file_counts_as_well_and_is_found_beside_the_weights() {
        let folder = tempfile::tempdir().unwrap();
        let (path, safe) = (folder.path().join("tekken.json"), folder.path().join("consolidated.safetensors"));
        std::fs::write(&path, super::super::tekken::tests::file(&["on", "one"], 258)).unwrap();
        std::fs::write(&safe, [8, 0, 0, 0, 0, 0, 0, 0]).unwrap();
        for named in [path.as_path(), folder.path(), &safe] {
            let own = Own::read(named).unwrap();
            assert_eq!((own.text("one"), own.text("one <s>")), (Tokens(1), Tokens(5)));
            assert_eq!(own.method(), Method::Exact);
            assert!(own.name().ends_with("tekken.json"));
        }
        // Where both lie there, it is the one that the reference implementation reads.
        std::fs::write(folder.path().join("tokenizer.json"), WORDS).unwrap();
        assert!(Own::read(folder.path()).unwrap().name().ends_with("tokenizer.json"));
    }

    #[test]
    fn what_is_no_tokenizer_is_named_with_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        for (content, expected) in [
            (
                &b"GGUF\x03\0\0\0"[..],
                "is a model file of llama.cpp, not a tokenizer.json or tekken.json; put the tokenizer.json of the model beside it",
            ),
            (br#"{"config":{"default_vocab_size":131072},"vocab":[]}"#, "is no tokenizer that can be read"),
            (br#"{"tokenizer_class":"LlamaTokenizer"}"#, "name the tokenizer.json beside it"),
            (b"{}", "is no tokenizer that can be read"),
            (b"", "is no tokenizer that can be read"),
        ] {
            std::fs::write(&path, content).unwrap();
            let error = Own::read(&path).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        let error = Own::read(&folder.path().join("none")).unwrap_err().to_string();
        assert!(error.starts_with("cannot read the tokenizer "), "{error}");
    }
}
