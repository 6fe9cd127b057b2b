//! Generated bodies of every format: odd spellings, duplicate keys, huge integers, any space, any key order.

use proptest::prelude::*;

use super::*;

/// JSON as it is spelled, so that what no serialiser writes can be written.
#[derive(Clone)]
enum Spelled {
    /// A scalar, or a string with its quotes.
    Plain(String),
    Array(Vec<Spelled>),
    Object(Vec<(&'static str, Spelled)>),
}

use Spelled::{Array, Object, Plain};

/// Choices drawn from one seed (xorshift), so that a failing body is named by a number.
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % sides as u64).unwrap()
    }

    fn pick<'p>(&mut self, from: &[&'p str]) -> &'p str {
        from[self.below(from.len())]
    }

    fn text(&mut self) -> Spelled {
        let spellings = [
            "plain",
            r"caf\u00e9 \ud83d\ude00",
            r"lone \ud83d half",
            r#"a \"quoted\" \\ line\nnext\/"#,
            "é 漢字 😀",
            "",
            "{\\\"a\\\": [1, 2]}",
            "x]}{[,:",
        ];
        Plain(format!("\"{}\"", self.pick(&spellings)))
    }

    fn junk(&mut self) -> Spelled {
        Plain(
            self.pick(&[
                "1234567890123456789012345678901234567890",
                "-1.5E+300",
                "null",
                "[ ]",
                "{\"a\":[{}]}",
                r#""\u0000\ud800""#,
            ])
            .to_owned(),
        )
    }

    fn space(&mut self) -> &'static str {
        self.pick(&["", "", "", " ", "\n  ", "\t", "\r\n", " \n\t "])
    }

    fn write(&mut self, value: &Spelled, out: &mut String) {
        out.push_str(self.space());
        match value {
            Plain(text) => out.push_str(text),
            Array(elements) => {
                out.push('[');
                for (index, element) in elements.iter().enumerate() {
                    out.push_str(if index > 0 { "," } else { "" });
                    self.write(element, out);
                }
                out.push(']');
            }
            Object(fields) => {
                let mut fields = fields.clone();
                for index in (1..fields.len()).rev() {
                    fields.swap(index, self.below(index + 1));
                }
                // Of duplicate keys the last counts, so the false ones stand first.
                if self.below(4) == 0 && !fields.is_empty() {
                    let (key, _) = fields[self.below(fields.len())];
                    fields.insert(0, (key, self.junk()));
                }
                if self.below(3) == 0 {
                    fields.insert(self.below(fields.len() + 1), ("x_unknown", self.junk()));
                }
                out.push('{');
                for (index, (key, value)) in fields.iter().enumerate() {
                    out.push_str(if index > 0 { "," } else { "" });
                    out.push_str(self.space());
                    // The same key, spelled with an escape.
                    let key = match key.strip_prefix("ro") {
                        Some(rest) if self.below(4) == 0 => format!(r"r\u006f{rest}"),
                        _ => (*key).to_owned(),
                    };
                    let _ = write!(out, "\"{key}\"{}:", self.space());
                    self.write(value, out);
                }
                out.push('}');
            }
        }
        out.push_str(self.space());
    }

    fn body(&mut self, format: Format, messages: usize) -> String {
        let messages = (0..messages).map(|_| self.message(format)).collect();
        let body = match format {
            Format::Anthropic => {
                vec![("messages", Array(messages)), ("system", self.text()), ("max_tokens", Plain("64".into()))]
            }
            Format::OpenaiChat => vec![
                ("messages", Array(messages)),
                ("stream_options", Plain("{}".into())),
                ("model", Plain(r#""claude-in-chat""#.into())),
            ],
            Format::OpenaiResponses => {
                vec![("input", Array(messages)), ("instructions", self.text())]
            }
            _ => vec![("contents", Array(messages)), ("systemInstruction", self.text())],
        };
        let mut out = String::new();
        self.write(&Object(body), &mut out);
        out
    }

    fn message(&mut self, format: Format) -> Spelled {
        match format {
            Format::Anthropic => {
                let role = self.string(&["user", "assistant", "system"]);
                let content = if self.below(3) == 0 {
                    self.text()
                } else {
                    Array((0..self.below(4)).map(|_| self.block()).collect())
                };
                Object(vec![("role", role), ("content", content)])
            }
            Format::OpenaiChat => self.chat(),
            Format::OpenaiResponses => self.item(),
            _ => {
                let role = self.string(&["user", "model"]);
                let parts = (0..self.below(4)).map(|_| self.part()).collect();
                Object(vec![("role", role), ("parts", Array(parts))])
            }
        }
    }

    fn string(&mut self, from: &[&str]) -> Spelled {
        Plain(format!("\"{}\"", self.pick(from)))
    }

    fn block(&mut self) -> Spelled {
        let typed = |kind: &str| ("type", Plain(format!("\"{kind}\"")));
        Object(match self.below(6) {
            0 => vec![typed("text"), ("text", self.text())],
            1 => vec![typed("thinking"), ("thinking", self.text()), ("signature", self.text())],
            2 => vec![typed("tool_use"), ("id", self.text()), ("name", self.text()), ("input", self.junk())],
            3 => vec![
                typed("tool_result"),
                ("tool_use_id", self.text()),
                ("content", Array(vec![Object(vec![typed("text"), ("text", self.text())])])),
            ],
            4 => vec![typed("compaction"), ("content", self.junk())],
            _ => vec![typed("of_the_future"), ("text", self.junk())],
        })
    }

    fn chat(&mut self) -> Spelled {
        Object(match self.below(4) {
            0 => vec![("role", self.string(&["user", "system", "developer"])), ("content", self.text())],
            1 => vec![("role", self.string(&["tool"])), ("tool_call_id", self.text()), ("content", self.text())],
            2 => vec![
                ("role", self.string(&["user"])),
                ("content", Array((0..self.below(3)).map(|_| self.block()).collect())),
            ],
            _ => {
                let function = Object(vec![("name", self.text()), ("arguments", self.text())]);
                vec![
                    ("role", self.string(&["assistant"])),
                    ("reasoning_content", self.text()),
                    ("content", if self.below(2) == 0 { Plain("null".into()) } else { self.text() }),
                    ("tool_calls", Array(vec![Object(vec![("id", self.text()), ("function", function)])])),
                ]
            }
        })
    }

    fn item(&mut self) -> Spelled {
        let typed = |kind: &str| ("type", Plain(format!("\"{kind}\"")));
        Object(match self.below(6) {
            0 => vec![("role", self.string(&["user", "assistant", "developer"])), ("content", self.text())],
            1 => vec![typed("reasoning"), ("encrypted_content", self.text()), ("summary", Plain("[]".into()))],
            2 => vec![
                typed("function_call"),
                ("call_id", self.text()),
                ("name", self.text()),
                ("arguments", self.text()),
            ],
            3 => vec![typed("function_call_output"), ("call_id", self.text()), ("output", self.junk())],
            4 => vec![typed("web_search_call"), ("id", self.text()), ("action", self.junk())],
            _ => vec![typed("of_the_future"), ("content", self.junk())],
        })
    }

    fn part(&mut self) -> Spelled {
        match self.below(5) {
            0 => Object(vec![("text", self.text())]),
            1 => Object(vec![
                ("text", self.text()),
                ("thought", Plain("true".into())),
                ("thoughtSignature", self.text()),
            ]),
            2 => {
                let call = Object(vec![("name", self.text()), ("args", self.junk())]);
                Object(vec![("functionCall", call), ("thoughtSignature", self.text())])
            }
            3 => {
                let response = Object(vec![("output", self.text()), ("code", self.junk())]);
                let response = Object(vec![("name", self.text()), ("response", response)]);
                Object(vec![("functionResponse", response)])
            }
            _ => Object(vec![("ofTheFuture", self.junk())]),
        }
    }
}

const BODIES: [Format; 4] = [Format::Anthropic, Format::OpenaiChat, Format::OpenaiResponses, Format::Gemini];

fn valid(json: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(json).is_ok()
}

/// The bytes of every block, message by message; messages without blocks are left out.
fn raw_blocks(document: &Document<'_>, omitted: &[(usize, usize)]) -> Vec<Vec<String>> {
    let messages = document.transcript().messages.iter().enumerate();
    messages
        .map(|(message, kept)| {
            let blocks = kept.blocks.iter().enumerate();
            let blocks = blocks.filter(|(block, _)| !omitted.contains(&(message, *block)));
            let raw = |span: Span| String::from_utf8_lossy(span.of(document.bytes())).into_owned();
            blocks.map(|(_, block)| raw(block.span)).collect()
        })
        .filter(|blocks: &Vec<String>| !blocks.is_empty())
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn bodies_are_read_whole_and_rewritten_at_every_boundary(seed in 1..u64::MAX, count in 1..7_usize) {
        for format in BODIES {
            let mut dice = Dice(seed);
            let body = dice.body(format, count);
            prop_assert!(valid(body.as_bytes()), "{}", body);
            let document = parse(body.as_bytes(), &ParseOptions::default()).unwrap();
            prop_assert_eq!(document.format(), format);
            prop_assert_eq!(document.transcript().messages.len(), count);
            check_places(&document);
            for end in 1..=count {
                for start in 0..end {
                    let retained: Vec<usize> = (start..end).filter(|_| dice.below(3) == 0).collect();
                    let rewrite = Rewrite { retained: &retained, ..plan(start..end) };
                    prop_assert!(valid(&check_rewrite(&document, &rewrite)), "{}", body);
                }
            }
        }
    }

    #[test]
    fn thinking_leaves_and_nothing_else_changes(seed in 1..u64::MAX, count in 2..8_usize) {
        for format in BODIES {
            let mut dice = Dice(seed);
            let body = dice.body(format, count);
            let document = parse(body.as_bytes(), &ParseOptions::default()).unwrap();
            let removed = dice.below(count);
            let mut omitted = Vec::new();
            for (message, kept) in document.transcript().messages.iter().enumerate() {
                for (block, kind) in kept.blocks.iter().enumerate() {
                    let thinking = matches!(kind.kind, BlockKind::Thinking { .. });
                    if message != removed && thinking && dice.below(2) == 0 {
                        omitted.push((message, block));
                    }
                }
            }
            let rewrite = Rewrite { omitted: &omitted, ..plan(removed..removed + 1) };
            let spliced = splice(body.as_bytes(), &document.rewrite(&rewrite).unwrap()).unwrap().into_owned();
            prop_assert!(valid(&spliced), "{}\n{}", body, String::from_utf8_lossy(&spliced));
            let options = ParseOptions::default().with_format(Some(format));
            let again = parse(&spliced, &options).unwrap();
            check_places(&again);
            let gone = |block| (removed, block);
            let removed_blocks = 0..document.transcript().messages[removed].blocks.len();
            let gone: Vec<_> = omitted.iter().copied().chain(removed_blocks.map(gone)).collect();
            let mut now = raw_blocks(&again, &[]);
            now.retain(|blocks| !blocks.iter().any(|raw| raw.contains("plimsoll_continuation") || raw.contains("Understood.")));
            prop_assert_eq!(now, raw_blocks(&document, &gone), "{}\n{}", body, String::from_utf8_lossy(&spliced));
        }
    }

    #[test]
    fn cut_and_flipped_bodies_never_panic(seed in 1..u64::MAX, cut in 0..4_000_usize, byte: u8) {
        for format in BODIES {
            let mut bytes = Dice(seed).body(format, 4).into_bytes();
            let at = cut % bytes.len();
            let torn = bytes[..at].to_vec();
            let _ = parse(&torn, &ParseOptions::default());
            bytes[at] = byte;
            for forced in [None, Some(Format::Anthropic), Some(Format::OpenaiChat), Some(Format::OpenaiResponses), Some(Format::Gemini)] {
                if let Ok(document) = parse(&bytes, &ParseOptions::default().with_format(forced)) {
                    check_places(&document);
                    let messages = document.transcript().messages.len();
                    if messages > 0 {
                        let _ = document.rewrite(&plan(0..messages));
                    }
                }
            }
        }
    }
}
