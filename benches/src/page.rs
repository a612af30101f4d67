//! The page of `benches/gpu.sh`: what a GPU passed, how fast it is, and where its time goes, from the records that the script keeps.

use crate::BenchError;
use clap::Args;
use serde_json::Value;
use std::fmt::Write;
use std::path::PathBuf;

/// Which records.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Records that `benches/gpu.sh` has kept, one JSON object a line.
    records: PathBuf,
}

/// Records of a script, each with the kind that it names it by.
struct Records(Vec<Value>);

/// The workloads that train.
const TRAINING: [&str; 5] = ["w1", "w2", "w3", "w4", "w5"];

/// The page, in Markdown.
pub(crate) fn run(arguments: &Arguments) -> Result<String, BenchError> {
    let text =
        std::fs::read_to_string(&arguments.records).map_err(|error| BenchError::Records {
            path: arguments.records.clone(),
            reason: error.to_string(),
        })?;
    let line = |(index, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|error| BenchError::Records {
            path: arguments.records.clone(),
            reason: format!("line {}: {error}", index + 1),
        })
    };
    let records = Records(
        text.lines()
            .enumerate()
            .map(line)
            .collect::<Result<_, _>>()?,
    );
    Ok([
        records.machine(),
        records.tests(),
        records.workloads(),
        records.mixing(),
        records.steps(),
        records.kernels(),
    ]
    .concat())
}

impl Records {
    /// Those of a kind, of one workload if `case` names it.
    fn of<'a>(&'a self, kind: &'a str, case: Option<&'a str>) -> impl Iterator<Item = &'a Value> {
        let is_of = move |kept: &&Value| {
            kept["kind"] == kind && case.is_none_or(|case| kept["record"]["case"] == case)
        };
        self.0.iter().filter(is_of).map(|kept| &kept["record"])
    }

    fn first<'a>(&'a self, kind: &'a str, case: &'a str) -> Option<&'a Value> {
        self.of(kind, Some(case)).next()
    }

    /// Bytes a second that a copy of all models reads and writes.
    fn copied(&self) -> Option<f64> {
        let record = self.first("ours", "copy")?;
        Some(1e9 * record["gbps_read_once"].as_f64()?)
    }

    fn machine(&self) -> String {
        let mut page = "# Meshfold on a GPU\n".to_owned();
        for machine in self.of("machine", None) {
            let told = machine.as_object().into_iter().flatten();
            let told = told.map(|(key, value)| format!("- {key}: {}\n", plain(value)));
            page += &format!("\n{}", told.collect::<String>());
        }
        page
    }

    fn tests(&self) -> String {
        let row = |tests: &Value| {
            let cell = |key: &str| plain(&tests[key]);
            format!(
                "| {} | {} | {} | {} |\n",
                cell("what"),
                cell("passed"),
                cell("failed"),
                cell("seconds")
            )
        };
        let rows: String = self.of("tests", None).map(row).collect();
        section(
            "Tests against the processor",
            "| tests | passed | failed | seconds |\n|---|---|---|---|\n",
            &rows,
        )
    }

    fn workloads(&self) -> String {
        let row = |case: &&str| {
            let ours = self.first("ours", case)?;
            let own = rate(ours)?;
            let mut row = format!(
                "| {} | {} | {} |",
                case.to_uppercase(),
                plain(&ours["clients"]),
                own.told
            );
            for framework in ["jax", "torch"] {
                let rivals = self.of("rival", Some(case));
                let best = rivals
                    .filter(|rival| rival["framework"] == framework)
                    .filter_map(rate)
                    .max_by(|one, other| one.median.total_cmp(&other.median));
                match best {
                    Some(rival) => {
                        let times = own.median / rival.median;
                        let _ = write!(row, " {} | {times:.2} × |", rival.told);
                    }
                    None => row += " | |",
                }
            }
            Some(row + "\n")
        };
        let rows: String = TRAINING.iter().filter_map(row).collect();
        section(
            "Client steps a second, with mixing",
            "| workload | clients | Meshfold | JAX | ratio | PyTorch | ratio |\n|---|---|---|---|---|---|---|\n",
            &rows,
        )
    }

    fn mixing(&self) -> String {
        let row = |case: &str| {
            let record = self.first("ours", case)?;
            let bandwidth = 1e9 * record["gbps_read_once"].as_f64()?;
            let of_copy = self
                .copied()
                .map_or(String::new(), |copied| percent(bandwidth / copied));
            Some(format!("| {case} | {:.1} | {of_copy} |\n", bandwidth / 1e9))
        };
        let rows: String = ["copy", "w6"].into_iter().filter_map(row).collect();
        section(
            "Mixing alone, beside copying",
            "| | GB/s, each model read and written once | of the copy |\n|---|---|---|\n",
            &rows,
        )
    }

    fn steps(&self) -> String {
        let row = |case: &&str| {
            let record = self.first("local", case)?;
            let count = record["rounds"].as_f64()? * record["steps"].as_f64()?;
            let seconds = record["seconds"]["median"].as_f64()? / count;
            let trace = self.first("trace", case)?;
            let part = &trace["parts"][0];
            let least = part["least_bytes"].as_f64()?;
            let sum = part["kernels"].as_array()?.last()?;
            let moved = sum["bytes_read"].as_f64()? + sum["bytes_written"].as_f64()?;
            let floor = least / self.copied()?;
            let gflops = trace["gflop_of_a_step"].as_f64()? / seconds;
            Some(format!(
                "| {} | {:.4} | {} | {:.1} | {:.1} | {:.4} | {:.2} | {gflops:.0} |\n",
                case.to_uppercase(),
                1e3 * seconds,
                plain(&sum["launches"]),
                moved / MEBIBYTE,
                least / MEBIBYTE,
                1e3 * floor,
                seconds / floor
            ))
        };
        let rows: String = TRAINING.iter().filter_map(row).collect();
        section(
            "Local steps of all clients, beside their floor",
            "The floor is the time that a copy takes to move the least bytes of a step.\n\n\
             | workload | ms | launches | MiB | least MiB | floor, ms | ms / floor | GFLOP/s |\n|---|---|---|---|---|---|---|---|\n",
            &rows,
        )
    }

    fn kernels(&self) -> String {
        let mut page = String::new();
        for trace in self.of("trace", None) {
            for part in trace["parts"].as_array().into_iter().flatten() {
                let row = |kernel: &Value| {
                    let seconds = kernel["seconds"].as_f64()?;
                    let moved =
                        kernel["bytes_read"].as_f64()? + kernel["bytes_written"].as_f64()?;
                    let bandwidth = moved / seconds.max(1e-9);
                    let of_copy = self
                        .copied()
                        .map_or(String::new(), |copied| percent(bandwidth / copied));
                    Some(format!(
                        "| {} | {} | {:.3} | {:.4} | {:.1} | {of_copy} |\n",
                        plain(&kernel["kernel"]),
                        plain(&kernel["launches"]),
                        moved / MEBIBYTE,
                        1e3 * seconds,
                        bandwidth / 1e9
                    ))
                };
                let kernels = part["kernels"].as_array().into_iter().flatten();
                let rows: String = kernels.filter_map(row).collect();
                let title = format!(
                    "{}, {} clients: {}",
                    plain(&trace["case"]).to_uppercase(),
                    plain(&trace["clients"]),
                    plain(&part["part"])
                );
                page += &section(
                    &title,
                    "| kernel, run alone | launches | MiB | ms | GB/s | of the copy |\n|---|---|---|---|---|---|\n",
                    &rows,
                );
            }
        }
        page
    }
}

/// A rate, as a number and as text.
struct Rate {
    median: f64,
    told: String,
}

/// Client steps a second of a record.
fn rate(record: &Value) -> Option<Rate> {
    let rate = &record["client_steps_per_s"];
    let [median, least, most] = ["median", "min", "max"].map(|of| rate[of].as_f64());
    Some(Rate {
        median: median?,
        told: format!("{:.0} ({:.0}-{:.0})", median?, least?, most?),
    })
}

const MEBIBYTE: f64 = (1 << 20) as f64;

/// A section of the page; nothing if it has no rows.
fn section(title: &str, head: &str, rows: &str) -> String {
    match rows.is_empty() {
        true => String::new(),
        false => format!("\n## {title}\n\n{head}{rows}"),
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// A value as text: strings without marks, numbers without digits that say nothing.
fn plain(value: &Value) -> String {
    match (value.as_str(), value.as_f64()) {
        (Some(text), _) => text.to_owned(),
        (None, Some(number)) if number.fract() == 0.0 => format!("{number:.0}"),
        (None, Some(number)) => format!("{number:.2}"),
        (None, None) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(lines: &[&str]) -> String {
        let folder = std::env::temp_dir().join(format!("meshfold-page-{}", std::process::id()));
        std::fs::write(&folder, lines.join("\n")).expect("there is a folder for temporary files");
        let page = run(&Arguments {
            records: folder.clone(),
        });
        std::fs::remove_file(folder).expect("the file was there");
        page.expect("the records can be read")
    }

    #[test]
    fn a_page_sets_workloads_beside_rivals_and_steps_beside_their_floor() {
        let page = page(&[
            r#"{"kind":"machine","record":{"gpu":"G"}}"#,
            r#"{"kind":"ours","record":{"case":"copy","gbps_read_once":100.0}}"#,
            r#"{"kind":"ours","record":{"case":"w6","gbps_read_once":80.0}}"#,
            r#"{"kind":"ours","record":{"case":"w2","clients":4,"client_steps_per_s":{"median":300.0,"min":290.0,"max":310.0}}}"#,
            r#"{"kind":"rival","record":{"case":"w2","framework":"jax","client_steps_per_s":{"median":100.0,"min":1.0,"max":2.0}}}"#,
            r#"{"kind":"rival","record":{"case":"w2","framework":"jax","client_steps_per_s":{"median":150.0,"min":140.0,"max":160.0}}}"#,
            r#"{"kind":"local","record":{"case":"w2","rounds":1,"steps":10,"seconds":{"median":0.02}}}"#,
            r#"{"kind":"trace","record":{"case":"w2","clients":4,"gflop_of_a_step":1.0,"parts":[{"part":"local step of all clients","least_bytes":1e8,
                "kernels":[{"kernel":"sum","launches":7.0,"bytes_read":1e8,"bytes_written":1e8,"seconds":0.004}]}]}}"#
                .replace('\n', " ")
                .as_str(),
        ]);
        for expected in [
            "- gpu: G\n",
            "| W2 | 4 | 300 (290-310) | 150 (140-160) | 2.00 × | | |\n",
            "| copy | 100.0 | 100 % |\n| w6 | 80.0 | 80 % |\n",
            "| W2 | 2.0000 | 7 | 190.7 | 95.4 | 1.0000 | 2.00 | 500 |\n",
            "## W2, 4 clients: local step of all clients\n",
            "| sum | 7 | 190.735 | 4.0000 | 50.0 | 50 % |\n",
        ] {
            assert!(page.contains(expected), "{expected} in {page}");
        }
        assert!(!page.contains("Tests"), "{page}");
    }
}
