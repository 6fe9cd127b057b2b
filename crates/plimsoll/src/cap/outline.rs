//! Showing the structure of JSON within a size: as much detail as fits.

use super::json::{Json, Value};
use super::screen::floor_grapheme;

/// How much is shown.
#[derive(Debug, Clone, Copy)]
struct Detail {
    /// Keys of an object, elements of an array: at the top; each level deeper has fewer.
    keys: usize,
    elements: usize,
    /// Bytes of a scalar.
    scalar: usize,
    /// Levels.
    depth: usize,
}

const fn detail(keys: usize, elements: usize, scalar: usize, depth: usize) -> Detail {
    Detail { keys, elements, scalar, depth }
}

/// From the most to the least.
const DETAILS: [Detail; 14] = [
    detail(400, 24, 400, 7),
    detail(400, 12, 200, 7),
    detail(300, 6, 160, 7),
    detail(200, 4, 120, 6),
    detail(120, 3, 100, 5),
    detail(80, 3, 80, 5),
    detail(60, 2, 60, 4),
    detail(40, 2, 60, 4),
    detail(30, 2, 40, 3),
    detail(24, 1, 40, 3),
    detail(20, 1, 30, 2),
    detail(12, 1, 24, 2),
    detail(8, 1, 16, 1),
    detail(3, 0, 12, 1),
];

/// Gives the outline with the most detail that fits; none if not even the least does.
pub(super) fn outline(json: &Json, most: usize) -> Option<String> {
    DETAILS.into_iter().find_map(|detail| {
        let mut page = Page { json, detail, most, text: String::new() };
        page.value(0, 0)?;
        page.put("\n")?;
        Some(page.text)
    })
}

struct Page<'j> {
    json: &'j Json,
    detail: Detail,
    most: usize,
    text: String,
}

impl Page<'_> {
    /// Writes, unless it would be too much.
    fn put(&mut self, text: &str) -> Option<()> {
        (self.text.len() + text.len() <= self.most).then(|| self.text.push_str(text))
    }

    fn line(&mut self, depth: usize) -> Option<()> {
        self.put("\n")?;
        (0..depth).try_for_each(|_| self.put("  "))
    }

    fn value(&mut self, at: usize, depth: usize) -> Option<()> {
        let json = self.json;
        match json.value(at)? {
            Value::Scalar(text, length) => {
                let shown = scalar(text, *length, self.detail.scalar);
                self.put(&shown)
            }
            Value::Object(container) if container.count == 0 => self.put("{}"),
            Value::Array(container) if container.count == 0 => self.put("[]"),
            Value::Object(container) => {
                let open = if container.open { ", broken off" } else { "" };
                if depth >= self.detail.depth {
                    return self.put(&format!("{{...{} keys{open}}}", container.count));
                }
                let most = (self.detail.keys >> depth).max(self.detail.keys.min(8));
                let shown = container.kept.get(..most).unwrap_or(&container.kept);
                self.put("{")?;
                for (key, node) in shown {
                    self.line(depth + 1)?;
                    let key = scalar(key, key.len() as u64, self.detail.scalar.max(40));
                    self.put(&key)?;
                    self.put(": ")?;
                    self.value(*node, depth + 1)?;
                }
                self.rest(container.count, shown.len(), ("keys", open), depth)?;
                self.put("}")
            }
            Value::Array(container) => {
                let open = if container.open { ", broken off" } else { "" };
                if depth >= self.detail.depth {
                    return self.put(&format!("[...{} elements{open}]", container.count));
                }
                let most = (self.detail.elements >> depth).max(self.detail.elements.min(1));
                let shown = container.kept.get(..most).unwrap_or(&container.kept);
                let flat = shown.iter().all(|(_, node)| matches!(json.value(*node), Some(Value::Scalar(..))));
                self.put("[")?;
                for (nth, (_, node)) in shown.iter().enumerate() {
                    if flat {
                        self.put(if nth == 0 { "" } else { ", " })?;
                    } else {
                        self.line(depth + 1)?;
                    }
                    self.value(*node, depth + 1)?;
                }
                if flat && !shown.is_empty() && open.is_empty() {
                    let left = container.count - shown.len() as u64;
                    if left > 0 {
                        self.put(&format!(", ...{left} more elements, {} in all", container.count))?;
                    }
                    return self.put("]");
                }
                self.rest(container.count, shown.len(), ("elements", open), depth)?;
                self.put("]")
            }
        }
    }

    /// Says how many more there are.
    fn rest(&mut self, count: u64, shown: usize, (what, open): (&str, &str), depth: usize) -> Option<()> {
        let left = count - shown as u64;
        if left > 0 || !open.is_empty() {
            self.line(depth + 1)?;
            let all = if shown == 0 { String::new() } else { format!(" more, {count} {what} in all") };
            let what = if shown == 0 { format!(" {what}") } else { String::new() };
            self.put(&format!("...{left}{what}{all}{open}"))?;
        }
        self.line(depth)
    }
}

/// Shows a string or number as it is written, or its beginning and its length.
fn scalar(text: &str, length: u64, most: usize) -> String {
    if text.len() as u64 == length && text.len() <= most + 16 {
        return one_line(text);
    }
    let cut = floor_grapheme(text, most);
    format!("{}...({length} bytes)", one_line(text.get(..cut).unwrap_or_default()))
}

/// Line feeds have no place in a string, but tolerant writers put them there.
fn one_line(text: &str) -> String {
    text.replace(|c: char| c.is_control(), " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, most: usize) -> Option<String> {
        let mut json = Json::new(most);
        for chunk in text.as_bytes().chunks(5) {
            json.feed(chunk);
        }
        json.finish();
        outline(&json, most)
    }

    #[test]
    fn minified_json_is_shown_by_keys_lengths_and_first_elements() {
        let rows: Vec<String> = (0..500)
            .map(|n| format!(r#"{{"id":{n},"name":"row {n}","tags":["a","b"],"body":"{}"}}"#, "x".repeat(300)))
            .collect();
        let text = format!(r#"{{"total":500,"rows":[{}],"error":null}}"#, rows.join(","));
        insta::assert_snapshot!(of(&text, 600).unwrap(), @r#"
        "#);
        for most in 0..2_000 {
            assert!(of(&text, most).is_none_or(|outline| outline.len() <= most));
        }
    }
}
