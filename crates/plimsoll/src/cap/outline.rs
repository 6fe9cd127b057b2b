//! Showing the structure of JSON within a size: as much detail as fits.

use super::json::{Container, Json, Value};
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
    /// How many of several values are shown that are told by their keys or lengths only.
    like: usize,
}

/// How many steps there are from the most detail to the least.
const STEPS: usize = 40;

/// How many of several values are shown at first that are told by their keys or lengths only.
const LIKE: usize = 2;

/// The most that an array takes that is shown whatever its level, in bytes.
const SHORT: usize = 32;

/// The most that the keys of an object take that is shown by them alone, in bytes.
const KEYS: usize = 80;

/// Keys at the top whose values are shown wherever they stand, in small letters.
const TELLING: [&str; 10] =
    ["error", "errors", "err", "exception", "failure", "failures", "message", "status", "stderr", "fault"];

/// How often a little more is tried once something fits.
const ATTEMPTS: usize = 50;

/// The detail of a step: each has less of everything than the one before.
fn detail(step: usize) -> Detail {
    let of = |most: usize, keeps: usize, least: usize| {
        (0..step).fold(most * 1_000, |left, _| left * keeps / 100).div_ceil(1_000).max(least)
    };
    Detail {
        keys: of(400, 88, 3),
        elements: of(24, 90, 1),
        scalar: of(400, 91, 16),
        depth: 7 - step * 6 / (STEPS - 1),
        like: LIKE,
    }
}

/// Gives the outline with the most detail that fits, and whether more could be shown if there were room; none if not
/// even the least fits.
pub(super) fn outline(json: &Json, most: usize) -> Option<(String, bool)> {
    let (step, mut best) = (0..STEPS).find_map(|step| Some((step, page(json, detail(step), most)?)))?;
    if step == 0 {
        return Some((best, false));
    }
    // What room is left goes to one thing after the other, as long as it fits.
    let mut at = detail(step);
    let mut by = [1, at.elements / 4 + 1, at.keys / 4 + 1, at.scalar / 4 + 1, 4];
    for turn in 0..ATTEMPTS {
        let which = turn % by.len();
        let Some(by) = by.get_mut(which).filter(|by| **by > 0) else {
            continue;
        };
        let mut more = at;
        match which {
            0 => more.depth += *by,
            1 => more.elements += *by,
            2 => more.keys += *by,
            3 => more.scalar += *by,
            _ => more.like += *by,
        }
        match page(json, more, most) {
            Some(text) => {
                (at, best) = (more, text);
                *by += *by / 4;
            }
            None => *by /= 2,
        }
    }
    Some((best, true))
}

fn page(json: &Json, detail: Detail, most: usize) -> Option<String> {
    let mut page = Page { json, detail, most, text: String::new() };
    page.value(0, 0)?;
    page.put("\n")?;
    Some(page.text)
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
                    return self.keys(container);
                }
                let most = (self.detail.keys >> depth).max(self.detail.keys.min(8));
                let shown = self.telling(container.kept.get(..most).unwrap_or(&container.kept), depth);
                if shown.is_empty() {
                    return self.keys(container);
                }
                self.put("{")?;
                for (nth, (key, node)) in shown.iter().enumerate() {
                    self.put(if nth == 0 { "" } else { "," })?;
                    self.line(depth + 1)?;
                    let key = scalar(key, key.len() as u64, self.detail.scalar.max(40));
                    self.put(&key)?;
                    self.put(": ")?;
                    self.value(*node, depth + 1)?;
                }
                let named = if depth == 0 { self.named(container, shown.len())? } else { 0 };
                self.rest(container.count, shown.len() + named, ("keys", open), depth)?;
                self.put("}")
            }
            Value::Array(container) => {
                let open = if container.open { ", broken off" } else { "" };
                if depth >= self.detail.depth && !self.is_short(container) {
                    return self.put(&format!("[...{} elements{open}]", container.count));
                }
                let most = (self.detail.elements >> depth).max(self.detail.elements.min(1));
                let shown = self.telling(container.kept.get(..most).unwrap_or(&container.kept), depth);
                if shown.is_empty() {
                    return self.put(&format!("[...{} elements{open}]", container.count));
                }
                let flat = shown.iter().all(|(_, node)| matches!(json.value(*node), Some(Value::Scalar(..))));
                self.put("[")?;
                for (nth, (_, node)) in shown.iter().enumerate() {
                    if flat {
                        self.put(if nth == 0 { "" } else { ", " })?;
                    } else {
                        self.put(if nth == 0 { "" } else { "," })?;
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

    /// Of the members at the top that have no room for their values: those that tell of an error, and the names of the
    /// others, in up to half of the room. Gives how many they are.
    fn named(&mut self, container: &Container, shown: usize) -> Option<usize> {
        let rest = container.kept.get(shown..).unwrap_or_default();
        let (mut left, mut count) = (self.most / 2, 0);
        let tells = |key: &str| TELLING.contains(&key.trim_matches('"').to_ascii_lowercase().as_str());
        for (key, node) in rest.iter().filter(|(key, _)| tells(key)).take(8) {
            self.put(",")?;
            self.line(1)?;
            self.put(&one_line(key))?;
            self.put(": ")?;
            self.value(*node, 1)?;
            count += 1;
        }
        let mut names = Vec::new();
        for (key, _) in rest.iter().filter(|(key, _)| !tells(key)) {
            let Some(less) = left.checked_sub(key.len() + 2) else { break };
            left = less;
            names.push(one_line(key));
        }
        if !names.is_empty() {
            self.put(",")?;
            self.line(1)?;
            self.put(&format!("...without their values: {}", names.join(", ")))?;
        }
        Some(count + names.len())
    }

    /// Of values that are shown by their keys or lengths only, the first few tell most of what there is to tell.
    fn telling<'k>(&self, shown: &'k [(String, usize)], depth: usize) -> &'k [(String, usize)] {
        let is_container =
            |(_, node): &(String, usize)| !matches!(self.json.value(*node), None | Some(Value::Scalar(..)));
        if depth + 1 < self.detail.depth || !shown.iter().all(is_container) {
            return shown;
        }
        shown.get(..self.detail.like).unwrap_or(shown)
    }

    /// Whether an array takes no more room than to say how long it is.
    fn is_short(&self, container: &Container) -> bool {
        let size = |(_, node): &(String, usize)| match self.json.value(*node) {
            Some(Value::Scalar(text, length)) if text.len() as u64 == *length => Some(text.len() + 2),
            _ => None,
        };
        let sizes: Option<Vec<usize>> = container.kept.iter().map(size).collect();
        container.kept.len() as u64 == container.count
            && sizes.is_some_and(|sizes| sizes.iter().sum::<usize>() <= SHORT)
    }

    /// Shows an object by its keys alone.
    fn keys(&mut self, container: &Container) -> Option<()> {
        let mut left = self.detail.scalar.clamp(16, KEYS);
        let mut keys: Vec<String> = Vec::new();
        for (key, _) in &container.kept {
            let Some(rest) = left.checked_sub(key.len() + 2) else { break };
            left = rest;
            keys.push(one_line(key));
        }
        let open = if container.open { ", broken off" } else { "" };
        let count = container.count;
        let more = if keys.len() as u64 == count { "" } else { ", ..." };
        if keys.is_empty() {
            self.put(&format!("{{...{count} keys{open}}}"))
        } else {
            self.put(&format!("{{{count} keys: {}{more}{open}}}", keys.join(", ")))
        }
    }

    /// Says how many more there are.
    fn rest(&mut self, count: u64, shown: usize, (what, open): (&str, &str), depth: usize) -> Option<()> {
        let left = count - shown as u64;
        if left > 0 || !open.is_empty() {
            self.put(",")?;
            self.line(depth + 1)?;
            let what = if count == 1 { what.trim_end_matches('s') } else { what };
            let more = match left {
                0 => format!("...{count} {what} in all{open}"),
                left => format!("...{left} more, {count} {what} in all{open}"),
            };
            self.put(&more)?;
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
        outline(&json, most).map(|(outline, _)| outline)
    }

    #[test]
    fn minified_json_is_shown_by_keys_lengths_and_first_elements() {
        let rows: Vec<String> = (0..500)
            .map(|n| format!(r#"{{"id":{n},"name":"row {n}","tags":["a","b"],"body":"{}"}}"#, "x".repeat(300)))
            .collect();
        let text = format!(r#"{{"total":500,"rows":[{}],"error":null}}"#, rows.join(","));
        insta::assert_snapshot!(of(&text, 600).unwrap(), @r#"
        {
          "total": 500,
          "rows": [
            {
              "id": 0,
              "name": "row 0",
              "tags": ["a", ...1 more elements, 2 in all],
              "body": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...(302 bytes)
            },
            {
              "id": 1,
              "name": "row 1",
              "tags": ["a", ...1 more elements, 2 in all],
              "body": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...(302 bytes)
            },
            ...498 more, 500 elements in all
          ],
          "error": null
        }
        "#);
        for most in 0..2_000 {
            assert!(of(&text, most).is_none_or(|outline| outline.len() <= most));
        }
    }

    #[test]
    fn all_keys_at_the_top_are_named_and_a_late_error_is_seen() {
        let members: Vec<String> =
            (0..60).map(|n| format!(r#""key_{n}":{{"v":{n},"name":"{}"}}"#, "n".repeat(40))).collect();
        let text = format!(r#"{{{},"error":{{"code":500,"message":"boom"}},"last":1}}"#, members.join(","));
        let outline = of(&text, 1_500).unwrap();
        for key in (0..60).map(|n| format!("\"key_{n}\"")).chain(["\"last\"".to_owned(), "boom".to_owned()]) {
            assert!(outline.contains(&key), "{key}: {outline}");
        }
        assert!(outline.len() <= 1_500);
        // Of far too many keys as many as fit.
        let members: Vec<String> = (0..3_000).map(|n| format!(r#""key_{n}":{n}"#)).collect();
        let outline = of(&format!("{{{}}}", members.join(",")), 1_500).unwrap();
        assert!(outline.contains(" more, 3000 keys in all"), "{outline}");
    }

    #[test]
    fn what_is_broken_off_and_all_shown_is_said_without_counting_nothing() {
        let outline = of(r#"{"rows":[1,2,3"#, 600).unwrap();
        assert!(outline.contains("1 key in all, broken off") && !outline.contains("0 more"), "{outline}");
    }
}
