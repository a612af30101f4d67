//! The values that the sums of a product begin with.

/// The initial value of a sum.
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
    /// The bias, or zero if there is none.
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
