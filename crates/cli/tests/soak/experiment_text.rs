//! Random experiments: right ones from the reference of settings, changed a little or a lot.

use crate::dice::Dice;
use crate::edge_values;
use crate::flow_yaml::{Node, Style};
use crate::reference::Reference;
use meshfold_algorithms::{Method, OverlayUse};

/// An experiment as it is given to the program.
#[derive(Clone, Debug)]
pub(crate) struct ExperimentText {
    pub(crate) yaml: String,
    /// Values that are given beside the file.
    pub(crate) overrides: Vec<String>,
    /// Whether datasets that are missing are taken by their published sizes.
    pub(crate) without_data: bool,
}

/// What every experiment needs, small enough to be planned in a moment.
const USUAL: [(&str, &str); 7] = [
    ("name", "random"),
    ("dataset", "{glyphs: {train: 6000, test: 1000}}"),
    ("partition", "{iid: {clients: 12}}"),
    ("topology", "ring"),
    ("model", "{mlp: {hidden: [20]}}"),
    ("algorithm", "{dsgd: {batch_size: 20, learning_rate: 0.05}}"),
    ("rounds", "5"),
];

impl ExperimentText {
    /// Draws an experiment that is meant to be right, and changes it in up to three places.
    pub(crate) fn draw(reference: &Reference, dice: &mut Dice) -> Self {
        let mut tree = right(reference, dice);
        let mut overrides = Vec::new();
        for _ in 0..*dice.pick(&[0, 1, 1, 1, 2, 3]) {
            match dice.chance(0.1) {
                true => overrides.push(overriding(&tree, reference, dice)),
                false => change(&mut tree, reference, dice),
            }
        }
        Self {
            yaml: tree.print(Style::draw(dice)),
            overrides,
            without_data: dice.chance(0.3),
        }
    }
}

/// An experiment with one line of the reference or several, or with many clients.
pub(crate) fn right(reference: &Reference, dice: &mut Dice) -> Node {
    let usual = USUAL.iter();
    let mut entries: Entries = usual
        .map(|(key, value)| ((*key).to_owned(), Node::read(value)))
        .collect();
    if dice.chance(0.08) {
        enlarge(&mut entries, reference, dice);
        return Node::Map(entries);
    }
    let keys = reference.keys();
    for _ in 0..*dice.pick(&[1, 1, 2, 3, 5]) {
        let key = *dice.pick(&keys);
        let value = reference.line(key, dice);
        if key == "algorithm" {
            suit(&mut entries, &value);
        }
        put(&mut entries, key, Some(value));
    }
    Node::Map(entries)
}

type Entries = Vec<(String, Node)>;

/// Sets the value of a key, or takes the key away.
fn put(entries: &mut Entries, key: &str, value: Option<Node>) {
    entries.retain(|(known, _)| known != key);
    entries.extend(value.map(|value| (key.to_owned(), value)));
}

/// Gives `method` an overlay that it can use, if it can use any.
fn suit(entries: &mut Entries, method: &Node) {
    let Ok(method) = serde_json::from_str::<Method>(&method.print(Style::Json)) else {
        return;
    };
    if method.profile().overlay == OverlayUse::Refused {
        put(entries, "topology", None);
        put(entries, "weights", None);
    } else if matches!(method, Method::DCliques(_)) {
        let cliques = Node::read("{d_cliques: {max_clique_size: 3}}");
        put(entries, "topology", Some(cliques));
    } else if matches!(method, Method::D2(_)) {
        put(entries, "topology", Some(Node::scalar("complete")));
    }
}

/// So many clients that planning must not take their square; as many as there are examples on complete overlays. Overlays that
/// list a share of all pairs have fewer: the eigenvalues of millions of edges take seconds.
fn enlarge(entries: &mut Entries, reference: &Reference, dice: &mut Dice) {
    let topology = reference.line("topology", dice);
    let clients = match topology.flow().as_str() {
        "complete" => *dice.pick(&[10_000, 60_000]),
        dense if dense.contains("erdos_renyi") => *dice.pick(&[300, 1000]),
        _ => *dice.pick(&[300, 1000, 3000]),
    };
    let partition = format!("{{iid: {{clients: {clients}}}}}");
    for (key, value) in [
        ("dataset", "{glyphs: {train: 60000, test: 100}}"),
        ("partition", &partition),
        ("model", "logistic"),
    ] {
        put(entries, key, Some(Node::read(value)));
    }
    put(entries, "topology", Some(topology));
}

/// Changes the tree in one place.
fn change(tree: &mut Node, reference: &Reference, dice: &mut Dice) {
    let ways = tree.ways();
    let way = dice.pick(&ways[1..]).clone();
    let path = tree.path(&way);
    let node = tree.at(&way);
    match dice.within(0..=13) {
        0..=3 => *node = edge_of(node, dice),
        4 | 5 => *node = edge_values::wrong(dice),
        6 => *node = reference.any_value(dice),
        7 => {
            let key = path.rsplit('.').find(|part| part.parse::<usize>().is_err());
            if let Some(value) = reference.value_of(key.unwrap_or_default(), dice) {
                *node = value;
            }
        }
        8 => *node = by_position(node),
        9 => *node = Node::List(vec![node.clone()]),
        10 => *node = edge_values::long_list(dice),
        11 => add_entry(node, reference, dice),
        _ => lose_entry(tree, &way, dice),
    }
}

/// A number at the edge in place of a number, or of the first number within.
pub(crate) fn edge_of(node: &Node, dice: &mut Dice) -> Node {
    let mut changed = node.clone();
    let ways = changed.ways();
    let numbers: Vec<&Vec<usize>> = ways
        .iter()
        .filter(|way| matches!(changed.clone().at(way), Node::Scalar(text) if text.parse::<f64>().is_ok()))
        .collect();
    match numbers.is_empty() {
        true => edge_values::number(dice),
        false => {
            let way = (*dice.pick(&numbers)).clone();
            *changed.at(&way) = edge_values::number(dice);
            changed
        }
    }
}

/// The values of a map as a list, in their order.
pub(crate) fn by_position(node: &Node) -> Node {
    match node {
        Node::Map(entries) => Node::List(entries.iter().map(|(_, value)| value.clone()).collect()),
        other => other.clone(),
    }
}

/// One more entry: a key that nobody knows, one that stands there already, or another choice.
fn add_entry(node: &mut Node, reference: &Reference, dice: &mut Dice) {
    match node {
        Node::Map(entries) => {
            let again = entries.first().map(|(key, _)| key.clone());
            let keys = reference.keys();
            let key = match dice.within(0..=2) {
                0 => "unknown".to_owned(),
                1 => again.unwrap_or_default(),
                _ => (*dice.pick(&keys)).to_owned(),
            };
            let place = dice.within(0..=entries.len());
            entries.insert(place, (key, reference.any_value(dice)));
        }
        Node::List(items) => items.push(reference.any_value(dice)),
        Node::Scalar(text) => {
            text.push_str(dice.pick::<&str>(&["0", "x", ":", " # x", "é", "\n", "\n ", "\""]))
        }
    }
}

/// Loses the entry at the end of `way`, or what is within it.
fn lose_entry(tree: &mut Node, way: &[usize], dice: &mut Dice) {
    let (place, parent) = way.split_last().expect("the way leads below the tree");
    match tree.at(parent) {
        Node::Map(entries) if dice.chance(0.7) => {
            entries.remove(*place);
        }
        Node::List(items) if dice.chance(0.7) => {
            items.remove(*place);
        }
        _ => {
            let empty = *dice.pick(&["null", "{}", "[]", ""]);
            *tree.at(way) = Node::scalar(empty);
        }
    }
}

/// An override of some value of the tree.
fn overriding(tree: &Node, reference: &Reference, dice: &mut Dice) -> String {
    let ways = tree.ways();
    let way = dice.pick(&ways);
    let mut path = tree.path(way);
    if dice.chance(0.2) {
        path += *dice.pick(&[".0", ".more", ".", "..a", "[0]", ".99999999999999999999"]);
    }
    let value = match dice.within(0..=2) {
        0 => edge_values::number(dice),
        1 => edge_values::wrong(dice),
        _ => reference.any_value(dice),
    };
    format!("{path}={}", value.flow())
}
