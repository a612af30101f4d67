//! `meshfold watch DIR`: a page on this machine that follows runs as they go.

use std::io::{self, ErrorKind, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use clap::{Args, value_parser};
use meshfold_experiment::results::{run_folders, subfolders};
use meshfold_report::{Follower, LivePage};

use crate::failure::Failure;
use crate::http::{self, Answer, HttpRequest, Status};
use crate::signals;
use crate::terminal;

/// Connections that are served at the same time. Browsers open a few in advance.
const CONNECTIONS: usize = 8;

#[derive(Debug, Args)]
#[command(after_help = "\
The page is for this machine alone. It is kept in memory; nothing is written into DIR, which may
have no runs yet. Ctrl-C ends the command.

Example:
  meshfold watch runs/quickstart")]
pub(crate) struct WatchArguments {
    /// Folder of a run, or one that holds runs
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Port of the page; 0 takes any that is free
    #[arg(long, value_name = "N", default_value_t = 6174)]
    port: u16,
    /// How often the page asks for news
    #[arg(long, value_name = "SECONDS", default_value_t = 2, value_parser = value_parser!(u16).range(1..=3600))]
    every: u16,
}

/// Serves a page about the runs in a folder until Ctrl-C.
///
/// # Errors
/// [`Failure::Refused`] if DIR is no folder or the port cannot be had.
pub(crate) fn watch(arguments: &WatchArguments) -> Result<(), Failure> {
    let folder = &arguments.folder;
    if folder.exists() && !folder.is_dir() {
        return Err(Failure::refused(format_args!(
            "{}: found a file, needed a folder with runs",
            folder.display()
        )));
    }
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, arguments.port))
        .map_err(|error| refused_port(arguments.port, &error))?;
    let port = listener.local_addr()?.port();
    // The command writes no file, so nothing needs to be put in order.
    signals::catch(|_| std::process::exit(0)).map_err(no_thread)?;
    if let Err(error) = run_folders(folder) {
        let mut within = subfolders(folder).unwrap_or_default().into_iter();
        if within.any(|folder| run_folders(&folder).is_ok()) {
            return Err(Failure::refused(error));
        }
        let folder = folder.display();
        terminal::line(&format!(
            "{folder} has no runs yet; the page shows them once there are some"
        ));
    }
    writeln!(
        io::stdout().lock(),
        "{} is at http://127.0.0.1:{port}/ until Ctrl-C",
        folder.display()
    )?;
    let site = Site {
        port,
        follower: Mutex::new(Follower::new(folder, arguments.every)),
    };
    site.serve(&listener).map_err(no_thread)
}

/// Why there is no page at `port`.
fn refused_port(port: u16, error: &io::Error) -> Failure {
    let reason = match error.kind() {
        ErrorKind::AddrInUse => "it is in use".to_owned(),
        _ => error.to_string(),
    };
    Failure::refused(format_args!(
        "--port: found {port}, which cannot be had: {reason}; name another one, or 0 for any that is free"
    ))
}

fn no_thread(error: io::Error) -> Failure {
    Failure::refused(format_args!(
        "the threads of the program cannot be started: {error}; raise the limits of the process, such as `ulimit -v`"
    ))
}

/// The page at an address of this machine.
struct Site {
    port: u16,
    follower: Mutex<Follower>,
}

impl Site {
    /// Answers requests, several at the same time, for as long as the program runs.
    ///
    /// # Errors
    /// What the system says if it gives no threads.
    fn serve(&self, listener: &TcpListener) -> io::Result<()> {
        thread::scope(|scope| {
            for _ in 0..CONNECTIONS {
                let name = thread::Builder::new().name("requests".to_owned());
                name.spawn_scoped(scope, || self.answer_all(listener))?;
            }
            Ok(())
        })
    }

    fn answer_all(&self, listener: &TcpListener) {
        loop {
            match listener.accept() {
                // A browser that goes away costs nobody else anything.
                Ok((mut stream, _)) => drop(self.answer(&mut stream)),
                // Until the process may open files again.
                Err(_) => thread::sleep(Duration::from_millis(100)),
            }
        }
    }

    fn answer(&self, stream: &mut TcpStream) -> io::Result<()> {
        let request = http::read(stream)?;
        let head = matches!(&request, Ok(request) if request.method == "HEAD");
        match request.and_then(|request| allowed(request, self.port)) {
            Ok(request) => {
                let page = self.page();
                http::write(stream, &answer_with(&page, &request), head)
            }
            Err(status) => {
                let reason = "meshfold watch has one page, which this machine may read: /\n";
                http::write(stream, &Answer::refusal(status, reason), head)
            }
        }
    }

    fn page(&self) -> LivePage {
        let follower = self.follower.lock();
        follower.unwrap_or_else(PoisonError::into_inner).page()
    }
}

/// The page, or that the browser has it.
fn answer_with<'a>(page: &'a LivePage, request: &HttpRequest) -> Answer<'a> {
    let is_known = request.known == Some(format!("\"{}\"", page.tag));
    Answer {
        status: if is_known {
            Status::NotModified
        } else {
            Status::Ok
        },
        kind: "text/html",
        body: &page.html,
        tag: Some(&page.tag),
    }
}

/// The request, if it is for the page on this machine at `port`.
///
/// # Errors
/// How it is refused otherwise.
fn allowed(request: HttpRequest, port: u16) -> Result<HttpRequest, Status> {
    let is_own = |host: &String| is_this_machine(host, port);
    if !request.host.as_ref().is_some_and(is_own) {
        return Err(Status::Forbidden);
    }
    match (request.method.as_str(), request.path.as_str()) {
        ("GET" | "HEAD", "/") => Ok(request),
        ("GET" | "HEAD", _) => Err(Status::NotFound),
        _ => Err(Status::MethodNotAllowed),
    }
}

/// Whether `host` names this machine and `port` by a name that no other machine can have. If a foreign page points its
/// own name at this machine, the browser still sends that name.
fn is_this_machine(host: &str, port: u16) -> bool {
    let host = host.to_ascii_lowercase();
    let name = host.strip_suffix(&format!(":{port}"));
    let name = name.or((port == 80).then_some(host.as_str()));
    matches!(name, Some("localhost" | "127.0.0.1" | "[::1]"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_with_the_port_are_its_own() {
        for host in [
            "localhost:6174",
            "127.0.0.1:6174",
            "[::1]:6174",
            "LocalHost:6174",
        ] {
            assert!(is_this_machine(host, 6174), "{host}");
        }
        for host in [
            "",
            "localhost",
            "localhost:80",
            "evil.example:6174",
            "localhost.evil.example:6174",
            "evil:localhost:6174",
            "127.0.0.1:61740",
            "127.0.0.2:6174",
            "0.0.0.0:6174",
            "localhost:6174:6174",
            "localhost :6174",
        ] {
            assert!(!is_this_machine(host, 6174), "{host}");
        }
        assert!(is_this_machine("localhost", 80) && is_this_machine("localhost:80", 80));
    }

    #[test]
    fn one_page_may_be_read_and_nothing_else() {
        let status = |method: &str, path: &str| {
            let request = HttpRequest {
                method: method.to_owned(),
                path: path.to_owned(),
                host: Some("localhost:6174".to_owned()),
                known: None,
            };
            allowed(request, 6174).err()
        };
        assert_eq!([status("GET", "/"), status("HEAD", "/")], [None, None]);
        for path in [
            "",
            "/report.html",
            "/../etc/passwd",
            "//",
            "/?a",
            "http://localhost:6174/",
        ] {
            assert_eq!(status("GET", path), Some(Status::NotFound), "{path}");
        }
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "get"] {
            assert_eq!(
                status(method, "/"),
                Some(Status::MethodNotAllowed),
                "{method}"
            );
        }
    }
}
