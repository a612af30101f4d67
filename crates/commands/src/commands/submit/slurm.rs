//! Slurm, by its own programs.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};

/// Elements of an array where the site does not say how many it allows: Slurm's own default.
pub(super) const MOST_ELEMENTS: usize = 1001;

/// The most elements of an array, from `scontrol show config`.
///
/// # Errors
/// What the program says if it cannot be started or fails.
pub(super) fn most_elements() -> Result<usize, String> {
    let config = said(Command::new("scontrol").args(["show", "config"]))?;
    most_elements_in(&config)
        .map(Ok)
        .unwrap_or(Ok(MOST_ELEMENTS))
}

/// The highest index of an element is one less than `MaxArraySize`.
fn most_elements_in(config: &str) -> Option<usize> {
    let mut settings = config.lines().filter_map(|line| line.split_once('='));
    let (_, value) = settings.find(|(name, _)| name.trim() == "MaxArraySize")?;
    value.trim().parse().ok().filter(|most| *most > 0)
}

/// Submits the script at `path`; returns the number of the job.
///
/// # Errors
/// As [`most_elements`].
pub(super) fn submit(path: &Path, further: &[String]) -> Result<String, String> {
    let mut command = Command::new("sbatch");
    command.arg("--parsable").args(further).arg(path);
    let said = said(&mut command)?;
    // A cluster in a federation follows the number.
    let job = said.trim().split(';').next().unwrap_or_default();
    match job.parse::<u64>() {
        Ok(_) => Ok(job.to_owned()),
        Err(_) => Err(format!("sbatch named no job: {}", said.trim())),
    }
}

/// The elements of this user's job arrays that wait or run: job and index.
///
/// # Errors
/// As [`most_elements`].
pub(super) fn active() -> Result<BTreeSet<(String, usize)>, String> {
    let mut command = Command::new("squeue");
    command.args(["--me", "--noheader", "--array", "--format=%F %K"]);
    Ok(elements(&said(&mut command)?))
}

fn elements(listed: &str) -> BTreeSet<(String, usize)> {
    let element = |line: &str| {
        let (job, index) = line.trim().split_once(' ')?;
        Some((job.to_owned(), index.trim().parse().ok()?))
    };
    listed.lines().filter_map(element).collect()
}

/// What `command` prints.
fn said(command: &mut Command) -> Result<String, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| {
        format!("`{program}` of Slurm cannot be started: {error}; submit where Slurm is installed, or use --dry-run")
    })?;
    let Output {
        status,
        stdout,
        stderr,
    } = output;
    match status.success() {
        true => Ok(String::from_utf8_lossy(&stdout).into_owned()),
        false => Err(format!(
            "`{program}` failed: {}",
            String::from_utf8_lossy(&stderr).trim()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_elements_are_read_from_the_configuration() {
        let config = "MaxArraySize            = 401\nMaxJobCount             = 10000\n";
        assert_eq!(most_elements_in(config), Some(401));
        assert_eq!(most_elements_in("MaxArraySize = unlimited"), None);
        assert_eq!(most_elements_in(""), None);
    }

    #[test]
    fn elements_are_listed_by_job_and_index() {
        let listed = "12 0\n12 17\n13 N/A\n\n";
        let expected = BTreeSet::from([("12".to_owned(), 0), ("12".to_owned(), 17)]);
        assert_eq!(elements(listed), expected);
    }
}
