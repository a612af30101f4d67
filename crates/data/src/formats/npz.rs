//! Arrays in the archives that NumPy saves: each is an entry of a zip archive, `NAME.npy`.

use std::io::BufReader;
use std::path::Path;

use crate::DataError;
use crate::files::excerpt::excerpt;
use crate::files::fault::Fault;
use crate::files::regular;
use crate::formats::npy::Array;
use crate::formats::zip_member::{self, Member};

/// Bytes of one unpacked array.
const MOST_BYTES: u64 = 1 << 36;

/// What `read` makes of the array `name` in the file at `path` of `dataset`.
///
/// # Errors
/// A [`DataError`] that names the dataset and the place, of `read` as well; [`DataError::Io`] if the file cannot be read.
pub(crate) fn in_array<T>(
    dataset: &'static str,
    path: &Path,
    name: &str,
    read: impl FnOnce(Array<Member<'_>>) -> Result<T, Fault>,
) -> Result<T, DataError> {
    let entry = format!("{name}.npy");
    let file = regular::open(path).map_err(DataError::io("read", path))?;
    let mut file = BufReader::new(file);
    let member = zip_member::open(&mut file, &entry, MOST_BYTES);
    let member = member.map_err(|fault| fault.of(dataset, path))?;
    let size = member.size();
    let made = Array::begin(member, size).and_then(read);
    made.map_err(|fault| fault.of(dataset, path.join(format!("{}.npy", excerpt(name)))))
}
