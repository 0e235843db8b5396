//! Reasons to distrust the rates.

use dpamatch_tools::bench::{Machine, Placed};
use dpamatch_tools::counted;

/// Load average per processor above which the machine counts as busy.
const BUSY: f64 = 0.5;
/// Share of measurements with a changing placement above which a warning appears.
const MOVED: f64 = 0.1;

/// The warnings as sentences. `placed` holds the measurements by placement, `all` is their number,
/// and `looked` says whether the placement was checked.
pub(super) fn warnings(
    machine: &Machine,
    placed: &[Placed],
    all: usize,
    looked: bool,
) -> Vec<String> {
    let mut warnings = Vec::new();
    let processors = machine.processors;
    if processors < 2 {
        warnings.push(
            "one processor for sender and receiver: they wait for each other, so these rates mean \
             nothing"
                .to_owned(),
        );
        return warnings;
    }
    if let Ok(load) = machine.load.parse::<f64>()
        && load >= BUSY * processors as f64
    {
        warnings.push(format!(
            "the machine was busy at the start, load {load:.2} on {}: rates are too low",
            counted(processors, "processor")
        ));
    }
    let stayed = |part: &&Placed| part.placement.is_some();
    let stayed: usize = placed
        .iter()
        .filter(stayed)
        .map(|part| part.measurements)
        .sum();
    let moved = all.saturating_sub(stayed);
    if looked && moved == all && all > 0 {
        warnings
            .push("the processors moved during every measurement: do not compare rates".to_owned());
    } else if looked && moved as f64 >= MOVED * all as f64 && moved > 0 {
        warnings.push(format!(
            "the processors moved during {moved} of {}",
            counted(all, "measurement")
        ));
    }
    let slowed = |part: &&Placed| part.placement.is_some_and(|placement| placement.slowed);
    let slowed: usize = placed
        .iter()
        .filter(slowed)
        .map(|part| part.measurements)
        .sum();
    if 2 * slowed > all {
        warnings.push(format!(
            "other programs used the processors during {slowed} of {}",
            counted(all, "measurement")
        ));
    }
    warnings
}

#[cfg(test)]
mod tests {
    use dpamatch_tools::bench::{Distance, Placement, Report};

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

    fn placed(slowed: Option<bool>, measurements: usize) -> Placed {
        let placement = slowed.map(|slowed| Placement {
            distance: Distance::Near,
            slowed,
        });
        Placed {
            placement,
            measurements,
            report: Report::default(),
        }
    }

    #[test]
    fn each_reason_is_told_where_it_holds() {
        let said = |machine: &Machine, placed: &[Placed], looked| {
            warnings(machine, placed, 100, looked).join("; ")
        };
        let quiet = machine(2, "0.99");
        assert_eq!(said(&quiet, &[placed(Some(false), 91)], true), "");
        assert!(said(&machine(1, "0.00"), &[], true).starts_with("one processor"));
        let busy = said(&machine(2, "1.00"), &[placed(Some(false), 100)], true);
        assert!(busy.starts_with("the machine was busy at the start, load 1.00 on 2 processors"));
        assert_eq!(
            said(&machine(2, "unknown"), &[placed(Some(false), 100)], true),
            ""
        );
        let moved = [placed(Some(false), 90), placed(None, 10)];
        assert_eq!(
            said(&quiet, &moved, true),
            "the processors moved during 10 of 100 measurements"
        );
        assert_eq!(said(&quiet, &moved, false), "", "nobody looked");
        assert!(said(&quiet, &[], true).contains("during every measurement"));
        assert_eq!(
            warnings(&quiet, &[], 0, true),
            Vec::<String>::new(),
            "nothing was measured"
        );
        let slowed = [placed(Some(true), 51), placed(Some(false), 49)];
        let all = "other programs used the processors during 51 of 100 measurements";
        assert_eq!(said(&quiet, &slowed, true), all);
    }
}
