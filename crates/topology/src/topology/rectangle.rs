//! The sides of a grid or torus that holds a given number of nodes.

use crate::TopologyError;

/// Rows and columns of a rectangle of `nodes` nodes, as square as possible unless `rows` says how many rows.
///
/// # Errors
/// [`TopologyError::Setting`] if `rows` does not divide `nodes`, and if `nodes` is a prime above 3 and `rows` is not given: a single row
/// is a path or ring, which should be asked for by name.
pub(super) fn sides(
    topology: &'static str,
    rows: Option<usize>,
    nodes: usize,
) -> Result<(usize, usize), TopologyError> {
    if let Some(rows) = rows {
        let fits = rows > 0 && nodes.is_multiple_of(rows);
        let needed =
            || format!("a divisor of {nodes}, the number of nodes, so that all rows are as long");
        let fault = || TopologyError::setting(format!("{topology}.rows"), rows, needed());
        return fits.then(|| (rows, nodes / rows)).ok_or_else(fault);
    }
    let rows = (1..=nodes.isqrt())
        .rev()
        .find(|&rows| nodes.is_multiple_of(rows))
        .unwrap_or(1);
    if rows == 1 && nodes > 3 {
        let found = format!("{nodes} nodes, a prime number, which fills only a single row");
        let needed = format!("{} or {} nodes, or `rows: 1`", nodes - 1, nodes + 1);
        return Err(TopologyError::setting(topology, found, needed));
    }
    Ok((rows, nodes / rows))
}

/// The topology's name, with its rows if they were given.
pub(super) fn label(topology: &str, rows: Option<usize>) -> String {
    match rows {
        None => topology.to_owned(),
        Some(rows) => format!("{topology} rows={rows}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_are_the_nearest_pair_of_factors() {
        for (nodes, expected) in [
            (1, (1, 1)),
            (2, (1, 2)),
            (9, (3, 3)),
            (12, (3, 4)),
            (100, (10, 10)),
            (26, (2, 13)),
        ] {
            assert_eq!(sides("grid", None, nodes), Ok(expected));
        }
        assert_eq!(sides("grid", Some(2), 12), Ok((2, 6)));
    }

    #[test]
    fn primes_and_rows_that_do_not_divide_are_refused() {
        assert_eq!(sides("grid", Some(1), 97), Ok((1, 97)));
        let error = sides("grid", None, 97).unwrap_err();
        assert_eq!(
            error.to_string(),
            "grid: found 97 nodes, a prime number, which fills only a single row, needed 96 or 98 nodes, or `rows: 1`"
        );
        for rows in [5, 0] {
            let error = sides("torus", Some(rows), 12).unwrap_err().to_string();
            let expected = format!(
                "torus.rows: found {rows}, needed a divisor of 12, the number of nodes, so that all rows are as long"
            );
            assert_eq!(error, expected);
        }
    }
}
