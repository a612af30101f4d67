//! Draws one digit in one writer's hand.

use rand::{Rng, RngExt};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use super::canvas::{Canvas, SIDE};
use super::template::{DIGITS, Stroke};
use super::warp::Warp;
use super::writer::Writer;

/// Standard deviation of the bend that is new with every digit, in digit heights.
const BEND: f32 = 0.05;
/// Standard deviation of the slant about the writer's own.
const SLANT: f32 = 0.10;
/// Standard deviation of the tangent of half the rotation (0.06 is about 7 degrees).
const HALF_TURN: f32 = 0.06;
/// Standard deviation of width and height relative to the writer's own.
const SIZE: f32 = 0.07;
/// Standard deviation of the position, in pixels per axis.
const SHIFT: f32 = 1.2;
/// Standard deviation of the pen's radius about the writer's own, in pixels.
const PEN: f32 = 0.12;
/// Largest noise added to or taken from a pixel, out of 255 (triangular).
const NOISE: i32 = 40;
/// Straight pieces per control point of a curve.
const PIECES: usize = 5;

/// Writes `digit` onto `pixels` `[28 * 28]`, 0 blank to 255 full ink.
pub(super) fn write(digit: usize, writer: &Writer, rng: &mut ChaCha8Rng, pixels: &mut [u8]) {
    let template = DIGITS[digit][writer.way(digit, rng)];
    let bend = Warp::draw(BEND, rng);
    let place = Placement::draw(writer, rng);
    let pen = (writer.pen + normal(PEN, rng)).max(0.5);
    let mut canvas = Canvas::new();
    for stroke in template {
        let path: Vec<_> = stroke
            .points
            .iter()
            .map(|&point| place.apply(bend.apply(writer.bend(digit).apply(point))))
            .collect();
        draw(stroke, &path, pen, &mut canvas);
    }
    expose(&canvas, rng, pixels);
}

/// An affine map from template coordinates to pixels.
struct Placement {
    x: [f32; 3],
    y: [f32; 3],
}

impl Placement {
    /// Slant, then size, then rotation, then shift, each about the writer's own.
    fn draw(writer: &Writer, rng: &mut ChaCha8Rng) -> Self {
        let slant = writer.slant + normal(SLANT, rng);
        let height = writer.height * (1.0 + normal(SIZE, rng));
        let width = writer.height * writer.aspect * (1.0 + normal(SIZE, rng));
        // Half-angle form: exact arithmetic alone, so the same pixels on every platform.
        let t = normal(HALF_TURN, rng);
        let (cosine, sine) = ((1.0 - t * t) / (1.0 + t * t), 2.0 * t / (1.0 + t * t));
        let centre = (SIDE as f32 - 1.0) / 2.0;
        let (shift_x, shift_y) = (centre + normal(SHIFT, rng), centre + normal(SHIFT, rng));
        // Before rotation: X = width * (x - slant * y), Y = height * y.
        Self {
            x: [
                cosine * width,
                -cosine * width * slant - sine * height,
                shift_x,
            ],
            y: [
                sine * width,
                cosine * height - sine * width * slant,
                shift_y,
            ],
        }
    }

    fn apply(&self, (x, y): (f32, f32)) -> (f32, f32) {
        (
            self.x[0] * x + self.x[1] * y + self.x[2],
            self.y[0] * x + self.y[1] * y + self.y[2],
        )
    }
}

/// Draws a stroke through `path`, its control points in pixels.
fn draw(stroke: &Stroke, path: &[(f32, f32)], pen: f32, canvas: &mut Canvas) {
    let pieces = if stroke.curved { PIECES } else { 1 };
    let at = |index: isize| path[index.clamp(0, path.len() as isize - 1) as usize];
    for start in 0..path.len() as isize - 1 {
        let around = [at(start - 1), at(start), at(start + 1), at(start + 2)];
        let mut from = around[1];
        for piece in 1..=pieces {
            let to = if piece == pieces {
                around[2]
            } else {
                catmull_rom(around, piece as f32 / pieces as f32)
            };
            canvas.line(from, to, pen);
            from = to;
        }
    }
}

/// The point `t` of the way from the second to the third of four points, on their Catmull-Rom curve.
fn catmull_rom(around: [(f32, f32); 4], t: f32) -> (f32, f32) {
    let axis = |a: f32, b: f32, c: f32, d: f32| {
        let cubic = -a + 3.0 * b - 3.0 * c + d;
        let square = 2.0 * a - 5.0 * b + 4.0 * c - d;
        b + 0.5 * t * ((c - a) + t * (square + t * cubic))
    };
    let [a, b, c, d] = around;
    (axis(a.0, b.0, c.0, d.0), axis(a.1, b.1, c.1, d.1))
}

/// Ink and noise to bytes. The noise of a pixel is the difference of two random nibbles, scaled.
fn expose(canvas: &Canvas, rng: &mut ChaCha8Rng, pixels: &mut [u8]) {
    let mut grain = [0_u8; SIDE * SIDE];
    rng.fill_bytes(&mut grain);
    let contrast: f32 = rng.random_range(0.75..1.0);
    for ((pixel, &ink), &byte) in pixels.iter_mut().zip(canvas.ink()).zip(&grain) {
        let noise = (i32::from(byte >> 4) - i32::from(byte & 15)) * NOISE / 15;
        let value = (ink * contrast * 255.0) as i32 + noise;
        *pixel = value.clamp(0, 255) as u8;
    }
}

fn normal(deviation: f32, rng: &mut ChaCha8Rng) -> f32 {
    let z: f32 = StandardNormal.sample(rng);
    deviation * z
}
