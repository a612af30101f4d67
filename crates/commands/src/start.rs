//! How the program was started.

use std::env;
use std::ffi::OsString;
use std::io;

/// How the program was started, and how it is started again.
#[derive(Clone, Debug)]
pub struct Start {
    /// The name of the program, and its arguments.
    arguments: Vec<OsString>,
    /// What goes before the arguments of another start; none if that is the executable of this process.
    command: Option<Vec<OsString>>,
}

impl Start {
    /// By its executable, with the arguments of this process.
    pub fn of_executable() -> Self {
        Self {
            arguments: env::args_os().collect(),
            command: None,
        }
    }

    /// As `meshfold` with `arguments`, by another program, which does the same if `command` is started with the same arguments.
    pub fn of_command(
        arguments: impl IntoIterator<Item = OsString>,
        command: Vec<OsString>,
    ) -> Self {
        let name = OsString::from("meshfold");
        Self {
            arguments: [name].into_iter().chain(arguments).collect(),
            command: Some(command),
        }
    }

    /// The name of the program, and its arguments.
    pub(crate) fn arguments(&self) -> &[OsString] {
        &self.arguments
    }

    /// The words of a command that starts the program again, with whatever arguments follow.
    ///
    /// # Errors
    /// That of the system if it does not say what the executable is.
    pub(crate) fn command(&self) -> io::Result<Vec<OsString>> {
        match &self.command {
            Some(command) => Ok(command.clone()),
            None => Ok(vec![env::current_exe()?.into()]),
        }
    }
}
