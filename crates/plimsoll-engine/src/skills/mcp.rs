//! The prompts of an MCP server, given as JSON.

use plimsoll::listing::{Entry, Kind, Source};
use serde::Deserialize;

/// Reads the answer of an MCP server to `prompts/list` into entries, called `server:prompt` if a server is named.
///
/// Takes the whole JSON-RPC message, its `result`, or the bare list of prompts. A prompt's arguments are shown after
/// its description, as far as there are any.
///
/// # Errors
/// When the JSON is of none of these forms.
///
/// ```
/// let json = br#"{"prompts": [{"name": "ask", "description": "Asks.", "arguments": [{"name": "topic"}]}]}"#;
/// let prompts = plimsoll_engine::skills::mcp_prompts(json, Some("wiki"))?;
/// assert_eq!(prompts[0].name, "wiki:ask");
/// assert_eq!(prompts[0].description, "Asks. [topic]");
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn mcp_prompts(json: &[u8], server: Option<&str>) -> Result<Vec<Entry>, serde_json::Error> {
    let prompts = match serde_json::from_slice(json)? {
        Answer::Message { result: Listed { prompts } }
        | Answer::Result(Listed { prompts })
        | Answer::List(prompts) => prompts,
    };
    Ok(prompts.into_iter().map(|prompt| prompt.into_entry(server)).collect())
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Answer {
    Message { result: Listed },
    Result(Listed),
    List(Vec<Prompt>),
}

#[derive(Deserialize)]
struct Listed {
    prompts: Vec<Prompt>,
}

#[derive(Deserialize)]
struct Prompt {
    name: String,
    title: Option<String>,
    description: Option<String>,
    arguments: Option<Vec<Argument>>,
}

#[derive(Deserialize)]
struct Argument {
    name: String,
}

impl Prompt {
    fn into_entry(self, server: Option<&str>) -> Entry {
        let mut description = self.description.or(self.title).unwrap_or_default();
        for argument in self.arguments.into_iter().flatten() {
            description.extend([" [", &argument.name, "]"]);
        }
        let name = server.map_or_else(|| self.name.clone(), |server| format!("{server}:{}", self.name));
        let mut entry = Entry::new(name, description);
        (entry.kind, entry.source) = (Kind::Prompt, Source::Mcp);
        entry
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_the_answer_is_read() {
        let list = r#"[{"name": "a", "title": "Does a."}, {"name": "b", "description": null}]"#;
        let result = format!(r#"{{"prompts": {list}, "nextCursor": "x"}}"#);
        let message = format!(r#"{{"jsonrpc": "2.0", "id": 1, "result": {result}}}"#);
        for json in [list, &result, &message] {
            let prompts = mcp_prompts(json.as_bytes(), None).unwrap();
            assert_eq!((prompts[0].name.as_str(), prompts[0].description.as_str()), ("a", "Does a."));
            assert_eq!((prompts[1].description.as_str(), prompts[1].source), ("", Source::Mcp));
        }
        assert!(mcp_prompts(b"{\"tools\": []}", None).is_err());
    }
}
