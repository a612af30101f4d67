//! The name that was probably meant.

/// Texts of more characters are not compared: the time grows with the product of both lengths.
const LONGEST: usize = 100;
/// What other programs call a key, and its name here.
const OTHER_NAMES: [(&str, &str); 7] = [
    ("lr", "learning_rate"),
    ("eta", "learning_rate"),
    ("wd", "weight_decay"),
    ("bs", "batch_size"),
    ("epochs", "local"),
    ("local_epochs", "local"),
    ("local_steps", "local"),
];
/// Names that are compared.
const MOST_NAMES: usize = 10_000;

/// The name in `known` that is closest to `found`, if one is close enough to be a slip of the finger or a shorter form.
///
/// Close is a Damerau-Levenshtein distance of at most a third of the longer name, or one name being the beginning of
/// the other from three letters on; capitals and hyphens do not count. Of equals the one closest in length is taken, then
/// the first. What other programs call a key, such as `lr`, stands for its name here. A text of more than a hundred characters is no name, and no more than 10,000 names are compared.
pub fn nearest<'a>(found: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let is_long = |name: &str| name.chars().nth(LONGEST).is_some();
    if is_long(found) {
        return None;
    }
    let plain = |name: &str| name.to_lowercase().replace('-', "_");
    let found = plain(found);
    let other = OTHER_NAMES.iter().find(|(other, _)| *other == found);
    let found = other.map_or(found, |(_, name)| (*name).to_owned());
    let distance = |name: &str| {
        let name = plain(name);
        let edits = strsim::damerau_levenshtein(&found, &name);
        let longer = found.chars().count().max(name.chars().count());
        let begins = found.len().min(name.len()) >= 3
            && (name.starts_with(&found) || found.starts_with(&name));
        let lengths = found.chars().count().abs_diff(name.chars().count());
        (edits * 3 <= longer || begins).then_some((edits, lengths))
    };
    known
        .into_iter()
        .take(MOST_NAMES)
        .filter(|name| !is_long(name))
        .filter_map(|name| Some((distance(name)?, name)))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_short_forms_capitals_and_hyphens_are_recognised() {
        let known = [
            "ring",
            "regular",
            "erdos_renyi",
            "ring_plus_matching",
            "complete",
        ];
        let keys = ["local", "batch_size", "learning_rate"];
        assert_eq!(nearest("lr", keys), Some("learning_rate"));
        assert_eq!(nearest("LR", keys), Some("learning_rate"));
        assert_eq!(nearest("lr", known), None);
        for (found, meant) in [
            ("rnig", "ring"),
            ("Ring", "ring"),
            ("reg", "regular"),
            ("erdos-renyi", "erdos_renyi"),
            ("completed", "complete"),
            ("erdos_reny", "erdos_renyi"),
        ] {
            assert_eq!(nearest(found, known), Some(meant), "{found}");
        }
        assert_eq!(
            nearest("dfedavgn", ["dfedavg", "dfedavgm"]),
            Some("dfedavgm")
        );
        assert_eq!(nearest("kinds", ["age", "Kind", "label"]), Some("Kind"));
        let long = "ring".repeat(1_000_000);
        for found in ["hypercube", "xy", "", &long] {
            assert_eq!(nearest(found, known), None, "{found}");
        }
    }
}
