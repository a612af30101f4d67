//! The rows of a stack on a GPU, which may be waiting to be mixed.
//!
//! If several runs share launches, mixing over an overlay is delayed: their local steps begin by copying the rows of
//! all runs to a common stack, and mix them on the way. If the rows are read before, they are mixed at once.

use super::mix::mixed;
use crate::stack::mixing::{HostMixing, Matrix};
use crate::stacked::device::memory::{cube, tensor};
use burn::tensor::Tensor;
use std::mem::replace;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Rows `[R, P_pad]` on a GPU.
#[derive(Debug)]
pub(crate) struct StackRows(Mutex<State>);

#[derive(Debug)]
enum State {
    /// The rows as they are.
    Here(Tensor<2>),
    /// Rows that wait to be mixed with the matrix.
    ToMix(Tensor<2>, Arc<Matrix>),
    /// Taken out.
    Gone,
}

impl StackRows {
    /// Rows as they are.
    pub(crate) fn new(rows: Tensor<2>) -> Self {
        Self(Mutex::new(State::Here(rows)))
    }

    /// What [`StackRows::take_unmixed`] took.
    pub(crate) fn unmixed(rows: Tensor<2>, matrix: Option<Arc<Matrix>>) -> Self {
        match matrix {
            Some(matrix) => Self(Mutex::new(State::ToMix(rows, matrix))),
            None => Self::new(rows),
        }
    }

    /// The rows, mixed.
    ///
    /// # Panics
    /// If they were taken out.
    pub(crate) fn tensor(&self) -> Tensor<2> {
        let mut state = self.state();
        let rows = settled(replace(&mut *state, State::Gone));
        *state = State::Here(rows.clone());
        rows
    }

    /// Takes the rows out, mixed, so that a kernel finds their buffer unshared.
    ///
    /// # Panics
    /// If they were taken out before.
    pub(crate) fn take(&mut self) -> Tensor<2> {
        settled(replace(&mut *self.state(), State::Gone))
    }

    /// Takes the rows out, with the matrix that they are still to be mixed with.
    ///
    /// # Panics
    /// If they were taken out before.
    pub(crate) fn take_unmixed(&mut self) -> (Tensor<2>, Option<Arc<Matrix>>) {
        match replace(&mut *self.state(), State::Gone) {
            State::ToMix(rows, matrix) => (rows, Some(matrix)),
            state => (settled(state), None),
        }
    }

    /// Changes the rows, in place if no other tensor shares them.
    pub(crate) fn change(&mut self, change: impl FnOnce(Tensor<2>) -> Tensor<2>) {
        let rows = change(self.take());
        *self.state() = State::Here(rows);
    }

    /// Delays mixing with the square matrix `matrix` until the rows are read or step with those of other runs.
    pub(crate) fn mix_later(&mut self, matrix: &Arc<Matrix>) {
        debug_assert!(matches!(matrix.host, HostMixing::Sparse { .. }));
        let rows = self.take();
        *self.state() = State::ToMix(rows, matrix.clone());
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The rows of `state`, mixed.
fn settled(state: State) -> Tensor<2> {
    match state {
        State::Here(rows) => rows,
        State::ToMix(rows, matrix) => tensor(mixed(&cube(rows), &matrix)),
        State::Gone => {
            unreachable!("rows that were taken out are put back before anyone looks at them")
        }
    }
}
