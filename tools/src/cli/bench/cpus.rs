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
        let what = format!(
            "--cpus: {other} may not be used; allowed: {}",
            allowed.join(", ")
        );
        return Err(BadInput(what).into());
    }
    if cpus.len() < 2 {
        return Err(BadInput("--cpus: sender and receiver need two processors".to_owned()).into());
    }
    let mut set = rustix::thread::CpuSet::new();
    cpus.iter().for_each(|&cpu| set.set(cpu));
    rustix::thread::sched_setaffinity(None, &set).context("--cpus")
}

/// Whether each handler of each point can have its own processor, beside the sender and the
/// host.
pub(super) fn enough_processors(points: &[Point], processors: usize) -> Result<(), BadInput> {
    let most = points
        .iter()
        .filter_map(|point| point.peer.handlers())
        .max()
        .unwrap_or(0);
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
    use super::*;
    use dpamatch_tools::bench::Peer;

    /// The widest point decides; other receivers have no handlers.
    #[test]
    fn two_processors_more_than_handlers_are_enough() {
        let point = |peer| Point {
            peer,
            scenario: "NC".parse().expect("NC"),
            window: 8,
            size: 8,
        };
        let points = [Peer::optimistic(2), Peer::Bins, Peer::optimistic(3)].map(point);
        let said = enough_processors(&points, 4)
            .expect_err("five are needed")
            .to_string();
        assert_eq!(
            said,
            "--like card: 3 handlers, the sender and the host need 5 processors, and 4 may be \
             used; give fewer handlers by --handlers or --sweep"
        );
        assert!(enough_processors(&points, 5).is_ok());
    }
}
