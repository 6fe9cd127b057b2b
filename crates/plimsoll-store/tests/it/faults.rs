//! What a real server says when endpoint, bucket or credentials are wrong, and what comes of it.

use plimsoll::id::Folder;
use plimsoll_store::StoreError;
use plimsoll_store::backend::Backend as _;
use plimsoll_store::object::{Fault, S3Store, Unreached};

use crate::children::key;
use crate::{Server, Tests, fresh, noise};

pub(crate) const TESTS: Tests = &[
    ("faults::wrong_credentials_are_told_from_a_wrong_bucket", wrong_credentials_are_told_from_a_wrong_bucket),
    ("faults::a_wrong_bucket_is_no_empty_store", a_wrong_bucket_is_no_empty_store),
    ("faults::a_server_that_is_not_there_is_named", a_server_that_is_not_there_is_named),
    ("faults::a_server_without_tls_is_told", a_server_without_tls_is_told),
    ("faults::a_certificate_that_nobody_trusts_is_told", a_certificate_that_nobody_trusts_is_told),
];

/// Every kind of call, and the faults it ends in.
fn faults(store: &S3Store) -> Vec<(&'static str, Fault, String)> {
    let key = key("s", "c");
    let large = noise(1, 9 << 20);
    let fault = |call: &'static str, error: StoreError| {
        let told = format!("{error} {error:?}");
        assert!(!told.contains("canary"), "{told}");
        match error {
            StoreError::Remote { ref fault, .. } => (call, fault.clone(), error.to_string()),
            other => panic!("{call}: {other:?}"),
        }
    };
    vec![
        fault("get", store.get(&key).unwrap_err()),
        fault("head", store.head(&key).unwrap_err()),
        fault("list", store.list(&Folder::Results).unwrap_err()),
        fault("ranges", store.get_ranges(&key, &[0..1, 9..10]).unwrap_err()),
        fault("open", store.open(&key, 0).map(drop).unwrap_err()),
        fault("delete", store.delete(&key).unwrap_err()),
        fault("create", store.create(&key, &[b"x"]).unwrap_err()),
        fault("create large", store.create(&key, &[&large]).unwrap_err()),
        fault("sweep", store.sweep(std::time::SystemTime::now()).unwrap_err()),
    ]
}

fn wrong_credentials_are_told_from_a_wrong_bucket() {
    for (server, code) in [
        (Server::get().with("AWS_SECRET_ACCESS_KEY", "canary-secret"), "SignatureDoesNotMatch"),
        (Server::get().with("AWS_ACCESS_KEY_ID", "canary-id"), "InvalidAccessKeyId"),
    ] {
        for (call, fault, text) in faults(&server.open(&fresh("keys"))) {
            assert_eq!(fault, Fault::Credentials { code: code.to_owned() }, "{call}");
            assert!(text.contains("check AWS_ACCESS_KEY_ID"), "{text}");
        }
    }
}

fn a_wrong_bucket_is_no_empty_store() {
    let server = Server::get();
    let open = || S3Store::new("s3://no-such-bucket-here/p".parse().unwrap(), &server.access()).unwrap();
    for (call, fault, text) in faults(&open()) {
        assert!(matches!(fault, Fault::NoBucket { .. }), "{call}: {fault:?}");
        assert!(text.contains("s3://no-such-bucket-here/p") && text.contains("no such bucket"), "{text}");
    }
    // Also if it is the first that is asked.
    assert!(open().head(&key("s", "c")).is_err());
    assert!(open().delete(&key("s", "c")).is_err());
}

fn a_server_that_is_not_there_is_named() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let started = std::time::Instant::now();
    let error = Server::get().with("AWS_ENDPOINT_URL", &endpoint).open("p").get(&key("s", "c")).unwrap_err();
    let StoreError::Remote { fault: Fault::Unreachable { endpoint: told, how, .. }, .. } = &error else {
        panic!("{error:?}")
    };
    assert_eq!((told, *how), (&endpoint, Unreached::Refused));
    assert!(error.to_string().contains("check AWS_ENDPOINT_URL"), "{error}");
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
}

fn a_server_without_tls_is_told() {
    let server = Server::get();
    let secure = server.environment["AWS_ENDPOINT_URL"].replace("http:", "https:");
    let error = server.with("AWS_ENDPOINT_URL", &secure).open("p").get(&key("s", "c")).unwrap_err();
    assert!(matches!(&error, StoreError::Remote { fault: Fault::Tls { .. }, .. }), "{error:?}");
    assert!(error.to_string().contains("write http:// in AWS_ENDPOINT_URL"), "{error}");
}

fn a_certificate_that_nobody_trusts_is_told() {
    for (call, fault, text) in faults(&Server::secure().open("p")) {
        assert!(matches!(&fault, Fault::Tls { .. }), "{call}: {fault:?}");
        assert!(text.contains("UnknownIssuer") && text.contains("in SSL_CERT_FILE"), "{call}: {text}");
    }
}
