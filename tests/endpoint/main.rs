//! Every call of the host API, with the NIC run by the caller and by threads.

mod handles;
mod leaks;
mod life;
mod own_thread;
mod receives;
mod refused;
mod rendezvous;
mod sequences;
mod shards;
#[path = "../watchdog/mod.rs"]
mod watchdog;

use dpamatch::endpoint::{Communicator, Drive, Endpoint, EndpointConfig, replay};
use dpamatch::engine::Oracle;
use dpamatch::{Hints, NicConfig, Rank, Tag};

fn rank(number: u32) -> Rank {
    Rank::new(number).expect("a small rank")
}

fn tag(number: u32) -> Tag {
    Tag::new(number).expect("a small tag")
}

fn logged(nic: NicConfig) -> NicConfig {
    let mut nic = nic;
    nic.options.log_order = true;
    nic
}

/// One endpoint per way to run its NIC; at the end the order log must agree with the oracle.
fn everywhere(nic: NicConfig, test: impl Fn(&mut Endpoint)) {
    let _dog = watchdog::on("a call of an endpoint");
    let drives = [
        Drive::Caller,
        Drive::threads(),
        Drive::Threads { pin_to: vec![0] },
    ];
    for drive in drives {
        let nic = NicConfig {
            workers: 2,
            slice_min: 1,
            ..logged(nic)
        };
        let config = EndpointConfig {
            nic,
            drive: drive.clone(),
        };
        let mut endpoint = Endpoint::new(&config).expect("a NIC can be built");
        test(&mut endpoint);
        let mut log = Vec::new();
        endpoint.drain_order_log(&mut log);
        assert!(!log.is_empty(), "an empty log agrees with everything");
        replay(&mut Oracle::new(), &log).unwrap_or_else(|error| panic!("{drive:?}: {error}"));
    }
}

/// Room for two receives and one unexpected message: almost everything is matched by software.
fn tiny() -> NicConfig {
    NicConfig {
        receives: 2,
        unexpected: 1,
        unexpected_buffers: 1,
        command_queue: 2,
        completion_ring: 32,
        bins: 4,
        eager_limit: 64,
        ..NicConfig::default()
    }
}

fn no_tables() -> NicConfig {
    NicConfig {
        index_bins: 1,
        eager_limit: 64,
        ..NicConfig::default()
    }
}

fn small() -> NicConfig {
    NicConfig {
        eager_limit: 64,
        ..NicConfig::default()
    }
}

fn open(nic: NicConfig, drive: Drive) -> (Endpoint, Communicator) {
    let mut endpoint = Endpoint::new(&EndpointConfig { nic, drive }).expect("a NIC can be built");
    let world = world(&mut endpoint);
    (endpoint, world)
}

fn world(endpoint: &mut Endpoint) -> Communicator {
    endpoint
        .create_comm(Hints::default())
        .expect("the NIC runs")
}

fn on_all_sizes(test: impl Fn(&mut Endpoint)) {
    for nic in [small(), tiny(), no_tables()] {
        everywhere(nic, &test);
    }
}
