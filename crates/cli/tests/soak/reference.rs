//! The reference of settings, `experiments/README.md`, as values to draw from.

use std::collections::BTreeMap;

use crate::dice::Dice;
use crate::flow_yaml::Node;

/// What the reference shows of every key.
#[derive(Clone, Debug)]
pub(crate) struct Reference {
    /// Values of the keys of an experiment, one a line of the reference.
    lines: BTreeMap<String, Vec<Node>>,
    /// Values that a key has anywhere within, and in comments.
    within: BTreeMap<String, Vec<Node>>,
}

impl Reference {
    /// Reads the YAML of the reference.
    pub(crate) fn read() -> Self {
        let text = include_str!("../../../../experiments/README.md");
        let mut reference = Self {
            lines: BTreeMap::new(),
            within: BTreeMap::new(),
        };
        for line in yaml_lines(text) {
            let (setting, comment) = match line.split_once(" #") {
                Some((setting, comment)) => (setting, comment),
                None => (line, ""),
            };
            let (key, value) = setting
                .split_once(": ")
                .expect("a line is a key and its value");
            let value = Node::read(value);
            reference.gather(key, &value);
            reference.gather_comment(key, comment);
            reference
                .lines
                .entry(key.to_owned())
                .or_default()
                .push(value);
        }
        reference
    }

    fn gather(&mut self, key: &str, value: &Node) {
        match value {
            Node::Scalar(_) => {}
            Node::List(items) => items.iter().for_each(|item| self.gather(key, item)),
            Node::Map(entries) => {
                for (inner, value) in entries {
                    self.gather(inner, value);
                }
            }
        }
        let known = self.within.entry(key.to_owned()).or_default();
        if !known.contains(value) {
            known.push(value.clone());
        }
    }

    /// Comments name other values: `or independent` of the line's own key, `targets: value` of a key within.
    fn gather_comment(&mut self, key: &str, comment: &str) {
        let words: Vec<&str> = comment
            .split([' ', ',', ';', '`', '(', ')'])
            .filter(|word| !word.is_empty())
            .collect();
        for pair in words.windows(2) {
            let value = Node::scalar(pair[1].trim_end_matches(['.', ':']));
            match pair[0] {
                "or" => self.gather(key, &value),
                before => {
                    if let Some(inner) = before.strip_suffix(':') {
                        self.gather(inner, &value);
                    }
                }
            }
        }
    }

    /// The keys of an experiment.
    pub(crate) fn keys(&self) -> Vec<&str> {
        self.lines.keys().map(String::as_str).collect()
    }

    /// A value of the key `key` of an experiment, as one of the lines shows it.
    pub(crate) fn line(&self, key: &str, dice: &mut Dice) -> Node {
        dice.pick(&self.lines[key]).clone()
    }

    /// A value that a key `key` has somewhere.
    pub(crate) fn value_of(&self, key: &str, dice: &mut Dice) -> Option<Node> {
        let values = self.within.get(key)?;
        Some(dice.pick(values).clone())
    }

    /// Any value of any key.
    pub(crate) fn any_value(&self, dice: &mut Dice) -> Node {
        let all: Vec<&Vec<Node>> = self.within.values().collect();
        let values = *dice.pick(&all);
        dice.pick(values).clone()
    }
}

/// The lines of the YAML in a Markdown `text`.
fn yaml_lines(text: &str) -> Vec<&str> {
    let mut inside = false;
    let mut found = Vec::new();
    for line in text.lines() {
        match line {
            "```yaml" => inside = true,
            "```" => inside = false,
            line if inside => found.push(line),
            _ => {}
        }
    }
    found
}

#[test]
fn the_reference_shows_values_of_every_key() {
    let reference = Reference::read();
    for key in [
        "seed",
        "dataset",
        "partition",
        "topology",
        "weights",
        "model",
        "algorithm",
        "sweep",
    ] {
        assert!(reference.lines.contains_key(key), "{key}");
    }
    let values = &reference.within["start"];
    assert!(values.contains(&Node::scalar("independent")), "{values:?}");
    let rates = &reference.within["learning_rate"];
    assert!(rates.len() > 3, "{rates:?}");
}
