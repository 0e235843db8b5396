//! Reasons to distrust the rates.

use dpamatch_tools::bench::{Disturbance, Machine, Point, Report, Shown};
use dpamatch_tools::counted;

/// The warnings as sentences.
pub(super) fn warnings(machine: &Machine, shown: &Shown, disturbance: &Disturbance) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Some(busy) = machine.busy() {
        warnings.push(format!("{busy}: rates may be too low"));
    }
    let windows = &disturbance.windows;
    if windows.dropped() > 0 {
        warnings.push(format!(
            "{} of {} dropped: other programs used the processors",
            windows.dropped(),
            counted(windows.measured, "window")
        ));
    }
    let all = disturbance.measurements;
    if disturbance.disturbed_measurements > 0 {
        warnings.push(format!(
            "{} of {} left out: other programs used the processors",
            disturbance.disturbed_measurements,
            counted(all, "measurement")
        ));
    }
    if shown.elsewhere > 0 {
        warnings.push(format!(
            "{} of {} left out: the processors had another distance from each other",
            shown.elsewhere,
            counted(all, "measurement")
        ));
    }
    if shown.moved > 0 {
        warnings.push(format!(
            "{} of {} left out: the processors moved during them",
            shown.moved,
            counted(all, "measurement")
        ));
    }
    if shown.placement.is_some_and(|placement| placement.slowed) {
        warnings.push(
            "the processors did equal work at unequal speed: something shares their cores"
                .to_owned(),
        );
    }
    warnings
}

/// Why there is no rate at all.
pub(super) fn cannot_measure(disturbance: &Disturbance) -> String {
    let Disturbance {
        windows,
        measurements,
        disturbed_measurements,
    } = disturbance;
    format!(
        "cannot measure here: other programs used the processors in {disturbed_measurements} of {} \
         ({} of {}); wait, choose others by --cpus, or use --one-thread",
        counted(*measurements, "measurement"),
        windows.dropped(),
        counted(windows.measured, "window")
    )
}

/// The points that have no rate.
pub(super) fn without_rate(points: &[Point], report: &Report) -> Option<String> {
    let missing: Vec<String> = points
        .iter()
        .filter(|point| report.find(point, false).is_none())
        .map(ToString::to_string)
        .collect();
    let (first, others) = missing.split_first()?;
    Some(match others.len() {
        0 => format!("not measured: {first}"),
        others => format!(
            "not measured: {first}, and {}",
            counted(others, "other point")
        ),
    })
}

#[cfg(test)]
mod tests {
    use dpamatch_tools::bench::{Distance, Peer, Placement, Windows};

    use super::*;

    fn machine(processors: usize, load: &str) -> Machine {
        Machine {
            cpu: String::new(),
            processors,
            kernel: String::new(),
            load: load.to_owned(),
            pair: String::new(),
        }
    }

    fn shown(slowed: bool, elsewhere: usize, moved: usize) -> Shown {
        let placement = Placement {
            distance: Distance::Near,
            slowed,
        };
        Shown {
            placement: Some(placement),
            measurements: 7,
            elsewhere,
            moved,
            ..Shown::default()
        }
    }

    fn disturbed(preempted: usize, slow: usize, disturbed_measurements: usize) -> Disturbance {
        Disturbance {
            windows: Windows {
                measured: 410,
                preempted,
                slow,
            },
            measurements: 50,
            disturbed_measurements,
        }
    }

    #[test]
    fn each_reason_is_told_where_it_holds() {
        let quiet = machine(2, "0.99");
        let said = |machine: &Machine, shown: &Shown, disturbance: &Disturbance| {
            warnings(machine, shown, disturbance).join("; ")
        };
        let nothing = disturbed(0, 0, 0);
        assert_eq!(said(&quiet, &shown(false, 0, 0), &nothing), "");
        let busy = said(&machine(2, "1.00"), &shown(false, 0, 0), &nothing);
        assert_eq!(
            busy,
            "the machine was busy at the start, load 1.00 on 2 processors: rates may be too low"
        );
        let unknown = said(&machine(2, "unknown"), &shown(false, 0, 0), &nothing);
        assert_eq!(
            unknown,
            "the load of the machine at the start is unknown: rates may be too low"
        );
        assert_eq!(
            said(&quiet, &shown(false, 0, 0), &disturbed(30, 7, 0)),
            "37 of 410 windows dropped: other programs used the processors"
        );
        assert_eq!(
            said(&quiet, &shown(false, 9, 8), &disturbed(0, 0, 3)),
            "3 of 50 measurements left out: other programs used the processors; \
             9 of 50 measurements left out: the processors had another distance from each other; \
             8 of 50 measurements left out: the processors moved during them"
        );
        let slowed = said(&quiet, &shown(true, 0, 0), &nothing);
        assert!(slowed.starts_with("the processors did equal work at unequal speed"));
    }

    #[test]
    fn without_any_rate_the_reason_has_its_numbers() {
        assert_eq!(
            cannot_measure(&disturbed(400, 3, 50)),
            "cannot measure here: other programs used the processors in 50 of 50 measurements (403 \
             of 410 windows); wait, choose others by --cpus, or use --one-thread"
        );
    }

    #[test]
    fn points_without_rate_are_named() {
        let point = |window| Point {
            peer: Peer::Bins,
            scenario: "NC".parse().expect("a scenario"),
            window,
            size: 8,
        };
        let all = [point(3), point(4), point(5)];
        let nothing = Report::default();
        assert_eq!(without_rate(&all[..0], &nothing), None);
        assert_eq!(
            without_rate(&all[..1], &nothing).as_deref(),
            Some("not measured: bins, NC, window 3, 8 bytes")
        );
        assert_eq!(
            without_rate(&all, &nothing).as_deref(),
            Some("not measured: bins, NC, window 3, 8 bytes, and 2 other points")
        );
    }
}
