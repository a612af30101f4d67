//! Figures that a method records beside those that every run has.

use std::collections::BTreeMap;

use crate::error::AlgorithmError;

/// Characters of a figure's name, at most.
const LONGEST: usize = 64;

/// What a method recorded in a round, by name.
#[derive(Debug, Clone, PartialEq)]
pub struct OwnFigures {
    /// Models between rounds, `R`.
    rows: usize,
    figures: BTreeMap<String, OwnFigure>,
}

/// A figure of a method's own.
#[derive(Debug, Clone, PartialEq)]
pub enum OwnFigure {
    /// One number for the round.
    Number(f64),
    /// One for each row, `[R]`: records have its spread over the rows alive. A row of which it is not a number has none.
    Rows(Vec<f64>),
}

impl From<f64> for OwnFigure {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<Vec<f64>> for OwnFigure {
    fn from(of_rows: Vec<f64>) -> Self {
        Self::Rows(of_rows)
    }
}

impl OwnFigures {
    /// No figures of a method with so many rows.
    pub fn new(rows: usize) -> Self {
        Self {
            rows,
            figures: BTreeMap::new(),
        }
    }

    /// Notes a figure of the round. Of two with one name the later counts.
    ///
    /// # Errors
    /// [`AlgorithmError::FigureName`], and [`AlgorithmError::FigureRows`] if there is not one number for each row.
    pub fn record(&mut self, name: &str, figure: OwnFigure) -> Result<(), AlgorithmError> {
        let is_known = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || name.len() > LONGEST || !name.chars().all(is_known) {
            let found = name.chars().take(LONGEST).collect();
            return Err(AlgorithmError::FigureName { found });
        }
        if let OwnFigure::Rows(of_rows) = &figure
            && of_rows.len() != self.rows
        {
            return Err(AlgorithmError::FigureRows {
                name: name.to_owned(),
                found: of_rows.len(),
                rows: self.rows,
            });
        }
        self.figures.insert(name.to_owned(), figure);
        Ok(())
    }

    /// The figure called `name`, if it is one number.
    pub fn number(&self, name: &str) -> Option<f64> {
        match self.figures.get(name)? {
            OwnFigure::Number(number) => Some(*number),
            OwnFigure::Rows(_) => None,
        }
    }

    /// Forgets all figures.
    pub fn clear(&mut self) {
        self.figures.clear();
    }

    /// The figures by their names, in the order of these.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &OwnFigure)> {
        self.figures
            .iter()
            .map(|(name, figure)| (name.as_str(), figure))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_figure_of_a_name_counts_until_all_are_forgotten() {
        let mut figures = OwnFigures::new(3);
        figures.record("dual_residual", 1.0.into()).unwrap();
        let of_rows = OwnFigure::Rows(vec![1.0, 2.0, 3.0]);
        figures.record("dual_residual", of_rows.clone()).unwrap();
        assert_eq!(
            figures.iter().collect::<Vec<_>>(),
            [("dual_residual", &of_rows)]
        );
        figures.record("seconds", 2.5.into()).unwrap();
        assert_eq!(figures.number("seconds"), Some(2.5));
        assert_eq!(figures.number("dual_residual"), None);
        figures.clear();
        assert_eq!(figures.iter().count(), 0);
    }

    #[test]
    fn names_and_numbers_of_rows_are_checked() {
        let mut figures = OwnFigures::new(3);
        let longest = "x".repeat(LONGEST);
        assert_eq!(figures.record(&longest, 1.0.into()), Ok(()));
        let too_long = "x".repeat(LONGEST + 1);
        for name in ["", "a.b", "dual residual", "größe", &too_long] {
            let found = figures.record(name, 1.0.into()).unwrap_err().to_string();
            assert!(found.ends_with("letters, digits or `_`"), "{found}");
        }
        let wrong = figures.record("norm", vec![1.0; 2].into()).unwrap_err();
        assert_eq!(
            wrong.to_string(),
            "the figure `norm` has 2 numbers, needed one, or one for each of 3 rows"
        );
        assert_eq!(figures.iter().count(), 1);
    }
}
