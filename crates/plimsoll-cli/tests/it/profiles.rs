//! Profiles of compaction, from outside: listed, shown, used, and what a mistake in one says.

use crate::{Bench, body};

const LAW: &str = "base = \"research\"\nabout = \"reading judgments\"\nitems_heading = \"Judgments and statutes\"\n";

fn with_own() -> Bench {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("profiles")).unwrap();
    bench.write("profiles/law.toml", LAW);
    bench.write("c.toml", "");
    bench
}

#[test]
fn profiles_are_listed_built_in_ones_first() {
    let bench = with_own();
    let listed = bench.run(["profiles", "--config", "c.toml"]).code(0).out();
    let names: Vec<&str> = listed.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(names, ["coding", "workspace", "research", "chat", "law"]);
    assert!(listed.contains("reading judgments") && listed.contains("law.toml"), "{listed}");
    let json = bench.run(["profiles", "--json", "--config", "c.toml"]).code(0).json();
    assert_eq!(json[4]["items_heading"], "Judgments and statutes");
    assert_eq!((&json[4]["built_in"], &json[0]["built_in"]), (&false.into(), &true.into()));
}

#[test]
fn a_profile_is_shown_as_the_file_that_it_is() {
    let bench = with_own();
    let shown = bench.run(["profiles", "workspace"]).code(0).out();
    assert!(shown.contains("address = \"by workspace path, such as `u/alice/sync_orders`\""), "{shown}");
    // What is shown can be written to a file and used.
    std::fs::write(bench.path("profiles/mine.toml"), shown.replace("\"workspace\"", "\"mine\"")).unwrap();
    bench.run(["profiles", "mine", "--config", "c.toml"]).code(0);
    let law = bench.run(["profiles", "law", "--config", "c.toml"]).code(0).out();
    assert!(law.contains("items_heading = \"Judgments and statutes\"") && law.contains("item = \"source\""), "{law}");
    let json = bench.run(["profiles", "law", "--json", "--config", "c.toml"]).code(0).json();
    assert_eq!(json["name"], "law");
}

#[test]
fn a_summary_is_worded_by_a_users_own_profile() {
    let bench = with_own();
    bench.write("in.json", body(12));
    let compact = ["compact", "in.json", "--target-tokens", "1500", "--config", "c.toml"];
    let out = bench.run(compact.iter().copied().chain(["--profile", "law"])).code(0).out();
    assert!(out.contains("## 3. Judgments and statutes"), "{out}");
    bench.write("c.toml", "compact.profile = \"law\"\n");
    let out = bench.run(compact).code(0).out();
    assert!(out.contains("## 3. Judgments and statutes"), "{out}");
    let said = bench.run(compact.iter().copied().chain(["--profile", "lwa"])).code(2).err();
    assert!(said.contains("there is no profile `lwa`; there are coding, workspace, research, chat, law"), "{said}");
}

#[test]
fn a_mistaken_profile_is_said_and_hides_no_other() {
    let bench = with_own();
    bench.write("profiles/bad.toml", "\nadress = \"x\"\n");
    let ran = bench.run(["profiles", "--config", "c.toml"]);
    ran.code(1);
    assert!(ran.err().contains("bad.toml:2: a profile has no field `adress`; is `address` meant?"), "{}", ran.err());
    assert!(ran.out().contains("law"), "{}", ran.out());
    let said = bench.run(["profiles", "bad", "--config", "c.toml"]).code(2).err();
    assert!(said.contains("bad.toml:2"), "{said}");
    assert!(bench.run(["profiles", "../c"]).code(2).err().contains("no name of a profile"));
}

#[test]
fn the_documented_example_is_a_profile() {
    let document = include_str!("../../../../docs/profiles.md");
    let example = document.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    let bench = with_own();
    bench.write("profiles/law.toml", example);
    let json = bench.run(["profiles", "law", "--json", "--config", "c.toml"]).code(0).json();
    assert_eq!(json["item"], "judgment");
    for (field, _) in
        json.as_object().unwrap().iter().filter(|(field, _)| !["origin", "built_in"].contains(&field.as_str()))
    {
        assert!(document.contains(&format!("| `{field}` |")), "{field}");
    }
}
