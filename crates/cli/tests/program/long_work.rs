//! Work that would take long is announced before it begins.

use crate::sandbox::Sandbox;

#[test]
fn what_takes_longer_than_a_day_is_warned_of_before_it_begins() {
    let sandbox = Sandbox::new();
    let warned = |settings: &[&str]| {
        let mut line = vec!["plan", "tiny.yaml", "--threads", "1"];
        for setting in settings {
            line.extend(["--set", setting]);
        }
        sandbox.meshfold(&line).ended_with(0).err
    };
    let alone = warned(&["rounds=1000000000000"]);
    assert!(
        alone.starts_with("warning: tiny: the run takes about"),
        "{alone}"
    );
    assert!(alone.contains(" years on one thread"), "{alone}");
    // Each of the runs takes minutes, or some hours without vectors.
    let seeds: Vec<String> = (0..200).map(|seed| seed.to_string()).collect();
    let sweep = format!("sweep.grid.seed=[{}]", seeds.join(", "));
    let together = warned(&["rounds=2000000", &sweep]);
    let said = together.lines().last().unwrap_or_default();
    assert!(
        said.starts_with("warning: all 200 runs together take about"),
        "{together}"
    );
    assert_eq!(warned(&[]), "");
}

#[cfg(unix)]
#[test]
fn an_overlay_that_takes_years_to_make_is_warned_of_and_can_be_interrupted() {
    use std::io::{BufRead, BufReader};
    use std::os::unix::process::ExitStatusExt;

    let sandbox = Sandbox::new();
    let swaps = "topology={d_cliques: {max_clique_size: 5, swaps: 1000000000000000}}";
    for command in ["plan", "run"] {
        let mut started = sandbox.command(&[command, "tiny.yaml", "--set", swaps]);
        started.stderr(std::process::Stdio::piped());
        let mut child = started.spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let warning = lines
            .map(Result::unwrap)
            .find(|line| line.contains("swaps"));
        let warning = warning.unwrap();
        assert!(warning.contains("years before the run begins"), "{warning}");
        let kill = ["-INT", &child.id().to_string()];
        let sent = std::process::Command::new("kill").args(kill).status();
        assert!(sent.unwrap().success());
        assert_eq!(child.wait().unwrap().signal(), Some(2));
    }
    assert!(!sandbox.path("runs").exists());
}
