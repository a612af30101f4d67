//! Products in tiles of pairs, where a [`Unit`](super::amx::Unit) multiplies them.
//!
//! The unit sums a block of 16 pairs at once. So the bits of a product depend on where blocks begin: every 16 pairs,
//! and at each line of a window. They do not depend on which rows and columns are computed together, nor on zeros that
//! fill a block.
//!
//! A tile is read at full speed if each of its rows is a cache line. Factors that are read often are stored so; see
//! [`Tiled`].

mod forward;
mod gradient;
mod tiled;

pub(super) use gradient::{WIDE, apply_rows};
pub(super) use tiled::Tiled;
