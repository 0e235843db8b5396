//! Communicators go from the NIC to software and back thousands of times, by every cause, and the
//! oracle agrees with every match (O7, O24, S20, S21).

use dpa_model::{Counts, Options, UnexpectedFull};
use dpamatch::endpoint::{
    Communicator, Drive, Endpoint, EndpointConfig, Received, RecvError, RecvRequest, replay,
};
use dpamatch::engine::Oracle;
use dpamatch::host::SoftwareStats;
use dpamatch::{Hints, NicConfig, Rank, SourceSel, Tag, TagSel};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::run::{Settings, run};
use super::watchdog;

/// Crossings of each border. With NIC threads there are fewer, because each crossing passes some
/// ten times between threads; the border does not depend on them.
fn cycles(drive: &Drive) -> u64 {
    match drive {
        Drive::Caller => 3_000,
        _ => 200,
    }
}

fn tag(number: u32) -> Tag {
    Tag::new(number).expect("a small tag")
}

fn nic(unexpected_full: UnexpectedFull) -> NicConfig {
    NicConfig {
        handlers: 8,
        receives: 6,
        bins: 4,
        communicators: 2,
        completion_queue: 64,
        eager_limit: 64,
        unexpected: 5,
        unexpected_buffers: 5,
        options: Options { log_order: true, unexpected_full, ..Options::default() },
        ..NicConfig::default()
    }
}

/// Variants of a test: the calling thread runs the NIC, or threads of its own do.
fn drives() -> [Drive; 2] {
    [Drive::Caller, Drive::threads()]
}

struct Border {
    endpoint: Endpoint,
    oracle: Oracle,
    log: Vec<dpamatch::endpoint::LogEntry>,
    random: ChaCha8Rng,
}

impl Border {
    fn new(nic: NicConfig, drive: Drive, seed: u64) -> Self {
        let config = EndpointConfig { nic, drive };
        Self {
            endpoint: Endpoint::new(&config).expect("a NIC can be built"),
            oracle: Oracle::new(),
            log: Vec::new(),
            random: ChaCha8Rng::seed_from_u64(seed),
        }
    }

    fn post(&mut self, comm: &Communicator) -> RecvRequest {
        let source = if self.random.random() { SourceSel::Any } else { Rank::default().into() };
        let wanted = if self.random.random() { TagSel::Any } else { tag(0).into() };
        self.endpoint.post_recv(comm, source, wanted, vec![0; 64]).expect("posted")
    }

    fn send(&mut self, comm: &Communicator, number: u8) {
        let length = if self.random.random() { 1 } else { 40 };
        let mut peer = self.endpoint.sender(comm, Rank::default());
        self.endpoint.send(&mut peer, tag(0), &vec![number; length]).expect("sent");
    }

    /// Compares the events since the last call.
    fn check(&mut self) {
        self.endpoint.drain_order_log(&mut self.log);
        assert!(!self.log.is_empty(), "an empty log agrees with everything");
        replay(&mut self.oracle, &self.log).unwrap_or_else(|error| panic!("{error}"));
        self.log.clear();
    }

    fn wait_all(&mut self, requests: Vec<RecvRequest>) -> Vec<Result<Received, RecvError>> {
        let results = self.endpoint.wait_all(requests);
        self.check();
        results
    }

    /// Waits until the NIC has taken `comm` back, and counts.
    fn counts(&mut self) -> (Counts, SoftwareStats) {
        for _ in 0..100 {
            self.endpoint.progress();
        }
        self.endpoint.counts()
    }
}

/// All receives accept all messages here, so the k-th receive gets the k-th message, matched by NIC
/// or software.
fn in_order(results: Vec<Result<Received, RecvError>>) {
    for (number, result) in results.into_iter().enumerate() {
        let received = result.expect("received");
        assert!(
            received.bytes().iter().all(|&byte| byte == number as u8),
            "message {number}: {received:?}"
        );
    }
}

#[test]
fn unexpected_memory_overflows_and_drains() {
    let _dog = watchdog::on("the host and the NIC: unexpected memory overflows and drains");
    for drive in drives() {
        let cycles = cycles(&drive);
        let mut border = Border::new(nic(UnexpectedFull::Demote), drive, 2);
        let comm = border.endpoint.create_comm(Hints::default()).expect("the NIC runs");
        for _ in 0..cycles {
            let count = border.random.random_range(6..=12);
            (0..count).for_each(|number| border.send(&comm, number));
            // Sent after all of them, so all are unexpected.
            let mut peer = border.endpoint.sender(&comm, Rank::default());
            border.endpoint.send(&mut peer, tag(1), b"last").expect("sent");
            border.endpoint.probe(&comm, Rank::default(), tag(1)).expect("there");
            let requests = (0..count).map(|_| border.post(&comm)).collect();
            in_order(border.wait_all(requests));
            let last = border.endpoint.recv(&comm, SourceSel::Any, tag(1), vec![0; 4]);
            assert_eq!(last.expect("received").bytes(), b"last");
        }
        border.check();
        let (counts, software) = border.counts();
        assert!(counts.boundary.fallback_unexpected >= cycles * 9 / 10, "{counts:?}");
        assert!(counts.boundary.resumed >= cycles * 9 / 10, "{counts:?}");
        assert_eq!(counts.boundary.fallback_receives, 0);
        assert!(software.matches >= cycles, "{software:?}");
    }
}

#[test]
fn tables_do_not_fit_and_fit_again() {
    let _dog = watchdog::on("the host and the NIC: tables do not fit and fit again");
    for drive in drives() {
        let cycles = cycles(&drive);
        let mut border = Border::new(
            NicConfig { receives: 64, unexpected: 64, ..nic(UnexpectedFull::Demote) },
            drive,
            4,
        );
        for _ in 0..cycles {
            // There is room for two.
            let mut comms: Vec<_> = (0..3)
                .map(|_| border.endpoint.create_comm(Hints::default()).expect("the NIC runs"))
                .collect();
            let offloaded: Vec<_> = comms.iter().map(Communicator::is_offloaded).collect();
            assert_eq!(offloaded, [true, true, false]);
            for bins in [1000, u32::MAX] {
                let created = border.endpoint.create_comm_with_bins(Hints::default(), bins);
                comms.push(created.expect("the NIC runs"));
                assert!(!comms.last().expect("just created").is_offloaded());
            }
            for comm in &comms {
                let early = border.post(comm);
                (0..2).for_each(|number| border.send(comm, number));
                let late = border.post(comm);
                in_order(border.wait_all(vec![early, late]));
            }
            for comm in comms {
                border.endpoint.free_comm(comm).expect("nothing is left");
            }
        }
        let (counts, software) = border.counts();
        assert_eq!(counts.boundary.fallback_tables, 3 * cycles);
        assert_eq!(software.matches, 6 * cycles);
    }
}

#[test]
fn random_traffic_crosses_the_border() {
    let _dog = watchdog::on("the host and the NIC: random traffic crosses the border");
    for (seed, unexpected_full) in [(5, UnexpectedFull::Demote), (6, UnexpectedFull::BackPressure)]
    {
        let base = Settings::default();
        let settings = Settings {
            seed,
            messages: 12_000,
            break_every: 20,
            receives_max: 32,
            window: 8,
            senders: 2,
            nic: NicConfig { regions: 64, ..nic(unexpected_full) },
            drive: Drive::Caller,
            ..base
        };
        let report = run(&settings);
        let boundary = report.counts.boundary;
        assert!(boundary.resumed > 200, "{report:?}");
        assert!(boundary.fallback_receives > 200, "{report:?}");
        match unexpected_full {
            UnexpectedFull::Demote => assert!(boundary.fallback_unexpected > 4, "{report:?}"),
            UnexpectedFull::BackPressure => assert!(boundary.unexpected_full > 20, "{report:?}"),
        }
    }
}
