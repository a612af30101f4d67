//! YAML as trees of text: read from the reference of settings, changed at will, and printed in several styles.

use crate::dice::Dice;

/// A value as it is written. A scalar is any text, also such as is no valid YAML.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    Scalar(String),
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
}

/// How a tree is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// A line for each key of the experiment, its value in braces and brackets.
    Flow,
    /// A line for each key and each entry of a list.
    Block,
    /// All in one line, text in quotes.
    Json,
}

impl Style {
    pub(crate) fn draw(dice: &mut Dice) -> Self {
        *dice.pick(&[Self::Flow, Self::Flow, Self::Block, Self::Json])
    }
}

impl Node {
    pub(crate) fn scalar(text: impl Into<String>) -> Self {
        Self::Scalar(text.into())
    }

    /// Reads one value in flow style, as the reference writes them.
    pub(crate) fn read(text: &str) -> Self {
        let mut reader = Reader { rest: text };
        let node = reader.node();
        assert!(
            reader.rest.trim().is_empty(),
            "{:?} is left of {text:?}",
            reader.rest
        );
        node
    }

    /// The value in flow style.
    pub(crate) fn flow(&self) -> String {
        match self {
            Self::Scalar(text) => text.clone(),
            Self::List(items) => {
                let items: Vec<String> = items.iter().map(Self::flow).collect();
                format!("[{}]", items.join(", "))
            }
            Self::Map(entries) => {
                let entry = |(key, value): &(String, Self)| format!("{key}: {}", value.flow());
                let entries: Vec<String> = entries.iter().map(entry).collect();
                format!("{{{}}}", entries.join(", "))
            }
        }
    }

    /// The value as JSON, if its scalars are numbers or plain text.
    fn json(&self) -> String {
        match self {
            Self::Scalar(text) if is_json(text) => text.clone(),
            Self::Scalar(text) => serde_json::Value::String(text.clone()).to_string(),
            Self::List(items) => {
                let items: Vec<String> = items.iter().map(Self::json).collect();
                format!("[{}]", items.join(","))
            }
            Self::Map(entries) => {
                let quoted = |text: &str| serde_json::Value::String(text.to_owned()).to_string();
                let entry =
                    |(key, value): &(String, Self)| format!("{}:{}", quoted(key), value.json());
                let entries: Vec<String> = entries.iter().map(entry).collect();
                format!("{{{}}}", entries.join(","))
            }
        }
    }

    /// The value in block style, below a key that is indented by `indent`.
    fn block(&self, indent: usize) -> String {
        let space = " ".repeat(indent);
        match self {
            Self::Map(entries) if !entries.is_empty() => {
                let entry = |(key, value): &(String, Self)| {
                    format!("\n{space}{key}:{}", value.block(indent + 2))
                };
                entries.iter().map(entry).collect()
            }
            Self::List(items) if !items.is_empty() => {
                let item = |item: &Self| format!("\n{space}- {}", item.flow());
                items.iter().map(item).collect()
            }
            other => format!(" {}", other.flow()),
        }
    }

    /// The whole tree as the text of a file.
    pub(crate) fn print(&self, style: Style) -> String {
        let Self::Map(entries) = self else {
            return self.flow();
        };
        match style {
            Style::Json => self.json(),
            Style::Flow => {
                let line = |(key, value): &(String, Self)| format!("{key}: {}\n", value.flow());
                entries.iter().map(line).collect()
            }
            Style::Block => self.block(0).trim_start_matches('\n').to_owned() + "\n",
        }
    }

    /// Every value within, itself first, by the way to it: the place among its siblings at each level.
    pub(crate) fn ways(&self) -> Vec<Vec<usize>> {
        let mut ways = vec![Vec::new()];
        let below: Vec<&Self> = match self {
            Self::Scalar(_) => Vec::new(),
            Self::List(items) => items.iter().collect(),
            Self::Map(entries) => entries.iter().map(|(_, value)| value).collect(),
        };
        for (place, child) in below.into_iter().enumerate() {
            ways.extend(
                child
                    .ways()
                    .into_iter()
                    .map(|way| [vec![place], way].concat()),
            );
        }
        ways
    }

    /// The value at the end of `way`.
    pub(crate) fn at(&mut self, way: &[usize]) -> &mut Self {
        let Some((place, rest)) = way.split_first() else {
            return self;
        };
        match self {
            Self::Scalar(_) => panic!("nothing is below a scalar"),
            Self::List(items) => items[*place].at(rest),
            Self::Map(entries) => entries[*place].1.at(rest),
        }
    }

    /// The keys on `way`, places of lists as numbers, joined by dots.
    pub(crate) fn path(&self, way: &[usize]) -> String {
        let (mut node, mut parts) = (self, Vec::new());
        for place in way {
            match node {
                Self::Scalar(_) => break,
                Self::List(items) => {
                    parts.push(place.to_string());
                    node = &items[*place];
                }
                Self::Map(entries) => {
                    parts.push(entries[*place].0.clone());
                    node = &entries[*place].1;
                }
            }
        }
        parts.join(".")
    }
}

/// Whether JSON writes the scalar as YAML does.
fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde_json::Value>(text).is_ok()
}

/// Reads flow style.
struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn node(&mut self) -> Node {
        self.rest = self.rest.trim_start();
        if self.takes('{') {
            let mut entries = Vec::new();
            while !self.takes('}') {
                let key = self.scalar(&[':']);
                assert!(self.takes(':'), "a colon is missing before {:?}", self.rest);
                entries.push((key, self.node()));
                self.takes(',');
            }
            Node::Map(entries)
        } else if self.takes('[') {
            let mut items = Vec::new();
            while !self.takes(']') {
                items.push(self.node());
                self.takes(',');
            }
            Node::List(items)
        } else {
            Node::Scalar(self.scalar(&[',', '}', ']']))
        }
    }

    /// Whether `letter` came next, which is then passed.
    fn takes(&mut self, letter: char) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(letter) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// The text until one of `ends`, or until the quotes close.
    fn scalar(&mut self, ends: &[char]) -> String {
        self.rest = self.rest.trim_start();
        let end = match self.rest.strip_prefix('"') {
            Some(inner) => inner.find('"').expect("quotes close") + 2,
            None => self.rest.find(ends).unwrap_or(self.rest.len()),
        };
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        text.trim_end().to_owned()
    }
}

#[test]
fn flow_style_reads_back() {
    for text in [
        "{csv: {file: table.csv, delimiter: \",\", test: {share: 0.2}}}",
        "[{clients: {share: 0.2}, from_round: 1}, {clients: {list: [3]}}]",
        "{seed: [1, 2, 3], topology: [ring, complete]}",
        "ring",
    ] {
        assert_eq!(Node::read(text).flow(), text);
    }
}

#[test]
fn a_tree_has_ways_to_all_its_values() {
    let mut node = Node::read("{a: {b: [1, 2]}, c: 3}");
    let paths: Vec<String> = node.ways().iter().map(|way| node.path(way)).collect();
    assert_eq!(paths, ["", "a", "a.b", "a.b.0", "a.b.1", "c"]);
    assert_eq!(
        node.print(Style::Block),
        "a:\n  b:\n    - 1\n    - 2\nc: 3\n"
    );
    assert_eq!(node.print(Style::Flow), "a: {b: [1, 2]}\nc: 3\n");
    *node.at(&[0, 0]) = Node::scalar("ring");
    assert_eq!(node.print(Style::Json), "{\"a\":{\"b\":\"ring\"},\"c\":3}");
}
