//! Listing folders, removing records, and ending the uploads of writers that died.

use std::time::SystemTime;

use bytes::Bytes;
use chrono::DateTime;
use object_store::aws::AwsAuthorizer;
use object_store::client::{HttpRequestBody, HttpService as _};
use object_store::multipart::MultipartStore as _;
use object_store::path::Path;
use object_store::{ObjectStore as _, ObjectStoreExt as _};
use plimsoll::id::{Folder, Key, Record};
use serde::Deserialize;

use super::create::MARK;
use super::server::{Client, Server};
use crate::backend::{Entry, Listing};
use crate::error::Result;

impl Server {
    /// Lists a folder: its objects and what looks like a folder in it, page after page, and nothing below.
    pub(super) fn list(&self, folder: &Folder) -> Result<Listing> {
        let path = self.path(&folder.to_string());
        let listed = self.call(move |client| async move { client.s3.list_with_delimiter(Some(&path)).await })?;
        let listed = listed.map_err(|failed| self.explain("list", None, &failed))?;
        let mut listing = Listing::default();
        for object in listed.objects {
            let modified: SystemTime = object.last_modified.into();
            listing.modified = listing.modified.max(Some(modified));
            if let Some(record) = object.location.filename().and_then(|name| Record::from_file_name(folder, name)) {
                listing.records.push(Entry { key: record.key(), size: object.size, modified });
            }
        }
        let child = |path: &Path| folder.child(path.filename()?)?.session().cloned();
        listing.sessions = listed.common_prefixes.iter().filter_map(child).collect();
        Ok(listing)
    }

    /// Removes a record. S3 does not say whether there was one, so it is asked before: of two that remove the same at
    /// the same time, both may be told that it was there.
    pub(super) fn delete(&self, key: &Key) -> Result<bool> {
        if self.head(key)?.is_none() {
            return Ok(false);
        }
        let path = self.path(&key.to_string());
        match self.call(move |client| async move { client.s3.delete(&path).await })? {
            Ok(()) => Ok(true),
            Err(failed) => Ok(self.missing::<()>("remove", key, &failed)?.is_some()),
        }
    }

    /// Removes what makes a folder without anything in it show: an object that is called as the folder, with a `/`
    /// behind. Some programs make one, and some servers have one for every folder.
    pub(super) fn remove_folder(&self, folder: &Folder) -> Result<bool> {
        if folder.session().is_none() {
            return Ok(false);
        }
        let path = self.path(&folder.to_string());
        let prefix = path.clone();
        let listed = self.call(move |client| async move { client.s3.list_with_delimiter(Some(&prefix)).await })?;
        let listed = listed.map_err(|failed| self.explain("list", None, &failed))?;
        if !listed.common_prefixes.is_empty() || listed.objects.iter().any(|object| object.location != path) {
            return Ok(false);
        }
        // Removing what is not there would leave a trace where old versions are kept.
        let sessions = self.list(&folder.parent().unwrap_or(Folder::Results))?.sessions;
        if folder.session().is_some_and(|session| sessions.contains(session)) {
            let url = format!("/{}/", encode(path.as_ref()).replace("%2F", "/"));
            let removed = self.call(move |client| async move { ask(&client, http::Method::DELETE, &url).await })?;
            removed.map_err(|failed| self.explain("remove a folder in", None, &failed))?;
        }
        Ok(true)
    }

    /// Ends uploads in parts that were begun before then and never finished. Only those of our own keys.
    pub(super) fn sweep(&self, before: SystemTime) -> Result<u64> {
        let root = self.path("");
        let root = if root.as_ref().is_empty() { String::new() } else { format!("{root}/") };
        let mut swept = self.sweep_batons(before)?;
        let mut after = None;
        loop {
            let prefix = root.clone();
            let page = match self.call(move |client| list_uploads(client, prefix, after))? {
                Ok(page) => page,
                // A server that cannot list them has them end by themselves, or none at all.
                Err(failed) if matches!(failed.status(), Some(501 | 405)) => return Ok(swept),
                Err(failed) => return Err(self.explain("list unfinished uploads in", None, &failed)),
            };
            for upload in page.upload {
                let ours = upload.key.strip_prefix(&root).is_some_and(is_ours);
                let begun = DateTime::parse_from_rfc3339(&upload.initiated).map(SystemTime::from);
                let (Ok(path), true, true) =
                    (Path::parse(&upload.key), ours, begun.is_ok_and(|begun| begun < before))
                else {
                    continue;
                };
                let id = upload.upload_id;
                match self.call(move |client| async move { client.s3.abort_multipart(&path, &id).await })? {
                    Ok(()) => swept += 1,
                    // It has ended since.
                    Err(failed) if failed.status() == Some(404) => {}
                    Err(failed) => return Err(self.explain("end an unfinished upload in", None, &failed)),
                }
            }
            match (page.is_truncated, page.next_key_marker) {
                (true, Some(key)) if !key.is_empty() => after = Some((key, page.next_upload_id_marker)),
                _ => return Ok(swept),
            }
        }
    }
}

/// Tells whether a key below the prefix is one of a store.
fn is_ours(key: &str) -> bool {
    if key == MARK {
        return true;
    }
    let Some((folder, file)) = key.rsplit_once('/') else {
        return false;
    };
    let (top, session) = folder.split_once('/').map_or((folder, None), |(top, session)| (top, Some(session)));
    let top = Folder::TOP.into_iter().find(|folder| folder.to_string() == top);
    let folder = match session {
        Some(session) => top.and_then(|top| top.child(session)),
        None => top,
    };
    folder.is_some_and(|folder| Record::from_file_name(&folder, file).is_some())
}

/// A page of S3's `ListMultipartUploads`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Uploads {
    #[serde(default)]
    upload: Vec<Unfinished>,
    #[serde(default)]
    is_truncated: bool,
    next_key_marker: Option<String>,
    next_upload_id_marker: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Unfinished {
    key: String,
    upload_id: String,
    initiated: String,
}

/// Asks for a page of unfinished uploads; the library has no call for it.
async fn list_uploads(
    client: Client,
    prefix: String,
    after: Option<(String, Option<String>)>,
) -> object_store::Result<Uploads> {
    let failed = |reason: String| object_store::Error::Generic { store: "S3", source: reason.into() };
    let mut query = format!("prefix={}&uploads=", encode(&prefix));
    if let Some((key, upload)) = after {
        let upload = upload.map(|upload| format!("&upload-id-marker={}", encode(&upload))).unwrap_or_default();
        query = format!("key-marker={}&{query}{upload}", encode(&key));
    }
    let body = ask(&client, http::Method::GET, &format!("?{query}")).await?;
    quick_xml::de::from_reader(&*body).map_err(|error| failed(format!("a list of uploads is expected: {error}")))
}

/// Makes a request that the library has no call for. What it is for stands behind the bucket's URL.
async fn ask(client: &Client, method: http::Method, behind: &str) -> object_store::Result<Bytes> {
    let failed = |reason: String| object_store::Error::Generic { store: "S3", source: reason.into() };
    let mut request = http::Request::builder()
        .method(method)
        .uri(format!("{}{behind}", client.bucket_url))
        .body(HttpRequestBody::empty())
        .map_err(|error| failed(error.to_string()))?;
    let credentials = client.s3.credentials().get_credential().await?;
    AwsAuthorizer::new(&credentials, "s3", &client.region).try_authorize(&mut request, None)?;
    let response = client.wire.call(request).await.map_err(|error| failed(error.to_string()))?;
    let (parts, body) = response.into_parts();
    if !parts.status.is_success() {
        return Err(failed(format!("HTTP {}", parts.status)));
    }
    body.bytes().await.map_err(|error| failed(error.to_string()))
}

/// Encodes a value of a query as signatures demand it.
fn encode(value: &str) -> String {
    let mut encoded = String::with_capacity(value.len());
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_uploads_are_swept() {
        for ours in [
            "results/s/c.txt",
            "results/s~0123456789ab/c~0123456789ab.txt",
            "epochs/s/~0123456789ab.body",
            "pruned/s.json",
            MARK,
        ] {
            assert!(is_ours(ours), "{ours}");
        }
        for foreign in
            ["backup.tar", "results/s/c.zip", "results/c.txt", "results/s/t/c.txt", "other/s/c.txt", "", "/"]
        {
            assert!(!is_ours(foreign), "{foreign}");
        }
    }

    #[test]
    fn a_page_of_uploads_is_understood() {
        let page = r#"<?xml version="1.0" encoding="UTF-8"?>
            <ListMultipartUploadsResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Bucket>b</Bucket>
            <Upload><Key>a&amp;b</Key><UploadId>1</UploadId><Initiated>2026-11-30T05:48:02.000Z</Initiated></Upload>
            <NextKeyMarker>a</NextKeyMarker><NextUploadIdMarker>1</NextUploadIdMarker><IsTruncated>true</IsTruncated>
            <Upload><Key>c</Key><UploadId>2</UploadId><Initiated>2026-11-30T05:48:02Z</Initiated></Upload>
            </ListMultipartUploadsResult>"#;
        let page: Uploads = quick_xml::de::from_str(page).unwrap();
        assert!(page.is_truncated);
        assert_eq!(page.upload.iter().map(|upload| upload.key.as_str()).collect::<Vec<_>>(), ["a&b", "c"]);
        assert!(page.upload.iter().all(|upload| DateTime::parse_from_rfc3339(&upload.initiated).is_ok()));
        let none: Uploads = quick_xml::de::from_str("<ListMultipartUploadsResult/>").unwrap();
        assert!(none.upload.is_empty() && !none.is_truncated);
    }

    #[test]
    fn queries_are_encoded_as_signatures_demand_it() {
        assert_eq!(encode("a b/ü~+&="), "a%20b%2F%C3%BC~%2B%26%3D");
    }
}
