//! The catalogue with what the user's files add: a refreshed collection beneath, the user's own limits on top.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use plimsoll::model::collect::{CollectError, Collection, refresh};
use plimsoll::model::{Catalogue, UserCatalogue};

use crate::clock::date;
use crate::file::private_folder;
use crate::{EngineError, write_whole};

/// The collection that a refresh takes: models.dev's, which a site serves as one file.
const COLLECTION: &str = "models.dev";

/// Where the files of the catalogue are. Neither needs to be there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CatalogueFiles {
    /// The user's own limits and prices, JSON lines: `models.jsonl` beside the user's configuration.
    pub user: Option<PathBuf>,
    /// What `models update` made: `plimsoll/models.tsv` in the user's cache directory. It may be removed at any time.
    pub refreshed: Option<PathBuf>,
}

/// A mistake in the files of the catalogue.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CatalogueFileError {
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A line of the user's file cannot be used.
    #[error("{}, line {line}: {reason}; correct the line, or take it out", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Which line, counted from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// The collection to refresh from cannot be used.
    #[error("{from}: {source}")]
    Collection {
        /// Where it came from.
        from: String,
        /// What is wrong with it.
        source: CollectError,
    },
    /// Nobody told where the refreshed catalogue is to be kept.
    #[error("there is no place to keep the catalogue: set HOME or XDG_CACHE_HOME")]
    NoPlace,
    /// The refreshed catalogue cannot be written.
    #[error(transparent)]
    Write(#[from] EngineError),
}

impl CatalogueFiles {
    /// Says where to look, from what the environment holds and where the user's configuration is.
    pub fn of(lookup: impl Fn(&str) -> Option<OsString>, configuration: Option<&Path>) -> Self {
        let absolute = |name: &str| lookup(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = || absolute("HOME").map(|home| home.join(".cache"));
        let cache = if cfg!(windows) { absolute("LOCALAPPDATA") } else { absolute("XDG_CACHE_HOME").or_else(home) };
        Self {
            user: configuration.map(|file| file.with_file_name("models.jsonl")),
            refreshed: cache.map(|folder| folder.join("plimsoll").join("models.tsv")),
        }
    }

    /// Reads the catalogue: the embedded one, or the refreshed one where that is newer, under the user's own lines.
    ///
    /// A refreshed catalogue that is damaged or older than the embedded one is passed over: it is a copy. A mistake in the
    /// user's file is not, since a limit that is silently passed over would be worse than none.
    ///
    /// # Errors
    /// [`CatalogueFileError`] names the user's file and the line.
    pub fn load(&self) -> Result<Catalogue, CatalogueFileError> {
        let mut catalogue = Catalogue::embedded();
        let refreshed = self.refreshed.as_ref().and_then(|path| fs::read_to_string(path).ok());
        if let Some(refreshed) = refreshed.and_then(|text| Catalogue::from_text(Cow::Owned(text)).ok())
            && refreshed.date_of(COLLECTION) > catalogue.date_of(COLLECTION)
        {
            catalogue = refreshed;
        }
        let Some(path) = &self.user else { return Ok(catalogue) };
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(catalogue),
            Err(source) => return Err(CatalogueFileError::Read { path: path.clone(), source }),
        };
        let (user, problems) = UserCatalogue::parse(&text);
        match problems.into_iter().next() {
            None => Ok(catalogue.with_user(user)),
            Some(problem) => {
                let (line, reason) = (problem.line, problem.reason);
                Err(CatalogueFileError::Line { path: path.clone(), line, reason })
            }
        }
    }

    /// Reads the catalogue where a mistake in the user's file must not stop anything: it is given beside the catalogue without
    /// the user's lines.
    pub fn load_anyway(&self) -> (Catalogue, Option<CatalogueFileError>) {
        match self.load() {
            Ok(catalogue) => (catalogue, None),
            Err(mistake) => {
                let without = Self { user: None, refreshed: self.refreshed.clone() };
                (without.load().unwrap_or_default(), Some(mistake))
            }
        }
    }

    /// Refreshes the catalogue from models.dev's `api.json`, which came from `from`, and keeps the result. Gives the file, and
    /// how many models are known now.
    ///
    /// # Errors
    /// [`CatalogueFileError::Collection`] if it is not that collection; then nothing is changed.
    pub fn update(&self, json: &[u8], from: &str, now: SystemTime) -> Result<(PathBuf, usize), CatalogueFileError> {
        let path = self.refreshed.as_ref().ok_or(CatalogueFileError::NoPlace)?;
        let wrong = |source| CatalogueFileError::Collection { from: from.to_owned(), source };
        let newer = Collection::models_dev(json, "api.json", &date(now)).map_err(wrong)?;
        // Always from the embedded one: what an earlier refresh said is not newer than this.
        let text = refresh(Catalogue::embedded().text(), &newer).map_err(wrong)?;
        let catalogue = Catalogue::from_text(text.clone()).map_err(|error| wrong(error.into()))?;
        if let Some(folder) = path.parent() {
            let failed = |source| EngineError::Write { path: folder.to_path_buf(), source };
            private_folder(folder).map_err(failed)?;
        }
        write_whole(path, text.as_bytes())?;
        Ok((path.clone(), catalogue.models().count()))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use plimsoll::Tokens;

    use super::*;

    const API: &[u8] = br#"{"openai":{"models":{"gpt-99":{"limit":{"context":7000,"output":10},"modalities":{"output":["text"]}}}}}"#;

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    fn files(folder: &Path) -> CatalogueFiles {
        CatalogueFiles { user: Some(folder.join("models.jsonl")), refreshed: Some(folder.join("cache/models.tsv")) }
    }

    #[test]
    fn the_users_lines_go_before_what_is_published() {
        let folder = tempfile::tempdir().unwrap();
        let files = files(folder.path());
        assert_eq!(files.load().unwrap().limit_or_default("my-llm").tokens, Tokens(128_000));
        fs::write(folder.path().join("models.jsonl"), "# mine\n{\"model\":\"my-llm\",\"context_window\":4096}\n")
            .unwrap();
        let limit = files.load().unwrap().limit_or_default("my-llm");
        assert_eq!((limit.tokens, limit.is_known()), (Tokens(4_096), true));
    }

    #[test]
    fn a_mistake_in_the_users_file_names_the_line() {
        let folder = tempfile::tempdir().unwrap();
        let files = files(folder.path());
        fs::write(folder.path().join("models.jsonl"), "\n{\"model\":\"m\",\"window\":1}\n").unwrap();
        let error = files.load().unwrap_err().to_string();
        assert!(error.contains("models.jsonl, line 2: unknown field `window`"), "{error}");
        let (catalogue, mistake) = files.load_anyway();
        assert_eq!(mistake.unwrap().to_string(), error);
        assert!(catalogue.limit_or_default("gpt-4o").is_known());
    }

    #[test]
    fn a_refreshed_catalogue_is_used_while_it_is_newer_and_whole() {
        let folder = tempfile::tempdir().unwrap();
        let files = files(folder.path());
        let known = || files.load().unwrap().limit_or_default("gpt-99").tokens == Tokens(7_000);
        let (path, models) = files.update(API, "api.json", at(4_000_000_000)).unwrap();
        assert!(known() && models > 1_000);
        #[cfg(unix)]
        for made in [path.as_path(), path.parent().unwrap()] {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(fs::metadata(made).unwrap().permissions().mode() & 0o077, 0, "{}", made.display());
        }
        // What is older than the program itself says nothing.
        files.update(API, "api.json", at(1_000_000_000)).unwrap();
        assert!(!known());
        files.update(API, "api.json", at(4_000_000_000)).unwrap();
        fs::write(&path, "# plimsoll catalogue 1\nnonsense").unwrap();
        assert!(!known(), "a damaged copy is passed over");
    }

    #[test]
    fn what_is_no_collection_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let files = files(folder.path());
        let error = files.update(b"<html>", "https://example.org/x", at(0)).unwrap_err().to_string();
        assert!(error.starts_with("https://example.org/x: models.dev's collection is not JSON"), "{error}");
        assert!(!folder.path().join("cache").exists());
    }
}
