//! Charts and sentences about what each client owns, for labels and for texts.

use crate::charts;
use crate::document::chart::Chart;
use crate::document::quantity_text::{count, mean, range};
use meshfold_experiment::results::{Holdings, LabelCounts, Names, TextCounts};

/// The chart of `holdings`.
pub(crate) fn chart(holdings: &Holdings, id: String, names: &Names) -> Chart {
    match holdings {
        Holdings::Labels(counts) => charts::partition::chart(id, counts, names),
        Holdings::Text(counts) => charts::text::chart(id, counts),
    }
}

/// What the chart shows.
pub(crate) fn lead(holdings: &Holdings) -> &'static str {
    match holdings {
        Holdings::Labels(_) => {
            "How many training examples of each label each client owns; above the map, how many in all."
        }
        Holdings::Text(_) => {
            "How many tokens of the text each client's windows lie over; above, how many different ones."
        }
    }
}

/// Clients and what they own.
pub(crate) fn sentence(holdings: &Holdings) -> String {
    match holdings {
        Holdings::Labels(counts) => labels_in_words(counts),
        Holdings::Text(counts) => text_in_words(counts),
    }
}

/// `1 client owns` or `10 clients own`.
fn owners(clients: usize) -> String {
    match clients {
        1 => "1 client owns".to_owned(),
        clients => format!("{} clients own", count(clients)),
    }
}

/// Clients, windows and tokens per client.
fn text_in_words(counts: &TextCounts) -> String {
    let total: usize = counts
        .examples
        .iter()
        .map(|&examples| examples as usize)
        .sum();
    let each = |figures: &[u32]| {
        let figures = || figures.iter().map(|&figure| figure as usize);
        let (least, most) = (figures().min(), figures().max());
        range(Some((least.unwrap_or(0), most.unwrap_or(0))), count)
    };
    let mut words = format!(
        "{} {} windows, {} each, over {} tokens, {} of them different",
        owners(counts.clients()),
        count(total),
        each(&counts.examples),
        each(&counts.tokens),
        each(&counts.vocabulary),
    );
    words.push('.');
    match charts::text::together(counts) {
        1 => {}
        together => words.push_str(&format!(" Each bar is the mean of {together} clients.")),
    }
    words
}

/// Clients, examples and labels per client.
fn labels_in_words(counts: &LabelCounts) -> String {
    let (examples, labels) = (counts.examples(), counts.labels_held());
    let total: usize = examples.iter().map(|&examples| examples as usize).sum();
    let clients = counts.clients.max(1) as f64;
    let (fewest, most) = (
        examples.iter().min().copied().unwrap_or(0),
        examples.iter().max().copied().unwrap_or(0),
    );
    let (narrowest, widest) = (
        labels.iter().min().copied().unwrap_or(0),
        labels.iter().max().copied().unwrap_or(0),
    );
    let held = labels.iter().sum::<usize>() as f64 / clients;
    let mut words = format!(
        "{} {} examples, {} each, of {} of the {} labels",
        owners(counts.clients),
        count(total),
        range(Some((fewest as usize, most as usize)), count),
        range(Some((narrowest, widest)), count),
        counts.classes(),
    );
    if narrowest != widest {
        words.push_str(&format!(" ({} in the mean)", mean(held)));
    }
    words.push('.');
    match charts::partition::together(counts) {
        1 => {}
        together => words.push_str(&format!(
            " Each column of the map is the mean of {together} clients."
        )),
    }
    words
}
