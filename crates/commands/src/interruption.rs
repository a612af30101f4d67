//! Requests to end: the first asks the runs in progress to end after their round, Ctrl-C after it ends the program.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::failure::Failure;
use crate::signals::{self, SignalRequest};
use crate::terminal;

/// What must be left of the process's memory once its threads run. Where a limit leaves less, the C library may find none for a
/// thread, and ends the program. It gives stacks of this size back at once.
const ROOM: usize = 48 << 20;

/// What must be left before any of these threads is started. With less, the allocator may find no place for what a thread needs, which ends
/// the program as well.
const ROOM_TO_START: usize = 112 << 20;

/// Requests to end since the program began to listen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interruption {
    stop: Arc<AtomicBool>,
    /// Whether the system asked first, rather than somebody at a terminal.
    is_of_the_system: Arc<AtomicBool>,
}

impl Interruption {
    /// From here on Ctrl-C, or a request of the system to end, makes the [flag](Self::flag) true. A request that was ignored
    /// when the program started stays so: `nohup` goes on after its terminal is closed.
    ///
    /// # Errors
    /// [`Failure::Refused`] if the system gives no thread for it.
    pub(crate) fn listen() -> Result<Self, Failure> {
        let asked = Self::default();
        let heard = asked.clone();
        let caught =
            expect_room(ROOM).and_then(|()| signals::catch(move |request| heard.react(request)));
        caught.map_err(|error| {
            Failure::refused(format_args!(
                "the thread that waits for Ctrl-C cannot be started: {error}; raise the limits of the process, such as `ulimit -v`"
            ))
        })?;
        Ok(asked)
    }

    fn react(&self, request: SignalRequest) {
        if request == SignalRequest::End && !self.stop.load(Ordering::Relaxed) {
            self.is_of_the_system.store(true, Ordering::Relaxed);
        }
        match (self.stop.swap(true, Ordering::Relaxed), request) {
            (false, SignalRequest::End) => {
                terminal::line("asked to end: stopping after this round")
            }
            (false, _) => {
                terminal::line("stopping after this round; once more Ctrl-C ends at once")
            }
            // Schedulers ask again before they kill, and a terminal that is closed may say so twice.
            (true, SignalRequest::End | SignalRequest::Hangup) => {}
            (true, SignalRequest::Interrupt) => std::process::exit(130),
        }
    }

    /// Whether something was asked for.
    pub(crate) fn flag(&self) -> &AtomicBool {
        &self.stop
    }

    /// How a command ends that stopped because of it.
    pub(crate) fn failure(&self) -> Failure {
        match self.is_of_the_system.load(Ordering::Relaxed) {
            true => Failure::Stopped,
            false => Failure::Interrupted,
        }
    }
}

/// Makes sure that the limits of the process leave enough for threads, before there are any.
///
/// # Errors
/// [`Failure::Refused`] if they do not.
pub(crate) fn expect_room_to_start() -> Result<(), Failure> {
    expect_room(ROOM_TO_START).map_err(|error| {
        Failure::refused(format_args!(
            "the threads of the program cannot be started: {error}; raise the limits of the process, such as `ulimit -v`"
        ))
    })
}

/// Makes sure that the limits of the process leave so many bytes.
///
/// # Errors
/// That of the system that cannot start a thread with such a stack.
fn expect_room(bytes: usize) -> io::Result<()> {
    let large = thread::Builder::new().stack_size(bytes).spawn(|| ())?;
    large.join().map_err(|_| io::ErrorKind::OutOfMemory.into())
}
