//! Under what a run was made: `environment.json`.

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
        }
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
        let home = std::env::var("HOME").unwrap_or_else(|_| "no home".to_owned());
        assert!(!text.contains(&home), "{text}");
    }
}
