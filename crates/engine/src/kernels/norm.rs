//! The length of a vector.

/// Number of interleaved sums of squares: with a single sum, each addition would wait for the one before.
const SUMS: usize = 32;

/// The Euclidean norm. Squares are added in double precision, in the same order on every instruction set.
#[inline(always)]
pub(crate) fn norm(values: &[f32]) -> f32 {
    let square = |value: &f32| f64::from(*value) * f64::from(*value);
    let mut sums = [0.0f64; SUMS];
    let chunks = values.chunks_exact(SUMS);
    let rest: f64 = chunks.remainder().iter().map(square).sum();
    for chunk in chunks {
        for (sum, value) in sums.iter_mut().zip(chunk) {
            *sum += square(value);
        }
    }
    (sums.iter().sum::<f64>() + rest).sqrt() as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::Instructions;
    use crate::kernels::test_numbers::numbers;

    #[test]
    fn a_norm_is_that_of_a_plain_loop_and_the_same_on_every_set() {
        for size in [0, 1, 31, 32, 1000, 4099] {
            let values = numbers(size, 3);
            let squares = values.iter().map(|value| f64::from(*value).powi(2));
            let expected = squares.sum::<f64>().sqrt();
            for set in Instructions::every() {
                let found = set.vectorize(
                    #[inline(always)]
                    || norm(&values),
                );
                assert!(
                    (f64::from(found) - expected).abs() <= 1e-7 * expected,
                    "{set}"
                );
                assert_eq!(found, norm(&values), "{set}");
            }
        }
    }
}
