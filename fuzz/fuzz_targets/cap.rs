//! No text, cap, shape or kind makes a result longer than its cap, and no division into pushes changes it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll::Bytes;
use plimsoll::cap::{Capper, Kind, Marker, Naming, Policy, Shape, cap, snip_bytes};

fuzz_target!(|input: (u16, u8, u16, bool, &[u8])| {
    let (limit, kind, chunk, classic, text) = input;
    let mut policy = Policy::new(Bytes(u64::from(limit) % 9_000));
    policy.shape = if classic { Shape::Classic } else { Shape::Default };
    policy.kind = Kind::ALL.get(usize::from(kind)).copied();
    let limit = usize::from(limit) % 9_000;

    let id = "s1/toolu_01".parse().expect("an id");
    let naming = Naming::whole(&id).at(Some("/data/results/s1/toolu_01.txt"));
    let capped = cap(text, &policy, &naming);
    assert_eq!(capped.was_capped, text.len() > limit);
    assert!(capped.text.len() <= limit);
    if capped.was_capped {
        let shown = std::str::from_utf8(&capped.text).expect("a cut text is UTF-8");
        if let Some(marker) = &capped.marker {
            assert!(shown.lines().any(|line| Marker::parse(line).as_ref() == Some(marker)));
        }
    } else {
        assert_eq!(&*capped.text, text);
    }
    let mut capper = Capper::new(policy);
    for chunk in text.chunks(usize::from(chunk).max(1)) {
        capper.push(chunk);
    }
    assert_eq!(capper.finish(&naming), capped);
    assert!(snip_bytes(text, Bytes(limit as u64), Some("a note")).len() <= limit);
});
