//! The plotting library's script, packed: inside a page, or in a file that the pages of a sweep share.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::OnceLock;

use meshfold_experiment::files::sha256::sha256;
use meshfold_experiment::files::whole_file::write_atomically;

/// Where a page finds the script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Script {
    /// In the page, which is then complete in itself.
    Inside,
    /// In a file of this name in the folder above that of the page.
    Above(String),
}

impl Script {
    /// Puts the script into `folder`, for pages in the folders below it. The name of the file has a digest of what it holds,
    /// so that pages of other versions keep theirs.
    ///
    /// # Errors
    /// What the system says if the file cannot be written.
    pub(crate) fn shared(folder: &Path) -> io::Result<Self> {
        static NAME: OnceLock<String> = OnceLock::new();
        let name = NAME.get_or_init(|| {
            let digest = &sha256(packed().as_bytes())[..12];
            format!("{}{digest}{}", SHARED.start, SHARED.end)
        });
        let content = [BEFORE, packed(), AFTER];
        let length: usize = content.iter().map(|part| part.len()).sum();
        let path = folder.join(name);
        if !fs::metadata(&path).is_ok_and(|found| found.is_file() && found.len() == length as u64) {
            write_atomically(&path, content.concat().as_bytes())?;
        }
        Ok(Self::Above(name.clone()))
    }
}

/// How the name of a shared script starts and ends, whatever version wrote it.
const SHARED: std::ops::Range<&str> = "plotly-"..".js";

/// Removes the scripts that pages of runs below `folder` shared, once there are no such pages.
///
/// # Errors
/// What the system says if the folder cannot be read or a script cannot be removed.
pub fn remove_shared_scripts(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(SHARED.start) && name.ends_with(SHARED.end) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// What stands before and after the packed script in the file.
const BEFORE: &str = "// plotly.js (MIT licence), packed, for the pages of the runs below this folder.\nwindow.plotlyPacked = \"";
const AFTER: &str = "\";\n";

/// The bundle of plotly.js for plane charts, compressed with gzip. Its licence notice is inside.
const COMPRESSED: &[u8] = include_bytes!("../../assets/plotly-cartesian-3.0.1.min.js.gz");

/// The script of plotly.js, compressed with gzip and written in base64: 0.6 MB instead of 1.3 MB.
///
/// The page's script unpacks it in the browser, so no request is made for it.
pub(crate) fn packed() -> &'static str {
    static PACKED: OnceLock<String> = OnceLock::new();
    PACKED.get_or_init(|| STANDARD.encode(COMPRESSED))
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
        assert_eq!(
            sha256(script.as_bytes()),
            "27c5203ecba052de6447603696f39558f5d1961839ba7ab153639f66d3d0d569"
        );
        assert!(script.contains("plotly.js (cartesian - minified) v3.0.1"));
        assert!(!script.contains("</script>"));
    }

    #[test]
    fn a_shared_script_is_written_once_and_mended_if_it_is_cut_off() {
        let folder = tempfile::tempdir().unwrap();
        let Script::Above(name) = Script::shared(folder.path()).unwrap() else {
            panic!("it is no part of a page")
        };
        let path = folder.path().join(&name);
        let whole = fs::read(&path).unwrap();
        let written = || fs::metadata(&path).unwrap().modified().unwrap();
        let before = written();
        Script::shared(folder.path()).unwrap();
        assert_eq!(written(), before);
        fs::write(&path, &whole[..1000]).unwrap();
        Script::shared(folder.path()).unwrap();
        assert_eq!(fs::read(&path).unwrap(), whole);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
