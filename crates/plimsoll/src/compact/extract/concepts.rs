//! What the work is about, told by what it touched: languages, tools, what it is built with.

use std::collections::BTreeMap;

use super::narrative::Piece;
use crate::compact::ledger::{Ledger, shell};

/// Section 2: languages by the items touched, tools by the commands run.
pub(super) fn concepts(ledger: &Ledger, pieces: &mut Vec<Piece>) {
    let mut languages: BTreeMap<&str, usize> = BTreeMap::new();
    for item in &ledger.items {
        if let Some(language) = language(&item.path) {
            *languages.entry(language).or_default() += 1 + 4 * usize::from(item.is_changed());
        }
    }
    let mut tools: BTreeMap<String, u32> = BTreeMap::new();
    for command in &ledger.commands {
        for part in shell::unquoted(&command.line).split(['|', ';']).flat_map(|part| part.split("&&")).take(4) {
            if let Some(tool) = program(part) {
                *tools.entry(tool).or_default() += command.runs;
            }
        }
    }
    let frameworks: BTreeMap<&str, usize> =
        ledger.items.iter().filter_map(|item| framework(&item.path)).map(|name| (name, 1)).collect();
    let mut lines = Vec::new();
    for (what, names) in [
        ("Languages", ranked(languages.into_iter().map(|(name, times)| (name.to_owned(), times)))),
        ("Built with", ranked(frameworks.into_iter().map(|(name, times)| (name.to_owned(), times)))),
        ("Tools", ranked(tools.into_iter().map(|(name, times)| (name, times as usize)))),
    ] {
        if !names.is_empty() {
            lines.push(format!("{what}: {}.", names.join(", ")));
        }
    }
    if !lines.is_empty() {
        pieces.push(Piece { section: 2, order: 0, rank: 6, forms: vec![lines.join("\n")] });
    }
}

fn ranked(counted: impl Iterator<Item = (String, usize)>) -> Vec<String> {
    let mut counted: Vec<(String, usize)> = counted.collect();
    counted.sort_by(|(a, many), (b, few)| few.cmp(many).then(a.cmp(b)));
    counted.into_iter().take(8).map(|(name, _)| name).collect()
}

/// The program a part of a command line runs, if it tells something about the work.
fn program(part: &str) -> Option<String> {
    const DULL: &str = "cd ls cat echo head tail grep rg sed find wc pwd mkdir rm cp mv sort true sleep export source nl \
        await const let var import function return print printf xargs do done for while if then else fi set test which touch awk tee tr cut uniq kill";
    let mut words = part.split_whitespace().skip_while(|word| word.contains('=') || *word == "sudo");
    let name = words.next()?.rsplit('/').next()?;
    let plain = name.len() >= 2
        && name.len() <= 24
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
        && name.starts_with(|c: char| c.is_ascii_lowercase());
    (plain && !DULL.split_whitespace().any(|dull| dull == name)).then(|| name.to_owned())
}

fn language(path: &str) -> Option<&'static str> {
    let extension = path.rsplit(['/', '\\']).next()?.rsplit_once('.')?.1;
    Some(match extension.to_ascii_lowercase().as_str() {
        "rs" => "Rust",
        "py" | "pyi" | "ipynb" => "Python",
        "ts" | "tsx" | "mts" => "TypeScript",
        "js" | "jsx" | "mjs" | "cjs" => "JavaScript",
        "go" => "Go",
        "java" => "Java",
        "kt" | "kts" => "Kotlin",
        "swift" => "Swift",
        "c" | "h" => "C",
        "cc" | "cpp" | "cxx" | "hpp" => "C++",
        "cs" => "C#",
        "rb" => "Ruby",
        "php" => "PHP",
        "scala" => "Scala",
        "ex" | "exs" => "Elixir",
        "lua" => "Lua",
        "sh" | "bash" | "zsh" => "shell",
        "sql" => "SQL",
        "html" | "htm" => "HTML",
        "css" | "scss" | "less" => "CSS",
        "vue" => "Vue",
        "svelte" => "Svelte",
        "md" | "mdx" | "rst" => "Markdown",
        "toml" => "TOML",
        "yml" | "yaml" => "YAML",
        "json" | "jsonl" => "JSON",
        "proto" => "Protocol Buffers",
        "tf" => "Terraform",
        _ => return None,
    })
}

fn framework(path: &str) -> Option<&'static str> {
    Some(match path.rsplit(['/', '\\']).next()? {
        "Cargo.toml" => "Cargo",
        "package.json" => "Node packages",
        "pyproject.toml" | "setup.py" | "requirements.txt" => "Python packages",
        "go.mod" => "Go modules",
        "Dockerfile" | "docker-compose.yml" | "compose.yaml" => "Docker",
        "pom.xml" => "Maven",
        "build.gradle" | "build.gradle.kts" => "Gradle",
        "Gemfile" => "Bundler",
        "CMakeLists.txt" => "CMake",
        "Makefile" => "Make",
        "next.config.js" | "next.config.ts" | "next.config.mjs" => "Next.js",
        "vite.config.ts" | "vite.config.js" => "Vite",
        "tsconfig.json" => "tsc",
        "schema.prisma" => "Prisma",
        "manage.py" => "Django",
        _ => return None,
    })
}
