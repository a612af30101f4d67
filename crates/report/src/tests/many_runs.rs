//! Claims about what a page has for readers of many runs.

use super::*;

/// Two overlays under two learning rates.
fn grid(folder: &TempDir) -> String {
    let overlays = [Fixture::default().topology, COMPLETE];
    let run = |topology, learning_rate| {
        Fixture {
            clients: 10,
            rounds: 3,
            topology,
            learning_rate,
            ..Fixture::default()
        }
        .write(folder.path())
    };
    let runs: Vec<PathBuf> = overlays
        .into_iter()
        .flat_map(|topology| [run(topology, 0.01), run(topology, 0.1)])
        .collect();
    page(&runs, folder)
}

#[test]
fn every_value_of_a_setting_has_a_switch() {
    let folder = TempDir::new().unwrap();
    let page = grid(&folder);
    for (groups, text) in [
        ("0 1", "ring"),
        ("2 3", "complete"),
        ("0 2", "learning_rate 0.01"),
        ("1 3", "learning_rate 0.1"),
    ] {
        let button = format!("data-groups=\"{groups}\" aria-pressed=\"true\">{text}</button>");
        assert!(page.contains(&button), "{button}");
    }
    for id in ["show-all", "show-none", "solo", "filter"] {
        assert!(page.contains(&format!("id=\"{id}\"")), "{id}");
    }
}

#[test]
fn one_setting_that_varies_needs_no_switches_beside_those_of_the_runs() {
    let folder = TempDir::new().unwrap();
    let page = page(&sweep(folder.path(), 10, 1), &folder);
    assert!(!page.contains("class=\"value chip\""));
}

#[test]
fn the_table_is_sorted_by_figures_not_by_their_words() {
    let folder = TempDir::new().unwrap();
    let page = grid(&folder);
    let table = page.split("<section id=\"table\">").nth(1).unwrap();
    let traffic = table
        .split("<td data-sort=\"")
        .skip(1)
        .map(|cell| cell.split_once("\">").unwrap())
        .find(|(_, text)| text.contains("MB"));
    let (bytes, text) = traffic.expect("a cell of bytes");
    assert!(bytes.parse::<f64>().unwrap() > 1e6, "{bytes} {text}");
}

#[test]
fn every_plot_can_be_saved() {
    let folder = TempDir::new().unwrap();
    let page = grid(&folder);
    for id in data(&page)["charts"].as_object().unwrap().keys() {
        assert!(page.contains(&format!("data-chart=\"{id}\"")), "{id}");
    }
}

#[test]
fn symbols_have_a_sentence_and_a_gap_near_one_is_printed() {
    let folder = TempDir::new().unwrap();
    let run = Fixture {
        clients: 100,
        rounds: 3,
        ..Fixture::default()
    }
    .write(folder.path());
    let page = page(&[run], &folder);
    let glossary = page.split("class=\"glossary\"").nth(1).unwrap();
    for symbol in ["λ", "1 − λ", "κ", "p", "θ*", "C_λ", "disagreement"] {
        assert!(
            glossary.contains(&format!("<dt>{symbol}</dt><dd>")),
            "{symbol}"
        );
    }
    // A ring of 100 with weights of a third: 2/3 (1 - cos(2π/100)) = 0.00132.
    let card = page.split("<section id=\"overlays\">").nth(1).unwrap();
    assert!(
        card.contains("<dt>1 − λ</dt> <dd>0.001</dd>")
            || card.contains("<dt>1 − λ</dt><dd>0.001</dd>")
    );
}
