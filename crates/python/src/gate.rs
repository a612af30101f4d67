//! Threads of runs may call Python until the interpreter ends.
//!
//! Up to version 3.13, Python ends a thread that wants to go on while the interpreter ends by `pthread_exit`. That unwinds the frames of
//! Rust that called Python, which aborts the process. So whoever calls Python from a thread of its own passes this gate. When the
//! interpreter is about to end, the gate is closed: calls that are under way are waited for, and whoever comes later waits for ever,
//! which is until the process is gone.

use std::cell::Cell;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;

/// How long the end of the interpreter waits for calls that are under way.
const PATIENCE: Duration = Duration::from_secs(30);

static GATE: Gate = Gate {
    state: Mutex::new(State {
        inside: 0,
        is_closed: false,
    }),
    changed: Condvar::new(),
};

thread_local! {
    /// How often this thread has passed the gate and not left.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// Threads that have passed and not left.
    inside: usize,
    is_closed: bool,
}

impl Gate {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state once `is_so`.
    fn once(&self, is_so: impl Fn(&State) -> bool) -> MutexGuard<'_, State> {
        let waited = self.changed.wait_while(self.state(), |state| !is_so(state));
        waited.unwrap_or_else(PoisonError::into_inner)
    }
}

/// A thread that may call Python until this is dropped, on the same thread.
#[derive(Debug)]
pub(crate) struct Inside(());

impl Drop for Inside {
    fn drop(&mut self) {
        let depth = DEPTH.get() - 1;
        DEPTH.set(depth);
        if depth == 0 {
            GATE.state().inside -= 1;
            GATE.changed.notify_all();
        }
    }
}

/// Passes the gate; never returns if it is closed. It must not be called while the thread is attached to the interpreter.
pub(crate) fn enter() -> Inside {
    if DEPTH.get() == 0 {
        GATE.once(|state| !state.is_closed).inside += 1;
    }
    DEPTH.set(DEPTH.get() + 1);
    Inside(())
}

/// [`Python::attach`] behind the gate.
pub(crate) fn attach<R>(call: impl for<'py> FnOnce(Python<'py>) -> R) -> R {
    let _inside = enter();
    Python::attach(call)
}

/// Whether the gate is closed.
pub(crate) fn is_closed() -> bool {
    GATE.state().is_closed
}

/// Closes the gate, as the interpreter is about to end, and waits until nobody is inside, but no longer than [`PATIENCE`]: whoever is
/// inside may wait for another thread that is not let in any more.
#[pyfunction]
pub(crate) fn end(py: Python<'_>) {
    py.detach(|| {
        let mut state = GATE.state();
        state.is_closed = true;
        let is_anyone_inside = |state: &mut State| state.inside > 0;
        drop(
            GATE.changed
                .wait_timeout_while(state, PATIENCE, is_anyone_inside),
        );
    });
}
