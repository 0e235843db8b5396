//! Results of the published model for sample messages.

use dpamatch_papers::cost::contention::{contention_s, link_bytes};
use dpamatch_papers::cost::queue::{bound_s, third_s};
use dpamatch_papers::cost::transfer::{max_rate_s, postal_s};
use dpamatch_papers::cost::{Distance, Profile};
use dpamatch_tools::counted;

use super::us;
use dpamatch_tools::table::{Cell, Table};

const LENGTHS: [u64; 6] = [8, 1 << 10, 1 << 13, 1 << 16, 1 << 20, 1 << 24];
const MESSAGES: [u64; 5] = [1, 10, 100, 1_000, 10_000];

pub(super) fn run(profile: &Profile) -> Vec<Table> {
    let ppn = profile.layout.processes_per_node;
    let columns = [
        "bytes",
        "protocol",
        "socket_us",
        "node_us",
        "network_us",
        "network_full_node_us",
    ];
    let title = format!(
        "One message on {}, {} a node.",
        profile.name,
        counted(ppn, "process")
    );
    let mut one = Table::new("one_message", title, columns).keyed(2);
    for bytes in LENGTHS {
        let protocol = profile.protocol(bytes);
        let postal = |place| Cell::from(us(postal_s(profile.link(place, protocol), bytes)));
        let full = max_rate_s(profile.link(Distance::Network, protocol), bytes, ppn);
        let [socket, node, network] = Distance::ALL.map(postal);
        one.push([
            bytes.into(),
            protocol.name().into(),
            socket,
            node,
            network,
            us(full).into(),
        ]);
    }
    let columns = ["messages", "bound_us", "third_us"];
    let mut queue = Table::new("queue_search", "Queue search.", columns);
    for messages in MESSAGES {
        let gamma = profile.queue.gamma_s;
        let cells = [bound_s(gamma, messages), third_s(gamma, messages)].map(|s| Cell::from(us(s)));
        queue.push([Cell::from(messages)].into_iter().chain(cells));
    }
    let columns = ["hops", "bytes_per_process", "link_bytes", "contention_us"];
    let mut links = Table::new(
        "contention",
        format!("Contention, {} a node.", counted(ppn, "process")),
        columns,
    )
    .keyed(2);
    for (hops, bytes) in [(1.0, 1e4), (2.0, 1e4), (2.0, 1e6), (4.0, 1e6)] {
        let load = link_bytes(hops, bytes, ppn);
        let seconds = contention_s(profile.contention.delta_s_per_byte, load);
        links.push([hops, bytes, load, us(seconds)].map(Cell::from));
    }
    vec![one, queue, links]
}
