//! Mirrors that are asked over https and lead elsewhere. The servers are of this machine, and the TLS is left out.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use ureq::Agent;
use ureq::unversioned::resolver::DefaultResolver;
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, NextTimeout, TcpConnector, Transport,
};

use super::*;

/// A connection that passes for one with TLS.
#[derive(Debug)]
struct Pretended(Box<dyn Transport>);

impl Transport for Pretended {
    fn buffers(&mut self) -> &mut dyn Buffers {
        self.0.buffers()
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), ureq::Error> {
        self.0.transmit_output(amount, timeout)
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, ureq::Error> {
        self.0.await_input(timeout)
    }

    fn is_open(&mut self) -> bool {
        self.0.is_open()
    }

    fn is_tls(&self) -> bool {
        true
    }
}

#[derive(Debug)]
struct Pretending(TcpConnector);

impl Connector for Pretending {
    type Out = Pretended;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        chained: Option<()>,
    ) -> Result<Option<Pretended>, ureq::Error> {
        let connected = Connector::<()>::connect(&self.0, details, chained)?;
        Ok(connected.map(|transport| Pretended(Box::new(transport))))
    }
}

/// Answers every request with `reply` and counts them; the place of a file on the server, without the scheme.
fn serve(reply: String) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = format!("{}/file", listener.local_addr().unwrap());
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&asked);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            counter.fetch_add(1, Ordering::SeqCst);
            let lines = BufReader::new(stream.try_clone().unwrap()).lines();
            lines.map_while(Result::ok).find(String::is_empty);
            let _ = stream.write_all(reply.as_bytes());
        }
    });
    (place, asked)
}

fn redirect(to: &str) -> String {
    format!(
        "HTTP/1.1 302 Found\r\nLocation: {to}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
    )
}

const BODY: &str = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 4\r\n\r\nbody";

/// What comes of fetching a file of four bytes from `url` where plain http is allowed or not.
fn fetched(url: String, allow_http: bool) -> Result<Vec<FetchedFile>, DataError> {
    let options = FetchOptions {
        allow_http,
        ..FetchOptions::default()
    };
    let mut mirrors = Mirrors::new(&options);
    let config = mirrors.agent.config().clone();
    let connector = Pretending(TcpConnector::default());
    mirrors.agent = Agent::with_parts(config, connector, DefaultResolver::default());
    let manifest = Manifest {
        name: "four".into(),
        folder: "four".into(),
        files: vec![ManifestFile {
            name: "file".into(),
            bytes: 4,
            urls: vec![url],
            ..ManifestFile::default()
        }],
        ..Manifest::default()
    };
    let folder = tempfile::tempdir().unwrap();
    let place = DataFolder::new(folder.path());
    let fetched = fetch_one(&mirrors, &manifest, &place, &mut |_| {});
    let left = fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, usize::from(fetched.is_ok()), "what is left behind");
    fetched
}

#[test]
fn https_leads_to_https_and_to_nothing_else() {
    for allow_http in [false, true] {
        let (place, asked) = serve(BODY.to_owned());
        let (good, _) = serve(redirect(&format!("https://{place}")));
        fetched(format!("https://{good}"), allow_http).unwrap();
        assert_eq!(asked.load(Ordering::SeqCst), 1);
        let (bad, _) = serve(redirect(&format!("http://{place}")));
        let refusal = fetched(format!("https://{bad}"), allow_http)
            .unwrap_err()
            .to_string();
        let told = format!("leads to http://{place}, which is not https");
        assert!(refusal.contains(&told), "{refusal}");
        assert_eq!(asked.load(Ordering::SeqCst), 1, "it was not even asked");
    }
}
