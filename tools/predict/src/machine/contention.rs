//! Contention for the issue slots that EUs of a core share.

/// Demand for the issue slots of a core.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Issue {
    /// Share of one slot that a working EU alone on its core uses.
    pub demand: f64,
    /// Share that an EU uses while it polls a word of another handler.
    pub poll_demand: f64,
    pub slots: u32,
}

impl Issue {
    /// The factor by which instruction work slows down when `working` EUs of a core work and
    /// `waiting` others poll. The model is a closed queue of two classes at one slot of `slots`
    /// times the speed, solved by exact mean-value analysis.
    ///
    /// # Complexity
    /// O(working * waiting).
    pub fn stretch(self, working: usize, waiting: usize) -> f64 {
        // Relative to an instruction's time alone: the service at the slot, the rest elsewhere.
        let service =
            [self.demand, self.poll_demand].map(|demand| demand / f64::from(self.slots.max(1)));
        let cycle = |class: usize, queue: f64| 1.0 + service[class] * queue;
        // Mean queue with the working EUs so far, by the number of waiting ones.
        let mut queues = vec![0.0; waiting + 1];
        let mut last = 1.0;
        for present in 0..=working {
            for polling in 0..=waiting {
                let mut queue = 0.0;
                if present > 0 {
                    last = cycle(0, queues[polling]);
                    queue += present as f64 * (service[0] + last - 1.0) / last;
                }
                if polling > 0 {
                    let cycle = cycle(1, queues[polling - 1]);
                    queue += polling as f64 * (service[1] + cycle - 1.0) / cycle;
                }
                queues[polling] = queue;
            }
        }
        last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stretch(working: usize, demand: f64, slots: u32) -> f64 {
        Issue {
            demand,
            poll_demand: 0.0,
            slots,
        }
        .stretch(working, 0)
    }

    #[test]
    fn two_customers_by_hand() {
        // R(1) = s, C(1) = 1, Q(1) = s; R(2) = s (1 + s), C(2) = 1 + s^2.
        assert!((stretch(2, 0.25, 1) - 1.0625).abs() < 1e-12);
        assert!(
            (stretch(2, 0.5, 2) - 1.0625).abs() < 1e-12,
            "two slots of half the demand each"
        );
        // One works and one polls: C = 1 + s p.
        let issue = Issue {
            demand: 0.25,
            poll_demand: 0.5,
            slots: 1,
        };
        assert!((issue.stretch(1, 1) - 1.125).abs() < 1e-12);
    }

    #[test]
    fn who_polls_as_one_works_counts_as_one_who_works() {
        let issue = Issue {
            demand: 0.2,
            poll_demand: 0.2,
            slots: 1,
        };
        for all in 2..=16 {
            for waiting in 0..all {
                let got = issue.stretch(all - waiting, waiting);
                assert!(
                    (got - issue.stretch(all, 0)).abs() < 1e-12,
                    "{waiting} of {all}: {got}"
                );
            }
        }
        let quiet = Issue {
            poll_demand: 0.0,
            ..issue
        };
        assert_eq!(quiet.stretch(3, 13), issue.stretch(3, 0));
    }
}
