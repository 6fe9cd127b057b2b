//! The binary with its store on a real S3 server. `bash .ci/services cargo test …` starts one and names it; without,
//! these tests are ignored.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that fails should stop at once"
)]

mod replicas;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output, Stdio};
use std::time::{Duration, Instant, SystemTime};

use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    let tests: [(&str, fn()); 5] = [
        ("what_one_machine_archives_another_restores", what_one_machine_archives_another_restores),
        ("two_machines_that_compact_at_once_agree", two_machines_that_compact_at_once_agree),
        ("what_is_wrong_is_said_and_nothing_is_written", what_is_wrong_is_said_and_nothing_is_written),
        ("two_gateways_behind_a_round_robin_are_one", replicas::two_gateways_behind_a_round_robin_are_one),
        ("an_unknown_id_is_no_fault_of_the_store", an_unknown_id_is_no_fault_of_the_store),
    ];
    let there = std::env::var_os("PLIMSOLL_TEST_S3_URL").is_some();
    let trials = tests.map(|(name, test)| {
        let run = move || {
            test();
            Ok(())
        };
        Trial::test(name, run).with_ignored_flag(!there)
    });
    libtest_mimic::run(&Arguments::from_args(), trials.into()).exit_code()
}

/// A machine: a directory of its own, and the common store.
struct Machine {
    folder: tempfile::TempDir,
    store: String,
    environment: Vec<(&'static str, String)>,
}

impl Machine {
    fn new(prefix: &str) -> Self {
        let given = |name: &str| std::env::var(name).expect("tests without a server are ignored");
        Self {
            folder: tempfile::tempdir().unwrap(),
            store: format!("{}/{prefix}", given("PLIMSOLL_TEST_S3_URL")),
            environment: vec![
                ("AWS_ENDPOINT_URL", given("PLIMSOLL_TEST_S3_ENDPOINT")),
                ("AWS_ACCESS_KEY_ID", given("PLIMSOLL_TEST_S3_KEY_ID")),
                ("AWS_SECRET_ACCESS_KEY", given("PLIMSOLL_TEST_S3_SECRET")),
            ],
        }
    }

    fn with(mut self, name: &'static str, value: &str) -> Self {
        self.environment.retain(|(present, _)| *present != name);
        self.environment.push((name, value.to_owned()));
        self
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        command
            .env_clear()
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .args(["--store", &self.store])
            .args(arguments)
            .current_dir(self.folder.path())
            .stdin(Stdio::null());
        command
    }

    #[track_caller]
    fn run(&self, code: i32, arguments: &[&str]) -> Output {
        let output = self.command(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{}", String::from_utf8_lossy(&output.stderr));
        output
    }

    #[track_caller]
    fn fails(&self, code: i32, arguments: &[&str]) -> String {
        let output = self.run(code, arguments);
        assert!(output.stdout.is_empty());
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(!told.contains("canary"), "{told}");
        told
    }
}

fn fresh(name: &str) -> String {
    format!("cli {name}-{}", SystemTime::UNIX_EPOCH.elapsed().unwrap().as_nanos())
}

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/tideline.jsonl")
}

fn json(output: &[u8]) -> serde_json::Value {
    serde_json::from_slice(output).unwrap()
}

const COMPACT: [&str; 4] = ["-o", "out.jsonl", "--target-tokens", "12k"];

fn what_one_machine_archives_another_restores() {
    let (prefix, example) = (fresh("restore"), example());
    let original = std::fs::read(&example).unwrap();
    let (one, other) = (Machine::new(&prefix), Machine::new(&prefix));
    let arguments = [&["compact", example.to_str().unwrap(), "--json"], &COMPACT[..]].concat();
    let report = json(&one.run(0, &arguments).stdout);
    assert_eq!(report["outcome"], "applied");
    let epoch = report["epoch"].as_str().unwrap();
    assert!(other.run(0, &["restore", epoch]).stdout == original);
    other.run(0, &["restore", epoch, "-o", "back.jsonl"]);
    assert!(std::fs::read(other.folder.path().join("back.jsonl")).unwrap() == original);
    let removed = other.run(0, &["recall", report["artifact"].as_str().unwrap()]).stdout;
    assert!(!removed.is_empty() && removed.len() < original.len());
    // What is decided stays decided, on any machine.
    let again = json(&other.run(0, &arguments).stdout);
    assert_eq!(again["epoch"], report["epoch"]);
    let result = |machine: &Machine| std::fs::read(machine.folder.path().join("out.jsonl")).unwrap().len();
    assert_eq!(result(&one), result(&other));
}

fn two_machines_that_compact_at_once_agree() {
    let (prefix, example) = (fresh("race"), example());
    let machines: Vec<Machine> = (0..4).map(|_| Machine::new(&prefix)).collect();
    let arguments = [&["compact", example.to_str().unwrap(), "--json"], &COMPACT[..]].concat();
    let running: Vec<_> = machines
        .iter()
        .map(|machine| machine.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
        .collect();
    let epochs: Vec<String> = running
        .into_iter()
        .map(|child| {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            json(&output.stdout)["epoch"].as_str().unwrap().to_owned()
        })
        .collect();
    assert!(epochs.iter().all(|epoch| *epoch == epochs[0]), "{epochs:?}");
    assert!(machines[3].run(0, &["restore", &epochs[0]]).stdout == std::fs::read(&example).unwrap());
}

fn what_is_wrong_is_said_and_nothing_is_written() {
    let example = example();
    let arguments = [&["compact", example.to_str().unwrap()], &COMPACT[..]].concat();
    let started = Instant::now();
    for (machine, code, part) in [
        (Machine::new("p").with("AWS_SECRET_ACCESS_KEY", "canary"), 1, "SignatureDoesNotMatch"),
        (Machine::new("p").with("AWS_ENDPOINT_URL", "http://127.0.0.1:1"), 1, "nobody listens at http://127.0.0.1:1"),
        (Machine::new("p").with("AWS_ACCESS_KEY_ID", "").with("AWS_SECRET_ACCESS_KEY", ""), 1, "AWS_ACCESS_KEY_ID"),
        (Machine { store: "s3://no-such-bucket/p".to_owned(), ..Machine::new("p") }, 1, "no such bucket"),
        (Machine { store: "s3://canary@bucket/p".to_owned(), ..Machine::new("p") }, 2, "--store"),
    ] {
        let told = machine.fails(code, &arguments);
        assert!(told.contains(part), "{told}");
        assert!(!machine.folder.path().join("out.jsonl").exists());
    }
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
}

fn an_unknown_id_is_no_fault_of_the_store() {
    let told = Machine::new(&fresh("unknown")).fails(1, &["recall", "s/~0123456789ab"]);
    assert!(told.contains("nothing is stored as s/~0123456789ab"), "{told}");
}
