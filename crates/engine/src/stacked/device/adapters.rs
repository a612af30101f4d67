//! The GPUs of a machine, and which of them a rank takes.

use crate::device::request::DeviceRequest;
use burn_wgpu::WgpuDevice;
use cubecl::device::WgpuDeviceKind;

/// The adapters that wgpu finds, real GPUs first and software last.
pub(super) fn adapters() -> Vec<WgpuDevice> {
    let wgpu_of = |device| match device {
        cubecl::Device::Wgpu(adapter) => Some(adapter),
        _ => None,
    };
    let all = cubecl::Device::enumerate_all().into_iter();
    let mut adapters: Vec<WgpuDevice> = all.filter_map(wgpu_of).collect();
    adapters.sort_by_key(order);
    adapters
}

/// The position of the adapter's type in the order of [`adapters`].
fn order(adapter: &WgpuDevice) -> u8 {
    match adapter.kind {
        WgpuDeviceKind::DiscreteGpu(_) => 0,
        WgpuDeviceKind::IntegratedGpu(_) => 1,
        WgpuDeviceKind::VirtualGpu(_) => 2,
        WgpuDeviceKind::Cpu => 4,
        _ => 3,
    }
}

/// The GPU for rank `place` of this machine. Ranks take the GPUs of the same type as that of `request`, such as
/// discrete ones, in turn from that one on, and start over after the last.
pub(crate) fn in_turn(request: DeviceRequest, place: usize) -> DeviceRequest {
    match request {
        DeviceRequest::Wgpu(first) => {
            let types: Vec<u8> = adapters().iter().map(order).collect();
            DeviceRequest::Wgpu(turn(&types, first, place))
        }
        DeviceRequest::Cuda(first) => {
            let all = cubecl::Device::enumerate_all();
            let is_cuda = |device: &&cubecl::Device| matches!(device, cubecl::Device::Cuda(_));
            let types = vec![0; all.iter().filter(is_cuda).count()];
            DeviceRequest::Cuda(turn(&types, first, place))
        }
        DeviceRequest::Cpu | DeviceRequest::Auto => request,
    }
}

/// The index `place` places after `first` among adapters of the same type, in a cycle; `first` if it does not exist.
fn turn(types: &[u8], first: usize, place: usize) -> usize {
    let alike = |index: &usize| Some(&types[*index]) == types.get(first);
    let alike: Vec<usize> = (0..types.len()).filter(alike).collect();
    let begin = alike.iter().position(|index| *index == first);
    begin.map_or(first, |begin| alike[(begin + place) % alike.len()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpus_of_a_type_are_taken_in_turn() {
        // Three discrete GPUs, an integrated one, and software.
        let types = [0, 0, 0, 1, 4];
        let taken = |first| {
            (0..5)
                .map(|place| turn(&types, first, place))
                .collect::<Vec<_>>()
        };
        assert_eq!(taken(0), [0, 1, 2, 0, 1]);
        assert_eq!(taken(2), [2, 0, 1, 2, 0]);
        assert_eq!((taken(3), taken(4)), (vec![3; 5], vec![4; 5]));
        // One that is not there, which opening it says.
        assert_eq!(taken(7), [7; 5]);
    }
}
