//! Arguments that several commands take.

use std::path::{Path, PathBuf};

use clap::{Args, value_parser};
use meshfold_data::DataFolder;
use meshfold_engine::{Device, DeviceRequest, Instructions, Ranks};
use meshfold_experiment::{ConfigError, ExperimentSource};

use crate::failure::Failure;
use crate::terminal;

/// An experiment and what is changed of it.
#[derive(Debug, Args)]
pub(crate) struct ExperimentArguments {
    /// The experiment's YAML file
    file: PathBuf,
    /// Override a value of the experiment, such as topology.regular.degree=4; repeatable
    #[arg(long = "set", value_name = "A.B=C")]
    overrides: Vec<String>,
    #[command(flatten)]
    pub(crate) data: DataArguments,
}

impl ExperimentArguments {
    /// The file.
    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// The overrides, as they were written.
    pub(crate) fn overrides(&self) -> &[String] {
        &self.overrides
    }

    /// The text of the file with the overrides.
    ///
    /// # Errors
    /// [`ConfigError`] if the file cannot be read.
    pub(crate) fn source(&self) -> Result<ExperimentSource, ConfigError> {
        Ok(ExperimentSource::read(&self.file)?.with_overrides(self.overrides.iter().cloned()))
    }
}

/// Where datasets are.
#[derive(Debug, Args)]
pub(crate) struct DataArguments {
    /// Folder of the datasets [default: MESHFOLD_DATA, else the platform's folder]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
}

impl DataArguments {
    /// The folder that was named, if one was.
    pub(crate) fn given(&self) -> Option<&Path> {
        self.data_dir.as_deref()
    }

    /// The folder that was named, here or in the environment, if one was.
    pub(crate) fn named(&self) -> Option<PathBuf> {
        let environment = || std::env::var_os("MESHFOLD_DATA").filter(|folder| !folder.is_empty());
        let named = self.data_dir.clone();
        named.or_else(|| environment().map(PathBuf::from))
    }

    /// The folder of the datasets, and that of the experiment for files of the user's own.
    ///
    /// # Errors
    /// As [`folder`](Self::folder).
    pub(crate) fn folder_for(&self, source: &ExperimentSource) -> Result<DataFolder, Failure> {
        Ok(self.folder()?.beside(source.resolve(Path::new(""))))
    }

    /// The folder of the datasets.
    ///
    /// # Errors
    /// [`Failure::Refused`] if none is given and the platform has none.
    pub(crate) fn folder(&self) -> Result<DataFolder, Failure> {
        Ok(DataFolder::resolve(self.data_dir.as_deref())?)
    }
}

/// The most threads, on a machine of few cores.
const MOST_THREADS: usize = 1024;

/// What to compute on.
#[derive(Debug, Args)]
pub(crate) struct DeviceArguments {
    /// cpu, wgpu, wgpu:INDEX, cuda, cuda:INDEX or auto
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    device: DeviceRequest,
    /// Threads of the processor [default: all cores]
    #[arg(long, value_name = "N", value_parser = value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// Instruction set of the processor, for the same bits on every machine that has it: amx-bf16, avx512-bf16, avx512, avx2, neon, or
    /// portable, which every processor has; amx-bf16 and avx512-bf16 are avx512 with products for `precision: bf16` [default: the widest]
    #[arg(long, value_name = "SET")]
    cpu: Option<Instructions>,
}

impl DeviceArguments {
    /// Opens the device.
    ///
    /// # Errors
    /// [`Failure::Refused`] if the program or the machine lacks it.
    pub(crate) fn open(&self) -> Result<Device, Failure> {
        let threads = self.start_threads(self.threads.map(usize::from))?;
        Ok(Device::open(self.device, threads, self.cpu)?)
    }

    /// Opens the device as one of `ranks`. Ranks of one machine share its cores, unless a number of threads is given,
    /// and take its GPUs in turn.
    ///
    /// # Errors
    /// [`Failure::Refused`] if the program or the machine of a rank lacks it; rank 0 reports it, the others return
    /// [`Failure::OfRankZero`].
    pub(crate) fn open_over(&self, ranks: Ranks) -> Result<Device, Failure> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let of_rank = (cores / ranks.on_this_machine()).max(1);
        let threads = self.threads.map_or(of_rank, usize::from);
        let threads = self.start_threads(Some(threads))?;
        let leads = ranks.leads();
        let opened = Device::over_ranks(ranks, self.device, threads, self.cpu);
        opened.map_err(|error| match leads {
            true => error.into(),
            false => Failure::OfRankZero,
        })
    }

    /// Starts the threads that all of the program share, `threads` or one for each core; returns how many were asked for.
    fn start_threads(&self, threads: Option<usize>) -> Result<Option<usize>, Failure> {
        if let Some(threads) = threads {
            let cores = std::thread::available_parallelism().map_or(1, usize::from);
            let most = MOST_THREADS.max(4 * cores);
            if threads > most {
                return Err(Failure::refused(format_args!(
                    "--threads: found {threads}, needed at most {most}: there are {cores} cores for this program"
                )));
            }
            if threads > cores {
                terminal::line(&format!(
                    "warning: --threads: {threads} threads share {cores} cores, which is slower than a thread for each core"
                ));
            }
        }
        // Datasets are drawn on the global threads, which nobody has started before.
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads.unwrap_or(0))
            .build_global()
            .map_err(|error| {
                Failure::refused(format_args!(
                    "the threads of the program cannot be started: {error}; raise the limits of the process, such as `ulimit -v`"
                ))
            })?;
        Ok(threads)
    }
}
