//! Answers of models, well-formed and otherwise, and what is read out of them.

use proptest::prelude::*;

use super::*;

#[test]
fn answers_are_read() {
    let cases: &[(&str, Result<&str, SummaryError>)] = &[
        ("<analysis>a</analysis><summary>s</summary>", Ok("s")),
        ("plain words", Ok("plain words")),
        ("  \n ", Err(SummaryError::Empty)),
        ("<summary></summary>", Err(SummaryError::Empty)),
        ("<analysis>a</analysis>", Err(SummaryError::Empty)),
        ("<analysis>a", Err(SummaryError::DraftOnly)),
        ("<analysis>a <summary>s</summary>", Ok("s")),
        ("<summary>s", Ok("s")),
        ("intro <summary>s", Ok("s")),
        ("s</summary>", Ok("s")),
        ("</analysis>s", Ok("s")),
        ("s <summary/>", Err(SummaryError::Empty)),
        ("<SUMMARY lang=\"en\">s</ Summary >", Ok("s")),
        ("< summary >s</summary\n>", Ok("s")),
        ("<analysis>I will write <summary> and </summary> later</analysis><summary>s</summary>", Ok("s")),
        ("<summary>a</summary> b</summary>", Ok("a b")),
        ("<summary>a</summary>\n<summary>b</summary>", Ok("a\n\nb")),
        ("<summary>one</summary> between <summary>two", Ok("one\n\ntwo")),
        ("<summary>say `</summary>` in code</summary>", Ok("say `</summary>` in code")),
        (
            "<summary>x\n```html\n</summary>\n<analysis>\n```\ny</summary>",
            Ok("x\n```html\n</summary>\n<analysis>\n```\ny"),
        ),
        ("```xml\n<analysis>a</analysis>\n<summary>s</summary>\n```", Ok("s")),
        ("```\ncode\n```\ntext\n```\nmore\n```", Ok("```\ncode\n```\ntext\n```\nmore\n```")),
        ("<summary>a\n\n\n\nb</summary>", Ok("a\n\nb")),
        ("<summaryx>s</summaryx>", Ok("<summaryx>s</summaryx>")),
        ("<analysis>a</analysis> then <analysis>b</analysis> s", Ok("then  s")),
        ("<summary>unclosed ` tick</summary>", Ok("unclosed ` tick")),
        ("Sure! <analysis>a</analysis>\n<summary>s</summary>\nHope it helps", Ok("s")),
        ("<summary>é <b>x</b></summary>", Ok("é <b>x</b>")),
        ("<summary>a ` b\n\n</summary> c ` d</summary>", Ok("a ` b\n\n c ` d")),
        // Code blocks that the answer, or a part of it, was put in.
        ("<summary>\n```md\ns\n```\n</summary>", Ok("s")),
        ("<summary>\n```md\ns\n```\nand\n```\nt\n```\n</summary>", Ok("```md\ns\n```\nand\n```\nt\n```")),
        ("~~~\n# s\n~~~", Ok("# s")),
        ("It is:\n```\n# s\n```\nBye", Ok("# s\n\nBye")),
        ("It is:\n```\nls\n```", Ok("It is:\n```\nls\n```")),
        ("```\n```", Err(SummaryError::Empty)),
        // Reasoning.
        ("<think>a <summary>b</summary></think>s", Ok("s")),
        ("a <summary> b</think><summary>s</summary>", Ok("s")),
        ("a</think>b</think>s", Ok("s")),
        ("s</think>", Ok("s")),
        ("<summary>s</think>t</summary>", Ok("st")),
        ("Sure. <think>a</think> <summary>s</summary>", Ok("s")),
        ("s <think>t</think>", Ok("s t")),
        ("<think>a", Err(SummaryError::DraftOnly)),
        ("<think>a <analysis>b</analysis><summary>s</summary>", Ok("s")),
        ("<summary>````\n```\n</summary>\n```", Ok("````\n```\n</summary>\n```")),
    ];
    for (raw, expected) in cases {
        assert_eq!(extract_summary(raw).as_deref(), expected.as_ref().copied(), "{raw}");
    }
}

/// A closer quoted in code truncates the summary; an unclosed opener leaks into the conversation.
#[test]
fn mechanism_21_a_closer_quoted_in_code_ends_nothing_and_an_unclosed_opener_leaks_nothing() {
    let quoted = "It ends in `</summary>`:\n```xml\n<summary>a</summary>\n```\n~~~\n</analysis>\n~~~\nand goes on.";
    for raw in [
        format!("<summary>{quoted}</summary>"),
        format!("<summary>{quoted}"),
        format!("{quoted}</summary>"),
        format!("<analysis>about `<summary>`</analysis>\n<summary>\n{quoted}\n</summary>\nthe end"),
    ] {
        assert_eq!(extract_summary(&raw).as_deref(), Ok(quoted), "{raw}");
    }
}

/// What each of these made reading look at again and again would take minutes, not milliseconds.
#[test]
fn a_huge_answer_is_read_in_one_go() {
    for piece in [
        "` ",
        "`a` ",
        "`\n<think>\n",
        "```x\n",
        "~~~x\n",
        "<summary ",
        "<analysis>",
        "</summary>",
        "<summary>",
        "a\n\n\n",
        "<think>",
        "</think>",
        "a </think> ",
        "<think></think>",
        "```\n<analysis>\n</analysis>\n```\n",
        "```\n<summary>\n```\n",
    ] {
        let raw = piece.repeat(400_000 / piece.len());
        if let Ok(summary) = extract_summary(&raw) {
            assert!(summary.len() <= raw.len());
        }
        assert!(outside_code(&raw).len() <= raw.len());
    }
}

proptest! {
    #[test]
    fn reading_is_total_and_leaves_no_tag(raw in "(<summary>|</summary>|<think>|</think>|<analysis>|</analysis>|< summary a=1>|</ANALYSIS >|```\n|\n```md\n# a\n|`|\n|text|é| ){0,16}") {
        if let Ok(summary) = extract_summary(&raw) {
            prop_assert!(!summary.trim().is_empty());
            prop_assert!(tags(&summary).is_empty(), "{:?}", summary);
            prop_assert!(!summary.contains("\n\n\n"));
        }
    }
}
