//! Machines as parameter files: node-aware max-rate model, queue search and contention.

use serde::{Deserialize, Serialize};

/// Distance between two processes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Distance {
    Socket,
    /// Same node, other socket.
    Node,
    /// Different nodes.
    Network,
}

/// How the library sends a message of some length.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// With the envelope.
    Short,
    /// Into the receiver's buffers.
    Eager,
    /// After the receive has matched.
    Rendezvous,
}

impl Distance {
    /// All places, near to far.
    pub const ALL: [Self; 3] = [Self::Socket, Self::Node, Self::Network];

    /// The word in files and tables.
    pub fn name(self) -> &'static str {
        ["socket", "node", "network"][self as usize]
    }
}

impl Protocol {
    /// All protocols, short to long messages.
    pub const ALL: [Self; 3] = [Self::Short, Self::Eager, Self::Rendezvous];

    /// The word in files and tables.
    pub fn name(self) -> &'static str {
        ["short", "eager", "rendezvous"][self as usize]
    }
}

/// Transfer parameters of one protocol between processes of one place.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// alpha: start-up of a message, in seconds.
    pub alpha_s: f64,
    /// R_b: bytes per second of one process; infinite if only the node limits.
    pub rate_bytes_per_s: f64,
    /// R_N: bytes per second that all processes of a node inject together; absent: unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_rate_bytes_per_s: Option<f64>,
}

#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Links {
    pub short: Link,
    pub eager: Link,
    pub rendezvous: Link,
}

/// Placement of processes: consecutive ranks fill sockets, sockets fill nodes, nodes fill routers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layout {
    pub processes_per_node: u32,
    /// Sockets that share a node's processes evenly.
    pub sockets_per_node: u32,
    pub nodes_per_router: u32,
}

/// Message lengths at which the protocol changes; not published, so parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Longest short message, in bytes.
    pub short_max_bytes: u64,
    /// Longest eager message, in bytes.
    pub eager_max_bytes: u64,
}

#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueueSearch {
    /// gamma of gamma n^2, in seconds.
    pub gamma_s: f64,
    pub gamma_step_s: f64,
}

/// Contention on the torus's links.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContentionRate {
    /// delta: seconds per byte on the busiest link.
    pub delta_s_per_byte: f64,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    pub name: String,
    pub layout: Layout,
    /// Lengths at which protocols change.
    pub limits: Limits,
    pub queue: QueueSearch,
    pub contention: ContentionRate,
    pub socket: Links,
    /// Between the sockets of a node.
    pub node: Links,
    /// Between nodes.
    pub network: Links,
}

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileError {
    #[error("{0}")]
    Syntax(String),
    #[error("{key} is {value}, must be {must}")]
    Value {
        /// The parameter, as `table.key`.
        key: String,
        value: String,
        must: &'static str,
    },
}

/// The profiles that come with the program: name and text.
pub const BUILT_IN: &[(&str, &str)] = &[("blue-waters", include_str!("profiles/blue-waters.toml"))];

impl Profile {
    /// The machine of the published model.
    ///
    /// # Panics
    /// Never: the text is part of the program and tested.
    pub fn blue_waters() -> Self {
        Self::parse(BUILT_IN[0].1).expect("the profile that comes with the program")
    }

    /// Reads a profile; the format is that of `profiles/blue-waters.toml`.
    pub fn parse(text: &str) -> Result<Self, ProfileError> {
        let syntax =
            |error: toml::de::Error| ProfileError::Syntax(error.to_string().trim_end().to_owned());
        let profile: Self = toml::from_str(text).map_err(syntax)?;
        profile.validate()?;
        Ok(profile)
    }

    pub fn to_toml(&self) -> String {
        toml::to_string(self).unwrap_or_default()
    }

    /// Checks every parameter.
    ///
    /// # Errors
    /// [`ProfileError::Value`] for the first parameter out of range.
    pub fn validate(&self) -> Result<(), ProfileError> {
        let wrong =
            |key: String, value: String, must| Err(ProfileError::Value { key, value, must });
        let Layout {
            processes_per_node,
            sockets_per_node,
            nodes_per_router,
        } = self.layout;
        for (key, value) in [
            ("processes_per_node", processes_per_node),
            ("sockets_per_node", sockets_per_node),
            ("nodes_per_router", nodes_per_router),
        ] {
            if !(1..=65_536).contains(&value) {
                return wrong(
                    format!("layout.{key}"),
                    value.to_string(),
                    "from 1 to 65536",
                );
            }
        }
        let Limits {
            short_max_bytes,
            eager_max_bytes,
        } = self.limits;
        if short_max_bytes > eager_max_bytes {
            let value = eager_max_bytes.to_string();
            return wrong(
                "limits.eager_max_bytes".to_owned(),
                value,
                "at least short_max_bytes",
            );
        }
        let times = [
            ("queue.gamma_s", self.queue.gamma_s),
            ("queue.gamma_step_s", self.queue.gamma_step_s),
            (
                "contention.delta_s_per_byte",
                self.contention.delta_s_per_byte,
            ),
        ];
        for (key, value) in times {
            if !(value.is_finite() && value >= 0.0) {
                return wrong(key.to_owned(), value.to_string(), "finite and not negative");
            }
        }
        for place in Distance::ALL {
            for protocol in Protocol::ALL {
                let key = |name| format!("{}.{}.{name}", place.name(), protocol.name());
                let link = self.link(place, protocol);
                if !(link.alpha_s.is_finite() && link.alpha_s >= 0.0) {
                    return wrong(
                        key("alpha_s"),
                        link.alpha_s.to_string(),
                        "finite and not negative",
                    );
                }
                let rates = [
                    ("rate_bytes_per_s", Some(link.rate_bytes_per_s)),
                    ("node_rate_bytes_per_s", link.node_rate_bytes_per_s),
                ];
                for (name, rate) in rates {
                    if let Some(rate) = rate.filter(|&rate| rate.is_nan() || rate <= 0.0) {
                        return wrong(key(name), rate.to_string(), "above 0");
                    }
                }
            }
        }
        Ok(())
    }

    pub fn link(&self, place: Distance, protocol: Protocol) -> Link {
        let links = match place {
            Distance::Socket => &self.socket,
            Distance::Node => &self.node,
            Distance::Network => &self.network,
        };
        match protocol {
            Protocol::Short => links.short,
            Protocol::Eager => links.eager,
            Protocol::Rendezvous => links.rendezvous,
        }
    }

    pub fn set_link(&mut self, place: Distance, protocol: Protocol, link: Link) {
        let links = match place {
            Distance::Socket => &mut self.socket,
            Distance::Node => &mut self.node,
            Distance::Network => &mut self.network,
        };
        *match protocol {
            Protocol::Short => &mut links.short,
            Protocol::Eager => &mut links.eager,
            Protocol::Rendezvous => &mut links.rendezvous,
        } = link;
    }

    pub fn protocol(&self, bytes: u64) -> Protocol {
        if bytes <= self.limits.short_max_bytes {
            Protocol::Short
        } else if bytes <= self.limits.eager_max_bytes {
            Protocol::Eager
        } else {
            Protocol::Rendezvous
        }
    }
}

impl Layout {
    pub fn node(&self, rank: u32) -> u32 {
        rank / self.processes_per_node
    }

    /// The socket of a rank, counted over all nodes.
    pub fn socket(&self, rank: u32) -> u64 {
        let per_socket = self.processes_per_node.div_ceil(self.sockets_per_node);
        let within = (rank % self.processes_per_node) / per_socket;
        u64::from(self.node(rank)) * u64::from(self.sockets_per_node) + u64::from(within)
    }

    /// Distance between two ranks.
    pub fn place(&self, from: u32, to: u32) -> Distance {
        if self.node(from) != self.node(to) {
            Distance::Network
        } else if self.socket(from) != self.socket(to) {
            Distance::Node
        } else {
            Distance::Socket
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_survives_its_own_file() {
        let mut profile = Profile::blue_waters();
        assert_eq!(Profile::parse(&profile.to_toml()), Ok(profile.clone()));
        // Without eager messages, every message that is not short is a rendezvous.
        profile.limits.eager_max_bytes = profile.limits.short_max_bytes;
        assert_eq!(Profile::parse(&profile.to_toml()), Ok(profile));
    }

    #[test]
    fn wrong_profiles_are_named_with_key_or_line() {
        let text = BUILT_IN[0].1;
        for (old, new, message) in [
            (
                "gamma_s = 8.4e-9",
                "gamma_s = -1.0",
                "queue.gamma_s is -1, must be finite and not negative",
            ),
            (
                "alpha_s = 1.2e-6",
                "alpha_s = nan",
                "node.eager.alpha_s is NaN",
            ),
            (
                "= 6.6e9",
                "= 0.0",
                "network.rendezvous.node_rate_bytes_per_s is 0, must be above 0",
            ),
            (
                "sockets_per_node = 2",
                "sockets_per_node = 0",
                "layout.sockets_per_node is 0",
            ),
            (
                "eager_max_bytes = 8192",
                "eager_max_bytes = 1",
                "limits.eager_max_bytes is 1, must be at least",
            ),
            ("gamma_s", "gama_s", "line 16"),
            ("name =", "name", "line 3"),
        ] {
            let error = Profile::parse(&text.replacen(old, new, 1))
                .expect_err(new)
                .to_string();
            assert!(error.contains(message), "{new}: {error}");
        }
    }

    #[test]
    fn ranks_fill_sockets_and_nodes() {
        let layout = Layout {
            processes_per_node: 16,
            sockets_per_node: 2,
            nodes_per_router: 2,
        };
        assert_eq!(layout.place(0, 7), Distance::Socket);
        assert_eq!(layout.place(7, 8), Distance::Node);
        assert_eq!(layout.place(15, 16), Distance::Network);
        assert_eq!((layout.socket(31), layout.node(31)), (3, 1));
        // Three processes on two sockets: two and one.
        let odd = Layout {
            processes_per_node: 3,
            ..layout
        };
        assert_eq!(
            [odd.place(0, 1), odd.place(1, 2), odd.place(2, 3)],
            [Distance::Socket, Distance::Node, Distance::Network]
        );
    }

    #[test]
    fn protocols_change_at_the_limits() {
        let profile = Profile::blue_waters();
        let protocols = [0, 512, 513, 8192, 8193].map(|bytes| profile.protocol(bytes));
        use Protocol::{Eager, Rendezvous, Short};
        assert_eq!(protocols, [Short, Short, Eager, Eager, Rendezvous]);
    }
}
