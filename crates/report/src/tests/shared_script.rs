//! Claims about the pages of single runs, which may share the plotting library.

use super::*;
use crate::document::plotly_script;

fn run(folder: &TempDir, seed: u64) -> PathBuf {
    Fixture {
        clients: 10,
        rounds: 3,
        seed,
        ..Fixture::default()
    }
    .write(folder.path())
}

fn written(run: &Path) -> String {
    fs::read_to_string(run.join(PAGE)).unwrap()
}

/// The scripts that lie in the folder above a run.
fn scripts(run: &Path) -> Vec<String> {
    let names = fs::read_dir(run.parent().unwrap()).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.ends_with(".js")).collect()
}

#[test]
fn a_run_alone_has_a_page_that_is_complete_in_itself() {
    let folder = TempDir::new().unwrap();
    let run = run(&folder, 1);
    write_run_report(&run, false).unwrap();
    assert!(written(&run).contains("id=\"plotly-packed\""));
    assert!(written(&run).contains("This page is complete in itself"));
    assert!(scripts(&run).is_empty());
}

#[test]
fn runs_of_a_sweep_share_one_script() {
    let folder = TempDir::new().unwrap();
    let runs = [1, 2, 3].map(|seed| run(&folder, seed));
    for run in &runs {
        write_run_report(run, true).unwrap();
    }
    let scripts = scripts(&runs[0]);
    let [script] = scripts.as_slice() else {
        panic!("{scripts:?}")
    };
    let content = fs::read_to_string(runs[0].parent().unwrap().join(script)).unwrap();
    assert!(content.contains(&format!(
        "window.plotlyPacked = \"{}\"",
        plotly_script::packed()
    )));
    for run in &runs {
        let page = written(run);
        assert!(page.len() < 100_000, "{}", page.len());
        assert!(page.contains(&format!("src=\"../{script}\"")));
        assert!(page.contains("script-src 'unsafe-inline' 'self' file:\""));
        assert!(page.contains("meshfold report</code> writes a page that is complete"));
        assert_eq!(page.matches("src=\"").count(), 1);
        for address in ["http:", "https:", "href=", "url(", "fetch("] {
            assert!(!page.contains(address), "{address}");
        }
    }
}

#[test]
fn a_run_beside_others_shares_as_well() {
    let folder = TempDir::new().unwrap();
    let first = run(&folder, 1);
    write_run_report(&first, false).unwrap();
    let second = run(&folder, 2);
    write_run_report(&second, false).unwrap();
    assert!(written(&first).contains("id=\"plotly-packed\""));
    assert!(written(&second).contains("src=\"../plotly-"));
}

#[test]
fn a_whole_page_is_kept_and_one_that_is_cut_off_is_written_anew() {
    let folder = TempDir::new().unwrap();
    let run = run(&folder, 1);
    write_run_report(&run, true).unwrap();
    let whole = written(&run);
    let kept = "<p>somebody's own</p></html>\n";
    fs::write(run.join(PAGE), kept).unwrap();
    write_run_report(&run, true).unwrap();
    assert_eq!(written(&run), kept);
    for end in [0, 5, whole.len() / 2] {
        fs::write(run.join(PAGE), &whole[..end]).unwrap();
        write_run_report(&run, true).unwrap();
        assert_eq!(written(&run), whole);
    }
}
