//! Claims about what a page has for readers of many runs.

use super::*;

/// Two overlays under two learning rates.
pub(super) fn grid(folder: &TempDir) -> String {
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
        let button = format!(
            "data-groups=\"{groups}\" aria-pressed=\"true\"><i class=\"key\" aria-hidden=\"true\"></i>{text}</button>"
        );
        assert!(page.contains(&button), "{button}");
    }
    for id in ["show-all", "show-none", "solo", "filter"] {
        assert!(page.contains(&format!("id=\"{id}\"")), "{id}");
    }
}

/// More kinds of runs than the page has curves for: two overlays under fifty learning rates, and another overlay.
pub(super) fn crowd(folder: &TempDir) -> String {
    let run = |topology, place: u32| {
        Fixture {
            clients: 6,
            rounds: 2,
            topology,
            learning_rate: 0.001 * f64::from(place),
            ..Fixture::default()
        }
        .write(folder.path())
    };
    let overlays = [Fixture::default().topology, COMPLETE].into_iter();
    let mut runs: Vec<PathBuf> = overlays
        .flat_map(|topology| (1..=50).map(move |place| (topology, place)))
        .map(|(topology, place)| run(topology, place))
        .collect();
    runs.push(run("{ring: {hops: 2}}", 7));
    page(&runs, folder)
}

#[test]
fn switches_are_of_the_runs_that_have_curves() {
    let folder = TempDir::new().unwrap();
    let page = crowd(&folder);
    assert!(page.contains("The plots show the first 100 of 101 kinds of runs; the table has all."));
    let groups = page.split("data-groups=\"").skip(1);
    let of_buttons: Vec<&str> = groups.map(|rest| rest.split_once('"').unwrap().0).collect();
    let indices = of_buttons.iter().flat_map(|groups| groups.split(' '));
    assert_eq!(
        indices.map(|index| index.parse::<usize>().unwrap()).max(),
        Some(99)
    );
    assert!(
        of_buttons.contains(&"6 56"),
        "the seventh rate: {of_buttons:?}"
    );
    // A value that no curve has keeps its place, by which the others have their colours.
    let disabled =
        "<button type=\"button\" class=\"value chip\" disabled title=\"no curve has this value\">";
    assert_eq!(page.matches(disabled).count(), 1);
}

#[test]
fn an_overlay_that_runs_share_is_drawn_once_with_their_names() {
    let folder = TempDir::new().unwrap();
    let page = grid(&folder);
    assert_eq!(page.matches("<svg class=\"overlay\"").count(), 2);
    let cards = page.split("<section id=\"overlays\">").nth(1).unwrap();
    let ring = cards.split("</article>").next().unwrap();
    for label in ["ring · learning_rate 0.01", "ring · learning_rate 0.1"] {
        assert!(ring.contains(&format!("</i>{label} <small>")), "{label}");
    }
}

#[test]
fn two_settings_have_a_map_of_their_mean_accuracies() {
    let folder = TempDir::new().unwrap();
    let page = grid(&folder);
    let data = data(&page);
    let map = &data["charts"]["heat"]["data"][0];
    assert_eq!(map["x"], serde_json::json!(["ring", "complete"]));
    let accuracies: Vec<f64> = data["accuracies"]
        .as_array()
        .unwrap()
        .iter()
        .map(|mean| mean.as_f64().unwrap())
        .collect();
    // Groups are ring 0.01, ring 0.1, complete 0.01, complete 0.1.
    assert!((map["z"][1][0].as_f64().unwrap() - accuracies[1]).abs() < 1e-4);
    assert_eq!(data["factors"][1]["of"], serde_json::json!([0, 1, 0, 1]));
}

#[test]
fn two_seeds_say_how_sure_a_difference_is() {
    let folder = TempDir::new().unwrap();
    let several = page(&sweep(folder.path(), 10, 3), &folder);
    assert!(
        headline(&several).contains("by 3 seeds the difference is "),
        "{}",
        headline(&several)
    );
    let bands = &data(&several)["bands"]["accuracy"][0];
    for band in ["interval", "quantiles", "range"] {
        assert!(bands[band]["low"].is_array(), "{band}");
    }
    assert!(several.contains("<option value=\"interval\" selected>"));
    let folder = TempDir::new().unwrap();
    let one = page(&sweep(folder.path(), 10, 1), &folder);
    assert!(!one.contains("<option value=\"interval\""));
}

#[test]
fn figures_of_several_seeds_are_of_all_of_them_or_name_the_seed() {
    let folder = TempDir::new().unwrap();
    let fixture = |seed| {
        Fixture {
            clients: 20,
            rounds: 2,
            topology: "{erdos_renyi: {p: 0.4}}",
            seed,
            ..Fixture::default()
        }
        .write(folder.path())
    };
    let several = page(&[fixture(1), fixture(2)], &folder);
    let table = several.split("<section id=\"table\">").nth(1).unwrap();
    let cells = table
        .split("</tbody>")
        .next()
        .unwrap()
        .split("<td ")
        .skip(1);
    let ranges: Vec<&str> = cells.filter(|cell| cell.contains(" to ")).collect();
    assert_eq!(ranges.len(), 2, "λ and the degree: {ranges:?}");
    assert!(several.contains("They are the clients of seed 1."));
    assert_eq!(data(&several)["clients"]["runs"][0]["seed"], ", seed 1");
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
