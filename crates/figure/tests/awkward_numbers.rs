//! Figures of numbers that runs rarely have: equal ones, equal but for rounding, very small and very large ones.

use meshfold_figure::{Axis, Bar, Curve, Figure, Legend, Panel, Point, Scale, Size, Unit};

const UNITS: [Unit; 4] = [Unit::Number, Unit::Of("s"), Unit::Share, Unit::Bytes];
const SCALES: [Scale; 2] = [Scale::Linear, Scale::Logarithmic];

fn awkward() -> Vec<[f64; 3]> {
    let next = |value: f64| [value, value.next_up(), value.next_up().next_up()];
    vec![
        [0.0; 3],
        [-0.0, 0.0, f64::MIN_POSITIVE],
        [0.04; 3],
        next(0.04),
        next(1.0),
        next(-1.0),
        next(0.0),
        next(1e15),
        next(1e-300),
        [1.0, 1.0 + 1e-11, 1.0 + 2e-11],
        [1e-300, 1.0, 1e300],
        [-1e300, 0.0, 1e300],
        [-3.0, -2.0, -1.0],
        [-1e306, 0.0, 1e306],
        [f64::NAN, f64::INFINITY, f64::NEG_INFINITY],
        [0.5, f64::NAN, 0.7],
    ]
}

fn axis(unit: Unit, scale: Scale, limits: Option<[f64; 2]>) -> Axis {
    Axis {
        scale,
        limits,
        ..Axis::linear("Title", unit)
    }
}

/// A curve with a band, one with marks, and, where the horizontal axis is linear, a bar.
fn figure(x: Axis, y: Axis, xs: [f64; 3], ys: [f64; 3]) -> Figure {
    let keys = [vec!["a".to_owned()], vec!["b".to_owned()]];
    let (legend, styles) = Legend::of(&["name".to_owned()], &keys);
    let point = |(x, y): (&f64, &f64)| Point {
        x: *x,
        y: *y,
        low: y - y.abs(),
        high: *y,
    };
    let curve = |is_marked: bool| Curve {
        style: styles[usize::from(is_marked)],
        is_marked,
        points: xs.iter().zip(&ys).map(point).collect(),
    };
    let bar = Bar {
        style: styles[0],
        end: point((&xs[1], &ys[1])),
        width: 0.5,
    };
    let bars = Some(bar).filter(|_| x.scale == Scale::Linear);
    Figure {
        size: Size::millimetres(85.0, 60.0),
        font_size: 8.0,
        x,
        y,
        legend,
        panels: vec![
            Panel::whole(vec![curve(false), curve(true)]),
            Panel {
                title: "bars".to_owned(),
                bars: bars.into_iter().collect(),
                ..Panel::default()
            },
        ],
    }
}

#[test]
fn every_number_makes_a_figure() {
    let all = awkward();
    for (xs, ys) in all.iter().flat_map(|xs| all.iter().map(move |ys| (xs, ys))) {
        for (scale, unit) in SCALES
            .iter()
            .flat_map(|scale| UNITS.map(|unit| (*scale, unit)))
        {
            let figure = figure(axis(unit, scale, None), axis(unit, scale, None), *xs, *ys);
            let svg = figure.drawing().svg();
            let case = format!("{xs:?} {ys:?} {scale:?} {unit:?}");
            assert!(svg.ends_with("</svg>\n"), "{case}");
            assert!(
                !svg.contains("NaN") && !svg.contains("inf"),
                "{case}: {svg}"
            );
            assert!(svg.len() < 200_000, "{case}: {} bytes", svg.len());
            assert!(!figure.drawing().pdf().is_empty(), "{case}");
            assert!(figure.drawing().png(20.0).is_ok(), "{case}");
        }
    }
}

#[test]
fn every_limits_make_a_figure() {
    for [low, _, high] in awkward().into_iter().filter(|[low, _, high]| low < high) {
        for (scale, unit) in SCALES
            .iter()
            .flat_map(|scale| UNITS.map(|unit| (*scale, unit)))
        {
            let limits = Some([low, high]).filter(|_| scale.holds(low));
            let on = |limits| axis(unit, scale, limits);
            let svg = figure(on(limits), on(limits), [0.1, 0.2, 0.3], [0.1, 0.2, 0.3])
                .drawing()
                .svg();
            assert!(
                svg.len() < 200_000,
                "{limits:?} {scale:?} {unit:?}: {} bytes",
                svg.len()
            );
        }
    }
}
