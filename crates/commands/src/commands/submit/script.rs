//! The scripts that Slurm runs.

use std::ffi::OsStr;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use super::SubmitArguments;
use super::packing::JobArray;
use crate::failure::{Failure, TRY_AGAIN};
use crate::start::Start;

/// What all scripts of a submission have in common.
pub(super) struct Script<'a> {
    arguments: &'a SubmitArguments,
    /// The command that starts the program, as words of the shell.
    program: String,
    /// The name of the experiment.
    name: &'a str,
    /// Where its runs lie.
    experiment: &'a Path,
    /// Where the scripts and logs lie.
    folder: &'a Path,
    /// Where the command was given: paths in the experiment may start there.
    here: PathBuf,
    /// `meshfold run FILE` with what was asked for, as words of the shell.
    run: String,
}

/// The path from the root on.
///
/// # Errors
/// [`Failure::Refused`] if there is no current folder.
pub(super) fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path)
        .map_err(|error| Failure::refused(format_args!("{}: {error}", path.display())))
}

impl<'a> Script<'a> {
    /// The scripts of the experiment called `name`, which lie in `folder`.
    ///
    /// # Errors
    /// [`Failure::Refused`] if the path of this program is not known.
    pub(super) fn new(
        arguments: &'a SubmitArguments,
        start: &Start,
        name: &'a str,
        experiment: &'a Path,
        folder: &'a Path,
    ) -> Result<Self, Failure> {
        let unknown = |error| Failure::refused(format_args!("this program's own path: {error}"));
        let words = start.command().map_err(unknown)?;
        let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        let program = words.join(" ");
        let mut run = format!("{program} run");
        let mut word = |word: &OsStr| {
            run.push(' ');
            run.push_str(&quoted(word));
        };
        word(absolute(arguments.experiment.file())?.as_os_str());
        for value in arguments.experiment.overrides() {
            word("--set".as_ref());
            word(value.as_ref());
        }
        word("--results".as_ref());
        word(absolute(&arguments.results)?.as_os_str());
        // Jobs may not have the environment of this process.
        if let Some(data) = arguments.experiment.data.named() {
            word("--data-dir".as_ref());
            word(absolute(&data)?.as_os_str());
        }
        let device = match (&arguments.device, arguments.gpus) {
            (Some(device), _) => Some(device.to_string()),
            (None, Some(_)) => Some("auto".to_owned()),
            (None, None) => None,
        };
        if let Some(device) = device {
            word("--device".as_ref());
            word(device.as_ref());
        }
        if let Some(instructions) = &arguments.cpu {
            word("--cpu".as_ref());
            word(instructions.to_string().as_ref());
        }
        Ok(Self {
            arguments,
            program,
            name,
            experiment,
            folder,
            here: absolute(Path::new("."))?,
            run,
        })
    }

    /// The file with a line of ids for each job of array `number`.
    pub(super) fn list(&self, number: usize) -> PathBuf {
        self.folder.join(format!("array-{number}.runs"))
    }

    /// The script of the array `number`, of which `at_once` elements run at the same time.
    pub(super) fn array(&self, number: usize, array: &JobArray, at_once: Option<usize>) -> String {
        let last = array.elements.len() - 1;
        let limit = at_once.map_or_else(String::new, |most| format!("%{most}"));
        let (cpus, gpus) = (self.arguments.cpus, self.arguments.gpus.unwrap_or(0));
        let tasks = gpus.max(1);
        let memory = || {
            format!(
                "{}M",
                array.memory.div_ceil(1 << 20).saturating_mul(tasks.into())
            )
        };
        let memory = self.arguments.memory.clone().unwrap_or_else(memory);
        let mut options = vec![
            format!("--array=0-{last}{limit}"),
            format!(
                "--output={}",
                escaped(&self.folder.join("%A_%a.out"), "%A_%a.out")
            ),
            format!("--signal=TERM@{}", self.arguments.notice),
            "--requeue".to_owned(),
            "--open-mode=append".to_owned(),
            "--nodes=1".to_owned(),
            format!("--ntasks={tasks}"),
            format!("--cpus-per-task={cpus}"),
            format!("--mem={memory}"),
        ];
        if gpus > 0 {
            options.push(format!("--gpus={gpus}"));
        }
        if let Some(time) = &self.arguments.time {
            options.push(format!("--time={time}"));
        }
        let mut script = self.head(&options);
        let list = quoted(self.list(number).as_os_str());
        writeln!(
            script,
            "runs=$(sed -n \"$((SLURM_ARRAY_TASK_ID + 1))p\" {list})"
        )
        .expect("text takes whatever is written");
        script.push_str(&self.step(array, tasks));
        script.push_str(&after_the_step());
        script
    }

    /// The command that runs the program as its own job step, to which the signal is sent. With several GPUs there is a
    /// process for each.
    fn step(&self, array: &JobArray, tasks: u16) -> String {
        let cpus = self.arguments.cpus;
        let run = format!(
            "{} --threads {cpus} --at-once {} --quiet --no-report --only \"$runs\"",
            self.run, array.runs_at_once
        );
        match tasks {
            1 => format!("srun --ntasks=1 --cpus-per-task={cpus} {run}\n"),
            tasks => format!(
                "export runs\nsrun --ntasks={tasks} --cpus-per-task={cpus} --gpus-per-task=1 bash -c {}\n",
                quoted(format!("exec {run} --part $((SLURM_PROCID + 1))/{tasks}").as_ref())
            ),
        }
    }

    /// The script of the job that comes last.
    pub(super) fn report(&self) -> String {
        let arguments = self.arguments;
        let mut options = vec![
            format!(
                "--output={}",
                escaped(&self.folder.join("report.out"), "report.out")
            ),
            "--ntasks=1".to_owned(),
        ];
        let (memory, time) = (arguments.memory.iter(), arguments.time.iter());
        options.extend(memory.map(|memory| format!("--mem={memory}")));
        options.extend(time.map(|time| format!("--time={time}")));
        let mut script = self.head(&options);
        let program = &self.program;
        let experiment = quoted(self.experiment.as_os_str());
        writeln!(
            script,
            "{program} status {experiment}\n{program} report {experiment}"
        )
        .expect("text takes whatever is written");
        script
    }

    /// The first lines of a script: what it asks Slurm for.
    fn head(&self, options: &[String]) -> String {
        let arguments = self.arguments;
        let named = [
            ("--partition", &arguments.partition),
            ("--account", &arguments.account),
        ];
        let mut all = vec![
            format!("--job-name={}", self.name),
            format!("--chdir={}", self.here.display()),
        ];
        for (option, value) in named {
            all.extend(value.as_ref().map(|value| format!("{option}={value}")));
        }
        all.extend(options.iter().cloned());
        all.extend(arguments.sbatch.iter().cloned());
        let mut script = "#!/bin/bash\n".to_owned();
        for option in all {
            script.push_str(&format!("#SBATCH {}\n", quoted(option.as_ref())));
        }
        script.push('\n');
        script
    }
}

/// Puts the job into the queue again if the program asks for it.
fn after_the_step() -> String {
    format!(
        "code=$?\n\
         # It was asked to end and has saved its runs. A job that was cancelled does not come this far.\n\
         if [ $code -eq {TRY_AGAIN} ]; then\n    \
         scontrol requeue \"${{SLURM_ARRAY_JOB_ID}}_${{SLURM_ARRAY_TASK_ID}}\"\n\
         fi\n\
         exit $code\n"
    )
}

/// The path of a log. Slurm replaces what follows `%`, but for that in the last part, `file`.
fn escaped(path: &Path, file: &str) -> String {
    let folder = path.parent().unwrap_or(Path::new(""));
    format!("{}/{file}", folder.display().to_string().replace('%', "%%"))
}

/// `word` as the shell and sbatch read it back.
fn quoted(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:,@%+^".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.into_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_the_shell_would_read_more_into_them() {
        for (word, text) in [
            ("a.yaml", "a.yaml"),
            ("--array=0-3%2", "--array=0-3%2"),
            ("my run.yaml", "'my run.yaml'"),
            (
                "topology={regular: {degree: 3}}",
                "'topology={regular: {degree: 3}}'",
            ),
            ("it's", r"'it'\''s'"),
            ("$HOME", "'$HOME'"),
            ("", "''"),
        ] {
            assert_eq!(quoted(word.as_ref()), text);
        }
    }

    #[test]
    fn a_folder_with_a_percent_sign_keeps_it() {
        let path = Path::new("/a/50%/%A_%a.out");
        assert_eq!(escaped(path, "%A_%a.out"), "/a/50%%/%A_%a.out");
    }
}
