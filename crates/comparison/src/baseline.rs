//! The row that each row of a table is compared with.

use std::collections::BTreeSet;

use meshfold_statistics::{Paired, holm};

use crate::error::TableError;
use crate::grouping::{Group, Names};
use crate::name::Name;
use crate::only::meant;
use crate::request::Request;
use crate::row_notes::{OfRow, together};
use crate::table::Row;

/// Compares each of `rows`, which are those of `groups`, with the row that has the value of `compare`. Returns what a reader
/// must know.
///
/// # Errors
/// [`TableError::NotAColumn`] or [`TableError::NoBaseline`].
pub(crate) fn compare(
    rows: &mut [Row],
    groups: &[Group<'_>],
    names: &Names,
    request: &Request,
) -> Result<Vec<String>, TableError> {
    let Some((field, asked)) = &request.compare else {
        return Ok(Vec::new());
    };
    let place = names.by.iter().position(|name| name.written == *field);
    let place = place.ok_or_else(|| TableError::NotAColumn {
        written: field.clone(),
    })?;
    let value = value(asked, groups, place).map_err(|known| TableError::NoBaseline {
        field: field.clone(),
        value: asked.clone(),
        known,
    })?;
    let mut notes = Vec::new();
    for (row, group) in rows.iter_mut().zip(groups) {
        row.baseline = baseline(group, groups, names, place, &value);
        let other = row.baseline.map(|baseline| &groups[baseline]);
        let other = other.filter(|other| other.keys != group.keys);
        row.comparison = other.and_then(|other| paired(group, other, names, request));
        notes.extend(other.and_then(|other| few_pairs(row, group, other, names, request)));
    }
    correct(rows);
    let mut notes = together(notes);
    let alone = rows.iter().zip(groups);
    let alone = alone.filter(|(row, _)| row.baseline.is_none());
    let alone: Vec<String> = alone.map(|(_, group)| group.name()).collect();
    if !alone.is_empty() {
        notes.push(format!(
            "{}: no row with {field}={value} has the same other settings, so there is nothing to compare with",
            alone.join("; ")
        ));
    }
    Ok(notes)
}

/// That `group` and the `other` one, which it is compared with, do not have their means over the same values of `over`.
fn few_pairs(
    row: &Row,
    group: &Group<'_>,
    other: &Group<'_>,
    names: &Names,
    request: &Request,
) -> Option<OfRow> {
    let count = |of: &Group<'_>| of.values(&names.over, &request.metric, &request.at).len();
    let (own, others) = (count(group), count(other));
    let pairs = row
        .comparison
        .map_or(0, |comparison| comparison.difference.n);
    let is_told = own > 0 && others > 0 && pairs < own.max(others);
    let over = &names.over.written;
    is_told.then(|| OfRow {
        row: group.name(),
        what: match pairs {
            0 => format!("no run shares its {over} with one of {}, so there is no difference", other.name()),
            _ => format!(
                "the difference from {} is over {pairs} run{} with a common {over}; the means are over {own} and {others}",
                other.name(),
                if pairs == 1 { "" } else { "s" }
            ),
        },
    })
}

/// Corrects the p-values of `rows` for their number.
fn correct(rows: &mut [Row]) {
    let p_value = |row: &Row| Some(row.comparison?.test?.p_value);
    let p_values: Vec<f64> = rows.iter().filter_map(p_value).collect();
    let tested = rows.iter_mut().filter(|row| p_value(row).is_some());
    for (row, corrected) in tested.zip(holm(&p_values)) {
        row.corrected = Some(corrected);
    }
}

/// The value at `place` that `asked` means.
///
/// # Errors
/// The values that there are, if it means none of them.
fn value(asked: &str, groups: &[Group<'_>], place: usize) -> Result<String, Vec<String>> {
    let known: BTreeSet<&String> = groups.iter().map(|group| &group.keys[place]).collect();
    let known: Vec<String> = known.into_iter().cloned().collect();
    match meant(asked, &known).first() {
        Some(found) => Ok(known[*found].clone()),
        None => Err(known),
    }
}

/// The place of the group that has `value` at `place` and, in the other columns, the values of `group`. If there is none, a
/// column counts as the same if the baseline cannot have it: a setting of the compared one, as `algorithm.own.gamma` is of
/// `algorithm`, or the overlay, where methods are compared and that of the baseline has none. Nor does a setting of the compared one
/// count that `group` cannot have, as `degree` of `base_graph` where overlays are compared, unless several baselines differ in it.
fn baseline(
    group: &Group<'_>,
    groups: &[Group<'_>],
    names: &Names,
    place: usize,
    value: &str,
) -> Option<usize> {
    let fits = |other: &Group<'_>, or_lacks: bool, or_is_lacked: bool| {
        let mut columns = names.by.iter().enumerate();
        columns.all(|(column, name)| match column == place {
            true => other.keys[column] == value,
            false => {
                let compared = &names.by[place];
                let is_overlay = compared.stands_for("algorithm") && is_of_overlays(name);
                let may_lack = or_lacks && (name.lies_below(compared) || is_overlay);
                let is_lacked = or_is_lacked && name.lies_below(compared) && lacks(group, name);
                other.keys[column] == group.keys[column]
                    || (may_lack && lacks(other, name))
                    || is_lacked
            }
        })
    };
    let find = |or_lacks| groups.iter().position(|other| fits(other, or_lacks, false));
    let only = || {
        let mut places = (0..groups.len()).filter(|place| fits(&groups[*place], true, true));
        places.next().filter(|_| places.next().is_none())
    };
    find(false).or_else(|| find(true)).or_else(only)
}

/// Whether `name` is the overlay or its weights, or a setting of these.
fn is_of_overlays(name: &Name) -> bool {
    name.is_within(&["topology", "weights"])
}

/// Whether no run of `group` has the setting `name`.
fn lacks(group: &Group<'_>, name: &Name) -> bool {
    group
        .runs
        .iter()
        .all(|run| name.value(&run.fields).is_none())
}

/// `group` less `other`, over the values of `over` that both have.
fn paired(
    group: &Group<'_>,
    other: &Group<'_>,
    names: &Names,
    request: &Request,
) -> Option<Paired> {
    let values = |of: &Group<'_>| of.values(&names.over, &request.metric, &request.at);
    let others = values(other);
    let pair = |(seed, a): (String, f64)| {
        let (_, b) = others.iter().find(|(other, _)| *other == seed)?;
        Some((a, *b))
    };
    let pairs: Vec<(f64, f64)> = values(group).into_iter().filter_map(pair).collect();
    Paired::of(&pairs)
}

#[cfg(test)]
mod tests {
    use crate::judged::Judged;
    use crate::request::Request;
    use crate::table::Table;

    fn run(settings: &str, seed: usize, accuracy: f64) -> Judged {
        Judged::finished(
            &format!("seed: {seed}\n{settings}"),
            &[&[("test_accuracy", accuracy)]],
        )
    }

    /// Two runs of each of some settings, the second one better by what the place says.
    fn table(settings: &[&str], by: &[&str], compare: [&str; 2]) -> Table {
        let both = |(place, settings): (usize, &&str)| {
            let accuracy = 0.5 + 0.1 * place as f64;
            [1, 2].map(|seed| run(settings, seed, accuracy + 0.01 * (seed * place) as f64))
        };
        let runs = settings.iter().enumerate().flat_map(both).collect();
        let request = Request {
            by: by.iter().map(|name| (*name).to_owned()).collect(),
            compare: Some(compare.map(str::to_owned).into()),
            ..Request::over_seeds()
        };
        Table::about(runs, request).unwrap()
    }

    fn baselines(table: &Table) -> Vec<Option<usize>> {
        table.rows.iter().map(|row| row.baseline).collect()
    }

    const METHODS: [&str; 4] = [
        "algorithm: {own: {name: admm, lam: 0.1}}",
        "algorithm: {own: {name: admm, lam: 0.5}}",
        "algorithm: {dsgd: {order: mix_then_step}}",
        "algorithm: {alone: {epochs: 1}}",
    ];

    #[test]
    fn a_method_is_the_baseline_of_keys_that_it_does_not_have() {
        let table = table(&METHODS, &["algorithm", "lam"], ["algorithm", "dsgd"]);
        assert_eq!(baselines(&table), [Some(2); 4]);
        let difference = |row: usize| {
            let paired = table.rows[row].comparison.as_ref();
            paired.map(|paired| (1000.0 * paired.difference.mean).round())
        };
        // From one place to the next 0.1, and 0.015 in the mean over the seeds.
        assert_eq!(
            [0, 1, 2, 3].map(difference),
            [Some(-230.0), Some(-115.0), None, Some(115.0)]
        );
        assert!(table.notes.is_empty(), "{:?}", table.notes);
    }

    #[test]
    fn p_values_are_corrected_for_the_comparisons_that_have_one() {
        let table = table(&METHODS, &["algorithm", "lam"], ["algorithm", "dsgd"]);
        let p_value = |row: usize| {
            let test = table.rows[row].comparison.and_then(|paired| paired.test);
            test.map(|test| test.p_value)
        };
        let p_values = [0, 1, 3].map(|row| p_value(row).unwrap());
        let corrected = [0, 1, 3].map(|row| table.rows[row].corrected.unwrap());
        assert_eq!(corrected, meshfold_statistics::holm(&p_values)[..]);
        assert!(corrected[0] > p_values[0], "{p_values:?}");
        assert_eq!((p_value(2), table.rows[2].corrected), (None, None));
    }

    #[test]
    fn a_method_without_an_overlay_is_the_baseline_on_each() {
        let runs = [
            "algorithm: {fedavg: {rate: 1}}\ntopology: null",
            "algorithm: {dsgd: {rate: 1}}\ntopology: {ring: {hops: 1}}",
            "algorithm: {dsgd: {rate: 1}}\ntopology: {regular: {degree: 4}}",
        ];
        let by = ["topology", "algorithm", "degree"];
        let against = |method| baselines(&table(&runs, &by, ["algorithm", method]));
        assert_eq!(against("fedavg"), [Some(0); 3]);
        assert_eq!(against("dsgd"), [None, Some(1), Some(2)]);
    }

    #[test]
    fn a_setting_that_the_baseline_alone_has_does_not_count_if_it_has_one_value() {
        let runs = [
            "topology: {base_graph: {degree: 1}}",
            "topology: {ring: {hops: 1}}",
            "topology: {base_graph: {degree: 2}}",
        ];
        let against = |runs: &[&str]| {
            let table = table(runs, &["topology", "degree"], ["topology", "base_graph"]);
            baselines(&table)
        };
        assert_eq!(against(&runs[..2]), [Some(0); 2]);
        assert_eq!(against(&runs), [Some(0), None, Some(2)]);
    }

    #[test]
    fn differences_over_fewer_seeds_than_the_means_are_told() {
        let runs = vec![
            run("topology: ring", 1, 0.5),
            run("topology: ring", 2, 0.5),
            run("topology: ring", 3, 0.5),
            run("topology: star", 3, 0.7),
            run("topology: star", 4, 0.9),
            run("topology: grid", 5, 0.9),
        ];
        let request = Request {
            by: vec!["topology".to_owned()],
            compare: Some(("topology".to_owned(), "ring".to_owned())),
            ..Request::over_seeds()
        };
        let notes = Table::about(runs, request).unwrap().notes;
        assert!(notes.contains(
            &"star: the difference from ring is over 1 run with a common seed; the means are over 2 and 3".to_owned()
        ), "{notes:?}");
        assert!(
            notes.contains(
                &"grid: no run shares its seed with one of ring, so there is no difference"
                    .to_owned()
            ),
            "{notes:?}"
        );
    }

    #[test]
    fn a_row_without_a_baseline_is_named() {
        let table = table(&METHODS, &["algorithm", "lam"], ["algorithm", "admm"]);
        assert_eq!(baselines(&table), [Some(0), Some(1), None, None]);
        assert_eq!(
            table.notes,
            [
                "dsgd, –; alone, –: no row with algorithm=admm has the same other settings, so there is nothing to compare with"
            ]
        );
    }

    #[test]
    fn what_does_not_belong_to_the_compared_setting_must_be_the_same() {
        let runs = [
            "algorithm: {dsgd: {rate: 1}}",
            "algorithm: {alone: {rate: 1}}\nstragglers: {share: 0.5, work: uniform}",
            "algorithm: {alone: {rate: 1}}",
        ];
        let table = table(
            &runs,
            &["algorithm", "stragglers.share"],
            ["algorithm", "dsgd"],
        );
        assert_eq!(baselines(&table), [Some(0), None, Some(0)]);
    }
}
