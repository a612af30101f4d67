//! What a value that does not fit was meant to be.

use meshfold_data::nearest;
use meshfold_topology::TopologyError;

use crate::config::brief::brief;
use crate::config::fault::ConfigFault;

/// How to write a single value as what is needed.
pub(crate) fn correction(found: &str, needed: &str) -> Option<String> {
    let single = !matches!(found, "nothing" | "a list" | "a map");
    let number = found.strip_prefix("the number ");
    let text = found.strip_prefix("the text \"");
    let text = text.and_then(|text| text.strip_suffix('"'));
    match needed {
        "text" if single => Some("write it in quotes".to_owned()),
        "a list" if single => {
            let value = number.or(text).unwrap_or("20");
            Some(format!("write it in brackets, such as [{value}]"))
        }
        _ if found == "a list" && is_of_choices(needed, "list") => {
            Some("write {list: [..]}".to_owned())
        }
        "a list" if found == "a map" => {
            Some("write a list of one in brackets, [{..}], or after a dash".to_owned())
        }
        _ if needed.contains("number") && text.is_some_and(|text| is_number(text, needed)) => {
            Some(format!("write it without quotes: {}", text?))
        }
        _ if needed.contains("whole number") || needed.contains("number of examples") => {
            let value: f64 = number?.parse().ok()?;
            let whole = (0.0..=f64::from(u32::MAX)).contains(&value) && value.fract() == 0.0;
            let plain = (value as u64).to_string();
            (whole && number != Some(&*plain)).then(|| format!("write it as {plain}"))
        }
        _ if needed.contains("number") => Some(format!("write it as {}", plain_number(text?)?)),
        _ => None,
    }
}

/// Whether `choice` is one of the choices that are `needed`.
fn is_of_choices(needed: &str, choice: &str) -> bool {
    let choices = needed.strip_prefix("one of ");
    choices.is_some_and(|choices| choices.split(", ").any(|each| each == choice))
}

/// Whether YAML reads `text` as what is `needed`, a whole number or any, if it has no quotes.
fn is_number(text: &str, needed: &str) -> bool {
    match needed.contains("whole") {
        true => text.parse::<u64>().is_ok(),
        false => text.parse().is_ok_and(f64::is_finite),
    }
}

/// How often a number with a unit behind it has the unit that settings have: shares, bytes (per second), seconds.
const UNITS: [(&str, f64); 17] = [
    ("%", 0.01),
    // Links of so many bits a second.
    ("kbps", 125.0),
    ("Mbps", 1.25e5),
    ("Gbps", 1.25e8),
    ("kB", 1e3),
    ("KB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("TB", 1e12),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("B", 1.0),
    ("ms", 1e-3),
    ("us", 1e-6),
    ("min", 60.0),
    ("s", 1.0),
];

/// The number that a text such as `50%` or `1MB/s` means.
fn plain_number(text: &str) -> Option<f64> {
    let text = text.strip_suffix("/s").unwrap_or(text);
    let (unit, times) = UNITS.iter().find(|(unit, _)| text.ends_with(unit))?;
    let value: f64 = text.strip_suffix(unit)?.trim_end().parse().ok()?;
    let number = value * times;
    // `0.07 * 100` and the like: 12 digits are more than anybody writes.
    let rounded: f64 = format!("{number:.12e}").parse().ok()?;
    rounded.is_finite().then_some(rounded)
}

/// Whether a regular overlay was to have pairs of nodes alone.
pub(crate) fn asks_for_pairs(error: &TopologyError) -> bool {
    match error {
        TopologyError::Setting { setting, found, .. } => {
            setting == "regular.degree" && found == "1"
        }
        TopologyError::Within { source, .. } => asks_for_pairs(source),
        _ => false,
    }
}

/// The schedule whose `outside` was written beside it, not within.
pub(crate) fn beside_outside(found: &[String]) -> Option<&'static str> {
    match found {
        [one, other] if one == "outside" || other == "outside" => ["phases", "periodic"]
            .into_iter()
            .find(|schedule| one == schedule || other == schedule),
        _ => None,
    }
}

/// What was meant by a value or a key that is not taken at the dotted `path`, where the path tells.
pub(crate) fn meant_at(path: &str, fault: &ConfigFault) -> Option<String> {
    match fault {
        ConfigFault::WrongType { .. } if path == "seeds" => Some(
            "several seeds are a sweep: `sweep: {grid: {seed: [1, 2, 3]}}`; `seeds` sets those of parts of a run"
                .to_owned(),
        ),
        ConfigFault::WrongType { found, .. }
            if matches!(found.as_str(), "a map" | "a list")
                && path.ends_with("links.fixed.bytes_per_second") =>
        {
            Some(
                "bandwidths that differ from node to node are `links: {node_capacitated: {upload: ..}}`"
                    .to_owned(),
            )
        }
        ConfigFault::WrongType { found, needed } if found == "a list" && may_be_swept(path, needed) => {
            Some(format!(
                "several values to compare are a sweep: `sweep: {{grid: {{{}: [..]}}}}`",
                brief(path)
            ))
        }
        ConfigFault::UnknownKey { key, known, .. } if path == "sweep" => {
            let is_misspelt = nearest(key, known.iter().map(String::as_str)).is_some();
            let setting = if key == "seeds" { "seed" } else { key };
            let settings = brief(setting);
            (!is_misspelt).then(|| {
                format!("values to combine are a grid: `sweep: {{grid: {{{settings}: [..]}}}}`; keys here: {}", known.join(", "))
            })
        }
        _ => None,
    }
}

/// Whether a sweep may set the value at `path`, which is to be what is `needed`, neither a list nor a map.
fn may_be_swept(path: &str, needed: &str) -> bool {
    let mut parts = path.split('.');
    let lies_in_a_list = parts.any(|part| part.starts_with(|first: char| first.is_ascii_digit()));
    let is_of_several = ["list", "a map"].iter().any(|word| needed.contains(word));
    !path.is_empty() && !path.starts_with("sweep") && !lies_in_a_list && !is_of_several
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_corrected_as_it_was_written() {
        for (found, needed, correct) in [
            (
                "the number 1e3",
                "a whole number, 0 or more",
                Some("write it as 1000"),
            ),
            (
                "the number 010",
                "a whole number, 0 or more",
                Some("write it as 10"),
            ),
            (
                "the number 3.0",
                "a number of examples or `full`",
                Some("write it as 3"),
            ),
            ("the number 1.5", "a whole number, 0 or more", None),
            ("the number -1", "a whole number, 0 or more", None),
            (
                "the number 0.5",
                "a list",
                Some("write it in brackets, such as [0.5]"),
            ),
            (
                "the text \"own\"",
                "a list",
                Some("write it in brackets, such as [own]"),
            ),
            ("nothing", "a list", None),
            (
                "a list",
                "one of share, count, list",
                Some("write {list: [..]}"),
            ),
            ("a list", "one of share, count", None),
            (
                "a map",
                "a list",
                Some("write a list of one in brackets, [{..}], or after a dash"),
            ),
            ("the text \"50%\"", "a number", Some("write it as 0.5")),
            (
                "the text \"30\"",
                "a whole number, 0 or more",
                Some("write it without quotes: 30"),
            ),
            ("the text \"1.5\"", "a whole number, 0 or more", None),
            (
                "the text \"1.5\"",
                "a number",
                Some("write it without quotes: 1.5"),
            ),
            ("the text \"7 %\"", "a number", Some("write it as 0.07")),
            ("the text \"1MB\"", "a number", Some("write it as 1000000")),
            (
                "the text \"1.5 MiB/s\"",
                "a number",
                Some("write it as 1572864"),
            ),
            (
                "the text \"100Mbps\"",
                "a number above 0",
                Some("write it as 12500000"),
            ),
            ("the text \"20ms\"", "a number", Some("write it as 0.02")),
            ("the text \"fast\"", "a number", None),
            ("the text \"MB\"", "a number", None),
            ("a map", "a number", None),
        ] {
            assert_eq!(correction(found, needed).as_deref(), correct, "{found}");
        }
    }
}
