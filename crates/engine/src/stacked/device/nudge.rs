//! Handing launches to a GPU that has nothing to do.
//!
//! The runtime gathers 32 launches on the thread that asks for them, and as many again on its own, before a GPU sees the first.
//! Behind work in progress that costs nothing. A GPU that has just been waited for idles meanwhile.

use cubecl::client::Client;
use cubecl_common::device::{DeviceId, DeviceService, ServerUtilitiesHandle};
use cubecl_common::device_handle::DeviceHandle;
use std::cell::Cell;
use std::sync::Arc;

/// Requests after which a GPU that was waited for has enough to do: drawing and launching each takes less time than the GPU does.
const REQUESTS: usize = 4;

thread_local! {
    /// Requests that this thread has begun since it last waited for a GPU.
    static BEGUN: Cell<usize> = const { Cell::new(0) };
}

/// Work of our own on the thread of the runtime.
struct Nudge;

impl DeviceService for Nudge {
    fn init(_: DeviceId) -> Self {
        Self
    }

    fn utilities(&self) -> ServerUtilitiesHandle {
        Arc::new(())
    }
}

/// This thread has waited for a GPU, which has done all its work.
pub(super) fn has_waited() {
    BEGUN.set(0);
}

/// Has the GPU of `client` begin with what this thread has launched, without waiting for it, if the request at hand is one of the
/// first since this thread waited for it.
pub(crate) fn begin_first_requests(client: &Client) {
    let begun = BEGUN.get();
    if begun >= super::launch::knob("NUDGES", REQUESTS) {
        return;
    }
    BEGUN.set(begun + 1);
    let runtime = DeviceHandle::<Nudge>::new(client.service_id().device);
    let client = client.clone();
    // On the runtime's own thread this is done at once. What fails shows where results are read.
    runtime.submit(move |_| drop(client.flush()));
    runtime.flush_queue();
}
