//! Figures as files: what is in them, and that nothing leaves the page.

#![allow(clippy::unwrap_used)]

use std::io::Read;

use flate2::read::ZlibDecoder;
use meshfold_figure::{
    Axis, AxisValue, Bar, Curve, Figure, Legend, Panel, Point, Scale, Size, Swatch, Unit,
};
use tiny_skia::Pixmap;

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Accuracies over bytes of two overlays and two methods.
fn figure(width: f64) -> Figure {
    let keys = [
        words(&["ring", "dsgd"]),
        words(&["ring", "dfedavgm"]),
        words(&["complete", "dsgd"]),
        words(&["complete", "dfedavgm"]),
    ];
    let (legend, styles) = Legend::of(&words(&["topology", "algorithm"]), &keys);
    let curve = |(index, style)| {
        let point = |step: i32| {
            let x = f64::from(step);
            let y = 0.9 - 0.5 / (1.0 + 0.1 * x) + 0.01 * index as f64;
            Point {
                x: 1e8 * x,
                y,
                low: y - 0.02,
                high: y + 0.02,
            }
        };
        Curve {
            style,
            is_marked: false,
            points: (0..=20).map(point).collect(),
        }
    };
    Figure {
        size: Size::millimetres(width, 0.72 * width),
        font_size: 8.0,
        x: Axis::linear("Bytes sent", Unit::Bytes),
        y: Axis::linear("Test accuracy", Unit::Share),
        legend,
        panels: vec![Panel::whole(
            styles.into_iter().enumerate().map(curve).collect(),
        )],
    }
}

/// The numbers of an attribute such as `points`, in the order of the file.
fn numbers(svg: &str, element: &str, attribute: &str) -> Vec<f64> {
    let start = format!("<{element} ");
    let elements = svg.lines().filter(|line| line.trim().starts_with(&start));
    let value = |line: &str| {
        let (_, rest) = line.split_once(&format!(" {attribute}=\"")).unwrap();
        rest.split_once('"').unwrap().0.to_owned()
    };
    let values: Vec<String> = elements.map(value).collect();
    let parts = values.iter().flat_map(|value| value.split([' ', ',']));
    parts.map(|part| part.parse().unwrap()).collect()
}

#[test]
fn a_figure_has_a_line_and_a_band_for_each_curve_and_names_what_they_are() {
    let svg = figure(85.0).drawing().svg();
    // Four curves, and each of four values in the legend has a line of 1.2 points.
    assert_eq!(svg.matches("stroke-width=\"1.2\"").count(), 8, "{svg}");
    assert_eq!(svg.matches("fill-opacity").count(), 4, "{svg}");
    for text in [
        "Bytes sent (GB)",
        "Test accuracy (%)",
        "topology:",
        "ring",
        "dfedavgm",
    ] {
        assert!(svg.contains(&format!("\n{text}\n")), "{text}: {svg}");
    }
    assert_eq!(svg.matches("<clipPath").count(), 1);
}

#[test]
fn lines_run_through_their_points() {
    let mut figure = figure(85.0);
    figure.panels[0].curves.truncate(1);
    let point = |x, y| Point {
        x,
        y,
        low: y,
        high: y,
    };
    figure.panels[0].curves[0].points = vec![point(0.0, 0.5), point(5e8, 1.0), point(1e9, 0.5)];
    let svg = figure.drawing().svg();
    let start = svg.find("clip-path=").unwrap();
    let points = numbers(
        &svg[start..].lines().take(2).collect::<Vec<_>>().join("\n"),
        "polyline",
        "points",
    );
    let [left, low, middle, high, right, end] = points[..] else {
        panic!("{points:?}");
    };
    assert!((middle - 0.5 * (left + right)).abs() < 0.02, "{points:?}");
    assert!(low == end && high < low, "{points:?}");
    assert!(!svg.contains("fill-opacity"), "no band: {svg}");
}

/// Requires that all of `figure` is on its page, whose outermost pixels are white, so that no letter is cut.
fn expect_on_page(figure: &Figure, name: &str) {
    let svg = figure.drawing().svg();
    // The page is the first polygon.
    let page = numbers(&svg, "polygon", "points");
    let (across, down) = (page[4] + 0.01, page[5] + 0.01);
    assert!(down >= figure.size.height, "{name}: {down}");
    for pair in numbers(&svg, "polyline", "points").chunks(2) {
        assert!((0.0..=across).contains(&pair[0]), "{name}: {pair:?}");
        assert!((0.0..=down).contains(&pair[1]), "{name}: {pair:?}");
    }
    for x in numbers(&svg, "text", "x") {
        assert!((0.0..=across).contains(&x), "{name}: {x}");
    }
    for y in numbers(&svg, "text", "y") {
        assert!((0.0..=down).contains(&y), "{name}: {y}");
    }
    let pixels = Pixmap::decode_png(&figure.drawing().png(144.0).unwrap()).unwrap();
    let (right, bottom) = (pixels.width() - 1, pixels.height() - 1);
    let is_white = |x, y| {
        let pixel = pixels.pixel(x, y).unwrap();
        [pixel.red(), pixel.green(), pixel.blue(), pixel.alpha()] == [255; 4]
    };
    assert!(
        (0..=right).all(|x| is_white(x, 0) && is_white(x, bottom)),
        "{name}"
    );
    assert!(
        (0..=bottom).all(|y| is_white(0, y) && is_white(right, y)),
        "{name}"
    );
}

/// The figure with each curve in a panel of its own, twice over.
fn in_panels(width: f64) -> Figure {
    let mut figure = figure(width);
    let curves = figure.panels.remove(0).curves;
    let titles = ["ring", "a long title of a panel, in several lines"];
    for (title, curve) in titles.into_iter().cycle().zip(curves.iter().chain(&curves)) {
        figure.panels.push(Panel {
            title: title.to_owned(),
            ..Panel::whole(vec![curve.clone()])
        });
    }
    figure
}

#[test]
fn narrow_panels_have_three_numbers_at_the_horizontal_axis_where_they_fit() {
    let middle = |svg: &str| -> Vec<String> {
        let texts = svg
            .split("<text")
            .filter(|text| text.contains("\"middle\""));
        let content = texts.map(|text| text.split('>').nth(1).unwrap().split('<').next().unwrap());
        let content = content.map(|text| text.trim().to_owned());
        content
            .filter(|text| text.starts_with(|letter: char| letter.is_ascii_digit()))
            .collect()
    };
    let mut figure = in_panels(120.0);
    figure.panels.truncate(1);
    figure.size.width = 140.0;
    figure.x.unit = Unit::Of("s");
    figure.x.limits = Some([0.02, 0.8]);
    assert_eq!(
        middle(&figure.drawing().svg()),
        ["0.2", "0.4", "0.6", "0.8"]
    );
    // These would touch each other.
    figure.x.limits = Some([10_002.0, 10_008.0]);
    assert_eq!(middle(&figure.drawing().svg()), ["10005"]);
}

/// Bars of two methods on three overlays, one with a long name.
fn with_bars(width: f64) -> Figure {
    let mut figure = figure(width);
    let styles: Vec<_> = figure.panels[0]
        .curves
        .iter()
        .map(|curve| curve.style)
        .collect();
    let bar = |place: i32| Bar {
        style: styles[(2 * (place % 2)) as usize],
        width: 0.4,
        end: Point {
            x: f64::from(place / 2) - 0.2 + 0.4 * f64::from(place % 2),
            y: 0.5 + 0.05 * f64::from(place),
            low: 0.4,
            high: 0.9,
        },
    };
    figure.x.names = words(&["ring", "share=0.25 policy=isolate", "complete"]);
    figure.x.unit = Unit::Number;
    figure.panels = vec![Panel {
        bars: (0..6).map(bar).collect(),
        ..Panel::default()
    }];
    figure
        .legend
        .iter_mut()
        .for_each(|legend| legend.swatch = Swatch::Area);
    figure
}

#[test]
fn bars_begin_at_0_and_long_names_go_on_in_the_next_line() {
    let svg = with_bars(85.0).drawing().svg();
    let inside = svg
        .split("clip-path=")
        .nth(1)
        .unwrap()
        .split("</g>")
        .next()
        .unwrap();
    assert_eq!(inside.matches("<polygon").count(), 6);
    assert_eq!(
        svg.matches("stroke-width=\"0.8\"").count(),
        18,
        "three strokes each"
    );
    for text in ["0", "share=0.25", "policy=isolate"] {
        assert!(svg.contains(&format!("\n{text}\n")), "{text}: {svg}");
    }
    let corners = numbers(inside, "polygon", "points");
    let frame = numbers(&svg, "rect", "y")[0] + numbers(&svg, "rect", "height")[0];
    let lower = corners.chunks(8).flat_map(|bar| [bar[1], bar[7]]);
    for lower in lower {
        assert!((lower - frame).abs() < 0.02, "{lower}, not {frame}");
    }
    let mut below = with_bars(85.0);
    for bar in &mut below.panels[0].bars {
        let end = bar.end;
        bar.end = Point {
            y: -end.y,
            low: -end.high,
            high: -end.low,
            ..end
        };
    }
    assert!(below.drawing().svg().contains("\n−80\n"));
}

/// Accuracies with intervals at `values` of a setting.
fn over_values(width: f64, values: &[f64]) -> Figure {
    let point = |(place, x): (usize, &f64)| {
        let y = 0.5 + 0.1 * place as f64;
        Point {
            x: *x,
            y,
            low: y - 0.02,
            high: y + 0.02,
        }
    };
    let mut figure = figure(width);
    let style = figure.panels[0].curves[0].style;
    figure.legend.clear();
    figure.x = Axis {
        values: values.iter().map(|value| unnamed(*value)).collect(),
        ..Axis::linear("alpha", Unit::Number)
    };
    figure.panels = vec![Panel::whole(vec![Curve {
        style,
        is_marked: true,
        points: values.iter().enumerate().map(point).collect(),
    }])];
    figure
}

fn unnamed(number: f64) -> AxisValue {
    AxisValue { number, name: None }
}

/// The texts in the middle below the axes of an SVG, and its headings.
fn middles(svg: &str) -> Vec<&str> {
    let texts = svg.split("<text").skip(1);
    let texts = texts.filter(|text| text.contains("text-anchor=\"middle\""));
    let content = texts.map(|text| text.split('>').nth(1).unwrap());
    content
        .map(|text| text.split('<').next().unwrap().trim())
        .collect()
}

#[test]
fn marked_points_have_error_bars_and_their_values_below_the_axis() {
    let mut figure = over_values(85.0, &[0.1, 0.5, 1.0]);
    let svg = figure.drawing().svg();
    assert_eq!(svg.matches("stroke-width=\"0.8\"").count(), 9, "{svg}");
    assert_eq!(svg.matches("<polygon").count(), 4, "the page and 3 marks");
    assert!(!svg.contains("fill-opacity"), "no band: {svg}");
    let ends = ["alpha", "Test accuracy (%)"];
    assert_eq!(
        middles(&svg),
        [["0.1", "0.5", "1"].as_slice(), &ends].concat()
    );
    // There is no room for a number at each of these, and these are too many.
    for values in [vec![1.0, 1.01, 10.0], (1..=9).map(f64::from).collect()] {
        let svg = over_values(85.0, &values).drawing().svg();
        let labels = middles(&svg);
        assert!(
            labels.contains(&"2") && !labels.contains(&"1.01"),
            "{labels:?}"
        );
        assert_ne!(labels.len(), values.len() + ends.len(), "{labels:?}");
    }
    figure.x.limits = Some([0.3, 2.0]);
    assert_eq!(middles(&figure.drawing().svg())[..2], ["0.5", "1"]);
}

#[test]
fn names_that_would_be_broken_within_a_word_are_turned() {
    let labels = |names: &[&str], width: f64| -> (usize, f64) {
        let mut figure = with_bars(width);
        figure.x.names = words(names);
        let svg = figure.drawing().svg();
        expect_on_page(&figure, names[0]);
        let turned = svg.matches("rotate(-90").count();
        let page = numbers(&svg, "polygon", "points");
        (turned, page[5])
    };
    let short = ["ring", "star", "complete"];
    assert_eq!(labels(&short, 85.0).0, 1, "the title of the vertical axis");
    let rates = ["0.00001", "0.00002", "0.00005"];
    assert_eq!(labels(&rates, 85.0).0, 1, "they have room");
    let (turned, height) = labels(&rates, 40.0);
    assert_eq!(turned, 4);
    assert_eq!(
        labels(&["share=0.25 policy=isolate", "b_c", "d"], 85.0).0,
        1
    );
    // Long names take their room from the frame, or the page grows.
    assert!(
        labels(
            &["a-very-very-longwordwithoutanyspace_at_all_in_it", "b", "c"],
            40.0
        )
        .1 > height
    );
}

/// The first corners of the polygons of an SVG but the page.
fn first_corners(svg: &str) -> Vec<[f64; 2]> {
    let polygons = svg.split("<polygon").skip(2);
    let first = |polygon: &str| {
        let points = polygon.split("points=\"").nth(1).unwrap();
        let corner = points.split([' ', '"']).next().unwrap();
        let (x, y) = corner.split_once(',').unwrap();
        [x, y].map(|number| number.parse().unwrap())
    };
    polygons.map(first).collect()
}

#[test]
fn curves_with_error_bars_stand_beside_each_other() {
    let mut figure = over_values(85.0, &[0.1, 0.5, 1.0]);
    let alone = first_corners(&figure.drawing().svg());
    let curve = figure.panels[0].curves[0].clone();
    figure.panels[0].curves.push(curve.clone());
    let beside = first_corners(&figure.drawing().svg());
    for (index, [x, _]) in alone.iter().enumerate() {
        let [one, other] = [beside[index][0], beside[index + 3][0]];
        assert!((one + other - 2.0 * x).abs() < 0.03, "on both sides of {x}");
        assert!((4.0..5.0).contains(&(other - one)), "{one} and {other}");
    }
    // All stay near their value if there are many.
    figure.panels[0].curves = vec![curve.clone(); 12];
    let many = first_corners(&figure.drawing().svg());
    let [first, last] = [many[0][0], many[33][0]];
    assert!(last > first && last - first <= 0.5 * (alone[1][0] - alone[0][0]));
    expect_on_page(&figure, "many curves with error bars");
    // Without error bars nothing hides anything.
    let without = |point: &Point| Point {
        low: point.y,
        high: point.y,
        ..*point
    };
    let points = curve.points.iter().map(without).collect();
    figure.panels[0].curves = vec![Curve { points, ..curve }; 2];
    let bare = first_corners(&figure.drawing().svg());
    assert_eq!(bare[..3], bare[3..]);
    let places = |corners: &[[f64; 2]]| corners.iter().map(|[x, _]| *x).collect::<Vec<_>>();
    assert_eq!(places(&bare[..3]), places(&alone));
}

/// Where points are near each other on an axis of plain numbers, curves stand less far apart, and no mark is cut off at an end.
#[test]
fn marked_curves_over_plain_numbers_keep_apart_by_their_nearest_points() {
    let places = [0.1, 0.104, 0.5, 1.0];
    let mut figure = over_values(85.0, &places);
    figure.x.values.clear();
    let curve = figure.panels[0].curves[0].clone();
    figure.panels[0].curves.push(curve);
    let corners = first_corners(&figure.drawing().svg());
    let [one, other] = [corners[0][0], corners[4][0]];
    let nearest = corners[1][0] - one;
    assert!(
        other > one && other - one <= 0.5 * nearest + 0.01,
        "{one} {other} {nearest}"
    );
    let svg = figure.drawing().svg();
    let frame = svg.split("<clipPath").nth(1).unwrap();
    let number = |name: &str| -> f64 {
        let text = frame.split(&format!(" {name}=\"")).nth(1).unwrap();
        text.split('"').next().unwrap().parse().unwrap()
    };
    let [left, width] = ["x", "width"].map(number);
    for [x, _] in corners {
        assert!(
            x > left + 2.0 && x < left + width - 2.0,
            "{x} in {left} + {width}"
        );
    }
}

#[test]
fn marks_differ_and_are_in_the_legend() {
    let mut figure = over_values(85.0, &[0.1, 1.0]);
    let names: Vec<Vec<String>> = (0..6)
        .map(|index| vec![format!("method {index}")])
        .collect();
    let (mut legend, styles) = Legend::of(&words(&["algorithm"]), &names);
    legend[0].swatch = Swatch::Marked;
    let points = figure.panels[0].curves[0].points.clone();
    let curve = |style| Curve {
        style,
        is_marked: true,
        points: points.clone(),
    };
    figure.panels[0].curves = styles.into_iter().map(curve).collect();
    figure.legend = legend;
    let svg = figure.drawing().svg();
    let corners = |polygon: &str| {
        let points = polygon.split("points=\"").nth(1).unwrap();
        points.split('"').next().unwrap().split(' ').count()
    };
    let counts: Vec<usize> = svg.split("<polygon").skip(2).map(corners).collect();
    let each = [24, 4, 3, 4, 3, 10];
    let on_curves = each.iter().flat_map(|count| [*count; 2]);
    assert_eq!(counts, on_curves.chain(each).collect::<Vec<_>>());
    expect_on_page(&figure, "marks in the legend");
}

/// A curve of one point has no line: it is marked, with its error bar.
#[test]
fn a_curve_of_one_point_is_marked() {
    let mut figure = figure(85.0);
    figure.legend.clear();
    figure.panels[0].curves.truncate(1);
    figure.x.scale = Scale::Logarithmic;
    let curve = &mut figure.panels[0].curves[0];
    // The first one has no place on the axis.
    curve.points.truncate(2);
    assert_eq!(curve.points[0].x, 0.0);
    let whole = figure.drawing().svg();
    figure.panels[0].curves[0].points.clear();
    let empty = figure.drawing().svg();
    // A circle is a polygon of 24 corners.
    let is_mark = |polygon: &&str| {
        let points = polygon.split("points=\"").nth(1).unwrap();
        points.split('"').next().unwrap().split(' ').count() == 24
    };
    let marks = |svg: &str| svg.split("<polygon").skip(1).filter(is_mark).count();
    assert_eq!((marks(&whole), marks(&empty)), (1, 0));
    assert!(whole.matches("<polyline").count() > empty.matches("<polyline").count());
    expect_on_page(&figure, "a curve of one point");
}

#[test]
fn an_axis_of_shares_ends_at_0_and_100_per_cent() {
    let mut figure = figure(85.0);
    figure.legend.clear();
    let curve = &mut figure.panels[0].curves[0];
    for (index, point) in curve.points.iter_mut().enumerate() {
        point.y = 0.1 + 0.04 * index as f64;
        (point.low, point.high) = (point.y - 0.9, point.y + 0.9);
    }
    figure.panels[0].curves.truncate(1);
    let numbers = |figure: &Figure| -> Vec<f64> {
        let svg = figure.drawing().svg();
        let texts = svg.split("<text").skip(1);
        let texts = texts.filter(|text| text.contains("text-anchor=\"end\""));
        let content = texts.map(|text| text.split('>').nth(1).unwrap());
        let words = content.map(|text| text.split('<').next().unwrap().trim().to_owned());
        words.filter_map(|text| text.parse().ok()).collect()
    };
    let shares = numbers(&figure);
    assert!(
        shares.iter().all(|number| (0.0..=100.0).contains(number)),
        "{shares:?}"
    );
    figure.y.unit = Unit::Number;
    let plain = numbers(&figure);
    assert!(plain.iter().any(|number| *number > 1.0), "{plain:?}");
}

#[test]
fn nothing_leaves_the_page() {
    for width in [45.0, 85.0, 170.0] {
        let values = over_values(width, &[0.001, 0.01, 100_000.0]);
        expect_on_page(&values, &format!("values on {width} mm"));
        expect_on_page(&with_bars(width), &format!("bars on {width} mm"));
        expect_on_page(&figure(width), &format!("{width} mm"));
        expect_on_page(&in_panels(width), &format!("panels on {width} mm"));
    }
}

#[test]
fn panels_share_their_axes_and_each_has_its_curve() {
    let figure = in_panels(170.0);
    let svg = figure.drawing().svg();
    // Eight curves, and four values in the legend.
    assert_eq!(svg.matches("stroke-width=\"1.2\"").count(), 12);
    assert_eq!(svg.matches("<clipPath").count(), 8);
    for (text, count) in [
        ("ring", 5),
        ("Bytes sent (GB)", 1),
        ("Test accuracy (%)", 1),
    ] {
        assert_eq!(svg.matches(&format!("\n{text}\n")).count(), count, "{text}");
    }
    // Frames are of one size, in rows of four.
    let [lefts, tops, widths, heights] =
        ["x", "y", "width", "height"].map(|name| numbers(&svg, "rect", name));
    assert!(widths.iter().all(|width| (width - widths[0]).abs() < 0.02));
    assert!(
        heights
            .iter()
            .all(|height| (height - heights[0]).abs() < 0.02)
    );
    assert!(lefts[..4].is_sorted() && lefts[4] == lefts[0], "{lefts:?}");
    assert!(
        tops[..4] == [tops[0]; 4] && tops[4] > tops[0] + heights[0],
        "{tops:?}"
    );
    // A page that is asked to be too low is as high as the panels need.
    let mut low = in_panels(85.0);
    low.size.height = 100.0;
    let heights = numbers(&low.drawing().svg(), "rect", "height");
    assert!(heights.iter().all(|height| *height >= 47.9), "{heights:?}");
}

#[test]
fn the_vertical_axis_has_at_least_four_numbers_where_there_is_room() {
    let labels = |figure: &Figure| {
        let svg = figure.drawing().svg();
        let texts = svg
            .split("<text")
            .filter(|text| text.contains("text-anchor=\"end\""));
        let content = texts.map(|text| text.split('>').nth(1).unwrap().split('<').next().unwrap());
        content
            .map(|text| text.trim().to_owned())
            .collect::<Vec<_>>()
    };
    let mut figure = figure(85.0);
    figure.y.limits = Some([-0.04, 1.04]);
    assert_eq!(labels(&figure), ["0", "20", "40", "60", "80", "100"]);
    for high in [0.2, 0.35, 0.5, 0.6, 0.75, 0.9, 2.0] {
        figure.y.limits = Some([0.0, high]);
        let labels = labels(&figure);
        assert!((4..=11).contains(&labels.len()), "{high}: {labels:?}");
    }
    // So low a page has no room for four.
    figure.size.height = 90.0;
    figure.y.limits = Some([-0.04, 1.04]);
    figure.legend.clear();
    assert_eq!(labels(&figure), ["0", "50", "100"]);
}

#[test]
fn a_png_has_the_pixels_that_the_page_asks_for() {
    let figure = figure(85.0);
    let png = figure.drawing().png(300.0).unwrap();
    let pixels = Pixmap::decode_png(&png).unwrap();
    assert_eq!((pixels.width(), pixels.height()), (1004, 723));
    // The colour of the first curve, blue, is somewhere.
    let blue = |pixel: &tiny_skia::PremultipliedColorU8| {
        [pixel.red(), pixel.green(), pixel.blue()] == [0, 114, 178]
    };
    assert!(pixels.pixels().iter().any(blue));
    let error = figure.drawing().png(1e6).unwrap_err().to_string();
    assert!(error.contains("needed 1 to 20000 on each side"), "{error}");
}

/// The content of the page, and the table from glyphs to letters.
fn streams(pdf: &[u8]) -> (String, String) {
    let find = |from: usize, what: &[u8]| {
        let found = pdf[from..]
            .windows(what.len())
            .position(|part| part == what);
        from + found.unwrap()
    };
    let start = find(0, b"stream\n") + 7;
    let mut content = String::new();
    let mut packed = ZlibDecoder::new(&pdf[start..]);
    packed.read_to_string(&mut content).unwrap();
    let start = find(0, b"beginbfchar");
    let end = find(start, b"endcmap");
    (
        content,
        String::from_utf8_lossy(&pdf[start..end]).into_owned(),
    )
}

#[test]
fn a_pdf_holds_the_same_lines_and_its_letters_can_be_read() {
    let figure = figure(85.0);
    let pdf = figure.drawing().pdf();
    assert!(pdf.starts_with(b"%PDF-1.") && pdf.ends_with(b"%%EOF"));
    let (content, letters) = streams(&pdf);
    let strokes = content.lines().filter(|line| *line == "S").count();
    assert_eq!(strokes, figure.drawing().svg().matches("<polyline").count());
    let texts = content.lines().filter(|line| line.ends_with(" Tj")).count();
    assert_eq!(texts, figure.drawing().svg().matches("<text").count());
    // U+0025 is the sign of per cent, U+0042 the B of "Bytes".
    assert!(
        letters.contains("<0025>") && letters.contains("<0042>"),
        "{letters}"
    );
}

#[test]
fn the_same_figure_gives_the_same_bytes() {
    let (one, other) = (figure(85.0), figure(85.0));
    assert_eq!(one.drawing().svg(), other.drawing().svg());
    assert_eq!(one.drawing().pdf(), other.drawing().pdf());
    assert_eq!(
        one.drawing().png(96.0).unwrap(),
        other.drawing().png(96.0).unwrap()
    );
}

#[test]
fn what_has_no_place_is_left_out() {
    let mut figure = figure(85.0);
    figure.panels[0].curves[0].points[3].y = f64::NAN;
    figure.panels[0].curves[1].points[0].x = f64::INFINITY;
    figure.y.scale = Scale::Logarithmic;
    figure.panels[0].curves[2].points[5].y = 0.0;
    let svg = figure.drawing().svg();
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    // Two curves are broken in two.
    assert_eq!(svg.matches("stroke-width=\"1.2\"").count(), 10);
    figure.panels[0].curves.clear();
    assert!(figure.drawing().svg().contains("Test accuracy (%)"));
}

#[test]
fn a_wide_band_does_not_flatten_the_curves() {
    let mut wide = figure(85.0);
    for point in wide.panels[0]
        .curves
        .iter_mut()
        .flat_map(|curve| &mut curve.points)
    {
        (point.low, point.high) = (point.y - 30.0, point.y + 30.0);
    }
    let spread = |figure: &Figure| {
        let svg = figure.drawing().svg();
        let start = svg.find("clip-path=").unwrap();
        let lines = svg[start..]
            .lines()
            .filter(|line| line.contains("<polyline"));
        let lines: Vec<&str> = lines.take(4).collect();
        let points = numbers(&lines.join("\n"), "polyline", "points");
        let heights = points.chunks(2).map(|pair| pair[1]);
        let (low, high) = heights.fold((f64::MAX, f64::MIN), |(low, high), y| {
            (low.min(y), high.max(y))
        });
        high - low
    };
    assert!(3.5 * spread(&wide) > spread(&figure(85.0)));
}

#[test]
fn a_band_holds_its_curve_also_where_it_reaches_below_a_logarithmic_axis() {
    let mut figure = figure(85.0);
    figure.panels[0].curves.truncate(1);
    figure.y.scale = Scale::Logarithmic;
    for point in &mut figure.panels[0].curves[0].points[5..8] {
        point.low = -1.0;
    }
    figure.panels[0].curves[0].points[15].y = f64::NAN;
    let svg = figure.drawing().svg();
    // The page is the first polygon; the band is broken where the curve is.
    let bands: Vec<&str> = svg
        .lines()
        .filter(|line| line.contains("fill-opacity"))
        .collect();
    assert_eq!(bands.len(), 2, "{svg}");
    let corners = |band| numbers(band, "polygon", "points").len() / 2;
    assert_eq!((corners(bands[0]), corners(bands[1])), (2 * 15, 2 * 5));
    // The lower edge comes back from the last point; the axis ends at the height of its corner.
    let band = numbers(bands[0], "polygon", "points");
    let low = |point: usize| band[2 * (29 - point) + 1];
    let frame = numbers(&svg, "polyline", "points");
    let bottom = frame.chunks(2).map(|pair| pair[1]).fold(0.0, f64::max);
    assert!(low(6) > low(4) && low(6) <= bottom, "{svg}");
    assert_eq!((low(5), low(7)), (low(6), low(6)));
}

#[test]
fn texts_are_escaped() {
    let mut figure = figure(85.0);
    figure.y.title = "<a> & \"b\"".to_owned();
    assert!(
        figure.drawing().svg().contains("&lt;a&gt; &amp;"),
        "{}",
        figure.drawing().svg()
    );
}
