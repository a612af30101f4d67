//! Columns of tables over runs, and their cells.

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// UTF-8.
    Text,
    /// 64-bit integers.
    Whole,
    /// 64-bit floating-point numbers.
    Number,
}

/// A column and what it means.
#[derive(Clone, Debug)]
pub struct Column {
    name: String,
    kind: Kind,
    description: String,
}

impl Column {
    pub(crate) fn new(name: &str, kind: Kind, description: &str) -> Self {
        Self {
            name: name.to_owned(),
            kind,
            description: description.to_owned(),
        }
    }

    pub(crate) fn text(name: &str, description: &str) -> Self {
        Self::new(name, Kind::Text, description)
    }

    pub(crate) fn whole(name: &str, description: &str) -> Self {
        Self::new(name, Kind::Whole, description)
    }

    pub(crate) fn number(name: &str, description: &str) -> Self {
        Self::new(name, Kind::Number, description)
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it holds.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// What it means, in a sentence.
    pub fn description(&self) -> &str {
        &self.description
    }
}

/// The cells of a column in a group of rows.
#[derive(Clone, Debug)]
pub enum Cells {
    /// Of [`Kind::Text`].
    Text(Vec<Option<String>>),
    /// Of [`Kind::Whole`].
    Whole(Vec<Option<i64>>),
    /// Of [`Kind::Number`].
    Number(Vec<Option<f64>>),
}
