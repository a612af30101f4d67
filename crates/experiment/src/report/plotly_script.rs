//! The plotting library's script, packed for embedding.

use base64::engine::general_purpose::STANDARD;
use base64::write::EncoderStringWriter;
use flate2::Compression;
use flate2::write::GzEncoder;
use plotly::Plot;
use std::io::Write;
use std::sync::OnceLock;

/// Bytes that the packed script has room in.
const ROOM: usize = 2_000_000;
/// The best takes twice the time for one per cent.
const LEVEL: Compression = Compression::new(5);

/// The script of plotly.js, compressed with gzip and written in base64: 1.9 MB instead of 4.7 MB.
///
/// The page's script unpacks it in the browser, so no request is made for it. The library's licence notice is inside.
pub(super) fn packed() -> &'static str {
    static PACKED: OnceLock<String> = OnceLock::new();
    PACKED.get_or_init(|| {
        let scripts = Plot::offline_js_sources();
        let text = EncoderStringWriter::from_consumer(String::with_capacity(ROOM), &STANDARD);
        let mut encoder = GzEncoder::new(text, LEVEL);
        encoder
            .write_all(first(&scripts).as_bytes())
            .expect("a String takes any text");
        encoder
            .finish()
            .expect("a String takes any text")
            .into_inner()
    })
}

/// The first of the two scripts that the crate offers; the other one typesets formulas, which no plot here has.
fn first(scripts: &str) -> &str {
    let start = scripts.find('>').map_or(0, |tag| tag + 1);
    let end = scripts.find("</script>").unwrap_or(scripts.len());
    &scripts[start..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine;
    use flate2::read::GzDecoder;
    use std::io::Read;

    #[test]
    fn unpacking_gives_the_whole_library() {
        let mut script = String::new();
        let bytes = STANDARD.decode(packed()).unwrap();
        GzDecoder::new(bytes.as_slice())
            .read_to_string(&mut script)
            .unwrap();
        assert!(script.len() > 3_000_000 && script.contains("plotly.js v"));
        assert!(!script.contains("MathJax-script") && !script.contains("</script>"));
        assert!(packed().len() < ROOM, "{}", packed().len());
    }
}
