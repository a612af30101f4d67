//! Tables that compare runs: one row for each setting, with what its seeds say of it.
//!
//! [`Table::of`] groups recorded runs by the settings in a [`Request`] and estimates a figure of each group.
//! [`Curves::of`] follows a figure over the progress of each group, and [`Plot::of`] draws that, or the figure as bars, over a setting,
//! an overlay or the clients.
//! [`Grid`] is a table in words, which [`latex()`] and [`markdown()`] write; [`records()`] and [`csv()`] give plain numbers.

mod across;
mod ages;
mod at;
mod bars;
mod baseline;
mod centre;
mod choosing;
mod client_figure;
mod column;
mod combined;
mod combined_columns;
mod combined_files;
mod cost_figure;
mod curves;
mod deciding;
mod difference;
mod digits;
mod edge_of_range;
mod error;
mod fields;
mod figure_words;
mod grid;
mod grouping;
mod horizontal;
mod judged;
mod latex;
mod loss;
mod markdown;
mod name;
mod naming;
mod notes;
mod only;
mod over_clients;
mod over_overlays;
mod over_setting;
mod overlay_figure;
mod panels;
mod parquet_table;
mod place_notes;
mod plot;
mod points;
mod records;
mod request;
mod row_notes;
mod series;
mod setting_axis;
mod settings_columns;
mod several;
mod table;
mod target_notes;

pub use at::At;
pub use centre::{Centre, Summary};
pub use column::{Cells, Column, Kind};
pub use combined::CombinedTable;
pub use combined_files::{COMBINED, CombineError, write_combined};
pub use curves::{CurvePoint, CurveRequest, Curves, MeanCurve};
pub use difference::Difference;
pub use error::TableError;
pub use grid::{Grid, GridRow};
pub use grouping::Shown;
pub use horizontal::Horizontal;
pub use latex::{Surroundings, latex};
pub use loss::Loss;
pub use markdown::markdown;
pub use meshfold_experiment::results::Progress;
pub use meshfold_statistics::{Quantile, Quartiles, Spread};
pub use naming::{Naming, panel_titles};
pub use only::{Only, are_chosen};
pub use plot::{AxisRequest, Plot, PlotError, PlotRequest};
pub use records::{csv, records};
pub use request::Request;
pub use series::Band;
pub use table::{Outcome, Reaching, Row, Table};
