//! The rows of a stack on a GPU, which may be waiting to be mixed.
//!
//! Where runs go side by side an exchange over an overlay waits: the local steps of all runs begin with every run's rows
//! copied to the stack of all, and mix them on the way there. Whoever looks at the rows before has them mixed at once.

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
    /// As they are.
    Here(Tensor<2>),
    /// To be mixed.
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

    /// Takes the rows out, with what they are yet to be mixed with.
    ///
    /// # Panics
    /// If they were taken out before.
    pub(crate) fn take_unmixed(&mut self) -> (Tensor<2>, Option<Arc<Matrix>>) {
        match replace(&mut *self.state(), State::Gone) {
            State::ToMix(rows, matrix) => (rows, Some(matrix)),
            state => (settled(state), None),
        }
    }

    /// Changes the rows in place, where nobody shares them.
    pub(crate) fn change(&mut self, change: impl FnOnce(Tensor<2>) -> Tensor<2>) {
        let rows = change(self.take());
        *self.state() = State::Here(rows);
    }

    /// Has the rows mixed with `matrix`, of as many rows, when somebody looks at them or they step with those of other runs.
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
