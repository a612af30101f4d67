//! Settings that follow from others, such as the mixing weights that an overlay brings along.

use std::collections::{BTreeMap, BTreeSet};

/// A setting with the value of each configuration in words.
type Texts<'a> = (&'a str, Vec<String>);

/// The `varying` settings without those that others determine. A setting that a sweep sets, `swept`, stays. Another one is left
/// out if the swept ones together determine it, and `weights` also if the overlays do.
///
/// What is left tells configurations apart as well as all settings do.
pub(super) fn without_determined<'a>(
    varying: Vec<Texts<'a>>,
    swept: &BTreeSet<&str>,
) -> Vec<Texts<'a>> {
    let is_swept = |(key, _): &&Texts<'a>| swept.contains(key);
    let by_sweep: Vec<&[String]> = columns(varying.iter().filter(is_swept));
    let by_overlay: Vec<&[String]> = columns(varying.iter().filter(|(key, _)| *key == "topology"));
    let follows = |(key, texts): &Texts<'a>| {
        let from_sweep = determine(&by_sweep, texts);
        let from_overlay = *key == "weights" && determine(&by_overlay, texts);
        !swept.contains(key) && (from_sweep || from_overlay)
    };
    let kept: Vec<bool> = varying.iter().map(|setting| !follows(setting)).collect();
    let kept = varying.into_iter().zip(kept);
    kept.filter_map(|(setting, kept)| kept.then_some(setting))
        .collect()
}

fn columns<'b, 'a: 'b>(settings: impl Iterator<Item = &'b Texts<'a>>) -> Vec<&'b [String]> {
    settings.map(|(_, texts)| texts.as_slice()).collect()
}

/// Whether configurations with the same values in all `columns` have the same text.
fn determine(columns: &[&[String]], texts: &[String]) -> bool {
    let mut known: BTreeMap<Vec<&str>, &str> = BTreeMap::new();
    texts.iter().enumerate().all(|(place, text)| {
        let values = columns.iter().map(|column| column[place].as_str());
        *known.entry(values.collect()).or_insert(text) == text.as_str()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOPOLOGY: &str = "topology: ring one_peer ring one_peer";
    const WEIGHTS: &str = "weights: metropolis uniform metropolis uniform";
    const ALGORITHM: &str = "algorithm: dsgd dsgd tracking tracking";

    /// The settings that are kept of those in `lines`, if a sweep sets those that `swept` names.
    fn kept(lines: &[&'static str], swept: &[&str]) -> Vec<&'static str> {
        let setting = |line: &&'static str| {
            let (key, texts) = line.split_once(": ").unwrap();
            (key, texts.split(' ').map(str::to_owned).collect())
        };
        let varying = lines.iter().map(setting).collect();
        let kept = without_determined(varying, &swept.iter().copied().collect());
        kept.into_iter().map(|(key, _)| key).collect()
    }

    #[test]
    fn weights_that_overlays_bring_along_are_left_out() {
        let all = [TOPOLOGY, WEIGHTS, ALGORITHM];
        assert_eq!(
            kept(&all, &["topology", "algorithm"]),
            ["topology", "algorithm"]
        );
        // Nothing is known of the sweep of runs that go on.
        assert_eq!(kept(&all, &[]), ["topology", "algorithm"]);
        let swept = ["topology", "weights", "algorithm"];
        assert_eq!(kept(&all, &swept), swept);
    }

    #[test]
    fn weights_that_differ_on_one_overlay_stay() {
        let weights = "weights: metropolis uniform uniform uniform";
        assert_eq!(
            kept(&[TOPOLOGY, weights], &["topology"]),
            ["topology", "weights"]
        );
    }

    #[test]
    fn settings_of_other_experiments_stay() {
        let model = "model: mlp mlp logistic logistic";
        assert_eq!(
            kept(&[TOPOLOGY, model], &["topology"]),
            ["topology", "model"]
        );
        assert_eq!(kept(&[ALGORITHM, model], &[]), ["algorithm", "model"]);
        // What comes with a swept method, as a start of its own.
        assert_eq!(
            kept(&[ALGORITHM, "start: same same own own"], &["algorithm"]),
            ["algorithm"]
        );
    }
}
