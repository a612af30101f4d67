//! Buffers on the device.

use super::failures::answer;
use burn::tensor::{DType, Shape, Tensor};
use burn_cubecl::{CubeBackend, CubeDevice, tensor::CubeTensor};
use burn_std::Bytes;
use cubecl::client::Client;
use cubecl::prelude::CubeElement;

/// Where buffers are made.
#[derive(Debug, Clone)]
pub(crate) struct Memory {
    device: CubeDevice,
}

impl Memory {
    pub(crate) fn new(device: CubeDevice) -> Self {
        Self { device }
    }

    /// The memory that `tensor` lies in.
    pub(crate) fn of(tensor: &CubeTensor) -> Self {
        Self::new(tensor.device.clone())
    }

    /// Most bytes that a kernel can see of one buffer.
    pub(crate) fn largest_buffer(&self) -> u64 {
        self.client().properties().memory.max_page_size
    }

    /// Bytes of the whole memory, if the driver says.
    pub(crate) fn capacity(&self) -> Option<u64> {
        self.client().properties().memory.max_memory()
    }

    /// The device whose memory it is.
    pub(crate) fn device(&self) -> &CubeDevice {
        &self.device
    }

    #[cfg(feature = "cuda")]
    pub(crate) fn device_name(&self) -> String {
        self.client().properties().identity.name.clone()
    }

    pub(crate) fn client(&self) -> Client {
        self.device.client()
    }

    fn wrap(
        &self,
        client: Client,
        handle: cubecl::server::Handle,
        shape: &[usize],
        dtype: DType,
    ) -> CubeTensor {
        CubeTensor::new_contiguous(
            client,
            self.device.clone(),
            Shape::from(shape.to_vec()),
            handle,
            dtype,
        )
    }

    /// Uninitialised floats; at least one vector, as kernels refuse smaller buffers.
    pub(crate) fn floats(&self, shape: &[usize]) -> CubeTensor {
        let client = self.client();
        let handle = client.empty(size_of::<f32>() * shape.iter().product::<usize>().max(4));
        self.wrap(client, handle, shape, DType::F32)
    }

    /// Uninitialised words.
    pub(crate) fn words(&self, shape: &[usize]) -> CubeTensor {
        let client = self.client();
        let handle = client.empty(size_of::<u32>() * shape.iter().product::<usize>().max(1));
        self.wrap(client, handle, shape, DType::U32)
    }

    /// Floats that are zero.
    pub(crate) fn zeros(&self, rows: usize, width: usize) -> CubeTensor {
        burn_cubecl::ops::numeric::zeros(
            self.device.clone(),
            Shape::from(vec![rows, width]),
            DType::F32,
        )
    }

    /// Copies floats to the device. An empty slice becomes one zero: kernels refuse empty buffers.
    pub(crate) fn upload_floats(&self, values: &[f32]) -> CubeTensor {
        self.upload(if values.is_empty() { &[0.0] } else { values }, DType::F32)
    }

    /// Copies the rows of a stack to the device, `[R, width]`. Without rows the buffer is uninitialised.
    pub(crate) fn upload_stack(&self, values: &[f32], width: usize) -> CubeTensor {
        let rows = values.len() / width.max(1);
        if rows == 0 {
            return self.floats(&[0, width]);
        }
        let client = self.client();
        let handle = client.create_from_slice(f32::as_bytes(values));
        self.wrap(client, handle, &[rows, width], DType::F32)
    }

    /// Copies words to the device. An empty slice becomes one zero.
    pub(crate) fn upload_words(&self, values: &[u32]) -> CubeTensor {
        self.upload(if values.is_empty() { &[0] } else { values }, DType::U32)
    }

    /// Copies words to the device from `bytes`, little-endian: a whole number of words, at least one.
    pub(crate) fn upload_bytes(&self, bytes: &[u8]) -> CubeTensor {
        let client = self.client();
        let handle = client.create_from_slice(bytes);
        self.wrap(
            client,
            handle,
            &[bytes.len() / size_of::<u32>()],
            DType::U32,
        )
    }

    /// Copies arrays of four-byte numbers, each with its type, to the device in one go, because every copy first
    /// submits all earlier launches. They share one buffer, and must only be read. An empty array becomes one zero.
    pub(crate) fn upload_together(&self, arrays: &[(&[u8], DType)]) -> Vec<CubeTensor> {
        let client = self.client();
        let align = client.properties().memory.alignment.max(16) as usize;
        let room = |array: &[u8]| array.len().max(size_of::<u32>()).next_multiple_of(align);
        let total = arrays.iter().map(|(array, _)| room(array)).sum();
        let mut bytes = Vec::with_capacity(total);
        for (array, _) in arrays {
            let end = bytes.len() + room(array);
            bytes.extend_from_slice(array);
            bytes.resize(end, 0);
        }
        let all = client.create(Bytes::from_bytes_vec(bytes));
        let mut first = 0;
        let place = |(array, dtype): &(&[u8], DType)| {
            let used = array.len().max(size_of::<u32>());
            let after = total - first - used;
            let handle = all.clone().offset_start(first as u64);
            first += room(array);
            let shape = [used / size_of::<u32>()];
            self.wrap(
                client.clone(),
                handle.offset_end(after as u64),
                &shape,
                *dtype,
            )
        };
        arrays.iter().map(place).collect()
    }

    fn upload<E: CubeElement>(&self, values: &[E], dtype: DType) -> CubeTensor {
        let client = self.client();
        let bytes = E::as_bytes(values).to_vec();
        let handle = client.create(Bytes::from_bytes_vec(bytes));
        self.wrap(client, handle, &[values.len()], dtype)
    }
}

/// The device's own tensor behind one of burn's.
pub(crate) fn cube<const D: usize>(tensor: Tensor<D>) -> CubeTensor {
    let cube = tensor
        .try_into_primitive::<CubeBackend>()
        .expect("a stack of a GPU is a tensor of CubeCL");
    burn_cubecl::kernel::into_contiguous(cube)
}

/// As [`cube`], to be written to: no other tensor shares its memory.
pub(crate) fn cube_mut(tensor: Tensor<2>) -> CubeTensor {
    let cube = cube(tensor);
    if cube.can_mut() { cube } else { cube.copy() }
}

/// One of burn's tensors over the device's own.
pub(crate) fn tensor<const D: usize>(cube: CubeTensor) -> Tensor<D> {
    Tensor::from_primitive::<CubeBackend>(cube)
}

/// The same numbers without gaps between them.
pub(crate) fn contiguous<const D: usize>(view: Tensor<D>) -> Tensor<D> {
    tensor(cube(view))
}

/// Reads values back, row-major. Waits for the device.
///
/// # Panics
/// If the device has failed, outside [`attempt`](super::failures::attempt).
pub(crate) fn download<E: CubeElement>(tensor: CubeTensor) -> Vec<E> {
    let count = tensor.meta.num_elements();
    let (client, handle) = (&tensor.client, tensor.handle.clone());
    let bytes = answer(&tensor.device, || client.read_async(vec![handle]));
    E::from_bytes(&bytes[0])[..count].to_vec()
}

/// Reads a tensor back, row-major. Waits for the device.
pub(crate) fn read(tensor: Tensor<2>) -> Vec<f32> {
    download(cube(tensor))
}

/// A copy with memory of its own.
pub(crate) fn copy(source: Tensor<2>) -> Tensor<2> {
    tensor(cube(source).copy())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stacked::device::test_device::{gpu, stacked};

    #[test]
    #[ignore = "needs a GPU or software Vulkan"]
    fn values_come_back_as_they_went() {
        let gpu = gpu();
        let floats = [1.5, -2.0, f32::MAX];
        assert_eq!(download::<f32>(gpu.memory().upload_floats(&floats)), floats);
        assert_eq!(
            download::<u32>(gpu.memory().upload_words(&[7, u32::MAX])),
            [7, u32::MAX]
        );
        let bytes = gpu.memory().upload_bytes(&[1, 2, 0, 0, 0, 0, 0, 128]);
        assert_eq!(download::<u32>(bytes), [513, 1 << 31]);
        let words: Vec<u32> = (0..99).collect();
        let together = gpu.memory().upload_together(&[
            (u32::as_bytes(&words), DType::U32),
            (&[], DType::U32),
            (f32::as_bytes(&floats), DType::F32),
        ]);
        let [first, empty, last] = together.try_into().unwrap();
        assert_eq!(download::<u32>(first), words);
        assert_eq!(download::<u32>(empty), [0]);
        assert_eq!(download::<f32>(last), floats);
    }

    #[test]
    #[ignore = "needs a GPU or software Vulkan"]
    fn a_copy_is_not_changed_with_its_source() {
        let gpu = gpu();
        let source = stacked(&gpu, &[1.0, 2.0], 1);
        let shared = copy(source.clone());
        let doubled = crate::stacked::stack_ops::scaled::scale_rows(source.clone(), &[2.0]);
        assert_eq!(
            (read(shared), read(source), read(doubled)),
            (vec![1.0, 2.0], vec![1.0, 2.0], vec![2.0, 4.0])
        );
    }
}
