//! From what collections state to one row a model.

use std::collections::BTreeMap;

use super::super::normalise::normalise;
use super::super::prices::Prices;
use super::collection::{Collection, Stated};

/// Numbers closer than this are one statement with different rounding: 128,000 and 131,072, 1,000,000 and 1,048,576.
const SAME_WITHIN_PERCENT: u64 = 5;

/// Who makes the models whose names begin so, as litellm and models.dev name the provider.
const MAKERS: [(&str, &[&str]); 26] = [
    ("claude", &["anthropic"]),
    // The open-weight models are served by everybody but their maker.
    ("gpt-oss", &[]),
    ("gpt", &["openai"]),
    ("chatgpt", &["openai"]),
    ("codex", &["openai"]),
    ("o1", &["openai"]),
    ("o3", &["openai"]),
    ("o4", &["openai"]),
    ("gemini", &["gemini", "google"]),
    ("grok", &["xai"]),
    ("mistral", &["mistral"]),
    ("ministral", &["mistral"]),
    ("magistral", &["mistral"]),
    ("devstral", &["mistral"]),
    ("codestral", &["mistral", "codestral"]),
    ("pixtral", &["mistral"]),
    ("deepseek", &["deepseek"]),
    ("qwen", &["dashscope", "alibaba"]),
    ("qwq", &["dashscope", "alibaba"]),
    ("kimi", &["moonshot", "moonshotai"]),
    ("moonshot", &["moonshot", "moonshotai"]),
    ("glm", &["zai"]),
    ("minimax", &["minimax"]),
    ("command", &["cohere_chat", "cohere"]),
    ("nova", &["amazon_nova", "nova", "bedrock_converse", "bedrock", "amazon-bedrock"]),
    ("jamba", &["ai21"]),
];

/// What is in force for a model, and what else is stated.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Row {
    /// For window, input and output: the numbers and the letters of their origins, the one in force first.
    pub(super) cells: [Vec<(u64, char)>; 3],
    /// Prices and the letters of their origins, those in force first.
    pub(super) prices: Vec<(Prices, char)>,
    /// The name has several meanings, or nobody can tell: it resolves to nothing.
    pub(super) ambiguous: bool,
}

impl Row {
    /// Puts in force what is: a maker's word before hosts', the smaller of numbers that disagree.
    pub(super) fn settle(&mut self) {
        // A maker's word settles what hosts of the other collection are not agreed upon.
        for cell in &mut self.cells {
            if cell.iter().any(|(_, letter)| letter.is_ascii_uppercase()) {
                cell.retain(|(_, letter)| letter.is_ascii_uppercase());
            }
            settle(cell);
        }
        if self.prices.iter().any(|(_, letter)| letter.is_ascii_uppercase()) {
            self.prices.retain(|(_, letter)| letter.is_ascii_uppercase());
        }
        // Who states a price for cached input knows more than who leaves it out.
        self.prices.sort_by_key(|(prices, _)| prices.cache_read == prices.input);
        self.prices.dedup_by_key(|(prices, _)| *prices);
        // A window is no smaller than what the maker takes as input: hosts that say so have cut theirs.
        let [window, input, _] = &mut self.cells;
        if let Some((input, _)) = input.first().filter(|(_, letter)| letter.is_ascii_uppercase()) {
            window.retain(|(window, letter)| letter.is_ascii_uppercase() || window >= input || same(*window, *input));
        }
    }
}

/// The row of a model: what its maker says in each collection, else what most of its hosts do.
pub(super) fn model_row(key: &str, voices: &[(char, &Stated)]) -> Option<Row> {
    let makers = MAKERS.iter().find(|(prefix, _)| key.starts_with(prefix)).map_or(&[][..], |(_, makers)| makers);
    let mut row = Row::default();
    let mut unsettled = false;
    for collection in ['L', 'M'] {
        let voices: Vec<&Stated> =
            voices.iter().filter(|(letter, _)| *letter == collection).map(|(_, stated)| *stated).collect();
        let own: Vec<&Stated> =
            voices.iter().copied().filter(|stated| makers.contains(&stated.provider.as_str())).collect();
        let (voices, letter) =
            if own.is_empty() { (voices, collection.to_ascii_lowercase()) } else { (own, collection) };
        for (field, cell) in row.cells.iter_mut().enumerate() {
            let numbers: Vec<u64> = voices
                .iter()
                .filter_map(|stated| stated.limits.get(field).copied())
                .filter(|number| *number > 0)
                .collect();
            match agreed(&numbers) {
                Some(number) => cell.push((number, letter)),
                None => unsettled |= !numbers.is_empty() && field < 2,
            }
        }
        let prices: Vec<Prices> = voices.iter().filter_map(|stated| stated.prices).collect();
        row.prices.extend(usual(&prices).map(|prices| (prices, letter)));
    }
    row.settle();
    if row.cells.iter().take(2).all(Vec::is_empty) {
        // Hosts that differ, and nobody to ask: ambiguous. Nothing but an output limit: not worth a row.
        return unsettled.then(|| Row { ambiguous: true, ..Row::default() });
    }
    Some(row)
}

/// The number that more than half of the voices state, taken as one when they differ by rounding; of those the
/// smallest.
fn agreed(numbers: &[u64]) -> Option<u64> {
    let near = |number: u64| numbers.iter().copied().filter(|other| same(number, *other)).collect::<Vec<_>>();
    let best = numbers.iter().map(|number| near(*number)).max_by_key(Vec::len)?;
    if best.len().saturating_mul(2) > numbers.len() { best.into_iter().min() } else { None }
}

/// The prices that more than half of the voices state.
fn usual(prices: &[Prices]) -> Option<Prices> {
    let stated = |one: &Prices| prices.iter().filter(|other| *other == one).count();
    prices.iter().copied().max_by_key(stated).filter(|best| stated(best).saturating_mul(2) > prices.len())
}

fn same(a: u64, b: u64) -> bool {
    a.abs_diff(b).saturating_mul(100) <= a.max(b).saturating_mul(SAME_WITHIN_PERCENT)
}

/// Puts the smallest number first and drops those that repeat it.
fn settle(cell: &mut Vec<(u64, char)>) {
    cell.sort_unstable();
    cell.dedup_by_key(|(number, _)| *number);
}

/// Rows of single hosts that can take clearly less or more than the model's row says.
pub(super) fn host_rows(collections: &[Collection], models: &BTreeMap<String, Row>) -> BTreeMap<String, Row> {
    let mut rows: BTreeMap<String, Row> = BTreeMap::new();
    for collection in collections {
        for stated in &collection.stated {
            // A key of litellm's begins with its route; a provider of models.dev's is one. A publisher is no host.
            let routed = stated.name.provider.clone().filter(|_| collection.letter == 'L');
            let Some(provider) = routed.or_else(|| host(&stated.provider)) else {
                continue;
            };
            let row = rows.entry(format!("{provider}/{}", stated.name.key())).or_default();
            for (cell, number) in row.cells.iter_mut().zip(stated.limits) {
                if number > 0 {
                    cell.push((number, collection.letter));
                }
            }
            row.prices.extend(stated.prices.map(|prices| (prices, collection.letter)));
        }
    }
    rows.retain(|key, row| {
        row.cells.iter_mut().for_each(settle);
        row.prices.dedup_by_key(|(prices, _)| *prices);
        let model = key.split_once('/').and_then(|(_, model)| models.get(model));
        let Some(model) = model.filter(|model| !model.ambiguous) else {
            return budget(row).is_some();
        };
        match (budget(row), budget(model)) {
            (Some(here), Some(there)) => !same(here, there),
            _ => false,
        }
    });
    rows
}

/// The name under which a host is asked, as `normalise` gives it: it is what stands before a `/`.
fn host(provider: &str) -> Option<String> {
    normalise(&format!("{provider}/x")).provider
}

/// What may be sent: the smaller of input limit and window.
fn budget(row: &Row) -> Option<u64> {
    row.cells.iter().take(2).filter_map(|cell| cell.first()).map(|(number, _)| *number).min()
}

/// Gives a model that is known only by its snapshots their limits, if they agree.
pub(super) fn add_models_of_snapshots(rows: &mut BTreeMap<String, Row>) {
    let in_force = |row: &Row| row.cells.each_ref().map(|cell| cell.first().map(|(number, _)| *number));
    let mut models: BTreeMap<String, Row> = BTreeMap::new();
    for (key, row) in rows.iter() {
        if let Some(base) = model_of(key).filter(|base| !rows.contains_key(base)) {
            let model = models.entry(base).or_insert_with(|| row.clone());
            model.ambiguous |= in_force(model) != in_force(row);
        }
    }
    models.retain(|_, model| !model.ambiguous);
    rows.extend(models);
}

/// Drops the snapshots of which nothing is stated that is not stated of their model: the model's row is found when
/// the snapshot's is not.
pub(super) fn drop_repeated_snapshots(rows: &mut BTreeMap<String, Row>) {
    let repeats = |row: &Row, model: &Row| {
        let stated = |number: u64, all: &[(u64, char)]| all.iter().any(|(other, _)| *other == number);
        let mut cells = row.cells.iter().zip(&model.cells);
        row.ambiguous == model.ambiguous
            && cells.all(|(cell, all)| cell.iter().all(|(number, _)| stated(*number, all)))
    };
    let repeated: Vec<String> = rows
        .iter()
        .filter(|(key, row)| {
            let model = model_of(key).and_then(|base| rows.get(&base));
            model.is_some_and(|model| repeats(row, model))
        })
        .map(|(key, _)| key.clone())
        .collect();
    for key in repeated {
        rows.remove(&key);
    }
}

/// The key of the model of which `key` is a snapshot, under the same provider.
fn model_of(key: &str) -> Option<String> {
    let (provider, model) = key.rsplit_once('/').map_or(("", key), |(provider, model)| (provider, model));
    let name = normalise(model);
    name.snapshot.as_ref()?;
    Some(if provider.is_empty() { name.base } else { format!("{provider}/{}", name.base) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stated(key: &str, provider: &str, limits: [u64; 3]) -> Stated {
        Stated { name: normalise(key), provider: provider.to_owned(), limits, prices: None }
    }

    fn row(key: &str, voices: &[(char, &str, [u64; 3])]) -> Option<Row> {
        let stated: Vec<_> =
            voices.iter().map(|(letter, provider, limits)| (*letter, stated(key, provider, *limits))).collect();
        let voices: Vec<_> = stated.iter().map(|(letter, stated)| (*letter, stated)).collect();
        model_row(key, &voices)
    }

    #[test]
    fn the_maker_speaks_for_its_model() {
        let row = row(
            "gpt-5",
            &[
                ('L', "openai", [0, 272_000, 128_000]),
                ('L', "snowflake", [0, 300_000, 16_384]),
                ('M', "openai", [400_000, 272_000, 128_000]),
                ('M', "poe", [100_000, 0, 8_000]),
            ],
        );
        let cells = [vec![(400_000, 'M')], vec![(272_000, 'L')], vec![(128_000, 'L')]];
        assert_eq!(row, Some(Row { cells, ..Row::default() }));
    }

    #[test]
    fn the_smaller_input_limit_is_in_force_and_the_other_recorded() {
        let row = row("gpt-x", &[('L', "openai", [0, 1_050_000, 1]), ('M', "openai", [1_050_000, 922_000, 1])]);
        assert_eq!(row.unwrap().cells[1], [(922_000, 'M'), (1_050_000, 'L')]);
    }

    #[test]
    fn most_hosts_speak_where_no_maker_does() {
        let hosts = [("a", 131_072), ("b", 128_000), ("c", 8_192)].map(|(host, window)| ('M', host, [window, 0, 0]));
        assert_eq!(row("llama-3-70b", &hosts).unwrap().cells[0], [(128_000, 'm')]);
    }

    #[test]
    fn hosts_that_are_not_agreed_make_a_name_ambiguous() {
        let hosts = [("a", 131_072), ("b", 8_192)].map(|(host, window)| ('M', host, [window, 0, 0]));
        assert!(row("llama-3-70b", &hosts).unwrap().ambiguous);
        assert_eq!(row("llama-3-70b", &[('M', "a", [0, 0, 5])]), None);
    }

    #[test]
    fn a_hosts_cut_window_does_not_cut_the_makers_input() {
        let row = row("mistral-x", &[('L', "mistral", [0, 262_144, 1]), ('M', "a", [128_000, 0, 0])]).unwrap();
        assert_eq!((row.cells[0].as_slice(), row.cells[1].as_slice()), (&[][..], &[(262_144, 'L')][..]));
    }

    #[test]
    fn snapshots_are_kept_only_where_they_differ() {
        let of = |window, output| Row { cells: [vec![(window, 'M')], vec![], vec![(output, 'M')]], ..Row::default() };
        let mut rows = BTreeMap::from([
            ("a-1".to_owned(), of(10, 5)),
            ("a-1-20250101".to_owned(), of(10, 5)),
            ("a-1-20240101".to_owned(), of(10, 4)),
            ("b-20250101".to_owned(), of(10, 5)),
            ("c-20250101".to_owned(), of(10, 5)),
            ("c-20240101".to_owned(), of(20, 5)),
        ]);
        add_models_of_snapshots(&mut rows);
        drop_repeated_snapshots(&mut rows);
        let keys: Vec<_> = rows.keys().map(String::as_str).collect();
        assert_eq!(keys, ["a-1", "a-1-20240101", "b", "c-20240101", "c-20250101"]);
    }

    #[test]
    fn a_host_has_a_row_where_it_takes_clearly_more_or_less() {
        let collection = Collection {
            letter: 'M',
            title: "x",
            version: String::new(),
            date: String::new(),
            stated: vec![
                stated("gpt-5", "github-copilot", [128_000, 0, 0]),
                stated("gpt-5", "azure", [400_000, 272_000, 0]),
                stated("openai/gpt-5", "openrouter", [262_000, 0, 0]),
            ],
        };
        let model = Row { cells: [vec![(400_000, 'M')], vec![(272_000, 'M')], vec![]], ..Row::default() };
        let rows = host_rows(&[collection], &BTreeMap::from([("gpt-5".to_owned(), model)]));
        assert_eq!(rows.keys().collect::<Vec<_>>(), ["github-copilot/gpt-5"]);
    }
}
