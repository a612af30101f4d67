//! The values that the sums of a product begin with.

/// What a sum begins with.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SumStart<'a> {
    /// Nothing.
    Zero,
    /// A number per column, `[columns]`.
    Bias(&'a [f32]),
    /// What `y` holds.
    Target,
}

impl<'a> SumStart<'a> {
    /// A bias, or nothing.
    pub(crate) fn of(bias: Option<&'a [f32]>) -> Self {
        bias.map_or(Self::Zero, Self::Bias)
    }

    /// Whether a bias, if there is one, has `columns` numbers.
    pub(super) fn holds(&self, columns: usize) -> bool {
        match self {
            Self::Bias(bias) => bias.len() >= columns,
            Self::Zero | Self::Target => true,
        }
    }
}
