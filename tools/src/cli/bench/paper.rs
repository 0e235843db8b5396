//! The paper's measurements on a BlueField-3 (O40): 8-byte messages, calibrated rates, million
//! messages/s.

/// MPI on the hosts' CPUs, NC.
pub(super) const PAPER_MPI: f64 = 7.78;
/// RDMA between the hosts' CPUs without matching.
pub(super) const PAPER_NO_MATCHING: f64 = 12.67;
