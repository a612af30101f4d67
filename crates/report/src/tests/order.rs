//! Claims about the order of runs that are found in a folder.

use super::*;
use meshfold_experiment::results::sweep_order;

fn labels(page: &str) -> Vec<String> {
    let groups = data(page)["groups"].clone();
    let groups = groups.as_array().unwrap().iter();
    groups
        .map(|group| group["label"].as_str().unwrap().to_owned())
        .collect()
}

fn id(run: &Path) -> &str {
    run.file_name().unwrap().to_str().unwrap()
}

#[test]
fn runs_of_a_folder_come_in_the_order_of_their_sweep() {
    let folder = TempDir::new().unwrap();
    let runs = sweep(folder.path(), 10, 3);
    let above = runs[0].parent().unwrap();
    let ids: Vec<&str> = runs.iter().map(|run| id(run)).collect();
    assert!(
        !ids.is_sorted(),
        "the names of the folders have another order"
    );
    sweep_order::note(above, &ids).unwrap();
    let page = page(&[above.to_owned()], &folder);
    assert_eq!(labels(&page), ["ring", "3-regular", "complete"]);
    assert!(page.contains("seeds 1, 2, 3"));
}

#[test]
fn without_a_sweep_they_come_by_their_settings() {
    let folder = TempDir::new().unwrap();
    let rates = [1e-5, 0.002, 0.01, 0.1, 0.5, 2.0, 10.0];
    for learning_rate in rates {
        for seed in [2, 10, 1] {
            Fixture {
                clients: 10,
                rounds: 2,
                learning_rate,
                seed,
                ..Fixture::default()
            }
            .write(folder.path());
        }
    }
    let page = page(&[folder.path().join("quickstart")], &folder);
    let expected = rates.map(|rate| format!("learning_rate {rate}"));
    assert_eq!(labels(&page), expected);
    assert!(page.contains("seeds 1, 2, 10"));
}

#[test]
fn the_first_kinds_of_a_large_sweep_are_drawn() {
    let folder = TempDir::new().unwrap();
    let rates: Vec<f64> = (1..=crate::page::CHARTED + 5)
        .map(|rate| rate as f64 / 1000.0)
        .collect();
    let runs: Vec<PathBuf> = rates
        .iter()
        .rev()
        .map(|&learning_rate| {
            Fixture {
                clients: 4,
                rounds: 1,
                learning_rate,
                ..Fixture::default()
            }
            .write(folder.path())
        })
        .collect();
    let above = runs[0].parent().unwrap();
    let ids: Vec<&str> = runs.iter().map(|run| id(run)).collect();
    sweep_order::note(above, &ids).unwrap();
    let page = page(&[above.to_owned()], &folder);
    let drawn = rates.iter().rev().take(crate::page::CHARTED);
    let expected: Vec<String> = drawn.map(|rate| format!("learning_rate {rate}")).collect();
    assert_eq!(labels(&page), expected);
}
