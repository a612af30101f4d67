//! The known name that is closest to a mistaken one.

/// Similarity, from 0 to 1, from which on two names are close.
const CLOSE: f64 = 0.7;
/// Names that are compared.
const MOST_NAMES: usize = 10_000;
/// Bytes of a name that is compared: the time grows with the product of both lengths.
const MOST_BYTES: usize = 200;

/// Which of `names` is closest to `name`, if any is close.
pub(crate) fn nearest<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > MOST_BYTES {
        return None;
    }
    let name = name.to_lowercase();
    let compared = names
        .into_iter()
        .take(MOST_NAMES)
        .filter(|known| known.len() <= MOST_BYTES)
        .map(|known| (known, strsim::jaro_winkler(&name, &known.to_lowercase())));
    compared
        .filter(|(_, similarity)| *similarity > CLOSE)
        .max_by(|(_, a), (_, b)| a.total_cmp(b))
        .map(|(known, _)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_close_name_is_found_and_a_strange_one_is_not() {
        let names = ["age", "kind", "label"];
        assert_eq!(nearest("Kinds", names), Some("kind"));
        assert_eq!(nearest("zebra", names), None);
        assert_eq!(nearest(&"k".repeat(10_000_000), names), None);
    }
}
