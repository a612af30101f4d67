//! Failures of a GPU at work: it is lost, or its driver has no memory left.
//!
//! Work is queued on a GPU without waiting, so that a failure shows only when results are read. This happens inside
//! functions that cannot return errors, some of them in other crates. So a failure unwinds to [`attempt`], which turns
//! it into an error.

use crate::error::EngineError;
use burn_cubecl::CubeDevice;
use burn_wgpu::wgpu::{self, DeviceLostReason};
use cubecl::server::{IoError, ServerError};
use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, resume_unwind};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

/// The interval at which a wait checks whether the device is still there: a lost one may never answer.
const PATIENCE: Duration = Duration::from_millis(50);

/// The failures of a device that its driver has reported.
#[derive(Debug, Clone, Default)]
struct Told {
    /// Why it is lost, if it is.
    lost: Option<String>,
    /// The last request that it refused.
    refused: Option<Refusal>,
}

#[derive(Debug, Clone)]
enum Refusal {
    Memory,
    Other(String),
}

/// The failures of one device.
#[derive(Debug)]
pub(crate) struct Failures {
    /// The device as a user knows it.
    name: String,
    told: Mutex<Told>,
}

/// Devices that have been opened.
static WATCHED: Mutex<Vec<(CubeDevice, Arc<Failures>)>> = Mutex::new(Vec::new());

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Failures {
    /// Records the failures of `device` from now on; users know it as `name`.
    pub(crate) fn keep(device: CubeDevice, name: String) -> Arc<Self> {
        let failures = Arc::new(Self {
            name,
            told: Mutex::default(),
        });
        locked(&WATCHED).push((device, failures.clone()));
        failures
    }

    /// The failures of an open device.
    pub(crate) fn of(device: &CubeDevice) -> Arc<Self> {
        let watched = locked(&WATCHED);
        let found = watched.iter().find(|(watched, _)| watched == device);
        let (_, failures) = found.expect("a device is watched since it was opened");
        failures.clone()
    }

    /// Registers callbacks for the loss of `device` and for requests that it refuses.
    ///
    /// The runtime panics on a refusal, and relies on unwinding so that nothing is computed from an array without
    /// memory. The panic itself need not be shown: the failure is reported when results are read.
    pub(crate) fn watch(self: &Arc<Self>, device: &wgpu::Device) {
        let own = self.clone();
        device.set_device_lost_callback(move |kind, reason| {
            if kind != DeviceLostReason::Destroyed {
                own.lose(reason);
            }
        });
        let own = self.clone();
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            own.refuse(match &error {
                wgpu::Error::OutOfMemory { .. } => Refusal::Memory,
                wgpu::Error::Validation { description, .. }
                | wgpu::Error::Internal { description, .. } => {
                    Refusal::Other(one_line(description))
                }
            });
            resume_unwind(Box::new(error.to_string()));
        }));
    }

    fn lose(&self, reason: String) {
        locked(&self.told).lost.get_or_insert(one_line(&reason));
    }

    fn refuse(&self, refusal: Refusal) {
        locked(&self.told).refused = Some(refusal);
    }

    pub(crate) fn is_lost(&self) -> bool {
        locked(&self.told).lost.is_some()
    }

    /// Adds to the reason of the loss why the device cannot be opened again.
    pub(crate) fn stay_lost(&self, because: &str) {
        if let Some(reason) = &mut locked(&self.told).lost
            && !reason.contains(because)
        {
            *reason = format!("{reason}, and it cannot be opened again: {because}");
        }
    }

    /// Forgets a refusal; returns whether there was one.
    pub(crate) fn forget(&self) -> bool {
        locked(&self.told).refused.take().is_some()
    }

    fn has_any(&self) -> bool {
        let told = locked(&self.told);
        told.lost.is_some() || told.refused.is_some()
    }

    /// The failure as an error; if the driver has reported none, with `found`, the failure of reading.
    fn error(&self, found: &str) -> EngineError {
        let (device, told) = (self.name.clone(), locked(&self.told).clone());
        let no_memory = |text: &str| text.to_lowercase().contains("memory");
        match told {
            Told {
                lost: Some(reason), ..
            } if !no_memory(&reason) => EngineError::DeviceLost { device, reason },
            Told { lost: Some(_), .. }
            | Told {
                refused: Some(Refusal::Memory),
                ..
            } => EngineError::OutOfDeviceMemory { device },
            Told {
                refused: Some(Refusal::Other(refused)),
                ..
            } => failed(device, &refused),
            Told { .. } if found.contains("out of device memory") => {
                EngineError::OutOfDeviceMemory { device }
            }
            Told { .. } => failed(device, found),
        }
    }
}

fn failed(device: String, found: &str) -> EngineError {
    EngineError::Device {
        device,
        reason: format!(
            "it failed while it worked: {}; run the command again, or use `--device cpu`",
            one_line(found)
        ),
    }
}

/// `text` without the lines of a backtrace and without line breaks.
fn one_line(text: &str) -> String {
    let lines = text.lines().map(str::trim);
    let told = lines.take_while(|line| !line.starts_with("Backtrace"));
    let told: Vec<&str> = told.filter(|line| !line.is_empty()).collect();
    told.join(" ").trim_end_matches('.').to_owned()
}

thread_local! {
    /// The number of calls of [`attempt`] that this thread is in.
    static ATTEMPTS: Cell<usize> = const { Cell::new(0) };
}

/// A failure on its way to [`attempt`].
struct Failed(EngineError);

/// Carries out `work`, and turns a failure of the GPU during it into an error.
///
/// # Errors
/// [`EngineError::DeviceLost`], [`EngineError::OutOfDeviceMemory`] or [`EngineError::Device`]; those of `work`.
pub(crate) fn attempt<T, E: From<EngineError>>(
    device: &CubeDevice,
    work: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    ATTEMPTS.set(ATTEMPTS.get() + 1);
    let outcome = catch_unwind(AssertUnwindSafe(work));
    ATTEMPTS.set(ATTEMPTS.get() - 1);
    outcome.unwrap_or_else(|payload| match payload.downcast::<Failed>() {
        Ok(failed) => Err(failed.0.into()),
        // A panic on the runtime's own thread is passed on to the thread that waits for it.
        Err(payload) if Failures::of(device).has_any() => {
            Err(Failures::of(device).error(text_of(&*payload)).into())
        }
        Err(payload) => resume_unwind(payload),
    })
}

/// The result of the request `ask` to `device`. Waits for the device.
///
/// # Panics
/// If the device has failed, outside [`attempt`].
pub(crate) fn answer<T, F>(device: &CubeDevice, ask: impl FnOnce() -> F) -> T
where
    F: Future<Output = Result<T, ServerError>>,
{
    let failures = Failures::of(device);
    if failures.is_lost() {
        fail(failures.error(""));
    }
    let asked = AssertUnwindSafe(|| wait(ask(), || failures.is_lost()));
    match catch_unwind(asked) {
        Ok(Some(Ok(answer))) if !failures.is_lost() => answer,
        Ok(Some(Err(error))) => fail(failures.error(&words(&error))),
        Ok(_) => fail(failures.error("")),
        Err(payload) => fail(failures.error(text_of(&*payload))),
    }
}

/// Unwinds to [`attempt`].
fn fail(error: EngineError) -> ! {
    if ATTEMPTS.get() == 0 {
        panic!("{error}");
    }
    resume_unwind(Box::new(Failed(error)))
}

fn words(error: &ServerError) -> String {
    match error {
        ServerError::Io(IoError::OutOfMemory { .. }) => "out of device memory".to_owned(),
        other => other.to_string(),
    }
}

fn text_of(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
    text.unwrap_or("its driver broke down")
}

/// Wakes the thread that waits.
struct Waiting(Thread);

impl Wake for Waiting {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// The output of `future`; `None` if `given_up` returns true first.
pub(crate) fn wait<F: Future>(future: F, given_up: impl Fn() -> bool) -> Option<F::Output> {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Waiting(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return Some(output);
        }
        if given_up() {
            return None;
        }
        thread::park_timeout(PATIENCE);
    }
}

/// Whether `panic` comes from a GPU that has failed: its driver's own threads panic too, but the runs that use the GPU
/// report the failure.
pub fn is_told_by_runs(panic: &PanicHookInfo<'_>) -> bool {
    let of_runtime = |file: &str| ["wgpu", "cubecl"].iter().any(|name| file.contains(name));
    let failed = || locked(&WATCHED).iter().any(|(_, known)| known.has_any());
    panic
        .location()
        .is_some_and(|place| of_runtime(place.file()))
        && failed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use cubecl::device::CudaDevice;

    /// A device that does not exist.
    fn watched(index: usize) -> (CubeDevice, Arc<Failures>) {
        let device = CubeDevice::Cuda(CudaDevice::new(index));
        let failures = Failures::keep(device.clone(), format!("cuda:{index}"));
        (device, failures)
    }

    fn read(device: &CubeDevice, answer: Result<u8, ServerError>) -> Result<u8, EngineError> {
        attempt(device, || Ok(super::answer(device, || async { answer })))
    }

    #[test]
    fn a_lost_device_is_an_error_of_every_read_that_follows() {
        let (device, failures) = watched(1001);
        assert_eq!(read(&device, Ok(7)), Ok(7));
        failures.lose("Device is lost.\n".to_owned());
        let error = read(&device, Ok(7)).unwrap_err();
        let lost = EngineError::DeviceLost {
            device: "cuda:1001".to_owned(),
            reason: "Device is lost".to_owned(),
        };
        assert_eq!(error, lost);
        failures.stay_lost("it is gone");
        failures.stay_lost("it is gone");
        let error = read(&device, Ok(7)).unwrap_err().to_string();
        assert_eq!(error.matches("it is gone").count(), 1, "{error}");
    }

    #[test]
    fn an_answer_that_never_comes_is_given_up_once_the_device_is_lost() {
        let (device, failures) = watched(1002);
        let waited = thread::scope(|scope| {
            let asked = scope.spawn(|| -> Result<u8, EngineError> {
                attempt(&device, || Ok(answer(&device, std::future::pending)))
            });
            thread::sleep(2 * PATIENCE);
            failures.lose("gone".to_owned());
            asked.join().unwrap()
        });
        assert!(matches!(waited, Err(EngineError::DeviceLost { .. })));
    }

    #[test]
    fn memory_that_is_refused_is_told_as_such_wherever_it_shows() {
        let (device, failures) = watched(1003);
        let none_left = Err(EngineError::OutOfDeviceMemory {
            device: "cuda:1003".to_owned(),
        });
        failures.refuse(Refusal::Memory);
        let broken = ServerError::Generic {
            reason: "torn down".to_owned(),
            backtrace: Default::default(),
        };
        assert_eq!(read(&device, Err(broken)), none_left);
        assert!(failures.forget() && !failures.forget());
        let refused = IoError::OutOfMemory {
            size: 1,
            backtrace: Default::default(),
        };
        assert_eq!(read(&device, Err(refused.into())), none_left);
        failures.lose("Not enough memory left".to_owned());
        assert_eq!(read(&device, Ok(1)), none_left);
    }

    #[test]
    fn what_has_unwound_the_devices_own_thread_is_its_failure() {
        let (device, failures) = watched(1004);
        let torn = || -> Result<u8, EngineError> {
            attempt(&device, || resume_unwind(Box::new("wgpu error".to_owned())))
        };
        let bug = catch_unwind(AssertUnwindSafe(torn)).unwrap_err();
        assert_eq!(bug.downcast_ref::<String>().unwrap(), "wgpu error");
        failures.refuse(Refusal::Other("no such buffer".to_owned()));
        let error = torn().unwrap_err().to_string();
        assert!(error.contains("no such buffer"), "{error}");
    }
}
