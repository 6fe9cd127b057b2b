//! The lines between a client and the SDK. What is no JSON, or calls a tool with what are no arguments, the SDK passes over
//! or answers without saying whose it was; here it is answered as JSON-RPC has it.

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::mpsc::Sender;

/// A longer line is not looked at: 16 MiB, the most that the SDK takes.
const LONGEST: usize = 16 << 20;

/// A message, as far as it is looked at.
#[derive(Debug, Deserialize)]
struct Frame {
    #[serde(default)]
    id: Option<Value>,
    #[serde(default)]
    method: Option<Value>,
    #[serde(default)]
    params: Option<Value>,
}

/// Passes a client's lines on to the server, and answers those that are no messages. Ends with the input, or when nobody
/// takes what is passed on.
pub(super) async fn check(
    input: impl AsyncRead + Unpin,
    mut server: impl AsyncWrite + Unpin,
    answers: Sender<Vec<u8>>,
) {
    let mut input = BufReader::new(input);
    let mut line = Vec::new();
    loop {
        let (taken, ended) = match input.fill_buf().await {
            Ok([]) | Err(_) => break,
            Ok(bytes) => {
                let taken = memchr::memchr(b'\n', bytes).map_or(bytes.len(), |feed| feed + 1);
                line.extend_from_slice(bytes.get(..taken).unwrap_or_default());
                (taken, line.ends_with(b"\n"))
            }
        };
        input.consume(taken);
        if !ended && line.len() <= LONGEST {
            continue;
        }
        let passed = match refusal(&line).filter(|_| ended) {
            Some(answer) => answers.send(answer).await.is_ok(),
            None => server.write_all(&line).await.is_ok() && server.flush().await.is_ok(),
        };
        if !passed {
            return;
        }
        line.clear();
    }
    // A last line without a line feed is the SDK's business.
    let _ = server.write_all(&line).await;
}

/// Passes the server's lines on to whoever writes them.
pub(super) async fn pass(server: impl AsyncRead + Unpin, lines: Sender<Vec<u8>>) {
    let mut server = BufReader::new(server);
    loop {
        let mut line = Vec::new();
        match server.read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) if lines.send(line).await.is_err() => return,
            Ok(_) => {}
        }
    }
}

/// The answer to a line that is no message; `None` if it is one, or nothing.
fn refusal(line: &[u8]) -> Option<Vec<u8>> {
    let line = line.trim_ascii();
    let answer = |id: &Value, code: i32, message: &str| {
        let answer = json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } });
        Some(format!("{answer}\n").into_bytes())
    };
    if line.is_empty() {
        return None;
    }
    let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
    let frame = match serde_json::from_slice::<Frame>(line) {
        Ok(frame) => frame,
        Err(error) if error.is_syntax() || error.is_eof() => {
            return answer(&Value::Null, -32700, "Parse error: a line must be one JSON-RPC message");
        }
        Err(_) => return None,
    };
    let id = frame.id.filter(|id| id.is_string() || id.is_number())?;
    if frame.method.as_ref().and_then(Value::as_str) != Some("tools/call") {
        return None;
    }
    let params = frame.params.unwrap_or_default();
    if !params.get("name").is_some_and(Value::is_string) {
        return answer(&id, -32602, "Invalid params: `name` must be the name of a tool");
    }
    let arguments = params.get("arguments").is_none_or(|given| given.is_object() || given.is_null());
    if arguments { None } else { answer(&id, -32602, "Invalid params: `arguments` must be an object") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(line: &str) -> Option<(Value, i64)> {
        let answer: Value = serde_json::from_slice(&refusal(line.as_bytes())?).unwrap();
        Some((answer["id"].clone(), answer["error"]["code"].as_i64().unwrap()))
    }

    #[test]
    fn what_is_no_message_is_answered_with_what_is_wrong_and_whose_it_was() {
        for garbage in ["garbage", "{\"a\":", "{} {}", "[1", "\u{0}"] {
            assert_eq!(code(garbage), Some((Value::Null, -32700)), "{garbage}");
        }
        let call = |params: &str| format!(r#"{{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{params}}}"#);
        for params in
            [r#"{"name":"recall","arguments":"x"}"#, r#"{"name":"list","arguments":[1]}"#, r#"{"name":5}"#, "{}", "7"]
        {
            assert_eq!(code(&call(params)), Some((json!(9), -32602)), "{params}");
        }
        for good in [
            call(r#"{"name":"list","arguments":{}}"#),
            call(r#"{"name":"list"}"#),
            String::new(),
            r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#.to_owned(),
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_owned(),
            r#"[{"jsonrpc":"2.0","id":8,"method":"ping"}]"#.to_owned(),
        ] {
            assert_eq!(code(&good), None, "{good}");
        }
    }
}
