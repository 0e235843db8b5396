//! The NIC's options in free-running order: the order log, replayed through the oracle, gives the
//! NIC's matches, and each option keeps its further promises.

use std::collections::HashSet;

use dpa_model::{FastPath, InlineHashes, Options, Removal, UnexpectedFull};
use dpamatch::endpoint::{
    Communicator, Drive, Endpoint, EndpointConfig, Received, RecvError, Status,
};
use dpamatch::{Hints, NicConfig, Rank, SourceSel, Tag, TagSel, Wait};
use dpamatch_vocabulary::Selector;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::run::{Settings, run};
use super::watchdog;

fn rank(number: u32) -> Rank {
    Rank::new(number).expect("a small rank")
}

fn tag(number: u32) -> Tag {
    Tag::new(number).expect("a small tag")
}

/// A NIC with room for all messages and receives of the settings below.
fn roomy() -> NicConfig {
    NicConfig {
        receives: 256,
        unexpected: 2048,
        unexpected_buffers: 2048,
        slice_min: 1,
        ..Settings::default().nic
    }
}

fn short(nic: NicConfig, seed: u64) -> Settings {
    Settings {
        messages: 4_000,
        break_every: 400,
        seed,
        nic,
        ..Settings::default()
    }
}

/// All options, with workers, senders and handlers in turn.
#[test]
fn every_option_of_the_algorithm() {
    let _dog = watchdog::on("an endpoint: every option of the algorithm");
    let (mut total, mut shared_blocks) = (dpa_model::HandlerCounts::default(), 0);
    let options = FastPath::ALL.iter().flat_map(|&fast_path| {
        Removal::ALL.iter().flat_map(move |&removal| {
            InlineHashes::ALL.iter().flat_map(move |&inline_hashes| {
                [false, true].map(|early_check| Options {
                    fast_path,
                    early_check,
                    removal,
                    inline_hashes,
                    ..Options::default()
                })
            })
        })
    });
    for (seed, options) in options.enumerate() {
        let (workers, handlers) = (1 + seed % 4, [32, 1, 7, 64][seed / 2 % 4]);
        let nic = NicConfig {
            workers,
            handlers,
            options: Options {
                // Two of three one-worker endpoints run the phases, the others match in order.
                always_shared: workers == 1 && seed % 3 != 0,
                ..options
            },
            ..roomy()
        };
        let senders = [1, 3, 5][seed % 3];
        let report = run(&Settings {
            senders,
            messages: 600,
            ..short(nic, seed as u64)
        });
        let walked = report.counts.handlers;
        assert!(
            options.fast_path != FastPath::Off || walked.fast == 0,
            "{options:?}"
        );
        let [wrong, software] = [walked.hash_mismatch, report.software.arrivals];
        assert_eq!(
            (wrong, software, walked.messages),
            (0, 0, report.received),
            "{options:?}"
        );
        shared_blocks += report.counts.boundary.shared_blocks;
        total.add(&walked);
    }
    let all = [
        total.clean,
        total.fast,
        total.slow,
        total.unexpected,
        total.in_order,
        total.searched_again,
        shared_blocks,
    ];
    assert!(all.iter().all(|&count| count > 20), "{all:?}");
}

#[test]
fn hints_leave_wildcards_out() {
    let _dog = watchdog::on("an endpoint: hints leave wildcards out");
    for (seed, no_any_source, no_any_tag) in [(1, true, false), (2, false, true), (3, true, true)] {
        let hints = Hints {
            no_any_source,
            no_any_tag,
            ..Hints::default()
        };
        let report = run(&Settings {
            hints,
            ..short(roomy(), seed)
        });
        let walked = report.counts.handlers;
        assert_eq!(walked.walked_any_source > 0, !no_any_source, "{walked:?}");
        assert_eq!(walked.walked_any_tag > 0, !no_any_tag, "{walked:?}");
        assert_eq!(walked.walked_any, 0, "{walked:?}");
    }
}

/// Room for few receives and messages.
fn scarce(unexpected_full: UnexpectedFull) -> NicConfig {
    NicConfig {
        handlers: 8,
        receives: 6,
        bins: 4,
        communicators: 2,
        completion_queue: 64,
        eager_limit: 64,
        unexpected: 5,
        unexpected_buffers: 5,
        options: Options {
            unexpected_full,
            ..Options::default()
        },
        ..NicConfig::default()
    }
}

/// Communicators go to software and back again and again (O7, O24, S20, S21).
#[test]
fn random_traffic_crosses_the_border() {
    let _dog = watchdog::on("the host and the NIC: random traffic crosses the border");
    for (seed, unexpected_full) in [
        (5, UnexpectedFull::Demote),
        (6, UnexpectedFull::BackPressure),
    ] {
        let base = Settings::default();
        let settings = Settings {
            seed,
            messages: 12_000,
            break_every: 20,
            receives_max: 32,
            window: 8,
            senders: 2,
            nic: NicConfig {
                regions: 64,
                ..scarce(unexpected_full)
            },
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

/// A message as (source, tag, number).
type Name = (u32, u32, u32);

/// With overtaking allowed the order is free, but matches are legal ones: nothing is lost, and no
/// receive is left beside a message that it accepts (S24).
#[test]
fn overtaking_drops_the_order_and_nothing_else() {
    let _dog = watchdog::on("an endpoint: overtaking drops the order and nothing else");
    let mut overtaking = 0;
    for (seed, drive) in [
        (0, Drive::Caller),
        (1, Drive::threads()),
        (2, Drive::threads()),
    ] {
        let config = EndpointConfig {
            nic: roomy(),
            drive,
        };
        let mut endpoint = Endpoint::new(&config).expect("built");
        let hints = Hints {
            allow_overtaking: true,
            ..Hints::default()
        };
        let comm = endpoint.create_comm(hints).expect("the NIC runs");
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let (mut left_receives, mut left_messages) = (0, 0);
        for _ in 0..40 {
            let (receives, messages) = overtaking_round(&mut endpoint, &comm, &mut random);
            left_receives += receives;
            left_messages += messages;
        }
        assert!(
            left_receives > 0 && left_messages > 0,
            "{left_receives} {left_messages}"
        );
        assert_eq!(
            endpoint.iprobe(&comm, SourceSel::Any, TagSel::Any),
            Ok(None)
        );
        overtaking += endpoint.counts().0.handlers.overtaking;
    }
    assert!(overtaking > 1_000, "{overtaking}");
}

/// A hundred receives and messages in random order; returns how many of each found no partner.
fn overtaking_round(
    endpoint: &mut Endpoint,
    comm: &Communicator,
    random: &mut ChaCha8Rng,
) -> (usize, usize) {
    let seen = endpoint.counts().0.handlers.messages;
    let mut under_way: HashSet<Name> = HashSet::new();
    let mut selectors = Vec::new();
    let mut requests = Vec::new();
    for number in 0..200 {
        let (source, wanted) = (random.random_range(0..2), random.random_range(0..3));
        if random.random() {
            let source = if random.random() {
                SourceSel::Any
            } else {
                rank(source).into()
            };
            let wanted = if random.random() {
                TagSel::Any
            } else {
                tag(wanted).into()
            };
            selectors.push(Selector::new(source, wanted));
            requests.push(Some(
                endpoint
                    .post_recv(comm, source, wanted, vec![0; 4])
                    .expect("posted"),
            ));
        } else {
            let mut peer = endpoint.sender(comm, rank(source));
            endpoint
                .send(&mut peer, tag(wanted), &u32::to_le_bytes(number))
                .expect("sent");
            under_way.insert((source, wanted, number));
        }
    }
    // A cancel can overtake messages, so the NIC must have handled them all before it.
    let sent = seen + under_way.len() as u64;
    let mut wait = Wait::new();
    while endpoint.counts().0.handlers.messages < sent {
        endpoint.progress();
        wait.pause();
    }
    for request in requests.iter().flatten() {
        endpoint.cancel(request).expect("asked");
    }
    let (mut results, mut left) = (Vec::new(), Vec::new());
    while endpoint.wait_some(&mut requests, &mut results) > 0 {}
    for (place, result) in results {
        match result {
            Ok(received) => {
                let Status { source, tag, .. } = received.status;
                assert!(
                    selectors[place].accepts(source, tag),
                    "{:?} took {received:?}",
                    selectors[place]
                );
                take(&mut under_way, &received);
            }
            Err(RecvError::Cancelled(_)) => left.push(selectors[place]),
            Err(error) => panic!("{error}"),
        }
    }
    for &(source, wanted, _) in &under_way {
        let fits = left
            .iter()
            .find(|selector| selector.accepts(rank(source), tag(wanted)));
        assert_eq!(fits, None, "left beside message ({source}, {wanted})");
    }
    let messages = under_way.len();
    for _ in 0..messages {
        let received = endpoint
            .recv(comm, SourceSel::Any, TagSel::Any, vec![0; 4])
            .expect("received");
        take(&mut under_way, &received);
    }
    (left.len(), messages)
}

fn take(under_way: &mut HashSet<Name>, received: &Received) {
    let number = u32::from_le_bytes(received.bytes().try_into().expect("four bytes"));
    let name = (
        received.status.source.get(),
        received.status.tag.get(),
        number,
    );
    assert!(under_way.remove(&name), "{name:?} was not under way");
}
