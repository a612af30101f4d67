//! Statistics of a few numbers, such as the accuracies of one setting under several seeds.
//!
//! Everything here is a function of plain numbers, which must be finite. What cannot be known from so few numbers is
//! absent, never a NaN: one number has a mean but no standard deviation, and so no interval.
//!
//! ```
//! use meshfold_statistics::{Estimate, Paired};
//!
//! let ring = Estimate::of(&[0.91, 0.93, 0.92]).expect("there are numbers");
//! assert_eq!(ring.n, 3);
//! let interval = ring.interval.expect("two numbers or more have an interval");
//! assert!(interval.low < 0.92 && 0.92 < interval.high);
//!
//! let paired = Paired::of(&[(0.91, 0.90), (0.93, 0.91), (0.92, 0.91)]).expect("there are pairs");
//! assert!(paired.test.is_some_and(|test| test.p_value < 0.06));
//! ```
//!
//! The tests compare with SciPy 1.17.1 (`scipy.stats.t`, `ttest_rel`) and NumPy (`quantile`); each names the call that
//! gave its numbers.

mod estimate;
mod holm;
mod paired;
mod quantile;
mod quartiles;
mod student;

pub use estimate::{Estimate, Interval, Spread};
pub use holm::holm;
pub use paired::{Paired, PairedTest};
pub use quantile::{middle_nine_tenths, middles_by_key, quantile};
pub use quartiles::{Quantile, Quartiles};
pub use student::{LEVEL, two_sided_p_value, two_sided_quantile};
