//! Words for settings, values and figures in tables and figures.

use crate::figure;

#[test]
fn headings_cells_and_captions_have_the_words_that_were_asked_for() {
    let (sandbox, _) = figure::finished();
    let run = |arguments: &[&str]| {
        let line = ["table", "runs/first", "--by", "topology"];
        let names = ["--name", "topology=Overlay_1", "--name", "ring=Ring & co"];
        let metric = ["--name", "test_accuracy=Test accuracy"];
        let all = [&line[..], &names, &metric, arguments].concat();
        sandbox.meshfold(&all).ended_with(0).out
    };
    let latex = run(&["--compare", "topology=ring", "--format", "latex"]);
    for part in [
        "Overlay\\_1 & n & Test accuracy & sd & minus Ring \\& co & effect & p \\\\",
        "\nRing \\& co & 2 & ",
        "\ncomplete & 2 & ",
        "difference to the row with Overlay\\_1=Ring \\& co over",
    ] {
        assert!(latex.contains(part), "{part}: {latex}");
    }
    let wide = run(&["--across", "topology", "--format", "markdown"]);
    assert!(wide.contains("| Ring & co | complete |"), "{wide}");
    assert!(wide.contains("Test accuracy: the mean of 2 runs"), "{wide}");
    let csv = run(&["--format", "csv"]);
    assert!(csv.starts_with("topology,metric,"), "{csv}");
    assert!(csv.contains("\nring,test_accuracy,"), "{csv}");
}

#[test]
fn legends_axes_and_panels_have_the_words_that_were_asked_for() {
    let (sandbox, _) = figure::finished();
    let drawn = |arguments: &[&str]| {
        let line = ["figure", "runs/first", "--by", "topology", "-o", "a.svg"];
        let names = ["--name", "topology=Overlay", "--name", "ring=Ring_1"];
        let axes = [
            "--name",
            "test_loss=Mean loss",
            "--name",
            "rounds=Exchanges",
        ];
        let all = [&line[..], &names, &axes, &["--y", "test_loss"], arguments].concat();
        sandbox.meshfold(&all).ended_with(0);
        sandbox.read("a.svg")
    };
    let svg = drawn(&[]);
    for text in [
        "Overlay:",
        "Ring_1",
        "complete",
        "Mean loss (nats)",
        "Exchanges",
    ] {
        assert!(svg.contains(&format!("\n{text}\n")), "{text}: {svg}");
    }
    let svg = drawn(&["--panels", "topology"]);
    assert!(
        svg.contains("\nRing_1\n") && !svg.contains("Overlay"),
        "{svg}"
    );
}

#[test]
fn a_name_that_stands_for_nothing_is_refused_with_those_that_there_are() {
    let (sandbox, _) = figure::finished();
    for command in ["table runs/first", "figure runs/first -o a.svg"] {
        let line = format!("{command} --by topology --name rign=Ring");
        sandbox.says(&line).ended_with(2).complained_of(&[
            "--name rign: it is no setting",
            "seed, test_accuracy",
            "complete, ring",
        ]);
        let line = format!("{command} --by topology --name ring");
        let said = sandbox.says(&line).ended_with(2);
        said.complained_of(&["such as dfedavg=DFedAvg"]);
        // A name of runs that are left out stands for something.
        let line = format!("{command} --by topology --only topology=complete --name ring=Ring");
        sandbox.says(&line).ended_with(0);
    }
}
