//! Fig. 2 of P-FedAvg: the speed-up over one quantity, with a curve for each value of the others.

use meshfold_figure::{Axis, Curve, Figure, Legend, Panel, Point, Size, Unit};

use super::{Speedup, SpeedupArguments};
use crate::failure::Failure;
use crate::page::{Out, write};

/// Width of a column of a paper, in millimetres.
const WIDTH: f64 = 85.0;

/// A quantity that may have several values.
struct Quantity {
    /// The option that takes it.
    option: &'static str,
    title: &'static str,
    /// How many values it has.
    values: usize,
    of: fn(&Speedup) -> f64,
}

/// Draws `found` into the file `out`: over the quantity with the most values, with curves by the others that have several.
///
/// # Errors
/// [`Failure::Refused`] if nothing has several values, [`Failure::Broken`] if the file cannot be written.
pub(super) fn draw(
    arguments: &SpeedupArguments,
    found: &[Speedup],
    out: &Out,
) -> Result<(), Failure> {
    let mut several: Vec<Quantity> = quantities(arguments).into_iter().collect();
    several.retain(|quantity| quantity.values > 1);
    // Of as many values the first quantity: `max_by_key` would take the last.
    let Some(most) = several.iter().map(|quantity| quantity.values).max() else {
        let options = quantities(arguments).map(|quantity| quantity.option);
        let message = format!("a figure needs several values of {}", options.join(", "));
        return Err(Failure::refused(message));
    };
    let over = several.iter().position(|quantity| quantity.values == most);
    let over = several.remove(over.unwrap_or_default());
    write(&figure(&over, &several, found).drawing(), out, 300)
}

/// What may have several values, the likelier horizontal axes first.
fn quantities(arguments: &SpeedupArguments) -> [Quantity; 3] {
    [
        Quantity {
            option: "--participants",
            title: "Participants, K",
            values: arguments.participants.len(),
            of: |found| f64::from(found.participants),
        },
        Quantity {
            option: "--step-delay",
            title: "Mean of a local iteration",
            values: arguments.step_delay.len(),
            of: |found| found.step_delay,
        },
        Quantity {
            option: "--local-steps",
            title: "Local iterations, E",
            values: arguments.local_steps.len(),
            of: |found| f64::from(found.local_steps),
        },
    ]
}

fn figure(over: &Quantity, by: &[Quantity], found: &[Speedup]) -> Figure {
    let keys_of = |found: &Speedup| -> Vec<String> {
        by.iter()
            .map(|quantity| (quantity.of)(found).to_string())
            .collect()
    };
    let mut keys: Vec<Vec<String>> = Vec::new();
    for key in found.iter().map(keys_of) {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    let titles: Vec<String> = by
        .iter()
        .map(|quantity| quantity.title.to_owned())
        .collect();
    let (legend, styles) = Legend::of(&titles, &keys);
    let curves = keys.iter().zip(styles).map(|(key, style)| {
        let of_curve = found.iter().filter(|found| keys_of(found) == *key);
        let mut points: Vec<Point> = of_curve.map(|found| point(over, found)).collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        Curve {
            style,
            is_marked: false,
            points,
        }
    });
    let unit = match over.option {
        "--step-delay" => Unit::Of("s"),
        _ => Unit::Number,
    };
    Figure {
        size: Size::millimetres(WIDTH, 0.72 * WIDTH),
        font_size: 8.0,
        x: Axis::linear(over.title, unit),
        y: Axis::linear("Speed-up", Unit::Number),
        legend,
        panels: vec![Panel::whole(curves.collect())],
    }
}

fn point(over: &Quantity, found: &Speedup) -> Point {
    let y = found.seconds.speed_up();
    Point {
        x: (over.of)(found),
        y,
        low: y,
        high: y,
    }
}
