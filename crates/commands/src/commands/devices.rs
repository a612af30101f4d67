//! `meshfold devices`.

use clap::Args;
use meshfold_engine::{Device, DeviceRequest, Instructions};
use serde::Serialize;

use crate::failure::Failure;
use crate::json_lines;
use crate::table::{Column, Table};

#[derive(Debug, Args)]
pub(crate) struct DevicesArguments {
    /// Print one JSON object per device, one a line
    #[arg(long)]
    json: bool,
}

/// GPUs that are looked for.
const MOST_GPUS: usize = 16;

/// A device as `--device` names it.
#[derive(Serialize)]
struct DeviceEntry {
    device: String,
    /// The device kind: on one kind, the same configuration gives the same bits.
    kind: Option<String>,
    threads: Option<usize>,
    /// Instruction sets that `--cpu` can pin, the widest first.
    instructions: Vec<String>,
    /// Why it cannot be used, if it cannot.
    error: Option<String>,
}

/// Prints the devices that can be used here, and why others cannot.
///
/// # Errors
/// [`Failure::Unread`] if nobody reads it.
pub(crate) fn devices(arguments: &DevicesArguments) -> Result<(), Failure> {
    let listed: Vec<DeviceEntry> = std::iter::once(processor())
        .chain(gpus(DeviceRequest::Wgpu))
        .chain(gpus(DeviceRequest::Cuda))
        .collect();
    if arguments.json {
        return Ok(json_lines::print(&listed)?);
    }
    let columns = [
        Column::Text("device"),
        Column::Text("kind"),
        Column::Text(""),
    ];
    let mut table = Table::new(&columns);
    for device in listed {
        let kind = device.kind.unwrap_or_else(|| "-".to_owned());
        let threads = device.threads.map(|threads| {
            format!(
                "{threads} threads; --cpu {}",
                device.instructions.join(", ")
            )
        });
        table.row([
            device.device,
            kind,
            device.error.or(threads).unwrap_or_default(),
        ]);
    }
    Ok(table.print()?)
}

fn processor() -> DeviceEntry {
    let opened = Device::cpu();
    let cpu = opened.as_ref().ok();
    DeviceEntry {
        device: DeviceRequest::Cpu.to_string(),
        threads: cpu.and_then(Device::threads),
        kind: cpu.map(Device::kind),
        instructions: Instructions::available()
            .iter()
            .map(ToString::to_string)
            .collect(),
        error: opened.err().map(|error| error.to_string()),
    }
}

/// The GPUs of one kind; if there is none, the reason why.
fn gpus(request: fn(usize) -> DeviceRequest) -> Vec<DeviceEntry> {
    let mut listed: Vec<DeviceEntry> = (0..MOST_GPUS)
        .map(|index| gpu(request(index)))
        .take_while(|gpu| gpu.error.is_none())
        .collect();
    if listed.is_empty() {
        listed.push(gpu(request(0)));
    }
    listed
}

fn gpu(request: DeviceRequest) -> DeviceEntry {
    let opened = Device::open(request, None, None);
    DeviceEntry {
        device: request.to_string(),
        kind: opened.as_ref().ok().map(Device::kind),
        threads: None,
        instructions: Vec::new(),
        error: opened.err().map(|error| error.to_string()),
    }
}
