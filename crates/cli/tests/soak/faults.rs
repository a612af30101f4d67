//! Experiments with one mistake that the program must find.

use crate::dice::Dice;
use crate::experiment_text::{ExperimentText, by_position, right};
use crate::flow_yaml::{Node, Style};
use crate::reference::Reference;

/// An experiment that is right, and the same with a mistake.
#[derive(Clone, Debug)]
pub(crate) struct Mistake {
    /// What is wrong, in a few words.
    pub(crate) kind: &'static str,
    pub(crate) right: ExperimentText,
    pub(crate) wrong: ExperimentText,
    /// The line that the program must point at, if only one would do.
    pub(crate) line: Option<usize>,
}

/// What a mistake does to a value.
#[derive(Clone, Copy)]
enum Kind {
    UnknownKey,
    ListForMap,
    NotANumber,
    TextForNumber,
    Negative,
    MissingKey,
}

const KINDS: [Kind; 6] = [
    Kind::UnknownKey,
    Kind::ListForMap,
    Kind::NotANumber,
    Kind::TextForNumber,
    Kind::Negative,
    Kind::MissingKey,
];

/// Keys whose values may be text as well as numbers.
const NAMES: [&str; 5] = ["name", "label", "client", "x", "y"];

impl Mistake {
    /// Draws a mistake, if the draw finds a place for it.
    pub(crate) fn draw(reference: &Reference, dice: &mut Dice) -> Option<Self> {
        let tree = right(reference, dice);
        let mut changed = tree.clone();
        let kind = *dice.pick(&KINDS);
        let place = kind.make(&mut changed, dice)?;
        let given = |tree: &Node| ExperimentText {
            yaml: tree.print(Style::Flow),
            overrides: Vec::new(),
            without_data: true,
        };
        Some(Self {
            kind: kind.words(),
            right: given(&tree),
            wrong: given(&changed),
            line: place.map(|place| place + 1),
        })
    }
}

impl Kind {
    fn words(self) -> &'static str {
        match self {
            Self::UnknownKey => "an unknown key",
            Self::ListForMap => "a list in place of a map",
            Self::NotANumber => "a number that is not one",
            Self::TextForNumber => "text in place of a number",
            Self::Negative => "a negative count",
            Self::MissingKey => "a missing key",
        }
    }

    /// Makes the mistake. `None` if there is no place for it, else the line it is in, if one alone can be pointed at.
    fn make(self, tree: &mut Node, dice: &mut Dice) -> Option<Option<usize>> {
        let ways = tree.ways();
        let is_swept = has_sweep(tree);
        let fits = |way: &&Vec<usize>| {
            let path = tree.path(way);
            !(is_swept && is_set_by_sweeps(&path)) && self.fits(tree.clone().at(way), &path)
        };
        let fitting: Vec<Vec<usize>> = ways[1..].iter().filter(fits).cloned().collect();
        if fitting.is_empty() {
            return None;
        }
        let way = dice.pick(&fitting).clone();
        let node = tree.at(&way);
        match self {
            Self::UnknownKey => {
                if let Node::Map(entries) = node {
                    entries.push(("unheard_of".to_owned(), Node::scalar("1")));
                }
            }
            Self::ListForMap => *node = by_position(node),
            Self::NotANumber => *node = Node::scalar(".nan"),
            Self::TextForNumber => *node = Node::scalar("several"),
            Self::Negative => *node = Node::scalar("-1"),
            Self::MissingKey => {
                let Node::Map(entries) = tree else {
                    return None;
                };
                entries.remove(way[0]);
                return Some(None);
            }
        }
        let tells = matches!(
            self,
            Self::UnknownKey | Self::ListForMap | Self::TextForNumber
        );
        Some(tells.then_some(way[0]))
    }

    /// Whether the mistake can be made at `node`, whose path is `path`.
    fn fits(self, node: &Node, path: &str) -> bool {
        let key = path.rsplit('.').find(|part| part.parse::<usize>().is_err());
        let is_name = NAMES.contains(&key.unwrap_or_default());
        match (self, node) {
            (Self::UnknownKey | Self::ListForMap, Node::Map(entries)) => !entries.is_empty(),
            (Self::NotANumber | Self::TextForNumber, Node::Scalar(text)) => {
                text.parse::<f64>().is_ok() && !is_name
            }
            (Self::Negative, Node::Scalar(text)) => text.parse::<u64>().is_ok() && !is_name,
            (Self::MissingKey, _) => [
                "name",
                "dataset",
                "partition",
                "model",
                "algorithm",
                "rounds",
            ]
            .contains(&path),
            _ => false,
        }
    }
}

fn has_sweep(tree: &Node) -> bool {
    matches!(tree, Node::Map(entries) if entries.iter().any(|(key, _)| key == "sweep"))
}

/// Whether the sweep of the reference sets the value at `path`, so that what the file says of it is never read.
fn is_set_by_sweeps(path: &str) -> bool {
    let key = path.split('.').next().unwrap_or_default();
    ["seed", "topology", "rounds", "algorithm"].contains(&key)
}
