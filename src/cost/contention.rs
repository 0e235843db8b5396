//! Time that bytes wait for each other on the links of a 3-D torus (M6).

use super::profile::Layout;

/// Bytes on the busiest link if the job is a perfect cube of the torus: l = 2 h^3 b ppn (M6), where h is the
/// average of hops per byte and b the average of bytes that a process sends to other nodes. h^3 routers lie
/// within h hops, and each of them has the bytes of two nodes.
pub fn link_bytes(hops: f64, bytes_per_process: f64, processes_per_node: u32) -> f64 {
    2.0 * hops.powi(3) * bytes_per_process * f64::from(processes_per_node)
}

/// T_c = delta l in seconds (M6).
pub fn contention_s(delta_s_per_byte: f64, link_bytes: f64) -> f64 {
    delta_s_per_byte * link_bytes
}

/// The smallest cube of routers, a torus in each direction, that holds a job's nodes; used where the real
/// place of a job is not known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Torus {
    side: u32,
    nodes_per_router: u32,
}

impl Torus {
    /// For this many ranks.
    pub fn holding(ranks: u32, layout: &Layout) -> Self {
        let nodes = ranks.div_ceil(layout.processes_per_node).max(1);
        let routers = u64::from(nodes.div_ceil(layout.nodes_per_router));
        let side = (1_u32..).find(|&side| u64::from(side).pow(3) >= routers).unwrap_or(u32::MAX);
        Self { side, nodes_per_router: layout.nodes_per_router }
    }

    /// Routers along each direction.
    pub fn side(&self) -> u32 {
        self.side
    }

    /// Links between the routers of two nodes, by the shortest way.
    pub fn hops(&self, from_node: u32, to_node: u32) -> u32 {
        let coordinates = |node: u32| {
            let router = node / self.nodes_per_router;
            [router % self.side, router / self.side % self.side, router / self.side / self.side]
        };
        let (from, to) = (coordinates(from_node), coordinates(to_node));
        from.iter().zip(to).map(|(&a, b)| a.abs_diff(b)).map(|way| way.min(self.side - way)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_of_the_published_delta() {
        // M11.
        let load = link_bytes(2.0, 1e6, 16);
        assert_eq!(load, 2.56e8);
        assert!((contention_s(1.0e-10, load) - 2.56e-2).abs() < 1e-15);
    }

    #[test]
    fn hops_take_the_shorter_way_round() {
        let layout = Layout { processes_per_node: 16, sockets_per_node: 2, nodes_per_router: 2 };
        // 8,192 processes are 512 nodes on 256 routers (M10): a cube of 7.
        let torus = Torus::holding(8192, &layout);
        assert_eq!(torus.side(), 7);
        assert_eq!(torus.hops(0, 1), 0, "one router");
        assert_eq!(torus.hops(0, 2), 1);
        assert_eq!(torus.hops(0, 2 * 6), 1, "round the torus");
        assert_eq!(torus.hops(0, 2 * (3 + 7 * 3 + 49 * 3)), 9, "the far corner");
        assert_eq!(Torus::holding(1, &layout).side(), 1);
    }
}
