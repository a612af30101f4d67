//! Dots at whole numbers, and the bars in place of dots that would be too small.

#![allow(clippy::unwrap_used)]

use meshfold_figure::{Axis, AxisValue, Dot, Figure, Panel, Size, Unit};

/// Dots of `columns` x `rows` places, of which the first has the largest.
fn figure(columns: usize, rows: usize) -> Figure {
    let axis = |title: &str, count: usize| Axis {
        limits: Some([-0.5, count as f64 - 0.5]),
        ..Axis::linear(title, Unit::Number)
    };
    let dot = |place: usize| Dot {
        x: place % columns,
        y: place / columns,
        share: if place == 0 { 1.0 } else { 0.25 },
    };
    Figure {
        size: Size::millimetres(85.0, 60.0),
        font_size: 8.0,
        x: axis("Client", columns),
        y: axis("Label", rows),
        legend: Vec::new(),
        panels: vec![Panel {
            dots: (0..columns * rows).map(dot).collect(),
            ..Panel::default()
        }],
    }
}

/// Width and height of each polygon but the ground, in the order of the dots.
fn extents(figure: &Figure) -> Vec<[f64; 2]> {
    let svg = figure.drawing().svg();
    let polygons = svg.split("<polygon").skip(2);
    let extent = |polygon: &str| {
        let points = polygon.split("points=\"").nth(1).unwrap();
        let points = points.split('"').next().unwrap().split(' ');
        let numbers: Vec<[f64; 2]> = points
            .map(|point| {
                let (x, y) = point.split_once(',').unwrap();
                [x.parse().unwrap(), y.parse().unwrap()]
            })
            .collect();
        [0, 1].map(|axis| {
            let along = numbers.iter().map(|point| point[axis]);
            along.clone().fold(f64::MIN, f64::max) - along.fold(f64::MAX, f64::min)
        })
    };
    polygons.map(extent).collect()
}

#[test]
fn the_area_of_a_dot_is_its_share() {
    let found = extents(&figure(10, 10));
    assert_eq!(found.len(), 100);
    let [large, small] = [found[0], found[1]];
    // A quarter of the area is half of the width. Lengths are rounded to a hundredth.
    for axis in [0, 1] {
        assert!((large[axis] - 2.0 * small[axis]).abs() < 0.05, "{found:?}");
    }
    assert!((large[0] - large[1]).abs() < 0.05, "it is round: {large:?}");
    // Ten places over a panel that is less than 85 mm wide and less than 60 mm high.
    assert!(large[0] > 8.0 && large[0] < 17.1, "{large:?}");
}

#[test]
fn where_dots_have_no_room_bars_stand_in_each_row() {
    let found = extents(&figure(400, 10));
    let [large, small] = [found[0], found[1]];
    assert!(
        (large[1] - 4.0 * small[1]).abs() < 0.05,
        "{large:?} {small:?}"
    );
    assert!((large[0] - small[0]).abs() < 0.02 && large[0] < 1.0);
    let lying = extents(&figure(10, 400));
    let [large, small] = [lying[0], lying[1]];
    assert!(
        (large[0] - 4.0 * small[0]).abs() < 0.05,
        "{large:?} {small:?}"
    );
    assert!((large[1] - small[1]).abs() < 0.02 && large[1] < 1.0);
}

#[test]
fn what_is_not_there_is_not_drawn() {
    let mut figure = figure(3, 2);
    figure.panels[0].dots[1].share = 0.0;
    assert_eq!(extents(&figure).len(), 5);
}

#[test]
fn values_of_the_vertical_axis_have_names_where_lines_have_room() {
    let mut figure = figure(4, 3);
    let value = |(number, name): (usize, &str)| AxisValue {
        number: number as f64,
        name: Some(name.to_owned()),
    };
    let names = ["cat", "dog", "ship"];
    figure.y.values = names.into_iter().enumerate().map(value).collect();
    let svg = figure.drawing().svg();
    assert!(
        names
            .iter()
            .all(|name| svg.contains(&format!("\n{name}\n"))),
        "{svg}"
    );
    // Three lines of 8 points need more than the panel has then.
    figure.size = Size::millimetres(85.0, 25.0);
    figure.font_size = 16.0;
    let svg = figure.drawing().svg();
    assert!(!svg.contains("dog"), "{svg}");
}
