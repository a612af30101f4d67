//! Tables and figures that take the best values of settings.

use serde_json::Value;

use crate::table;

#[test]
fn curves_and_bars_take_the_best_value_of_a_setting() {
    let (sandbox, _) = table::finished();
    let line = "table runs/tiny --by topology --best learning_rate --format json";
    let rows = sandbox.says(line).ended_with(0).json();
    for kind in ["", " --bars"] {
        let drawn = |options: &str| {
            let line = format!("figure runs/tiny --by topology{kind} {options} -o best.svg");
            let said = sandbox.says(&line).ended_with(0);
            (sandbox.read("best.svg"), said.err)
        };
        let (_, said) = drawn("--best learning_rate");
        assert!(said.contains("chosen by test accuracy"), "{said}");
        for row in &rows {
            let (overlay, rate) = (row["topology"].as_str().unwrap(), &row["learning_rate"]);
            assert!(said.contains(&format!("{rate} ({overlay})")), "{said}");
            let only = format!("--only topology={overlay}");
            let (best, _) = drawn(&format!("{only} --best learning_rate"));
            let (chosen, _) = drawn(&format!("{only} --only learning_rate={rate}"));
            assert!(best == chosen, "{overlay}");
        }
    }
    let on = "figure runs/tiny --by topology --best learning_rate --on test_loss -o loss.svg";
    let said = sandbox.says(on).ended_with(0);
    assert!(
        said.err.contains("best mean of test_loss over seed"),
        "{}",
        said.err
    );
}

#[test]
fn of_several_settings_tables_and_figures_take_the_best_combination() {
    let (sandbox, _) = table::finished();
    let rows = |options: &str| {
        let line = format!("table runs/tiny {options} --format json");
        sandbox.says(&line).ended_with(0).json()
    };
    let all = rows("--by topology,learning_rate");
    let mean = |row: &Value| row["mean"].as_f64().unwrap();
    let first = all
        .iter()
        .fold(&all[0], |best, row| match mean(row) > mean(best) {
            true => row,
            false => best,
        });
    let best = rows("--best topology,learning_rate");
    assert_eq!((best.len(), &best[0]), (1, first));
    let overlay = first["topology"].as_str().unwrap();
    let taken = format!(
        "topology and learning_rate: {overlay}, {}\n",
        first["learning_rate"]
    );
    let only = format!(
        "--only topology={overlay} --only learning_rate={}",
        first["learning_rate"]
    );
    for kind in ["", "--bars"] {
        let drawn = |options: &str| {
            let line = format!("figure runs/tiny {kind} {options} -o best.svg");
            let said = sandbox.says(&line).ended_with(0);
            (sandbox.read("best.svg"), said.err)
        };
        let (best, said) = drawn("--best topology,learning_rate");
        assert!(said.contains(&taken), "{said}");
        let note = "topology and learning_rate are the values with the best mean of test_accuracy over seed (chosen by test accuracy, so \
                    the same test examples chose the settings and measure them)\n";
        assert!(said.contains(note), "{said}");
        let (chosen, _) = drawn(&only);
        assert!(best == chosen, "{kind}");
    }
    for (best, refused) in [
        (
            "learning_rate,seed",
            "--best seed: a row is the mean or the median over seed",
        ),
        ("learning_rate,", "no setting is called ``"),
    ] {
        let line = format!("table runs/tiny --by topology --best {best}");
        sandbox.says(&line).ended_with(2).complained_of(&[refused]);
    }
}

#[test]
fn figures_that_do_not_say_how_good_a_model_is_choose_nothing() {
    let (sandbox, _) = table::finished();
    let of = |metric: &str| {
        let line = format!("table runs/tiny --by topology --best learning_rate --metric {metric}");
        sandbox.says(&line).ended_with(0).out
    };
    let said = of("consensus_distance");
    let note = "learning_rate is the value with the best mean of test_accuracy over seed\n";
    assert!(said.contains(note), "{said}");
    assert!(of("test_loss").contains("best mean of test_loss over seed (chosen by test loss"));
}

/// Each figure has the mean of a table of its own, of the runs that the first one chose.
#[test]
fn several_figures_are_of_the_same_runs() {
    let (sandbox, _) = table::finished();
    let rows = |options: &str| {
        let line = format!("table runs/tiny --by topology --format json {options}");
        sandbox.says(&line).ended_with(0).json()
    };
    let figures = ["test_loss", "test_accuracy", "consensus_distance"];
    let together = rows(&format!(
        "--best learning_rate --metric {}",
        figures.join(",")
    ));
    assert_eq!(together.len(), 2);
    for row in &together {
        let only = format!(
            "--only topology={} --only learning_rate={}",
            row["topology"].as_str().unwrap(),
            row["learning_rate"]
        );
        for figure in figures {
            let alone = rows(&format!("{only} --metric {figure}"));
            for part in ["n", "mean", "sd", "low", "high"] {
                assert_eq!(
                    row[format!("{figure}_{part}")],
                    alone[0][part],
                    "{figure} {part}"
                );
            }
        }
    }
    let line = "table runs/tiny --by topology,learning_rate --metric test_accuracy,bytes_total --format markdown";
    let shown = sandbox.says(line).ended_with(0).out;
    let titles = "| topology | learning_rate | n | test_accuracy | bytes_total, ";
    assert!(shown.starts_with(titles), "{shown}");
    let refused = sandbox
        .says("table runs/tiny --by topology --metric test_accuracy,test_loss --at target=0.5")
        .ended_with(2);
    let needed = "several figures in --metric do not go with --at target=; name one figure";
    assert!(refused.err.contains(needed), "{}", refused.err);
}

#[test]
fn a_setting_that_is_named_twice_is_refused() {
    let (sandbox, _) = table::finished();
    for options in [
        "--by topology,topology",
        "--by topology,learning_rate --best learning_rate",
        "--by topology --best learning_rate,learning_rate",
        "--by topology,learning_rate --best topology,learning_rate",
        "--by topology,dfedavgm.learning_rate --best learning_rate",
    ] {
        let refused = sandbox
            .says(&format!("table runs/tiny {options}"))
            .ended_with(2);
        assert!(
            refused
                .err
                .contains("is named twice among the settings of the rows"),
            "{}",
            refused.err
        );
    }
    let refused = sandbox.says("table runs/tiny --by topolgy").ended_with(2);
    let hint = "no setting is called `topolgy` (did you mean `topology`?)";
    assert!(refused.err.contains(hint), "{}", refused.err);
    let refused = sandbox
        .says("table runs/tiny --by topology,learning_rate --metric test_acuracy")
        .ended_with(2);
    let hint = "no figure is called `test_acuracy` (did you mean `test_accuracy";
    assert!(refused.err.contains(hint), "{}", refused.err);
    let refused = sandbox
        .says("table runs/tiny --by topology,learning_rate -o table.xlsx")
        .ended_with(2);
    assert!(
        refused.err.contains("no format has the ending .xlsx"),
        "{}",
        refused.err
    );
}
