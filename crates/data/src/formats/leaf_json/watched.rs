//! Json's bytes on their way to the parser, which holds a whole text or number at once.

use std::io::{self, BufReader, Read};

/// Counts the bytes that were taken, and fails where a text, a number or a space goes on for too long.
pub(super) struct Watched<R> {
    inner: BufReader<R>,
    bytes: u64,
    /// Bytes since the last that begins or ends something.
    run: usize,
    longest: usize,
    within: Within,
}

/// Where in the json a byte stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    Structure,
    Text,
    /// After a backslash.
    Escape,
}

impl<R: Read> Watched<R> {
    pub(super) fn new(content: R, longest: usize) -> Self {
        Self {
            inner: BufReader::with_capacity(1 << 16, content),
            bytes: 0,
            run: 0,
            longest,
            within: Within::Structure,
        }
    }

    /// Bytes that were taken.
    pub(super) fn taken(&self) -> u64 {
        self.bytes
    }

    fn see(&mut self, byte: u8) -> io::Result<()> {
        let (within, ends) = match (self.within, byte) {
            (Within::Escape, _) => (Within::Text, false),
            (Within::Text, b'\\') => (Within::Escape, false),
            (Within::Text, b'"') => (Within::Structure, true),
            (Within::Text, _) => (Within::Text, false),
            (Within::Structure, b'"') => (Within::Text, true),
            (Within::Structure, b'{' | b'}' | b'[' | b']' | b':' | b',') => {
                (Within::Structure, true)
            }
            (Within::Structure, _) => (Within::Structure, false),
        };
        self.run = if ends { 0 } else { self.run + 1 };
        self.within = within;
        self.check()
    }

    fn check(&self) -> io::Result<()> {
        if self.run <= self.longest {
            return Ok(());
        }
        let what = match self.within {
            Within::Structure => "a number or a space",
            Within::Text | Within::Escape => "a text",
        };
        let reason = format!("{what} of more than {} bytes", self.longest);
        Err(io::Error::new(io::ErrorKind::InvalidData, reason))
    }
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // The parser may go on after a failure to see what is left open.
        self.check()?;
        let count = self.inner.read(buffer)?;
        self.bytes += count as u64;
        for byte in &buffer[..count] {
            self.see(*byte)?;
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str, longest: usize) -> Result<u64, String> {
        let mut watched = Watched::new(json.as_bytes(), longest);
        let read = io::copy(&mut watched, &mut io::sink());
        read.map_err(|error| error.to_string())
    }

    #[test]
    fn what_goes_on_for_too_long_is_refused_and_its_kind_said() {
        let good = r#"{"ab\"c": [-12.5, 1234, "],{\\"],    "d": null}"#;
        assert_eq!(read(good, 6), Ok(good.len() as u64));
        let text = "a text of more than 5 bytes";
        let other = "a number or a space of more than 5 bytes";
        for (json, reason) in [
            (r#"["abcdef"]"#, text),
            (r#"["[[,,]]"#, text),
            (r#"["\\\"\"\"#, text),
            ("[123456]", other),
            ("{      ", other),
        ] {
            assert_eq!(read(json, 5), Err(reason.to_owned()), "{json}");
        }
    }
}
