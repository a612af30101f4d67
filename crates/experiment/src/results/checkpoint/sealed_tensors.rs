//! A safetensors file with a checksum, written and read in pieces so that no second copy of its stacks is held.
//!
//! It holds stacks, then a text as the tensor `state`, and last the tensor `sha256`: the SHA-256 of all bytes before it.

use std::io::{self, Read, Seek, Write};
use std::path::Path;

use meshfold_engine::Stack;
use safetensors::tensor::{Dtype, Metadata, TensorInfo};
use sha2::{Digest, Sha256};

use crate::files::tensor_file::{TensorFile, invalid};
use crate::rank_steps::{Step, announce};

/// The tensor that holds the text.
const STATE: &str = "state";

/// The tensor that holds the checksum.
const CHECKSUM: &str = "sha256";

/// Bytes of the checksum.
const CHECKSUM_BYTES: usize = 32;

/// Bytes that are read at once to compute the checksum.
const PIECE: usize = 1 << 20;

/// Writes `stacks` and `state` to `to`. It holds one block of a stack in memory at a time.
pub(super) fn write(
    to: &mut impl Write,
    stacks: &[(&str, &Stack)],
    state: &[u8],
) -> io::Result<()> {
    let mut to = Summing {
        to,
        sum: Sha256::new(),
    };
    let header = header(stacks, state.len())?;
    to.write_all(&(header.len() as u64).to_le_bytes())?;
    to.write_all(&header)?;
    let mut bytes = Vec::new();
    for (place, (_, stack)) in (0..).zip(stacks) {
        announce(stack.device(), Step::Stack(place));
        stack.each_block(|values| {
            bytes.resize(4 * values.len(), 0);
            for (place, value) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(values) {
                *place = value.to_le_bytes();
            }
            to.write_all(&bytes)
        })?;
    }
    to.write_all(state)?;
    let checksum = to.sum.finalize();
    to.to.write_all(&checksum)
}

/// The header in JSON: names, shapes and offsets. Its length is a multiple of 8, so that the floats after it are aligned.
fn header(stacks: &[(&str, &Stack)], state: usize) -> io::Result<Vec<u8>> {
    let stack = |(name, stack): &(&str, &Stack)| {
        let shape = vec![stack.rows(), stack.layout().width()];
        ((*name).to_owned(), Dtype::F32, shape)
    };
    let bytes = |name: &str, length| (name.to_owned(), Dtype::U8, vec![length]);
    let last = [bytes(STATE, state), bytes(CHECKSUM, CHECKSUM_BYTES)];
    let mut end = 0;
    let place = |(name, dtype, shape): (String, Dtype, Vec<usize>)| {
        let begin = end;
        end += shape.iter().product::<usize>() * dtype.bitsize() / 8;
        let info = TensorInfo {
            dtype,
            shape,
            data_offsets: (begin, end),
        };
        (name, info)
    };
    let tensors = stacks.iter().map(stack).chain(last).map(place).collect();
    let metadata = Metadata::new(None, tensors).map_err(io::Error::other)?;
    let mut header = serde_json::to_vec(&metadata)?;
    header.resize(header.len().next_multiple_of(8), b' ');
    Ok(header)
}

/// Passes on what is written, and computes the checksum of it.
struct Summing<W> {
    to: W,
    sum: Sha256,
}

impl<W: Write> Write for Summing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.to.write(bytes)?;
        self.sum.update(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// An open file whose checksum matches.
#[derive(Debug)]
pub(super) struct SealedTensors(TensorFile);

impl SealedTensors {
    /// Opens the file at `path` and verifies it. The stacks stay in the file.
    ///
    /// # Errors
    /// Those of [`TensorFile::open`]; [`io::ErrorKind::InvalidData`] if its bytes have changed.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Self(TensorFile::open(path)?).verify()
    }

    /// Compares the checksum, which must be the last tensor, with all bytes before it.
    fn verify(mut self) -> io::Result<Self> {
        let is_last = |info: &&TensorInfo| {
            info.shape == [CHECKSUM_BYTES]
                && info.dtype == Dtype::U8
                && info.data_offsets.1 == self.0.metadata.data_len()
        };
        if self.0.metadata.info(CHECKSUM).filter(is_last).is_none() {
            return Err(invalid("it has no checksum"));
        }
        self.0.file.rewind()?;
        let mut sum = Sha256::new();
        let mut piece = vec![0; PIECE];
        let mut left = self.0.length - CHECKSUM_BYTES as u64;
        while left > 0 {
            let count = left.min(PIECE as u64) as usize;
            self.0.file.read_exact(&mut piece[..count])?;
            sum.update(&piece[..count]);
            left -= count as u64;
        }
        let mut told = [0; CHECKSUM_BYTES];
        self.0.file.read_exact(&mut told)?;
        match sum.finalize()[..] == told {
            true => Ok(self),
            false => Err(invalid("its checksum does not match its content")),
        }
    }

    /// The name and the shape `[R, P_pad]` of each stack, in the order of the file.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`] if another tensor is not a stack.
    pub(super) fn stacks(&self) -> io::Result<Vec<(String, [usize; 2])>> {
        let names = self.0.metadata.offset_keys().into_iter();
        let names = names.filter(|name| name != STATE && name != CHECKSUM);
        let stack = |name: String| {
            let info = self.0.metadata.info(&name);
            match info.map(|info| (info.dtype, info.shape.as_slice())) {
                Some((Dtype::F32, &[rows, width])) => Ok((name, [rows, width])),
                _ => Err(invalid(&format!("`{name}` is not a stack of models"))),
            }
        };
        names.map(stack).collect()
    }

    /// The text.
    pub(super) fn state(&mut self) -> io::Result<Vec<u8>> {
        let info = self.find(STATE)?;
        let mut state = vec![0; info.data_offsets.1 - info.data_offsets.0];
        self.0.file.read_exact(&mut state)?;
        Ok(state)
    }

    /// Reads the stack `name` into `stack`, which has the same shape, a block at a time.
    pub(super) fn read(&mut self, name: &str, stack: &mut Stack) -> io::Result<()> {
        let info = self.find(name)?;
        if info.shape != [stack.rows(), stack.layout().width()] {
            return Err(invalid(&format!("`{name}` has another shape")));
        }
        let mut bytes = Vec::new();
        stack.fill_blocks(|values| {
            bytes.resize(4 * values.len(), 0);
            self.0.file.read_exact(&mut bytes)?;
            for (value, bytes) in values.iter_mut().zip(bytes.as_chunks::<4>().0) {
                *value = f32::from_le_bytes(*bytes);
            }
            Ok(())
        })
    }

    /// Moves to the tensor `name`.
    fn find(&mut self, name: &str) -> io::Result<TensorInfo> {
        let info = self.0.metadata.info(name).cloned();
        let info = info.ok_or_else(|| invalid(&format!("it has no tensor `{name}`")))?;
        self.0.seek(&info, 0)?;
        Ok(info)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::checkpoint::tests::stack;
    use std::fs;
    use std::path::PathBuf;
    use tempfile::TempDir;

    /// A file of two stacks, and the bytes in it.
    fn sealed() -> (TempDir, PathBuf, Vec<u8>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sealed");
        let (models, velocity) = (stack(&[1.0 / 3.0, -0.0]), stack(&[f32::NAN]));
        let mut bytes = Vec::new();
        let stacks = [("models", &models), ("velocity", &velocity)];
        write(&mut bytes, &stacks, b"what is said").unwrap();
        fs::write(&path, &bytes).unwrap();
        (folder, path, bytes)
    }

    #[test]
    fn stacks_and_text_read_back_bit_for_bit() {
        let (_folder, path, bytes) = sealed();
        let mut read = SealedTensors::open(&path).unwrap();
        let shapes = [("models", [2, 64]), ("velocity", [1, 64])];
        let shapes = shapes.map(|(name, shape)| (name.to_owned(), shape));
        assert_eq!(read.stacks().unwrap(), shapes);
        assert_eq!(read.state().unwrap(), b"what is said");
        let (mut models, mut velocity) = (stack(&[0.0, 0.0]), stack(&[0.0]));
        read.read("velocity", &mut velocity).unwrap();
        read.read("models", &mut models).unwrap();
        let bits = |stack: &Stack| stack.to_host().into_iter().map(f32::to_bits).collect();
        let (found, of_velocity): (Vec<u32>, Vec<u32>) = (bits(&models), bits(&velocity));
        assert_eq!(found, bits(&stack(&[1.0 / 3.0, -0.0])));
        assert_eq!(of_velocity, bits(&stack(&[f32::NAN])));
        let others = safetensors::SafeTensors::deserialize(&bytes).unwrap();
        assert_eq!(others.len(), 4, "other programs read the file as well");
        assert_eq!(others.tensor("models").unwrap().shape(), [2, 64]);
    }

    #[test]
    fn a_flipped_bit_is_found_wherever_it_is() {
        let (_folder, path, bytes) = sealed();
        for place in 0..bytes.len() {
            let mut torn = bytes.clone();
            torn[place] ^= 1 << (place % 8);
            fs::write(&path, torn).unwrap();
            let error = SealedTensors::open(&path).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "byte {place}");
        }
    }

    #[test]
    fn bytes_too_few_or_too_many_are_found() {
        let (_folder, path, bytes) = sealed();
        for length in 0..bytes.len() {
            fs::write(&path, &bytes[..length]).unwrap();
            let error = SealedTensors::open(&path).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{length} bytes");
        }
        fs::write(&path, [bytes.as_slice(), &[0]].concat()).unwrap();
        let refused = || SealedTensors::open(&path).unwrap_err().to_string();
        assert!(refused().contains("its length is not what its header says"));
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(refused().contains("it is not a regular file"));
    }

    #[test]
    fn a_stack_of_another_shape_is_not_read_into() {
        let (_folder, path, _) = sealed();
        let mut read = SealedTensors::open(&path).unwrap();
        let mut refused = |name| read.read(name, &mut stack(&[0.0])).unwrap_err().to_string();
        assert!(refused("models").contains("`models` has another shape"));
        assert!(refused("momentum").contains("it has no tensor `momentum`"));
    }
}
