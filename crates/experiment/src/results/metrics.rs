//! `metrics.jsonl`, a line for each evaluation of a run: what a line holds, how a run writes it, and how others read it.
//!
//! A run reads its own records as strictly as it writes them ([`record`], [`writer`]). Whoever shows runs reads any version's, the
//! figures that are known ([`evaluations`]) or all by their names ([`figures`]).

pub(crate) mod evaluations;
pub(crate) mod figures;
pub(crate) mod record;
pub(crate) mod writer;
