//! Parts of a program's own: the examples, as programs and as libraries.

#![allow(clippy::unwrap_used)]

mod method;
mod parts;
mod runs;

#[path = "../../examples/own_method.rs"]
#[expect(dead_code, unreachable_pub, reason = "it is a program")]
mod own_method;
#[path = "../../examples/own_parts.rs"]
#[expect(dead_code, unreachable_pub, reason = "it is a program")]
mod own_parts;
