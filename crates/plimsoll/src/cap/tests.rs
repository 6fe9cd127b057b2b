//! What holds for every text, cap and division into pushes.

use proptest::prelude::*;

use super::*;
use crate::Bytes;

/// Texts of every width, lines long and short, escapes, and bytes that are no UTF-8.
fn any_text() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        "[ -~]{0,60}\n".prop_map(String::into_bytes),
        "[a-z日本語é😀\u{301}]{0,40}".prop_map(String::into_bytes),
        "(error: |warning: |Traceback|FAILED )[a-z ]{0,30}\n".prop_map(String::into_bytes),
        "(\u{1b}\\[[0-9;]{0,3}[mKAGz]|\r|\u{8}|\u{1b}\\][a-z]{0,3}\u{7}){1,4}".prop_map(String::into_bytes),
        r#"[\[\]{}",:0-9a-z ]{0,30}"#.prop_map(String::into_bytes),
        "(diff --git a/x b/x|@@ -1 [+]1 @@|[-+][a-z]{0,9})\n".prop_map(String::into_bytes),
        proptest::collection::vec(any::<u8>(), 0..40),
    ];
    let head = prop_oneof![
        Just(""),
        Just("{\"a\":["),
        Just("[{"),
        Just("diff --git a/x b/x\n"),
        Just("a,b,c\n1,2,3\n4,5,6\n7,8,9\n")
    ];
    (head, proptest::collection::vec(piece, 0..120))
        .prop_map(|(head, pieces)| [head.as_bytes(), &pieces.concat()].concat())
}

fn any_policy() -> impl Strategy<Value = Policy> {
    let kind = proptest::option::of(0..Kind::ALL.len());
    (0..4_200u64, any::<bool>(), kind).prop_map(|(cap, classic, kind)| Policy {
        cap: Bytes(cap).into(),
        shape: if classic { Shape::Classic } else { Shape::Default },
        kind: kind.map(|at| Kind::ALL[at]),
        hint: None,
    })
}

fn holds(text: &[u8], policy: &Policy, naming: &Naming<'_>) -> Result<(), TestCaseError> {
    let limit = policy.cap.limit();
    let capped = cap(text, policy, naming);
    prop_assert!(capped.text.len() <= limit || !capped.was_capped);
    prop_assert_eq!(capped.was_capped, text.len() > limit);
    if capped.was_capped {
        prop_assert!(str::from_utf8(&capped.text).is_ok());
    } else {
        prop_assert_eq!(&*capped.text, text);
    }
    prop_assert!(capped.omitted <= capped.bytes);
    if let Some(marker) = &capped.marker {
        prop_assert!(capped.as_str().lines().any(|line| Marker::parse(line).as_ref() == Some(marker)));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn what_is_shown_is_never_over_the_cap(text in any_text(), policy in any_policy(), path: bool) {
        let id = "s1/toolu_01".parse().unwrap();
        for naming in [Naming::whole(&id).at(path.then_some("/data/x.txt")), Naming::unsaved(), Naming::first(&id, Bytes(9))] {
            holds(&text, &policy, &naming)?;
        }
    }

    #[test]
    fn pushes_of_any_size_give_the_same(
        text in any_text(), repeat in 1..40usize, policy in any_policy(),
        sizes in proptest::collection::vec(1..9_000usize, 1..50),
    ) {
        let text = text.repeat(repeat);
        let id = "s1/toolu_01".parse().unwrap();
        let naming = Naming::whole(&id);
        let whole = cap(&text, &policy, &naming);
        let mut capper = Capper::new(policy);
        let mut rest = text.as_slice();
        for size in sizes.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (chunk, after) = rest.split_at((*size).min(rest.len()));
            capper.push(chunk);
            prop_assert_eq!(capper.exceeded(), text.len() - after.len() > policy.cap.limit());
            rest = after;
        }
        prop_assert_eq!(capper.finish(&naming), whole);
    }
}
