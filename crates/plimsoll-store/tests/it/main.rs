//! Stores on real servers. `bash .ci/services cargo test …` starts one and names it; without, these tests are ignored.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test that fails should stop at once"
)]

mod children;
mod faults;
mod s3;

use std::collections::HashMap;
use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use libtest_mimic::{Arguments, Trial};
use plimsoll_store::Store;
use plimsoll_store::backend::Backend;
use plimsoll_store::object::{Access, S3Store};

fn main() -> ExitCode {
    // The tests start this program again, as another process beside themselves.
    if let Ok(role) = std::env::var("PLIMSOLL_TEST_ROLE") {
        children::play(&role);
        return ExitCode::SUCCESS;
    }
    let there = Server::from_env().is_some();
    let trials = s3::TESTS.iter().chain(faults::TESTS).map(|(name, test)| {
        let test = *test;
        Trial::test(*name, move || {
            test();
            Ok(())
        })
        .with_ignored_flag(!there)
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}

type Tests = &'static [(&'static str, fn())];

/// The server of this run.
struct Server {
    url: String,
    environment: HashMap<&'static str, String>,
}

impl Server {
    fn from_env() -> Option<Self> {
        let given = |name: &str| std::env::var(name).ok();
        let environment = HashMap::from([
            ("AWS_ENDPOINT_URL", given("PLIMSOLL_TEST_S3_ENDPOINT")?),
            ("AWS_ACCESS_KEY_ID", given("PLIMSOLL_TEST_S3_KEY_ID")?),
            ("AWS_SECRET_ACCESS_KEY", given("PLIMSOLL_TEST_S3_SECRET")?),
        ]);
        Some(Self { url: given("PLIMSOLL_TEST_S3_URL")?, environment })
    }

    fn get() -> Self {
        Self::from_env().expect("tests without a server are ignored")
    }

    /// The same server, spoken to over TLS. Its certificate is trusted by [children](children::Other) alone.
    fn secure() -> Self {
        let endpoint = std::env::var("PLIMSOLL_TEST_S3_TLS_ENDPOINT").expect("tests without a server are ignored");
        Self::get().with("AWS_ENDPOINT_URL", &endpoint)
    }

    fn with(mut self, name: &'static str, value: &str) -> Self {
        self.environment.insert(name, value.to_owned());
        self
    }

    fn access(&self) -> Access {
        Access::from_env(|name| self.environment.get(name).map(OsString::from)).unwrap()
    }

    /// Opens a place below the bucket.
    fn open(&self, prefix: &str) -> S3Store {
        S3Store::new(format!("{}/{prefix}", self.url).parse().unwrap(), &self.access()).unwrap()
    }

    fn store(&self, prefix: &str) -> Store {
        Store::new(Arc::new(self.open(prefix)) as Arc<dyn Backend>)
    }
}

/// A prefix that nothing else uses.
fn fresh(name: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let nanos = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_nanos();
    format!("{name}-{nanos}-{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Bytes that no compression or lucky cut makes alike.
fn noise(seed: u64, size: usize) -> Vec<u8> {
    let mut bytes = vec![0; size];
    let mut reader = blake3::Hasher::new().update(&seed.to_le_bytes()).finalize_xof();
    reader.fill(&mut bytes);
    bytes
}
