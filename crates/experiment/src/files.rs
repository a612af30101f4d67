//! Files of any content: how they are read, written whole, and told apart.

pub(crate) mod guarded;
pub(crate) mod model_file;
pub mod sha256;
pub(crate) mod tensor_file;
pub mod text_file;
pub mod whole_file;
pub(crate) mod write_error;

pub use whole_file::write_atomically;
