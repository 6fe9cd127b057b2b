//! Where agents keep skills and commands: managed, the user's, the project's.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use plimsoll::listing::Source;

use super::walk::{Walk, nested};
use super::{Found, plugin};

/// Folders below a project in which nested skill folders are looked for.
const NESTED_DEPTH: usize = 3;

/// An agent program whose folders are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Agent {
    /// Claude Code: `.claude/skills`, `.claude/commands`, plugins, skills synced from an account.
    Claude,
    /// Codex: `.codex/skills`, `.codex/prompts`, `.agents/skills`.
    Codex,
    /// OpenCode: `.opencode/skills` and `commands`, and the folders of the other two.
    OpenCode,
}

impl Agent {
    /// Every agent.
    pub const ALL: [Self; 3] = [Self::Claude, Self::Codex, Self::OpenCode];

    /// Names the agent as the command line does.
    pub fn word(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::OpenCode => "opencode",
        }
    }

    /// Its folders of skills within a project or a home.
    fn skills(self) -> &'static [&'static str] {
        match self {
            Self::Claude => &[".claude/skills"],
            Self::Codex => &[".agents/skills", ".codex/skills"],
            Self::OpenCode => &[".opencode/skills", ".opencode/skill", ".claude/skills", ".agents/skills"],
        }
    }

    /// Its folders of commands within a project or a home.
    fn commands(self) -> &'static [&'static str] {
        match self {
            Self::Claude => &[".claude/commands"],
            Self::Codex => &[".codex/prompts"],
            Self::OpenCode => &[".opencode/commands", ".opencode/command"],
        }
    }
}

/// The folders that decide where skills are looked for. Nothing is taken from the environment.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Places {
    /// The folder an agent would be started in.
    pub project: PathBuf,
    /// The user's home.
    pub home: Option<PathBuf>,
    /// Claude Code's folder, where it is not `~/.claude` (`CLAUDE_CONFIG_DIR`).
    pub claude_config: Option<PathBuf>,
    /// Codex's folder, where it is not `~/.codex` (`CODEX_HOME`).
    pub codex_home: Option<PathBuf>,
    /// The folder of configurations, where it is not `~/.config` (`XDG_CONFIG_HOME`).
    pub config_home: Option<PathBuf>,
    /// Folders of managed skills.
    pub managed: Vec<PathBuf>,
}

impl Places {
    /// Looks from a project's folder, and nowhere else yet.
    pub fn of_project(project: impl Into<PathBuf>) -> Self {
        Self {
            project: project.into(),
            home: None,
            claude_config: None,
            codex_home: None,
            config_home: None,
            managed: Vec::new(),
        }
    }

    /// Looks into the user's home, too.
    #[must_use]
    pub fn with_home(mut self, home: impl Into<PathBuf>) -> Self {
        self.home = Some(home.into());
        self
    }

    /// Looks into the system's folders for managed skills, too.
    #[must_use]
    pub fn with_system_folders(mut self) -> Self {
        self.managed.extend(
            [
                "/etc/claude-code/.claude/skills",
                "/Library/Application Support/ClaudeCode/.claude/skills",
                "/etc/codex/skills",
            ]
            .map(PathBuf::from),
        );
        self
    }

    /// The folders from the project's root down to where an agent would be started, nearest first. The root is the
    /// one with `.git`; without one, only the folder itself counts.
    fn upwards(&self) -> Vec<PathBuf> {
        let start = std::fs::canonicalize(&self.project).unwrap_or_else(|_| self.project.clone());
        match start.ancestors().position(|dir| dir.join(".git").exists()) {
            // A home that is itself under version control is no project.
            Some(depth) if start.ancestors().nth(depth) != self.home.as_deref() => {
                start.ancestors().take(depth + 1).map(Path::to_owned).collect()
            }
            _ => vec![start],
        }
    }
}

/// Reads every place of the agents.
pub(super) fn read(places: &Places, agents: &[Agent], walk: &mut Walk) {
    for folder in &places.managed {
        walk.skills(folder, Source::Managed, None);
    }
    if let Some(home) = &places.home {
        read_home(places, home, agents, walk);
    }
    let upwards = places.upwards();
    let is_home = |dir: &Path| places.home.as_deref().is_some_and(|home| same(home, dir));
    for dir in upwards.iter().filter(|dir| !is_home(dir)) {
        read_project_folder(dir, agents, walk);
    }
    // Folders below the start are only searched within a repository: a home or a file system has no end.
    let start = upwards.first().filter(|start| upwards.len() > 1 || start.join(".git").exists());
    if let Some(start) = start.filter(|_| agents.contains(&Agent::Claude)) {
        for folder in nested(start, ".claude/skills", NESTED_DEPTH) {
            let place = folder.strip_prefix(start).unwrap_or(&folder).to_string_lossy().replace('\\', "/");
            let before = walk.found.len();
            walk.skills(&folder.join(".claude/skills"), Source::Project, Some(&place));
            walk.nested.extend(before..walk.found.len());
        }
    }
    if agents.contains(&Agent::Claude)
        && let Some(config) = claude_config(places)
    {
        plugin::read_installed(&config, &places.project, walk);
    }
}

fn claude_config(places: &Places) -> Option<PathBuf> {
    places.claude_config.clone().or_else(|| places.home.as_ref().map(|home| home.join(".claude")))
}

fn read_home(places: &Places, home: &Path, agents: &[Agent], walk: &mut Walk) {
    let config_home = places.config_home.clone().unwrap_or_else(|| home.join(".config"));
    let moved = |folder: &str| {
        let rest = |own: &str| folder.strip_prefix(own).map(|rest| rest.trim_start_matches('/'));
        let (base, rest) = [
            (".claude", places.claude_config.clone()),
            (".codex", places.codex_home.clone()),
            (".opencode", Some(config_home.join("opencode"))),
        ]
        .into_iter()
        .find_map(|(own, base)| Some((base?, rest(own)?)))?;
        Some(base.join(rest))
    };
    for agent in agents {
        for &folder in agent.skills() {
            walk.skills(&moved(folder).unwrap_or_else(|| home.join(folder)), Source::User, None);
        }
    }
    for agent in agents {
        for &folder in agent.commands() {
            walk.commands(&moved(folder).unwrap_or_else(|| home.join(folder)), Source::User, None);
        }
    }
}

/// Reads the agents' folders within one folder of a project. Whether there was any.
pub(super) fn read_project_folder(dir: &Path, agents: &[Agent], walk: &mut Walk) -> bool {
    let mut was_any = false;
    for agent in agents {
        for folder in agent.skills().iter().map(|folder| dir.join(folder)).filter(|folder| exists(folder)) {
            was_any = true;
            walk.skills(&folder, Source::Project, None);
        }
    }
    for agent in agents {
        for folder in agent.commands().iter().map(|folder| dir.join(folder)).filter(|folder| exists(folder)) {
            was_any = true;
            walk.commands(&folder, Source::Project, None);
        }
    }
    was_any
}

/// Takes the place off the names of nested skills that clash with nothing: `apps/web:deploy` is `deploy` then.
pub(super) fn unqualify(found: &mut [Found], nested: &[usize]) {
    if nested.is_empty() {
        return;
    }
    let short = |name: &str| name.split_once(':').map_or(name, |(_, short)| short).to_owned();
    let mut times: HashMap<String, usize> = HashMap::new();
    for (at, it) in found.iter().enumerate() {
        let name = if nested.contains(&at) { short(&it.entry.name) } else { it.entry.name.clone() };
        *times.entry(name).or_default() += 1;
    }
    for &at in nested {
        let Some(it) = found.get_mut(at) else {
            continue;
        };
        let name = short(&it.entry.name);
        if times.get(&name) == Some(&1) {
            it.entry.name = name;
        }
    }
}

/// Whether there is something, if only a link that leads nowhere: that is reported, not passed over.
fn exists(path: &Path) -> bool {
    path.is_symlink() || path.exists()
}

fn same(one: &Path, other: &Path) -> bool {
    matches!((std::fs::canonicalize(one), std::fs::canonicalize(other)), (Ok(one), Ok(other)) if one == other)
}
