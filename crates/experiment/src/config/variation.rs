//! A label for a run of a sweep: the settings in which it differs from the others.

use std::collections::HashMap;

/// `topology=ring, seed=2`: the last part of each path, or the whole path where two would read the same, and below `seeds`,
/// whose parts are called as other settings are.
pub(crate) fn joined(variation: &[(String, String)]) -> String {
    let parts = named(variation).map(|(name, value)| format!("{name}={value}"));
    parts.collect::<Vec<String>>().join(", ")
}

/// The settings as [`joined`] calls them, and their values.
pub(crate) fn named(variation: &[(String, String)]) -> impl Iterator<Item = (&str, &str)> {
    let mut endings: HashMap<&str, usize> = HashMap::new();
    for (path, _) in variation {
        *endings.entry(last_part(path)).or_default() += 1;
    }
    let name = move |path| match endings.get(last_part(path)) {
        Some(1) if !path.starts_with("seeds.") => last_part(path),
        _ => path,
    };
    let settings = variation.iter();
    settings.map(move |(path, value)| (name(path.as_str()), value.as_str()))
}

fn last_part(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_end_the_same_are_written_whole() {
        let pair = |path: &str, value: &str| (path.to_owned(), value.to_owned());
        let variation = [pair("dataset.glyphs.seed", "3"), pair("seed", "4")];
        assert_eq!(joined(&variation), "dataset.glyphs.seed=3, seed=4");
        let variation = [
            pair("seeds.partition", "3"),
            pair("algorithm.dsgd.momentum", "0.9"),
        ];
        assert_eq!(joined(&variation), "seeds.partition=3, momentum=0.9");
    }
}
