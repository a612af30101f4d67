//! The plotting library's script, packed for embedding.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use plotly::Plot;
use std::io::Write;
use std::sync::OnceLock;

/// The script of plotly.js, compressed with gzip and written in base64: 1.9 MB instead of 4.7 MB.
///
/// The page's script unpacks it in the browser, so no request is made for it. The library's licence notice is inside.
pub(super) fn packed() -> &'static str {
    static PACKED: OnceLock<String> = OnceLock::new();
    PACKED.get_or_init(|| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder
            .write_all(source().as_bytes())
            .expect("a Vec takes any bytes");
        STANDARD.encode(encoder.finish().expect("a Vec takes any bytes"))
    })
}

/// The first of the two scripts that the crate offers; the other one typesets formulas, which no plot here has.
fn source() -> String {
    let scripts = Plot::offline_js_sources();
    let start = scripts.find('>').map_or(0, |tag| tag + 1);
    let end = scripts.find("</script>").unwrap_or(scripts.len());
    scripts[start..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
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
        assert!(packed().len() < 2_000_000, "{}", packed().len());
    }
}
