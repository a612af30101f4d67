//! Errors of writes in the system's own words, and the limit for the size of files, `ulimit -f`, where it is the reason.

use std::error::Error;
use std::io::{self, ErrorKind};

/// What the system said, without what libraries wrap around it, such as the name of a temporary file. If a file would have
/// grown beyond the limit for its size, the error names that limit.
///
/// The system ends a program that meets this limit, unless the program catches the signal `SIGXFSZ`. Then the write fails.
pub fn plain_write_error(error: io::Error) -> io::Error {
    let innermost = innermost(&error);
    if innermost.kind() == ErrorKind::FileTooLarge {
        return io::Error::new(ErrorKind::FileTooLarge, too_large());
    }
    match innermost.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => error,
    }
}

/// The last error of the system in the chain that `error` begins.
fn innermost(error: &io::Error) -> &io::Error {
    let mut found = error;
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = cause {
        let system = error.downcast_ref::<io::Error>();
        found = system.unwrap_or(found);
        // The source of an error of the system is that of the error inside, which would be left out.
        cause = match system.and_then(io::Error::get_ref) {
            Some(inside) => Some(inside),
            None => error.source(),
        };
    }
    found
}

fn too_large() -> String {
    let limit = limit().map_or_else(
        || "the limit for the size of a file is reached".to_owned(),
        |bytes| format!("a file may have at most {bytes} bytes here"),
    );
    format!("{limit} (`ulimit -f`); raise the limit, then give the same command again")
}

/// The most bytes that a file of this process may have, if there is a limit and the system tells.
fn limit() -> Option<u64> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max file size"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::errors::ParquetError;
    use safetensors::SafeTensorError;

    /// An error as libraries pass it on.
    fn wrapped(inside: impl Fn() -> io::Error) -> [io::Error; 4] {
        [
            inside(),
            io::Error::other(ParquetError::from(inside())),
            io::Error::other(SafeTensorError::IoError(inside())),
            io::Error::other(io::Error::other(inside())),
        ]
    }

    #[test]
    fn the_limit_is_named_however_the_error_is_wrapped() {
        for error in wrapped(|| ErrorKind::FileTooLarge.into()) {
            let plain = plain_write_error(error);
            assert_eq!(plain.kind(), ErrorKind::FileTooLarge);
            assert!(plain.to_string().contains("`ulimit -f`"), "{plain}");
        }
    }

    #[test]
    fn an_error_of_the_system_is_told_without_its_wrapping() {
        // ENOENT, which every system has.
        let system = || io::Error::from_raw_os_error(2);
        for error in wrapped(system) {
            assert_eq!(plain_write_error(error).to_string(), system().to_string());
        }
        let other = io::Error::other(ParquetError::General("no table".to_owned()));
        let text = other.to_string();
        assert_eq!(plain_write_error(other).to_string(), text);
    }
}
