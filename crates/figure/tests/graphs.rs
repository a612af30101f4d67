//! Graphs side by side.

#![allow(clippy::unwrap_used)]

use std::f64::consts::TAU;

use meshfold_figure::{Graph, GraphFigure};

/// A cycle of `nodes`.
fn cycle(nodes: usize) -> Graph {
    let place = |node: usize| {
        let turn = TAU * node as f64 / nodes as f64;
        [turn.sin(), -turn.cos()]
    };
    Graph {
        title: format!("ring of {nodes}"),
        places: (0..nodes).map(place).collect(),
        links: (0..nodes as u32)
            .map(|node| (node, (node + 1) % nodes as u32))
            .collect(),
        ..Graph::default()
    }
}

fn figure(panels: Vec<Graph>) -> GraphFigure {
    GraphFigure {
        width: 240.0,
        font_size: 8.0,
        panels,
    }
}

/// The corners of all elements of a kind.
fn points(svg: &str, element: &str) -> Vec<Vec<[f64; 2]>> {
    let start = format!("<{element}");
    let parts = svg.split(&start).skip(1);
    let points = parts.map(|part| {
        let points = part.split("points=\"").nth(1).unwrap();
        points.split('"').next().unwrap().split(' ')
    });
    let number = |text: &str| text.parse::<f64>().unwrap();
    let place = |point: &str| {
        let (x, y) = point.split_once(',').unwrap();
        [number(x), number(y)]
    };
    points.map(|points| points.map(place).collect()).collect()
}

#[test]
fn nodes_and_links_lie_in_a_square_below_the_title() {
    let drawing = figure(vec![cycle(8)]).drawing();
    let svg = drawing.svg();
    let links = points(&svg, "polyline");
    let nodes = points(&svg, "polygon");
    assert_eq!((links.len(), nodes.len()), (8, 9), "and the ground");
    let page = &nodes[0];
    let (width, height) = (page[2][0], page[2][1]);
    assert_eq!(width, 240.0);
    // The page has the height of the square and of a line.
    assert!(height > 240.0 && height < 260.0, "{height}");
    let all = nodes[1..].iter().chain(&links).flatten();
    for [x, y] in all {
        assert!((0.0..=width).contains(x) && (height - 240.0..=height).contains(y));
    }
    // The first node is at the top, and its link goes from there.
    let top: f64 = nodes[1].iter().map(|[_, y]| y).sum::<f64>() / nodes[1].len() as f64;
    assert!((links[0][0][1] - top).abs() < 0.05);
    assert!(svg.contains("\nring of 8\n"));
    assert!(!drawing.pdf().is_empty() && drawing.png(72.0).is_ok());
}

#[test]
fn arrows_show_the_directions_of_links() {
    let mut graph = cycle(6);
    graph.is_directed = true;
    let svg = figure(vec![graph.clone()]).drawing().svg();
    let heads: Vec<_> = points(&svg, "polygon")
        .into_iter()
        .filter(|corners| corners.len() == 3)
        .collect();
    assert_eq!(heads.len(), 6);
    let links = points(&svg, "polyline");
    for (head, link) in heads.iter().zip(&links) {
        let distance = |from: [f64; 2], to: [f64; 2]| (from[0] - to[0]).hypot(from[1] - to[1]);
        let tip = distance(head[0], link[1]);
        assert!(tip < distance(head[1], link[1]) && tip < 6.0, "{head:?}");
    }
    // Nodes that touch leave no room for arrows.
    graph.places = vec![[0.0, 0.0]; 6];
    let svg = figure(vec![graph]).drawing().svg();
    assert!(
        points(&svg, "polygon")
            .iter()
            .all(|corners| corners.len() != 3)
    );
}

#[test]
fn groups_have_colours() {
    let mut graph = cycle(4);
    let colours = |graph: &Graph| {
        let svg = figure(vec![graph.clone()]).drawing().svg();
        let fills = svg.split("<polygon").skip(2);
        let fill = |part: &str| part.split("fill=\"").nth(1).unwrap()[..7].to_owned();
        fills.map(fill).collect::<Vec<String>>()
    };
    let alike = colours(&graph);
    assert!(alike.iter().all(|colour| *colour == alike[0]));
    graph.groups = vec![0, 0, 1, 2];
    let [a, b, c, d] = <[String; 4]>::try_from(colours(&graph)).unwrap();
    assert!(a == b && a == alike[0] && a != c && c != d && a != d);
}

#[test]
fn graphs_stand_side_by_side_in_rows() {
    let svg = figure(vec![cycle(5), cycle(6), cycle(7)]).drawing().svg();
    let page = points(&svg, "polygon")[0].clone();
    // Two squares beside each other and one below, each with a title.
    assert!(page[2][1] > 235.0 && page[2][1] < 280.0, "{page:?}");
    let links = points(&svg, "polyline");
    let middle = |links: &[Vec<[f64; 2]>]| {
        let ends = links.iter().flatten();
        let count = ends.clone().count() as f64;
        let sum = ends.fold([0.0; 2], |[x, y], end| [x + end[0], y + end[1]]);
        sum.map(|sum| sum / count)
    };
    let [first, second, third] = [&links[..5], &links[5..11], &links[11..]].map(middle);
    assert!((first[1] - second[1]).abs() < 0.1 && first[0] + 100.0 < second[0]);
    assert!((first[0] - third[0]).abs() < 0.1 && first[1] + 100.0 < third[1]);
}

#[test]
fn a_graph_of_one_node_or_none_is_drawn() {
    for places in [vec![[0.0, 0.0]], Vec::new()] {
        let nodes = places.len();
        let graph = Graph {
            places,
            ..Graph::default()
        };
        let svg = figure(vec![graph]).drawing().svg();
        assert_eq!(points(&svg, "polygon").len(), 1 + nodes);
        assert!(!svg.contains("NaN"));
    }
    assert!(!figure(Vec::new()).drawing().svg().contains("NaN"));
}
