//! Which bucket, and which prefix in it, a URL names.

use std::fmt;
use std::str::FromStr;

/// The longest prefix taken, in bytes: with the longest key behind it, S3's limit of 1,024 bytes a key is kept.
const LONGEST_PREFIX: usize = 500;

/// A bucket and a prefix in it: `s3://bucket/prefix`.
///
/// What stands behind the bucket is the prefix as it is, without any decoding, as other programs for S3 have it. It may
/// be empty. A `/` at its end says nothing. Which server has the bucket is not part of it.
///
/// ```
/// use plimsoll_store::object::Place;
/// let place: Place = "s3://my-bucket/team a/plimsoll/".parse()?;
/// assert_eq!((place.bucket(), place.prefix()), ("my-bucket", "team a/plimsoll"));
/// assert_eq!(place.to_string(), "s3://my-bucket/team a/plimsoll");
/// assert_eq!("s3://My Bucket".parse::<Place>(), Err("its bucket has characters other than letters, digits, `.`, `-` and `_`"));
/// # Ok::<(), &str>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Place {
    bucket: String,
    prefix: String,
}

impl Place {
    /// Gives the bucket's name.
    pub fn bucket(&self) -> &str {
        &self.bucket
    }

    /// Gives the prefix: empty, or components with `/` between them.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Names something in the place, as people and other programs write it.
    #[cfg_attr(not(feature = "s3"), allow(dead_code))]
    pub(crate) fn join(&self, key: &str) -> String {
        format!("{self}/{key}")
    }
}

impl FromStr for Place {
    /// What is wrong with it, as the end of a sentence about the URL.
    type Err = &'static str;

    fn from_str(url: &str) -> Result<Self, &'static str> {
        let rest = url.strip_prefix("s3:").ok_or("its scheme is not `s3`")?;
        let rest = rest.strip_prefix("//").ok_or("`s3:` is not followed by `//`")?;
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        check_bucket(bucket)?;
        let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
        check_prefix(prefix)?;
        Ok(Self { bucket: bucket.to_owned(), prefix: prefix.to_owned() })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slash = if self.prefix.is_empty() { "" } else { "/" };
        write!(f, "s3://{}{slash}{}", self.bucket, self.prefix)
    }
}

/// The rule of S3, but for capitals, `_` and length, which older buckets and other servers have.
fn check_bucket(bucket: &str) -> Result<(), &'static str> {
    if bucket.is_empty() {
        return Err("it names no bucket");
    }
    if bucket.contains('@') {
        return Err("it holds a user or key: keys are taken from the environment only");
    }
    if bucket.contains(':') {
        return Err("it names a host where the bucket belongs: the server's address goes into AWS_ENDPOINT_URL");
    }
    if !bucket.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte)) {
        return Err("its bucket has characters other than letters, digits, `.`, `-` and `_`");
    }
    if !(3..=255).contains(&bucket.len()) {
        return Err("its bucket's name has fewer than 3 or more than 255 characters");
    }
    let ends = [bucket.bytes().next(), bucket.bytes().next_back()];
    if bucket.contains("..") || !ends.iter().flatten().all(u8::is_ascii_alphanumeric) {
        return Err("its bucket's name begins or ends with a sign, or has two dots in a row");
    }
    Ok(())
}

fn check_prefix(prefix: &str) -> Result<(), &'static str> {
    if prefix.is_empty() {
        return Ok(());
    }
    if prefix.len() > LONGEST_PREFIX {
        return Err("its prefix is longer than 500 bytes");
    }
    if prefix.chars().any(char::is_control) {
        return Err("its prefix has a control character");
    }
    if prefix.contains(['?', '#']) {
        return Err("it has a `?` or `#`: options are taken from the environment, and neither belongs in a prefix");
    }
    if prefix.split('/').any(|component| matches!(component, "" | "." | "..")) {
        return Err("its prefix has an empty component, `.` or `..`");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefix(url: &str) -> String {
        url.parse::<Place>().unwrap_or_else(|reason| panic!("{url}: {reason}")).prefix
    }

    #[test]
    fn the_prefix_is_taken_as_it_is() {
        for (url, expected) in [
            ("s3://bucket", ""),
            ("s3://bucket/", ""),
            ("s3://bucket/a", "a"),
            ("s3://bucket/a/", "a"),
            ("s3://bucket/a b/ü~x/日本", "a b/ü~x/日本"),
            ("s3://bucket/a%20b", "a%20b"),
            ("s3://bucket/+&=$", "+&=$"),
        ] {
            assert_eq!(prefix(url), expected, "{url}");
        }
        assert_eq!("s3://bucket/".parse::<Place>().unwrap().to_string(), "s3://bucket");
    }

    #[test]
    fn buckets_of_older_and_other_servers_are_taken() {
        for bucket in ["abc", "my.dotted.bucket", "Old_Bucket", "9lives", &"x".repeat(63)] {
            assert_eq!(format!("s3://{bucket}/p").parse::<Place>().unwrap().bucket(), bucket);
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (url, part) in [
            ("s3:bucket", "`//`"),
            ("s3:/bucket", "`//`"),
            ("s3://", "no bucket"),
            ("s3:///prefix", "no bucket"),
            ("s3://ab", "fewer than 3"),
            ("s3://.abc", "begins or ends"),
            ("s3://abc-", "begins or ends"),
            ("s3://a..c", "two dots"),
            ("s3://b\u{fc}cket", "letters, digits"),
            ("s3://bucket:9000/p", "AWS_ENDPOINT_URL"),
            ("s3://key:secret@bucket", "from the environment only"),
            ("s3://bucket//a", "empty component"),
            ("s3://bucket/a//b", "empty component"),
            ("s3://bucket/a//", "empty component"),
            ("s3://bucket/../b", "`..`"),
            ("s3://bucket/a/./b", "`.`"),
            ("s3://bucket/a\nb", "control"),
            ("s3://bucket/a?region=b", "`?`"),
            ("s3://bucket/a#b", "`#`"),
        ] {
            let reason = url.parse::<Place>().expect_err(url);
            assert!(reason.contains(part), "{url}: {reason}");
        }
        assert!(format!("s3://bucket/{}", "x".repeat(501)).parse::<Place>().is_err());
    }
}
