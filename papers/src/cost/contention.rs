//! Time that bytes queue on the links of a 3-D torus.

use std::collections::BTreeMap;

use super::message_list::Message;
use super::profile::Layout;

/// Bytes on the busiest link of a job that is a perfect cube of the torus: l = 2 h^3 b ppn. h is
/// the average number of hops per byte, b the average bytes that a process sends to other nodes.
/// h^3 routers lie within h hops, each with the bytes of two nodes.
pub fn link_bytes(hops: f64, bytes_per_process: f64, processes_per_node: u32) -> f64 {
    2.0 * hops.powi(3) * bytes_per_process * f64::from(processes_per_node)
}

/// T_c = delta l in seconds.
pub fn contention_s(delta_s_per_byte: f64, link_bytes: f64) -> f64 {
    delta_s_per_byte * link_bytes
}

/// A 3-D torus of routers with dimension-ordered routing, each dimension by its shorter way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Torus {
    extents: [u32; 3],
    nodes_per_router: u32,
}

/// A directed link out of a router.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LinkId {
    pub router: u32,
    pub axis: usize,
    /// Towards the higher neighbour, or from the last router round to the first.
    pub up: bool,
}

impl Torus {
    /// The smallest cube that holds the nodes of `ranks`, for jobs whose placement is unknown.
    pub fn holding(ranks: u32, layout: &Layout) -> Self {
        let nodes = ranks.div_ceil(layout.processes_per_node).max(1);
        let routers = u64::from(nodes.div_ceil(layout.nodes_per_router));
        let side = (1_u32..)
            .find(|&side| u64::from(side).pow(3) >= routers)
            .unwrap_or(u32::MAX);
        Self {
            extents: [side; 3],
            nodes_per_router: layout.nodes_per_router,
        }
    }

    /// A line of routers, as a ring too long for the way round to be shorter.
    pub fn line(routers: u32, layout: &Layout) -> Self {
        let extents = [routers.max(1).saturating_mul(2), 1, 1];
        Self {
            extents,
            nodes_per_router: layout.nodes_per_router,
        }
    }

    /// Routers along each dimension.
    pub fn extents(&self) -> [u32; 3] {
        self.extents
    }

    fn coordinates(&self, node: u32) -> [u32; 3] {
        let router = node / self.nodes_per_router;
        let [x, y, _] = self.extents;
        [router % x, router / x % y, router / x / y]
    }

    /// Links on the shortest way between the routers of two nodes.
    pub fn hops(&self, from_node: u32, to_node: u32) -> u32 {
        let (from, to) = (self.coordinates(from_node), self.coordinates(to_node));
        let along = |axis: usize| {
            let way = from[axis].abs_diff(to[axis]);
            way.min(self.extents[axis] - way)
        };
        (0..3).map(along).sum()
    }

    /// The links from one node to another, in order.
    pub fn route(&self, from_node: u32, to_node: u32) -> Vec<LinkId> {
        let (mut here, to) = (self.coordinates(from_node), self.coordinates(to_node));
        let mut links = Vec::new();
        for axis in 0..3 {
            let extent = self.extents[axis];
            let ahead = (to[axis] + extent - here[axis]) % extent;
            // Of two equal ways the upward one.
            let (up, count) = if 2 * ahead <= extent {
                (true, ahead)
            } else {
                (false, extent - ahead)
            };
            for _ in 0..count {
                let [x, y, z] = here;
                links.push(LinkId {
                    router: x + self.extents[0] * (y + self.extents[1] * z),
                    axis,
                    up,
                });
                here[axis] = (here[axis] + if up { 1 } else { extent - 1 }) % extent;
            }
        }
        links
    }

    /// Bytes of these messages on each link that they pass. The maximum is the exact l.
    ///
    /// # Complexity
    /// O(messages * hops * log links).
    pub fn loads(&self, layout: &Layout, messages: &[Message]) -> BTreeMap<LinkId, u64> {
        let mut loads: BTreeMap<LinkId, u64> = BTreeMap::new();
        for message in messages {
            for link in self.route(layout.node(message.src), layout.node(message.dst)) {
                let load = loads.entry(link).or_default();
                *load = load.saturating_add(message.bytes);
            }
        }
        loads
    }
}

/// The contention test. `routers` stand in a line, and each process of a node in the first half
/// sends to its counterpart half a line further. With four routers, 0 sends to 2 and 1 to 3, so
/// that the link from 1 to 2 carries everything. `senders` processes of each node send.
///
/// # Panics
/// When a rank does not fit 32 bits.
pub fn line_test(routers: u32, senders: u32, bytes: u64, layout: &Layout) -> Vec<Message> {
    let half = routers / 2 * layout.nodes_per_router;
    let ppn = layout.processes_per_node;
    let of_node = |node: u32| {
        (0..senders.min(ppn)).map(move |process| {
            let src = node * ppn + process;
            Message {
                src,
                dst: src + half * ppn,
                bytes,
                ..Message::default()
            }
        })
    };
    assert!(
        u64::from(routers) * u64::from(layout.nodes_per_router) * u64::from(ppn) <= 1 << 32,
        "too many processes"
    );
    (0..half).flat_map(of_node).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hops_take_the_shorter_way_round() {
        let layout = Layout {
            processes_per_node: 16,
            sockets_per_node: 2,
            nodes_per_router: 2,
        };
        // 8,192 processes are 512 nodes on 256 routers: a cube of 7.
        let torus = Torus::holding(8192, &layout);
        assert_eq!(torus.extents(), [7; 3]);
        assert_eq!(torus.hops(0, 1), 0, "one router");
        assert_eq!(torus.hops(0, 2), 1);
        assert_eq!(torus.hops(0, 2 * 6), 1, "round the torus");
        assert_eq!(torus.hops(0, 2 * (3 + 7 * 3 + 49 * 3)), 9, "the far corner");
        assert_eq!(Torus::holding(1, &layout).extents(), [1; 3]);
    }

    #[test]
    fn routes_are_as_long_as_the_hops_and_end_where_they_should() {
        let layout = Layout {
            processes_per_node: 1,
            sockets_per_node: 1,
            nodes_per_router: 1,
        };
        let torus = Torus::holding(125, &layout);
        let step = |router: u32, link: &LinkId| {
            assert_eq!(link.router, router, "links follow each other");
            let mut place = [router % 5, router / 5 % 5, router / 25];
            place[link.axis] = (place[link.axis] + if link.up { 1 } else { 4 }) % 5;
            place[0] + 5 * place[1] + 25 * place[2]
        };
        for (from, to) in (0..125).flat_map(|from| (0..125).map(move |to| (from, to))) {
            let route = torus.route(from, to);
            assert_eq!(route.len() as u32, torus.hops(from, to));
            assert_eq!(route.iter().fold(from, step), to);
        }
    }
}
