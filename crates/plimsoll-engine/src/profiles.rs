//! Profiles of compaction as files: the built-in ones, and a user's own in the folder `profiles` beside the configuration.

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use plimsoll::Bytes;
use plimsoll::compact::Profile;
use toml::de::{DeTable, DeValue};

/// How long the text of a field may be, in characters: all of them go into every summary request.
const LONGEST: usize = 2_000;

/// The largest file that is read.
const LARGEST: Bytes = Bytes(64 << 10);

/// The field that names the profile whose words stand where a file has none.
const BASE: &str = "base";

/// Where a profile comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// This version's own.
    BuiltIn,
    /// A file of the user's.
    File(PathBuf),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("built in"),
            Self::File(path) => write!(f, "{}", path.display()),
        }
    }
}

/// A profile, and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The profile.
    pub profile: Profile,
    /// Where it comes from.
    pub origin: Origin,
}

/// What is wrong with a profile.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// There is none of that name.
    #[error("there is no profile `{name}`; there are {}{}", known.join(", "), own(folder.as_deref()))]
    Unknown {
        /// The name.
        name: String,
        /// The names there are.
        known: Vec<String>,
        /// Where the user's own are looked for.
        folder: Option<PathBuf>,
    },
    /// A name that is no name of a profile.
    #[error("`{name}` is no name of a profile; give letters, digits, `-` and `_`, at most 64 of them")]
    Name {
        /// The name.
        name: String,
    },
    /// A file cannot be read.
    #[error("cannot read the profile {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file that is too large.
    #[error("the profile {} has {size}, over the limit of {LARGEST}; it goes into every summary request", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size.
        size: Bytes,
    },
    /// A file is not TOML.
    #[error("{}:{line}: {reason}; `plimsoll profiles coding` shows the form", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// What the reader of TOML said.
        reason: String,
    },
    /// A field that a profile does not have.
    #[error("{}:{line}: a profile has no field `{field}`; {}", path.display(), hint(*near))]
    Field {
        /// The file.
        path: PathBuf,
        /// The line.
        line: usize,
        /// The field.
        field: String,
        /// A field of nearly that name.
        near: Option<&'static str>,
    },
    /// A field that cannot be taken as it is.
    #[error("{}:{line}: `{field}` {problem}", path.display())]
    Value {
        /// The file.
        path: PathBuf,
        /// The line.
        line: usize,
        /// The field.
        field: String,
        /// What is wrong, and what to give.
        problem: String,
    },
}

fn own(folder: Option<&Path>) -> String {
    folder.map_or_else(String::new, |folder| format!("; your own go into {}", folder.join("NAME.toml").display()))
}

fn hint(near: Option<&str>) -> String {
    match near {
        Some(near) => format!("is `{near}` meant?"),
        None => format!("it has {BASE}, {}", Profile::FIELDS.join(", ")),
    }
}

/// Finds a profile by its name: the user's own, in `folder`, before the built-in one.
///
/// # Errors
/// [`ProfileError`] names the file, the line and the field, and what to do.
pub fn profile(name: &str, folder: Option<&Path>) -> Result<Found, ProfileError> {
    if !is_name(name) {
        return Err(ProfileError::Name { name: name.to_owned() });
    }
    if let Some(path) = folder.map(|folder| folder.join(format!("{name}.toml")))
        && let Some(text) = text_of(&path)?
    {
        return Ok(Found { profile: from_toml(&text, &path, name)?, origin: Origin::File(path) });
    }
    Profile::named(name).map(|profile| Found { profile, origin: Origin::BuiltIn }).ok_or_else(|| {
        let mut known: Vec<String> = Profile::built_in().map(str::to_owned).collect();
        known.extend(own_names(folder).unwrap_or_default().into_iter().filter(|own| Profile::named(own).is_none()));
        ProfileError::Unknown { name: name.to_owned(), known, folder: folder.map(Path::to_owned) }
    })
}

/// Lists all profiles, the built-in ones first, each as the user has it; one that is mistaken is given as its error.
pub fn profiles(folder: Option<&Path>) -> Vec<Result<Found, ProfileError>> {
    let own = match own_names(folder) {
        Ok(own) => own,
        Err(error) => return built_in().map(Ok).chain([Err(error)]).collect(),
    };
    let further = own.into_iter().filter(|name| Profile::named(name).is_none());
    let names = Profile::built_in().map(str::to_owned).chain(further);
    names.map(|name| profile(&name, folder)).collect()
}

fn built_in() -> impl Iterator<Item = Found> {
    let profiles = Profile::built_in().filter_map(Profile::named);
    profiles.map(|profile| Found { profile, origin: Origin::BuiltIn })
}

/// The names of the files in the user's folder, in order. A folder that is not there holds none.
fn own_names(folder: Option<&Path>) -> Result<Vec<String>, ProfileError> {
    let Some(folder) = folder else {
        return Ok(Vec::new());
    };
    let failed = |source| ProfileError::Read { path: folder.to_owned(), source };
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(failed(error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let name = entry.map_err(failed)?.file_name();
        let name = name.to_string_lossy();
        names.extend(name.strip_suffix(".toml").filter(|name| is_name(name)).map(str::to_owned));
    }
    names.sort_unstable();
    Ok(names)
}

/// Reads a file, if it is there. What is no regular file is refused before it is opened: a pipe would block, and a device
/// never ends.
fn text_of(path: &Path) -> Result<Option<String>, ProfileError> {
    let failed = |source| ProfileError::Read { path: path.to_owned(), source };
    let refused = |reason: &str| failed(io::Error::new(io::ErrorKind::InvalidInput, reason));
    let too_large = |size| ProfileError::TooLarge { path: path.to_owned(), size: Bytes(size) };
    match fs::metadata(path) {
        Ok(about) if !about.is_file() => Err(refused("it is not a regular file")),
        Ok(about) if about.len() > LARGEST.0 => Err(too_large(about.len())),
        Ok(_) => {
            let mut text = String::new();
            let file = fs::File::open(path).map_err(failed)?;
            file.take(LARGEST.0 + 1).read_to_string(&mut text).map_err(failed)?;
            let size = Bytes::from(text.len());
            if size > LARGEST { Err(too_large(size.0)) } else { Ok(Some(text)) }
        }
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            // A link that leads nowhere is found when the folder is listed.
            if fs::symlink_metadata(path).is_ok() { Err(refused("the link leads to no file")) } else { Ok(None) }
        }
        Err(error) => Err(failed(error)),
    }
}

/// Whether a name is one of a profile: it becomes a file's name, and nothing else.
fn is_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// Reads a profile from a file's text. What the file does not say, the built-in profile says that it names as `base`, else
/// `coding`.
///
/// # Errors
/// [`ProfileError`] names the line and the field: a word that is passed over in silence would act in silence.
///
/// ```
/// use std::path::Path;
/// use plimsoll_engine::profiles::from_toml;
/// let text = "base = \"research\"\nitem = \"judgment\"\nitems = \"judgments\"\naddress = \"by court and docket number\"\n";
/// let profile = from_toml(text, Path::new("law.toml"), "law").unwrap();
/// assert_eq!((&*profile.name, &*profile.item), ("law", "judgment"));
/// let error = from_toml("itmes = \"x\"", Path::new("law.toml"), "law").unwrap_err();
/// assert_eq!(error.to_string(), "law.toml:1: a profile has no field `itmes`; is `items` meant?");
/// ```
pub fn from_toml(text: &str, path: &Path, name: &str) -> Result<Profile, ProfileError> {
    let line = |at: usize| 1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count();
    let document = DeTable::parse(text).map_err(|error| ProfileError::Syntax {
        path: path.to_owned(),
        line: line(error.span().map_or(0, |span| span.start)),
        reason: error.message().to_owned(),
    })?;
    let mut fields: Vec<(&str, usize, String)> = Vec::new();
    for (key, value) in document.get_ref() {
        let (field, line) = (key.get_ref().as_ref(), line(key.span().start));
        if field != BASE && !Profile::FIELDS.contains(&field) {
            let near = Profile::FIELDS
                .into_iter()
                .chain([BASE])
                .min_by_key(|known| strsim::damerau_levenshtein(known, field));
            let near = near.filter(|near| strsim::damerau_levenshtein(near, field) <= 2);
            return Err(ProfileError::Field { path: path.to_owned(), line, field: field.to_owned(), near });
        }
        let refuse =
            |problem: String| ProfileError::Value { path: path.to_owned(), line, field: field.to_owned(), problem };
        let DeValue::String(value) = value.get_ref() else {
            return Err(refuse(format!("is of type {}; give a text in quotes", value.get_ref().type_str())));
        };
        // The words stand within lines of an instruction, so a text over several lines is one.
        let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
        let length = value.chars().count();
        if value.is_empty() && field != "rule" {
            return Err(refuse("says nothing; give it words, or leave it out to have those of the base".to_owned()));
        }
        if length > LONGEST {
            return Err(refuse(format!("has {length} characters; at most {LONGEST} go into a summary request")));
        }
        if field == "name" && value != name {
            return Err(refuse(format!("is `{value}`, but the file is named `{name}`; rename one, or leave it out")));
        }
        fields.push((field, line, value));
    }
    let base = fields.iter().find(|(field, ..)| *field == BASE);
    let mut profile = match base {
        None => Profile::default(),
        Some((field, line, value)) => Profile::named(value).ok_or_else(|| {
            let known = Profile::built_in().collect::<Vec<_>>().join(", ");
            let problem = format!("is `{value}`; give a built-in profile: {known}");
            ProfileError::Value { path: path.to_owned(), line: *line, field: (*field).to_owned(), problem }
        })?,
    };
    profile.name = Cow::Owned(name.to_owned());
    if !fields.iter().any(|(field, ..)| *field == "about") {
        profile.about = Cow::Owned(format!("your own, after {}", base.map_or("coding", |(.., value)| value)));
    }
    for (field, _, value) in fields {
        if let Some(place) = profile.field_mut(field) {
            *place = Cow::Owned(value);
        }
    }
    Ok(profile)
}

/// Writes a profile as a file, every field in it.
///
/// ```
/// use std::path::Path;
/// use plimsoll::compact::Profile;
/// use plimsoll_engine::profiles::{from_toml, to_toml};
/// let profile = Profile::default();
/// assert_eq!(from_toml(&to_toml(&profile), Path::new("coding.toml"), "coding").unwrap(), profile);
/// ```
pub fn to_toml(profile: &Profile) -> String {
    let mut text = String::new();
    for field in Profile::FIELDS {
        // TOML's basic strings are written as JSON's are; DEL alone is forbidden in the one and not in the other.
        let value = plimsoll::wire::quote(profile.field(field).unwrap_or("")).replace('\u{7f}', "\\u007f");
        let _ = writeln!(text, "{field} = {value}");
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_built_in_files_are_toml_and_say_what_the_core_reads() {
        for name in Profile::built_in() {
            let file = Profile::built_in_file(name).unwrap();
            let read = from_toml(file, Path::new("built-in.toml"), name).unwrap();
            assert_eq!(Some(read), Profile::named(name));
            let table: toml::Table = file.parse().unwrap();
            let fields: Vec<&str> = table.keys().map(String::as_str).collect();
            for field in Profile::FIELDS {
                assert!(fields.contains(&field), "{name}: {field}");
            }
        }
    }

    #[test]
    fn a_users_own_profile_goes_before_a_built_in_one() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path();
        fs::write(own.join("law.toml"), "base = \"research\"\nitems = \"\"\"\njudgments\n  of courts\"\"\"\n")
            .unwrap();
        fs::write(own.join("chat.toml"), "about = \"mine\"\n").unwrap();
        fs::write(own.join("notes.txt"), "no profile").unwrap();
        let law = profile("law", Some(own)).unwrap();
        assert_eq!(law.origin, Origin::File(own.join("law.toml")));
        assert_eq!((&*law.profile.items, &*law.profile.item), ("judgments of courts", "source"));
        assert_eq!(&*law.profile.about, "your own, after research");
        assert_eq!(profile("chat", Some(own)).unwrap().profile.about, "mine");
        assert_eq!(profile("chat", None).unwrap().origin, Origin::BuiltIn);
        let names: Vec<String> =
            profiles(Some(own)).into_iter().map(|found| found.unwrap().profile.name.into_owned()).collect();
        assert_eq!(names, ["coding", "workspace", "research", "chat", "law"]);
        assert_eq!(profiles(Some(&own.join("nowhere"))).len(), 4);
        let said = profile("lwa", Some(own)).unwrap_err().to_string();
        assert!(
            said.starts_with(
                "there is no profile `lwa`; there are coding, workspace, research, chat, law; your own go into "
            ),
            "{said}"
        );
    }

    #[test]
    fn a_mistake_names_file_line_field_and_next_step() {
        let said = |text: &str| from_toml(text, Path::new("p.toml"), "p").unwrap_err().to_string();
        assert_eq!(said("\nitmes = \"x\""), "p.toml:2: a profile has no field `itmes`; is `items` meant?");
        assert!(said("colour = \"x\"").contains("has no field `colour`; it has base, name, about"));
        assert_eq!(said("item = 3"), "p.toml:1: `item` is of type integer; give a text in quotes");
        assert_eq!(
            said("item = \" \""),
            "p.toml:1: `item` says nothing; give it words, or leave it out to have those of the base"
        );
        assert_eq!(
            said("base = \"law\""),
            "p.toml:1: `base` is `law`; give a built-in profile: coding, workspace, research, chat"
        );
        assert_eq!(
            said("name = \"q\""),
            "p.toml:1: `name` is `q`, but the file is named `p`; rename one, or leave it out"
        );
        assert!(said("item = ").starts_with("p.toml:1: "));
        assert!(said("item = ").ends_with("`plimsoll profiles coding` shows the form"));
        let long = format!("next = \"{}\"", "x".repeat(2_001));
        assert_eq!(said(&long), "p.toml:1: `next` has 2001 characters; at most 2000 go into a summary request");
        assert!(from_toml("rule = \"\"", Path::new("p.toml"), "p").is_ok());
    }

    #[test]
    fn a_name_leads_nowhere_but_into_the_folder() {
        for name in ["", "../coding", "a/b", "c.toml", "/etc/passwd", "ü", &"x".repeat(65)] {
            assert!(matches!(profile(name, None), Err(ProfileError::Name { .. })), "{name}");
        }
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("big.toml"), "x".repeat(70_000)).unwrap();
        assert!(matches!(profile("big", Some(folder.path())), Err(ProfileError::TooLarge { .. })));
        fs::create_dir(folder.path().join("dir.toml")).unwrap();
        assert!(matches!(profile("dir", Some(folder.path())), Err(ProfileError::Read { .. })));
        assert_eq!(profiles(Some(folder.path())).iter().filter(|found| found.is_err()).count(), 2);
    }

    /// A pipe blocks whoever opens it, and a device never ends.
    #[cfg(unix)]
    #[test]
    fn only_a_regular_file_is_opened() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let made = std::process::Command::new("mkfifo").arg(at("pipe.toml")).status().unwrap();
        assert!(made.success());
        std::os::unix::fs::symlink("/dev/zero", at("zero.toml")).unwrap();
        std::os::unix::fs::symlink(at("gone"), at("dangling.toml")).unwrap();
        fs::write(at("real"), "about = \"mine\"").unwrap();
        std::os::unix::fs::symlink(at("real"), at("linked.toml")).unwrap();
        let said = |name: &str| profile(name, Some(folder.path())).unwrap_err().to_string();
        assert!(said("pipe").ends_with("it is not a regular file"), "{}", said("pipe"));
        assert!(said("zero").ends_with("it is not a regular file"), "{}", said("zero"));
        assert!(said("dangling").ends_with("dangling.toml: the link leads to no file"), "{}", said("dangling"));
        assert_eq!(profile("linked", Some(folder.path())).unwrap().profile.about, "mine");
        assert_eq!(profiles(Some(folder.path())).iter().filter(|found| found.is_err()).count(), 3);
    }

    proptest! {
        #[test]
        fn a_profile_reads_back_as_it_was_written(words in prop::collection::vec("[a-zé\"\\\\\u{7f}\u{1} ]{1,40}", 12)) {
            let mut profile = Profile::default();
            for (field, words) in Profile::FIELDS.into_iter().zip(&words) {
                let words = format!("x {words}").split_whitespace().collect::<Vec<_>>().join(" ");
                *profile.field_mut(field).unwrap() = if field == "name" { "p".into() } else { words.into() };
            }
            prop_assert_eq!(from_toml(&to_toml(&profile), Path::new("p.toml"), "p").unwrap(), profile);
        }

        #[test]
        fn reading_is_total(text in "(base|item|name|rule|x| = |\"|\"\"\"|\n|chat|3|\\[|#|é){0,12}") {
            let _ = from_toml(&text, Path::new("p.toml"), "p");
        }
    }
}
