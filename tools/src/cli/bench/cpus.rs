//! The processors of a measurement.

use anyhow::Context;
use dpamatch::processors;
use dpamatch_tools::bench::Point;

use super::BadInput;

/// Restricts the process to these processors.
pub(super) fn stay_on(cpus: &[usize]) -> anyhow::Result<()> {
    let allowed = processors::allowed();
    if let Some(other) = cpus.iter().find(|cpu| !allowed.contains(cpu)) {
        let allowed: Vec<String> = allowed.iter().map(usize::to_string).collect();
        let what = format!("--cpus: {other} may not be used; allowed: {}", allowed.join(", "));
        return Err(BadInput(what).into());
    }
    if cpus.len() < 2 {
        return Err(BadInput("--cpus: sender and receiver need two processors".to_owned()).into());
    }
    let mut set = rustix::thread::CpuSet::new();
    cpus.iter().for_each(|&cpu| set.set(cpu));
    rustix::thread::sched_setaffinity(None, &set).context("--cpus")
}

/// Whether each handler of each point can have a processor of its own, beside the sender and the
/// host.
pub(super) fn enough_processors(points: &[Point], processors: usize) -> Result<(), BadInput> {
    let most = points.iter().filter_map(|point| point.peer.handlers()).max().unwrap_or(0);
    if most + 2 <= processors {
        return Ok(());
    }
    Err(BadInput(format!(
        "--like card: {most} handlers, the sender and the host need {} processors, and {processors} \
         may be used; give fewer handlers by --handlers or --sweep",
        most + 2
    )))
}

#[cfg(test)]
mod tests {
    use dpamatch_tools::bench::{Peer, Scenario};

    use super::*;

    #[test]
    fn every_handler_of_the_largest_point_needs_a_processor() {
        let scenario: Scenario = "NC".parse().expect("a scenario");
        let point = |peer| Point { peer, scenario: scenario.clone(), window: 1, size: 8 };
        let nic = Peer::Nic { handlers: 4 };
        assert!(enough_processors(&[point(nic)], 6).is_ok());
        assert!(enough_processors(&[point(Peer::Bins)], 2).is_ok());
        let error = enough_processors(&[point(nic)], 5).expect_err("one is missing").to_string();
        assert!(error.contains("4 handlers, the sender and the host need 6 processors, and 5 may"));
    }
}
