//! Contention for the issue slots that EUs of a core share.

/// The factor by which instruction work slows down when `active` EUs of a core run together. Alone,
/// each would ask for a share `demand` of one issue slot. The model is a closed queue of `active`
/// customers at one slot of `slots` times the speed, solved by exact mean-value analysis.
///
/// # Complexity
/// O(active).
///
/// # Examples
/// ```
/// use dpamatch_predict::stretch;
/// assert_eq!(stretch(1, 0.078, 1), 1.0);
/// // Sixteen times 0.078 is more than one slot gives.
/// assert!(stretch(16, 0.078, 1) > 16.0 * 0.078);
/// ```
pub fn stretch(active: usize, demand: f64, slots: u32) -> f64 {
    if active <= 1 || demand <= 0.0 {
        return 1.0;
    }
    // Relative to an instruction's time alone: `service` at the slot, the rest elsewhere.
    let service = demand / f64::from(slots.max(1));
    let think = 1.0 - service;
    let (mut queue, mut cycle) = (0.0, 1.0);
    for customers in 1..=active {
        let response = service * (1.0 + queue);
        cycle = response + think;
        queue = customers as f64 * response / cycle;
    }
    cycle
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alone_nothing_stretches() {
        assert_eq!(stretch(0, 0.1, 1), 1.0);
        assert_eq!(stretch(1, 0.9, 1), 1.0);
        assert_eq!(stretch(16, 0.0, 1), 1.0);
    }

    #[test]
    fn two_customers_by_hand() {
        // R(1) = s, C(1) = 1, Q(1) = s; R(2) = s (1 + s), C(2) = 1 + s^2.
        assert!((stretch(2, 0.25, 1) - 1.0625).abs() < 1e-12);
        assert!((stretch(2, 0.5, 2) - 1.0625).abs() < 1e-12, "two slots of half the demand each");
    }

    #[test]
    fn bounds_of_a_closed_queue() {
        for active in 2..=16 {
            for demand in [0.02, 0.05, 0.078, 0.1, 0.5] {
                let got = stretch(active, demand, 1);
                let saturated = active as f64 * demand;
                assert!(got >= saturated.max(1.0), "{active} x {demand}: {got}");
                assert!(got <= 1.0 + saturated, "{active} x {demand}: {got}");
            }
        }
    }
}
