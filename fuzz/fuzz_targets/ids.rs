//! Any text as an id: what is accepted is path-safe and reads back; what is mapped stays in one component.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll::id::{ArtifactId, RecallId, SessionId, ToolCallId};

fuzz_target!(|text: &str| {
    let (session, call) = (SessionId::new(text), ToolCallId::new(text));
    for name in [session.as_str(), call.as_str()] {
        assert!(!name.is_empty() && name.len() <= 160 && name != "." && name != "..");
        assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-~".contains(&byte)), "{name}");
    }
    let id = ArtifactId::new(&session, &call).to_string();
    id.parse::<RecallId>().expect("an id that was made reads back");
    if let Ok(given) = text.parse::<RecallId>() {
        assert_eq!(given.to_string(), text, "what is accepted is accepted as it is");
        assert!(!text.contains("..") && !text.starts_with('/') && text.matches('/').count() == 1);
    }
});
