//! The paper's measurements on a BlueField-3 (O40): 8-byte messages, calibrated rates, million
//! messages/s.

/// Handlers, then NC, WC-FP and WC-SP.
pub(super) const PAPER_RATES: &[(usize, [f64; 3])] = &[
    (1, [0.523, 0.523, 0.526]),
    (2, [1.002, 0.902, 0.824]),
    (4, [1.955, 1.646, 1.083]),
    (8, [3.848, 1.313, 1.266]),
    (16, [5.842, 2.237, 1.217]),
    (32, [7.638, 3.160, 1.179]),
];
/// MPI on the hosts' CPUs, NC.
pub(super) const PAPER_MPI: f64 = 7.78;
/// RDMA between the hosts' CPUs without matching.
pub(super) const PAPER_NO_MATCHING: f64 = 12.67;
