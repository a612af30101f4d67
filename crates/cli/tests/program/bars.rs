//! Figures with bars: they are the means of the runs at one place.

use serde_json::Value;

use crate::figure;

/// The corners of the coloured areas inside of the frame of an SVG: left, upper, right and lower end.
fn bars(svg: &str) -> Vec<[f64; 4]> {
    let inside = svg.split("clip-path=").nth(1).unwrap();
    let inside = inside.split("</g>").next().unwrap();
    let areas = inside.split("<polygon").skip(1);
    let points = areas.map(|area| area.split("points=\"").nth(1).unwrap());
    let corners = points.map(|points| {
        let points = points.split('"').next().unwrap();
        let numbers = points.split([' ', ',']).map(|number| number.parse::<f64>());
        let numbers: Vec<f64> = numbers.map(Result::unwrap).collect();
        [numbers[0], numbers[3], numbers[4], numbers[1]]
    });
    corners.collect()
}

#[test]
fn bars_are_as_high_as_the_means_where_they_are_asked_for() {
    let (sandbox, _) = figure::finished();
    for (place, centre) in [
        ("", "mean"),
        ("--at round=2", "mean"),
        ("--summary median", "median"),
    ] {
        let table = format!("table runs/first --by topology --format json {place}");
        let rows = sandbox.says(&table).ended_with(0).json();
        let means: Vec<f64> = rows
            .iter()
            .map(|row: &Value| row[centre].as_f64().unwrap())
            .collect();
        let line = format!("figure runs/first --by topology --bars {place} -o bars.svg");
        sandbox.says(&line).ended_with(0);
        let svg = sandbox.read("bars.svg");
        let bars = bars(&svg);
        let heights: Vec<f64> = bars
            .iter()
            .map(|[_, top, _, bottom]| bottom - top)
            .collect();
        assert_eq!(heights.len(), 2);
        let ratio = heights[1] / heights[0];
        assert!(
            (ratio - means[1] / means[0]).abs() < 0.01,
            "{ratio}: {means:?}"
        );
        // They stand side by side on one line, with an error bar of three strokes each.
        assert!(
            bars[0][2] < bars[1][0] && bars[0][3] == bars[1][3],
            "{bars:?}"
        );
        assert_eq!(svg.matches("stroke-width=\"0.8\"").count(), 6);
        for text in ["ring", "complete", "topology", "Test accuracy (%)"] {
            assert!(svg.contains(&format!("\n{text}\n")), "{text}: {svg}");
        }
    }
}

#[test]
fn the_second_setting_has_colours_and_a_setting_may_have_panels() {
    let (sandbox, _) = figure::finished();
    let drawn = |options: &str| {
        let line = format!(
            "figure runs/first --by topology,seed --over rounds --bars {options} -o bars.svg"
        );
        let said = sandbox.says(&line).ended_with(0);
        let note = "a bar of one rounds has no interval and is drawn without an error bar";
        assert!(said.err.contains(note), "{}", said.err);
        sandbox.read("bars.svg")
    };
    let svg = drawn("--y test_loss --name seed=Seed");
    assert_eq!(bars(&svg).len(), 4);
    // Each colour is that of two bars and of a value in the legend.
    for colour in ["#0072b2", "#d55e00"] {
        assert_eq!(svg.matches(colour).count(), 3, "{colour}: {svg}");
    }
    assert!(svg.contains("\nSeed:\n"), "{svg}");
    let svg = drawn("--panels seed");
    assert_eq!((svg.matches("<clipPath").count(), bars(&svg).len()), (2, 2));
    assert!(!svg.contains("seed:"), "{svg}");
}

#[test]
fn what_bars_cannot_show_is_refused() {
    let (sandbox, _) = figure::finished();
    for (options, parts) in [
        ("--bars --x bytes", ["--x", "--bars"]),
        ("--bars --band range", ["--band", "--bars"]),
        ("--bars --log x", ["--log x", "leave it out"]),
        (
            "--at round=2",
            [
                "--at round=2",
                "it goes with --bars, and with --x and a setting",
            ],
        ),
        ("--bars --linear x", ["--linear x", "leave it out"]),
        ("--bars --at target=0.5", ["found target=", "needed round="]),
        (
            "--bars --y-limits 2,3",
            ["y limits 2,3", "nothing is drawn there"],
        ),
    ] {
        let line = format!("figure runs/first --by topology {options} -o none.svg");
        sandbox.says(&line).ended_with(2).complained_of(&parts);
    }
    assert!(!sandbox.path("none.svg").exists());
}
