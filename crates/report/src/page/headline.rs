//! What the numbers say, in two or three sentences.

use crate::document::quantity_text::{bytes, percent, seconds};
use crate::runs::group::Group;
use meshfold_statistics::{Estimate, Paired};

/// Differences in accuracy below this do not count as one.
const NOTICEABLE: f64 = 0.005;

/// Sentences about a page's groups, computed from their final figures. Plain text.
pub(crate) fn sentences(groups: &[Group<'_>]) -> String {
    let mut measured: Vec<(&Group<'_>, f64)> = groups
        .iter()
        .filter_map(|group| Some((group, group.final_accuracy().mean?)))
        .collect();
    measured.sort_by(|a, b| b.1.total_cmp(&a.1));
    match measured.as_slice() {
        [] => "No evaluation is recorded yet.".to_owned(),
        [(group, _)] => single(group),
        _ => comparison(&measured),
    }
}

fn single(group: &Group<'_>) -> String {
    let accuracy = group.final_accuracy();
    let simulated = simulated(group).map_or_else(String::new, |time| format!(" and {time}"));
    let mut text = format!(
        "{}{simulated} the models reach {} test accuracy in the mean, the lowest {} and the highest {}.",
        after(&[group]),
        percent(accuracy.mean),
        percent(accuracy.min),
        percent(accuracy.max)
    );
    text.push(' ');
    text.push_str(&certainty(group));
    let mean_model = group.final_figure(|last| last.mean_model_accuracy);
    if mean_model.is_some() {
        text.push_str(&format!(
            " Their average, taken as one model, reaches {}.",
            percent(mean_model)
        ));
    }
    let traffic = bytes(group.final_figure(|last| last.bytes_total));
    match group.lambda_text() {
        Some(lambda) => text.push_str(&format!(
            " The overlay {}{} {} λ = {lambda}; {traffic} crossed it.",
            crate::runs::setting_label::topology(&group.first().settings).unwrap_or_default(),
            if group.has_failures() {
                ", before anything fails,"
            } else {
                ""
            },
            // Of one that changes this says nothing of how well it mixes.
            if lambda.ends_with("in round 1") {
                "changes, and has"
            } else {
                "mixes with"
            },
        )),
        None => text.push_str(&format!(" {traffic} crossed the network.")),
    }
    text
}

/// How sure the mean is.
fn certainty(group: &Group<'_>) -> String {
    let finished: Vec<f64> = group
        .finished_accuracies()
        .iter()
        .map(|seed| seed.1)
        .collect();
    let interval = Estimate::of(&finished).and_then(|estimate| estimate.interval);
    match (interval, finished.len()) {
        (Some(interval), seeds) => format!(
            "By {seeds} seeds the mean is {} to {} (95 % interval).",
            percent(Some(interval.low.max(0.0))),
            percent(Some(interval.high.min(1.0)))
        ),
        (None, 0) => "No seed has finished yet.".to_owned(),
        (None, _) => "One seed shows nothing about how sure that is.".to_owned(),
    }
}

/// Groups with their mean accuracies, best first; at least two.
fn comparison(measured: &[(&Group<'_>, f64)]) -> String {
    let (best, worst) = (measured[0], measured[measured.len() - 1]);
    let groups: Vec<&Group<'_>> = measured.iter().map(|(group, _)| *group).collect();
    let named = if measured.len() <= 4 {
        measured.to_vec()
    } else {
        vec![best, worst]
    };
    let reached: Vec<String> = named.iter().map(|group| reached(group)).collect();
    let rest = match measured.len() - named.len() {
        0 => String::new(),
        1 => "; the other lies between".to_owned(),
        others => format!("; the other {others} lie between"),
    };
    let mut text = format!(
        "{} the models reach a mean test accuracy of {}{rest}.",
        after(&groups),
        listed(&reached)
    );
    text.push(' ');
    text.push_str(&verdict(measured));
    if let Some(price) = price(&groups) {
        text.push(' ');
        text.push_str(&price);
    }
    text
}

/// `After 50 rounds`, or a phrase for groups that ended at different rounds.
fn after(groups: &[&Group<'_>]) -> String {
    let rounds: Vec<Option<usize>> = groups.iter().map(|group| group.last_round()).collect();
    match rounds[0] {
        Some(round) if rounds.iter().all(|other| *other == rounds[0]) => {
            format!("After {round} round{}", if round == 1 { "" } else { "s" })
        }
        _ => "At the last evaluation of each".to_owned(),
    }
}

/// `93.5 % with complete (λ = 0, 4 min 12 s of simulated time)`.
fn reached((group, mean): &(&Group<'_>, f64)) -> String {
    let lambda = group.lambda_text();
    let lambda = lambda.map(|lambda| format!("λ\u{a0}=\u{a0}{lambda}"));
    let known: Vec<String> = lambda.into_iter().chain(simulated(group)).collect();
    let known = match known.is_empty() {
        true => String::new(),
        false => format!(" ({})", known.join(", ")),
    };
    format!("{} with {}{known}", percent(Some(*mean)), group.label)
}

/// `4 min 12 s of simulated time` up to the last evaluation, where a network is described.
fn simulated(group: &Group<'_>) -> Option<String> {
    let time = group.final_figure(|last| last.simulated_seconds)?;
    Some(format!("{} of simulated time", seconds(Some(time))))
}

/// How far apart best and worst are, and what their finished seeds bear out.
fn verdict(measured: &[(&Group<'_>, f64)]) -> String {
    let (best, worst) = (&measured[0], &measured[measured.len() - 1]);
    let apart = format!(
        "{:.1} points lie between {} and {}",
        100.0 * (best.1 - worst.1),
        best.0.label,
        worst.0.label
    );
    let pairs = common_seeds(best.0, worst.0);
    let found = Paired::of(&pairs).and_then(|paired| paired.difference.interval);
    let Some(interval) = found else {
        let finished = match pairs.len() {
            0 => "no seed has finished in both, so nothing is certain",
            _ => "one seed shows nothing about how sure that is",
        };
        return format!("{apart}; {finished}.");
    };
    let chosen = match measured.len() {
        2 => String::new(),
        kinds => format!(
            "; the two are the ends of {kinds} kinds of runs, which the interval does not account for"
        ),
    };
    // Accuracies lie between 0 and 100 %, whatever Student's t says of few seeds.
    let points = |fraction: f64| format!("{:.1}", 100.0 * fraction.clamp(-1.0, 1.0));
    let sure = format!(
        "by {} seeds the difference is {} to {} points (95 % interval){chosen}",
        pairs.len(),
        points(interval.low),
        points(interval.high)
    );
    match interval.low > 0.0 {
        true => format!("{apart}; {sure}.{}", follows_lambda(measured)),
        false => format!("{apart}, which may be chance: {sure}."),
    }
}

/// The final accuracies of two groups under each seed that finished in both.
fn common_seeds(a: &Group<'_>, b: &Group<'_>) -> Vec<(f64, f64)> {
    let others = b.finished_accuracies();
    let pair = |(seed, accuracy)| {
        let other = others.iter().find(|(other, _)| *other == seed)?;
        Some((accuracy, other.1))
    };
    a.finished_accuracies()
        .into_iter()
        .filter_map(pair)
        .collect()
}

/// Whether accuracy follows the overlays' λ, where they differ, are those of all rounds, and every kind has several seeds.
fn follows_lambda(measured: &[(&Group<'_>, f64)]) -> &'static str {
    let lambda = |(group, _): &(&Group<'_>, f64)| {
        let known = group.lambda().filter(|_| !group.lambda_is_of_round_1());
        known.map(|range| range.0)
    };
    let Some(lambdas) = measured.iter().map(lambda).collect::<Option<Vec<f64>>>() else {
        return "";
    };
    let differ = lambdas
        .iter()
        .any(|lambda| (lambda - lambdas[0]).abs() > 1e-6);
    let several = measured
        .iter()
        .all(|(group, _)| group.finished_accuracies().len() > 1);
    if !differ || !several {
        return "";
    }
    // From best to worst λ must grow, except between groups whose accuracies are as good as equal.
    let follows = (0..measured.len()).all(|i| {
        (i + 1..measured.len())
            .all(|j| measured[i].1 - measured[j].1 < NOTICEABLE || lambdas[i] <= lambdas[j] + 1e-9)
    });
    match follows {
        true => " The faster the overlay mixes (the smaller λ), the better the models.",
        false => " Accuracy does not simply follow λ.",
    }
}

/// What the group with most traffic pays against the one with least.
fn price(groups: &[&Group<'_>]) -> Option<String> {
    let traffic = |group: &&Group<'_>| {
        group
            .final_figure(|last| last.bytes_total)
            .filter(|bytes| *bytes > 0.0)
    };
    let mut sent = groups
        .iter()
        .filter_map(|group| Some((*group, traffic(group)?)))
        .collect::<Vec<_>>();
    sent.sort_by(|a, b| b.1.total_cmp(&a.1));
    let ((most, high), (least, low)) = (sent.first()?, sent.last()?);
    (*high > 1.05 * low).then(|| {
        format!(
            "The traffic of {} is {:.1} times that of {} ({} against {}).",
            most.label,
            high / low,
            least.label,
            bytes(Some(*high)),
            bytes(Some(*low))
        )
    })
}

fn listed(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [firsts @ .., last] => format!("{} and {last}", firsts.join(", ")),
    }
}
