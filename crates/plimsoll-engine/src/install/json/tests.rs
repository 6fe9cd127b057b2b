use plimsoll::wire::splice;
use serde_json::json;

use super::*;

fn inserted(text: &str) -> String {
    let file = JsonFile::parse(text.as_bytes()).unwrap();
    let edits = file.insert(&["mcp"], "plimsoll", &json!({ "on": [1, 2] })).unwrap();
    String::from_utf8(splice(text.as_bytes(), &edits).unwrap().into_owned()).unwrap()
}

#[test]
fn what_is_put_in_looks_like_the_rest_and_the_rest_stays() {
    insta::assert_snapshot!(inserted(""), @r#"
    {
      "mcp": {
        "plimsoll": {
          "on": [
            1,
            2
          ]
        }
      }
    }
    "#);
    assert_eq!(inserted("{\"a\":1}\n"), "{\"a\":1, \"mcp\": {\"plimsoll\":{\"on\":[1,2]}}}\n");
    let tabs = "{\n\t\"a\": 1, // why\n\t/* b */ \"mcp\": {\n\t\t\"other\": {}, // kept\n\t}\n}";
    let with = "{\n\t\"a\": 1, // why\n\t/* b */ \"mcp\": {\n\t\t\"other\": {}, // kept\n\t\t\"plimsoll\": {\n\t\t\t\"on\": [\n\t\t\t\t1,\n\t\t\t\t2\n\t\t\t]\n\t\t},\n\t}\n}";
    assert_eq!(inserted(tabs), with);
    let windows = "\u{feff}{\r\n    \"a\": 1\r\n}\r\n";
    let with = "\u{feff}{\r\n    \"a\": 1,\r\n    \"mcp\": {\r\n        \"plimsoll\": {\r\n            \"on\": [\r\n                1,\r\n                2\r\n            ]\r\n        }\r\n    }\r\n}\r\n";
    assert_eq!(inserted(windows), with);
}

#[test]
fn a_comment_behind_the_last_value_stays_with_it() {
    let text = "{\n  \"a\": 1 // one, and only\n}\n";
    let with = inserted(text);
    assert!(with.starts_with("{\n  \"a\": 1, // one, and only\n  \"mcp\": {"), "{with}");
    assert!(JsonFile::parse(with.as_bytes()).unwrap().at(&["mcp", "plimsoll", "on"]).is_some());
}

#[test]
fn every_odd_file_still_parses_and_keeps_its_bytes() {
    for text in [
        "{}",
        "{ }",
        "{\n}",
        "{\n\n}\n",
        "{ /* nothing */ }",
        "// a comment\n",
        "  \n",
        "{\"mcp\":{}}",
        "{\"mcp\": {\n  }\n}",
        "{\n  \"mcp\": {},\n}",
        "{\"a\":\"// no comment, }\"}",
        "{\"a\":\"\\\"//\",\n\"b\":[1,],}",
        "{\"a\":1 /* x, */ }",
        "{\"mcp\":{\"x\":1,},}",
    ] {
        let with = inserted(text);
        let file =
            JsonFile::parse(with.as_bytes()).unwrap_or_else(|error| panic!("{text:?} became {with:?}: {error}"));
        assert!(file.at(&["mcp", "plimsoll", "on"]).is_some(), "{text:?} became {with:?}");
        // Nothing but insertions: the old text is a subsequence of the new one.
        let mut rest = with.bytes();
        assert!(text.bytes().all(|byte| rest.any(|other| other == byte)), "{text:?} became {with:?}");
    }
}

#[test]
fn what_is_no_json_or_no_object_is_refused() {
    for text in ["{", "{\"a\":}", "{} {}", "{\"a\":1}}", "[1", "\"x", "{'a':1}"] {
        assert!(JsonFile::parse(text.as_bytes()).is_err(), "{text}");
    }
    for text in ["[]", "1", "{\"mcp\":[]}", "{\"mcp\":null}"] {
        let file = JsonFile::parse(text.as_bytes()).unwrap();
        assert!(file.insert(&["mcp"], "plimsoll", &json!(1)).is_none(), "{text}");
    }
}
