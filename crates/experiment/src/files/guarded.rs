//! Calls into libraries that panic where they should return an error.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic on this thread is expected and will be told of as an error. A panic hook asks this, so that it does not
/// report a bug.
pub fn is_guarded() -> bool {
    GUARDED.get()
}

/// What `call` returns; `None` if it panics. What `call` holds is dropped then, so it must not leave anything half done.
pub(crate) fn call<T>(call: impl FnOnce() -> T) -> Option<T> {
    let outside = GUARDED.replace(true);
    let returned = catch_unwind(AssertUnwindSafe(call));
    GUARDED.set(outside);
    returned.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_nothing_and_ends_no_guard_of_another() {
        assert_eq!(call(|| 3), Some(3));
        let inner = || {
            assert!(is_guarded());
            call(|| -> u32 { panic!("expected") })
        };
        assert_eq!(call(|| (inner(), is_guarded())), Some((None, true)));
        assert!(!is_guarded());
    }
}
