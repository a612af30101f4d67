//! Under what a run was made: `environment.json`.

use std::path::Path;
use std::sync::OnceLock;

use jiff::{Timestamp, Unit};
use meshfold_engine::{Device, Precision, Ranks};
use serde::{Deserialize, Serialize};
use sysinfo::{CpuRefreshKind, RefreshKind, System};

use crate::results::data_digests::DataDigests;

/// The version of this program.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What may change the bits or the speed of a run beside its configuration. Names no user, host or path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Environment {
    /// Version of this program.
    pub meshfold: String,
    /// Commit that it was built from, if known.
    pub commit: Option<String>,
    /// Device kind on which the same configuration gives the same bits, such as `cpu/avx2`.
    pub device: String,
    /// Threads that share the rows; absent on a GPU.
    pub threads: Option<usize>,
    /// Ranks that the run was dealt over, each with so many threads; absent where one process had all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks: Option<usize>,
    /// Operating system.
    pub os: String,
    /// Processor architecture.
    pub architecture: String,
    /// Model of the processor, where the system tells.
    pub cpu: Option<String>,
    /// When the run was started or last resumed, in UTC to the second.
    pub date: Timestamp,
    /// Digests of its data; absent from runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<DataDigests>,
    /// Under what the rounds before the last resumption were made, if the run was resumed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<EarlierRounds>,
}

/// Under what some rounds of a run were made that was resumed after them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EarlierRounds {
    /// The last of them.
    pub to_round: usize,
    /// Version of the program.
    pub meshfold: String,
    /// Commit that it was built from, if known.
    pub commit: Option<String>,
    /// Threads that shared the rows; absent on a GPU.
    pub threads: Option<usize>,
    /// Ranks that the run was dealt over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks: Option<usize>,
    /// Model of the processor, where the system tells.
    pub cpu: Option<String>,
    /// When these rounds began.
    pub date: Timestamp,
}

impl Environment {
    /// The environment of a run on `device` with operands of `precision` that starts now, without the digests of its data.
    pub fn of(device: &Device, precision: Precision, commit: Option<String>) -> Self {
        let now = Timestamp::now();
        Self {
            meshfold: VERSION.to_owned(),
            commit,
            device: device.kind_in(precision),
            threads: device.threads(),
            ranks: device.ranks().map(Ranks::count),
            os: std::env::consts::OS.to_owned(),
            architecture: std::env::consts::ARCH.to_owned(),
            cpu: processor(),
            date: now.round(Unit::Second).unwrap_or(now),
            data: None,
            earlier: Vec::new(),
        }
    }

    /// The same, of a run that goes on after `round` with what was made under the environment in the file at `path`. A file that cannot be
    /// read is passed over: the run goes on from its checkpoint.
    pub(crate) fn after(self, round: usize, path: &Path) -> Self {
        let before = std::fs::read(path).ok();
        let before: Option<Self> = before.and_then(|text| serde_json::from_slice(&text).ok());
        let Some(before) = before else {
            return self;
        };
        let mut earlier = before.earlier;
        // Rounds after the checkpoint are made again.
        earlier.retain(|part| part.to_round <= round);
        if earlier.last().is_none_or(|part| part.to_round < round) {
            earlier.push(EarlierRounds {
                to_round: round,
                meshfold: before.meshfold,
                commit: before.commit,
                threads: before.threads,
                ranks: before.ranks,
                cpu: before.cpu,
                date: before.date,
            });
        }
        Self { earlier, ..self }
    }

    /// The commit that made the rounds before, if it is known to be another one.
    pub(crate) fn other_commit(&self) -> Option<&str> {
        let before = self.earlier.last()?.commit.as_deref()?;
        let now = self.commit.as_deref()?;
        (before != now).then_some(before)
    }
}

/// The model of the processor, which the system is asked once: it answers with a page for each core.
fn processor() -> Option<String> {
    static MODEL: OnceLock<Option<String>> = OnceLock::new();
    let model = MODEL.get_or_init(|| {
        let cores = RefreshKind::nothing().with_cpu(CpuRefreshKind::nothing());
        let system = System::new_with_specifics(cores);
        let name = system.cpus().first()?.brand().trim();
        (!name.is_empty()).then(|| name.to_owned())
    });
    model.clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_environment_reads_back_and_holds_no_path() {
        let environment = Environment::of(
            &Device::cpu().unwrap(),
            Precision::F32,
            Some("0123abcd".to_owned()),
        );
        let text = serde_json::to_string(&environment).unwrap();
        assert_eq!(
            serde_json::from_str::<Environment>(&text).unwrap(),
            environment
        );
        assert!(environment.device.starts_with("cpu/"));
        assert!(!text.contains("earlier"), "{text}");
        let home = std::env::var("HOME").unwrap_or_else(|_| "no home".to_owned());
        assert!(!text.contains(&home), "{text}");
    }

    #[test]
    fn each_resumption_keeps_under_what_the_rounds_before_were_made() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("environment.json");
        let of = |commit: &str| {
            let device = Device::cpu().unwrap();
            Environment::of(&device, Precision::F32, Some(commit.to_owned()))
        };
        let write = |environment: &Environment| {
            std::fs::write(&path, serde_json::to_vec(environment).unwrap()).unwrap();
        };
        assert!(
            of("b").after(3, &path).earlier.is_empty(),
            "there is no file"
        );
        write(&of("a"));
        let resumed = of("a").after(10, &path);
        assert_eq!(resumed.other_commit(), None);
        write(&resumed);
        let again = of("b").after(25, &path);
        assert_eq!(again.other_commit(), Some("a"));
        let rounds: Vec<usize> = again.earlier.iter().map(|part| part.to_round).collect();
        assert_eq!(rounds, [10, 25]);
        write(&again);
        let no_further = of("b").after(25, &path);
        assert_eq!(
            no_further.earlier, again.earlier,
            "it made no round that counts"
        );
    }
}
