//! Time to move messages: postal, max-rate, node-aware max-rate.
//!
//! | paper | here |
//! |---|---|
//! | alpha | [`Link::alpha_s`] |
//! | R_b = 1 / beta | [`Link::rate_bytes_per_s`] |
//! | R_N | [`Link::node_rate_bytes_per_s`] |
//! | s | `bytes` |
//! | ppn | `senders`: processes of the node that send at the same time |

use super::profile::{Distance, Link, Profile};

/// Postal: alpha + beta s, in seconds.
pub fn postal_s(link: Link, bytes: u64) -> f64 {
    link.alpha_s + bytes as f64 / link.rate_bytes_per_s
}

/// Max-rate: alpha + ppn s / min(R_N, ppn R_b), in seconds. Below the node rate this is the postal
/// time.
pub fn max_rate_s(link: Link, bytes: u64, senders: u32) -> f64 {
    let senders = f64::from(senders.max(1));
    let together = senders * link.rate_bytes_per_s;
    match link.node_rate_bytes_per_s {
        Some(node_rate) if node_rate < together => {
            link.alpha_s + senders * bytes as f64 / node_rate
        }
        _ => postal_s(link, bytes),
    }
}

/// Node-aware: the max-rate time with the parameters of place and protocol. Within a node there is
/// no injection, so it is the postal time.
pub fn node_aware_s(profile: &Profile, place: Distance, bytes: u64, senders: u32) -> f64 {
    let link = profile.link(place, profile.protocol(bytes));
    if place == Distance::Network {
        max_rate_s(link, bytes, senders)
    } else {
        postal_s(link, bytes)
    }
}
