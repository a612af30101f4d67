//! Claims about runs whose models are at no node.

use super::*;
use serde_json::json;

/// The page of a run of so many models.
fn page_of(rows: usize) -> String {
    let folder = TempDir::new().unwrap();
    let run = Fixture::default().write(folder.path());
    let path = run.join("summary.json");
    let mut summary: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    summary["rows"] = json!(rows);
    fs::write(&path, summary.to_string()).unwrap();
    page(&[run], &folder)
}

#[test]
fn nodes_have_the_colours_of_their_own_models_alone() {
    let words = "each node is coloured by its final test accuracy";
    assert!(page_of(Fixture::default().clients).contains(words));
    let page = page_of(5);
    assert!(page.contains("class=\"overlay\"") && !page.contains(words));
}
