//! Γ of P-FedAvg: what the clients lose by sharing one linear model.

use meshfold_data::{Examples, Partition};
use meshfold_engine::{Linear, Targets};

use crate::plan::RunPlan;

/// Of what remains of a column once the columns before are taken out, less than this share of it is rounding.
const ROUNDING: f64 = 1e-9;

/// `Γ = f* − Σ_j q_j f_j*` of the linear model, `f = Σ_j q_j f_j`, `q_j = 1/(M N_i)` for client `j` of server `i`.
///
/// # Source
/// P-FedAvg (Liu et al.), Assumption 6.
///
/// # Complexity
/// O(n d²) for n examples of d features, and a copy of the examples in double precision: a minute for 60,000 of 784.
pub(crate) fn non_iid_degree(plan: &RunPlan, linear: &Linear, train: &Examples) -> f64 {
    let setting = &plan.population.setting;
    let groups = plan.config.algorithm.overlay_groups(setting);
    let groups = groups.unwrap_or_else(|| vec![(0..setting.clients as u32).collect()]);
    of_groups(&groups, &plan.partition, (linear, train))
}

/// Γ of clients in `groups`, one for each server.
fn of_groups(
    groups: &[Vec<u32>],
    partition: &Partition,
    (linear, train): (&Linear, &Examples),
) -> f64 {
    let mut all = LeastSquares::default();
    let mut own = 0.0;
    for group in groups {
        for client in group {
            let share = 1.0 / (groups.len() * group.len()) as f64; // q_j
            let shard = partition.shard(*client as usize);
            if shard.is_empty() {
                continue;
            }
            let weight = share / shard.len() as f64;
            let mut alone = LeastSquares::default();
            for example in shard {
                alone.add(linear, train, *example, weight);
                all.add(linear, train, *example, weight);
            }
            own += alone.least();
        }
    }
    all.least() - own
}

/// Weighted examples of a linear model: `Σ w ½ ‖W x + b − target‖²`.
#[derive(Debug, Default)]
struct LeastSquares {
    /// `√w x`, with a one for the bias, `[n][d]`.
    inputs: Vec<Vec<f64>>,
    /// `√w target`, `[n][outputs]`.
    targets: Vec<Vec<f64>>,
}

impl LeastSquares {
    fn add(&mut self, linear: &Linear, train: &Examples, example: u32, weight: f64) {
        let root = weight.sqrt();
        let row = train.row(example as usize);
        let bias = linear.bias.then_some(1.0);
        let row = row.into_iter().map(f64::from).chain(bias);
        self.inputs.push(row.map(|value| root * value).collect());
        let label = train.labels()[example as usize];
        self.targets.push(match linear.targets {
            Targets::Value => vec![root * f64::from(label)],
            Targets::OneHot => (0..train.classes())
                .map(|class| {
                    if class == usize::from(label) {
                        root
                    } else {
                        0.0
                    }
                })
                .collect(),
        });
    }

    /// The least loss: what of the targets is orthogonal to every column of the inputs (modified Gram-Schmidt, twice).
    fn least(&self) -> f64 {
        let columns = |rows: &[Vec<f64>]| -> Vec<Vec<f64>> {
            let width = rows.first().map_or(0, Vec::len);
            (0..width)
                .map(|column| rows.iter().map(|row| row[column]).collect())
                .collect()
        };
        let mut basis: Vec<Vec<f64>> = Vec::new();
        for mut column in columns(&self.inputs) {
            if basis.len() == self.inputs.len() {
                break;
            }
            let before = dot(&column, &column);
            take_out(&basis, &mut column);
            take_out(&basis, &mut column);
            let left = dot(&column, &column);
            if left > ROUNDING * ROUNDING * before {
                let norm = left.sqrt();
                column.iter_mut().for_each(|value| *value /= norm);
                basis.push(column);
            }
        }
        let rest = |mut target: Vec<f64>| {
            take_out(&basis, &mut target);
            take_out(&basis, &mut target);
            0.5 * dot(&target, &target)
        };
        columns(&self.targets).into_iter().map(rest).sum()
    }
}

/// Makes `column` orthogonal to the orthonormal columns of `basis`.
fn take_out(basis: &[Vec<f64>], column: &mut [f64]) {
    for direction in basis {
        let along = dot(direction, column);
        for (value, direction) in column.iter_mut().zip(direction) {
            *value -= along * direction;
        }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshfold_data::{Scale, Shape};

    /// Clients 0 and 2 have (0, 0) and (2, 2), client 1 has (0, 2) and (2, 0): each alone is met by a line.
    #[test]
    fn the_degree_is_what_clients_lose_by_sharing_a_line() {
        let shape = Shape {
            channels: 1,
            height: 1,
            width: 1,
        };
        let scale = Scale {
            multiply: 1.0,
            add: 0.0,
        };
        let (inputs, labels) = (vec![0, 2, 0, 2, 0, 2], vec![0, 2, 2, 0, 0, 2]);
        let train = Examples::new(inputs, labels, shape, 3, scale).unwrap();
        let partition = Partition::new(vec![vec![0, 1], vec![2, 3], vec![4, 5]], 6).unwrap();
        let linear = Linear {
            targets: Targets::Value,
            bias: true,
        };
        let degree = |groups: &[Vec<u32>]| of_groups(groups, &partition, (&linear, &train));
        let close =
            |found: f64, expected: f64| assert!((found - expected).abs() < 1e-12, "{found}");
        // Two thirds of all want 0 where one third wants 2: a variance of 8/9 about the best line.
        close(degree(&[vec![0, 1, 2]]), 4.0 / 9.0);
        // Two servers, and half of the weight on client 1: a variance of 1.
        close(degree(&[vec![0, 2], vec![1]]), 0.5);
        close(degree(&[vec![0, 2]]), 0.0);
    }

    fn least(inputs: &[&[f64]], targets: &[f64]) -> f64 {
        let squares = LeastSquares {
            inputs: inputs.iter().map(|row| row.to_vec()).collect(),
            targets: targets.iter().map(|target| vec![*target]).collect(),
        };
        squares.least()
    }

    #[test]
    fn the_least_loss_is_that_of_the_best_line() {
        // y = 0, 1, 1 at x = 0, 1, 2: the best line is 1/6 + x/2, which misses by 1/6, 1/3, 1/6.
        let line: [&[f64]; 3] = [&[0.0, 1.0], &[1.0, 1.0], &[2.0, 1.0]];
        assert!((least(&line, &[0.0, 1.0, 1.0]) - 0.5 / 6.0).abs() < 1e-15);
        // A column twice, and one of zeros, change nothing.
        let twice: [&[f64]; 3] = [
            &[0.0, 1.0, 0.0, 0.0],
            &[1.0, 1.0, 1.0, 0.0],
            &[2.0, 1.0, 2.0, 0.0],
        ];
        assert!((least(&twice, &[0.0, 1.0, 1.0]) - 0.5 / 6.0).abs() < 1e-15);
        // Fewer examples than features are met exactly.
        assert!(least(&[&[1.0, 2.0, 3.0], &[3.0, -1.0, 1.0]], &[5.0, 8.0]) < 1e-25);
    }
}
