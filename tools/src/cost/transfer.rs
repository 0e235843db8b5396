//! Time to move messages: postal, max-rate, node-aware max-rate.
//!
//! | paper | here |
//! |---|---|
//! | alpha | [`Link::alpha_s`] |
//! | R_b = 1 / beta | [`Link::rate_bytes_per_s`] |
//! | R_N | [`Link::node_rate_bytes_per_s`] |
//! | s | `bytes` |
//! | ppn | `senders`: processes of the node that send at the same time |

use super::profile::{Link, Place, Profile};

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
pub fn node_aware_s(profile: &Profile, place: Place, bytes: u64, senders: u32) -> f64 {
    let link = profile.link(place, profile.protocol(bytes));
    if place == Place::Network { max_rate_s(link, bytes, senders) } else { postal_s(link, bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::profile::Protocol;

    fn assert_printed(value: f64, printed: &str) {
        assert_eq!(format!("{value:.4e}"), printed);
    }

    #[test]
    fn vectors_of_the_published_parameters() {
        let profile = Profile::blue_waters();
        let network = |protocol| profile.link(Place::Network, protocol);
        const MIB: u64 = 1 << 20;
        assert_printed(max_rate_s(network(Protocol::Rendezvous), MIB, 1), "3.6458e-4");
        assert_printed(max_rate_s(network(Protocol::Rendezvous), MIB, 16), "2.5450e-3");
        assert_printed(max_rate_s(network(Protocol::Short), 8, 16), "2.3062e-6");
        assert_printed(max_rate_s(network(Protocol::Eager), 1024, 16), "8.3653e-6");
        assert_printed(
            postal_s(profile.link(Place::Socket, Protocol::Rendezvous), MIB),
            "1.7083e-4",
        );
        // By length and place.
        assert_printed(node_aware_s(&profile, Place::Network, MIB, 16), "2.5450e-3");
        assert_printed(node_aware_s(&profile, Place::Network, 1024, 1), "8.3653e-6");
        assert_printed(node_aware_s(&profile, Place::Socket, MIB, 16), "1.7083e-4");
    }

    #[test]
    fn the_node_limits_from_the_third_sender_on() {
        // Limited from ppn > 6.6 / 2.9 = 2.28 on, postal until then.
        let link = Profile::blue_waters().link(Place::Network, Protocol::Rendezvous);
        assert_eq!(max_rate_s(link, 1 << 20, 2), postal_s(link, 1 << 20));
        assert!(max_rate_s(link, 1 << 20, 3) > postal_s(link, 1 << 20));
    }
}
