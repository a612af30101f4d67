//! The numbers and orderings that papers state, beside ours.
//!
//! A file of [`Rows`] lists what the papers state. Each [`Row`] names the experiment that it is compared with, how its values are
//! read from the records of runs ([`Reading`]) and what must hold of them ([`Claim`]). [`Planned`] plans the experiments of some
//! rows, [`chosen`] takes the runs that fit into a budget of time, and [`RowOutcome`] is what finished runs say of a row. The verdict
//! is computed from the values, never written down.

mod budget;
mod claim;
mod curves;
mod error;
mod ledger;
mod outcome;
mod page;
mod planned;
mod reading;
mod rows;
mod settings;
mod shown;
mod table;
mod verdict;

pub use budget::{Task, chosen, tasks};
pub use claim::{Claim, Held};
pub use error::ReproductionError;
pub use ledger::{BySeed, Ledger, Measured};
pub use outcome::{ReadOut, RowOutcome, Values};
pub use page::page;
pub use planned::{Planned, PlannedReading, PlannedRow, PlannedValue, Planning};
pub use reading::{Reading, Unread};
pub use rows::{Alternative, Row, Rows, Value};
pub use table::{refreshed, table};
pub use verdict::Verdict;
