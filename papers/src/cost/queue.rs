//! Time to search the posted receives.

/// The upper bound gamma n^2 for n messages received, in seconds.
pub fn bound_s(gamma_s: f64, messages: u64) -> f64 {
    gamma_s * (messages as f64).powi(2)
}

/// gamma n^2 / 3, the most steps that the paper saw in applications, in seconds.
pub fn third_s(gamma_s: f64, messages: u64) -> f64 {
    bound_s(gamma_s, messages) / 3.0
}

/// Counted steps of an engine, each at `gamma_step_s`, in seconds (ours).
pub fn steps_s(gamma_step_s: f64, steps: u64) -> f64 {
    gamma_step_s * steps as f64
}

/// Steps of one list if receives are posted in reverse order of arrival: n (n + 1) / 2.
/// Saturates.
pub fn steps_reverse(messages: u64) -> u64 {
    let n = u128::from(messages);
    u64::try_from(n * (n + 1) / 2).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_of_the_published_gamma() {
        let close =
            |value: f64, expected: f64| assert!((value / expected - 1.0).abs() < 1e-12, "{value}");
        close(bound_s(8.4e-9, 1_000), 8.4e-3);
        close(bound_s(8.4e-9, 10_000), 0.84);
        close(third_s(8.4e-9, 1_000), 2.8e-3);
        close(steps_s(16.8e-9, steps_reverse(10_000)), 0.84 * 1.0001);
    }

    #[test]
    fn steps_of_a_list() {
        assert_eq!(
            (steps_reverse(0), steps_reverse(1), steps_reverse(1000)),
            (0, 1, 500_500)
        );
        assert_eq!(steps_reverse(u64::MAX), u64::MAX);
    }
}
