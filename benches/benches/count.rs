//! Counting tokens: bytes per second on mixed text and on texts that stall tokenizers.

use divan::counter::BytesCount;
use plimsoll::token::{Counter, Encoding};
use plimsoll_benches::text;

fn main() {
    divan::main();
}

#[divan::bench(args = ["o200k_base", "cl100k_base"], sample_count = 10)]
fn mixed(bencher: divan::Bencher<'_, '_>, encoding: &str) {
    let data = std::env::var_os("PLIMSOLL_DATA").map(std::path::PathBuf::from);
    let text = text::mixed(data.as_deref(), 4_000_000);
    let Ok(encoding) = encoding.parse::<Encoding>() else {
        return;
    };
    let counter = Counter::exact(encoding);
    bencher.counter(BytesCount::of_str(&text)).bench(|| counter.count(&text));
}

#[divan::bench(args = ["spaces", "one letter", "random letters", "random Han", "base64", "combining marks"], sample_count = 10)]
fn adversarial(bencher: divan::Bencher<'_, '_>, name: &str) {
    let texts = text::adversarial(1_000_000);
    let Some((_, text)) = texts.iter().find(|(of, _)| *of == name) else {
        return;
    };
    let counter = Counter::exact(Encoding::O200kBase);
    bencher.counter(BytesCount::of_str(text)).bench(|| counter.count(text));
}
