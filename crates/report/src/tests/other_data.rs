//! Claims about runs whose files of data were replaced between them.

use super::*;

#[test]
fn runs_on_other_data_than_the_first_are_named() {
    let folder = TempDir::new().unwrap();
    let runs = sweep(folder.path(), 10, 3);
    let write = |run: &PathBuf, train: &str| {
        let data = format!(
            r#"{{"data": {{"train": "{train}", "test": "b", "outline": "c", "partition": "d"}}}}"#
        );
        fs::write(run.join("environment.json"), data).unwrap();
    };
    let words = "On other data than the first run";
    assert!(
        !page(&runs, &folder).contains(words),
        "nothing is known of the data"
    );
    runs.iter().for_each(|run| write(run, "a"));
    assert!(!page(&runs, &folder).contains(words));
    write(&runs[1], "other");
    let page = page(&runs, &folder);
    let notice = page.split(words).nth(1).expect("a notice");
    let notice = notice.split("</li>").next().unwrap();
    assert_eq!(notice.matches("seed ").count(), 1, "{notice}");
    assert!(notice.contains("--again"), "{notice}");
}
