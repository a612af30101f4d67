//! Warnings of the library while runs are planned and carried out, which Python's users hear as `MeshfoldWarning`.

use std::fmt::{Debug, Write};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// What was said and nobody has been told of yet.
static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// From here on warnings are kept until somebody [takes](take) them.
pub(crate) fn listen() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Whoever listens already in this process hears them instead.
        tracing::subscriber::set_global_default(Warnings).ok();
    });
}

/// The warnings since the last call. Of calls of `run` that go on at the same time, one is told of each.
pub(crate) fn take() -> Vec<String> {
    std::mem::take(&mut said())
}

fn said() -> MutexGuard<'static, Vec<String>> {
    SAID.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Hears the warnings of Meshfold's own crates.
struct Warnings;

impl Subscriber for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        // An error is less than a warning in this order.
        *metadata.level() <= Level::WARN && metadata.target().starts_with("meshfold")
    }

    fn event(&self, event: &Event<'_>) {
        let mut message = Message(String::new());
        event.record(&mut message);
        said().push(message.0);
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::WARN)
    }

    // Warnings say all in their message: spans tell nothing.
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// The message of an event.
struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            // Writing to a string cannot fail.
            write!(self.0, "{value:?}").ok();
        }
    }
}
