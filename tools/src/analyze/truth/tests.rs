use std::fmt::Write;

use expect_test::expect_file;

use crate::analyze::Run;
use crate::analyze::by_hand::{paired, program, receive, run, send};
use crate::analyze::order::{Dice, Happening, Network};
use crate::analyze::program::{End, Step, Transfer, UNKNOWN_BYTES};
use dpamatch::engine::Oracle;

fn sent(bytes: u64) -> Transfer {
    Transfer {
        bytes,
        ..send(1, 5)
    }
}

fn got_from(source: i32, bytes: u64) -> Transfer {
    Transfer {
        bytes: 100,
        got_source: source,
        got_tag: 5,
        got_bytes: bytes,
        ..receive(source, 5, End::Known)
    }
}

fn got(bytes: u64) -> Transfer {
    got_from(0, bytes)
}

/// A receive of 100 bytes with a cancel and an ignored status.
fn asked(peer: i32, tag: i32) -> Transfer {
    Transfer {
        bytes: 100,
        ..receive(peer, tag, End::CancelAsked)
    }
}

/// The receives of rank 1's messages, and what was found out of them.
fn told(text: &mut String, what: &str, run: &Run, receives: &[u32]) {
    let bytes: Vec<u64> = run.inbound[1].iter().map(|message| message.bytes).collect();
    let ends: Vec<End> = run.programs[1]
        .transfers
        .iter()
        .map(|receive| receive.end)
        .collect();
    _ = writeln!(
        text,
        "{what}\n  {receives:?} with {bytes:?} bytes\n  {ends:?}"
    );
    _ = writeln!(text, "  {:?}\n", run.truth[1]);
}

/// A status has 31 bits for a length: the largest number says that there are as many or more.
#[test]
fn the_largest_length_of_a_status_means_at_least() {
    const MOST: u64 = i32::MAX as u64;
    for (got, sent, same) in [
        (MOST - 1, MOST - 1, Some(true)),
        (MOST - 1, MOST, Some(false)),
        (MOST, MOST, Some(true)),
        (MOST, MOST - 1, Some(false)),
        (MOST, MOST + 1, None),
        (MOST + 1, MOST + 1, Some(true)),
        (UNKNOWN_BYTES, 5, None),
        (5, UNKNOWN_BYTES, None),
    ] {
        assert_eq!(super::same_length(got, sent), same, "{got} of {sent}");
    }
}

#[test]
fn receives_without_a_status_get_what_is_left() {
    let mut text = String::new();
    let mut case = |what: &str, senders: &[Transfer], receivers: &[Transfer]| {
        let run = run(senders, receivers);
        told(&mut text, what, &run, &paired(&run));
    };
    for (peer, tag) in [(0, 5), (-1, 5), (0, -1), (-1, -1)] {
        case(
            &format!("Bytes tell that of three cancels, of {peer} and {tag}, the second failed"),
            &[sent(1), sent(2), sent(3), sent(4)],
            &[
                asked(peer, tag),
                got(1),
                asked(peer, tag),
                got(3),
                got(4),
                asked(peer, tag),
            ],
        );
    }
    let equal = [got(1), asked(0, 5), got(1), asked(0, 5)];
    case(
        "Sizes are equal: the cancel posted first failed",
        &[sent(1); 3],
        &equal,
    );
    let nothing = [asked(0, 5), got(1), asked(-1, -1), got(2)];
    case(
        "Nothing is left for the cancelled receives",
        &[sent(1), sent(2)],
        &nothing,
    );
    let small = Transfer {
        bytes: 8,
        ..asked(0, 5)
    };
    let sends = [sent(9), sent(8)];
    case(
        "A buffer of 8 bytes got nothing longer",
        &sends,
        &[small, asked(0, 5), small],
    );
    let complete = Transfer {
        bytes: 8,
        ..receive(0, 5, End::Ignored)
    };
    case("Nor did a complete one", &sends, &[asked(0, 5), complete]);
    let other = Transfer {
        bytes: 7,
        ..send(1, 4)
    };
    let first = Transfer {
        got_tag: 4,
        got_bytes: 7,
        bytes: 7,
        tag: 4,
        ..got(7)
    };
    case(
        "A receive is given where bytes ask for it",
        &[other, other, sent(1), sent(2), sent(3)],
        &[first, got(1), asked(-1, -1), got(3)],
    );
    let complete = Transfer {
        bytes: 100,
        ..receive(-1, -1, End::Ignored)
    };
    let both = [asked(-1, -1), got(1), complete];
    case(
        "Complete receives come before cancelled ones",
        &[sent(1), sent(1)],
        &both,
    );
    case(
        "A complete receive without a message",
        &[sent(1)],
        &[got(1), complete],
    );
    let five = [got(1), got(2), got(3), got(4), got(5)];
    case(
        "Two sends are in no trace: bytes tell which",
        &[sent(1), sent(3), sent(5)],
        &five,
    );
    let unknown = [sent(UNKNOWN_BYTES); 3];
    case(
        "Unknown sizes fit everywhere",
        &unknown,
        &[got(1), asked(0, 5), got(2)],
    );
    let anything = Transfer {
        bytes: UNKNOWN_BYTES,
        ..asked(0, 5)
    };
    case(
        "An unknown buffer takes every size",
        &[sent(1), sent(1000)],
        &[got(1), anything],
    );

    let nobody = [asked(-1, -1); 20];
    let mut receivers = nobody.to_vec();
    receivers.extend([
        got_from(0, 1),
        got_from(2, 11),
        asked(2, 5),
        got_from(2, 13),
    ]);
    receivers.extend([asked(-1, 5), got_from(0, 3), got_from(0, 4)]);
    receivers.extend(nobody);
    let to = |bytes: &[u64]| bytes.iter().map(|&bytes| sent(bytes)).collect::<Vec<_>>();
    let programs = vec![
        program(0, &to(&[1, 2, 3, 4])),
        program(1, &receivers),
        program(2, &to(&[11, 12, 13])),
    ];
    let chains = Run::new(programs, Some(3));
    told(
        &mut text,
        "Each sender has its chain",
        &chains,
        &paired(&chains),
    );

    let wrong = run(&[sent(1), sent(2), sent(3)], &[got(1), got(9), got(3)]);
    // No order gives these pairs.
    let receives: Vec<u32> = wrong.inbound[1]
        .iter()
        .map(|message| message.receive)
        .collect();
    told(
        &mut text,
        "Wrong size of one: it moves nothing",
        &wrong,
        &receives,
    );
    expect_file!["tests.txt"].assert_eq(&text);
}

/// No order cancels a receive that got a message; every order cancels one that got none.
#[test]
fn a_cancel_that_failed_does_not_happen() {
    let mut run = run(&[sent(1), sent(2)], &[asked(0, 5), got(2), asked(0, 5)]);
    run.programs[0]
        .steps
        .edit(|steps| steps[1].gap_ns = 1_000_000);
    for program in &mut run.programs {
        let number = |steps: &mut Vec<Step>| {
            (1..).zip(steps).for_each(|(at, step)| step.at_ns = at);
        };
        program.steps.edit(number);
    }
    let causal = run.causal(Network::default()).0;
    for order in [&causal[1], &run.merged().expect("times")[1]] {
        let cancels: Vec<_> = order
            .iter()
            .filter(|happening| matches!(happening, Happening::Cancel(_)))
            .collect();
        assert_eq!(cancels, [Happening::Cancel(2)]);
        let replayed = run
            .view(1)
            .run(&mut Oracle::new(), order)
            .expect("an engine");
        assert_eq!(replayed, [0, 1]);
    }
}

/// Random programs in which a third of the receives are cancelled with an ignored status. With one
/// sender, the byte counts of the others determine what they got. With several, a message may go to
/// the wrong sender's chain, but no receive contradicts its status.
#[test]
fn no_receive_of_a_whole_trace_contradicts_its_status() {
    for seed in 0..300 {
        let mut dice = Dice::new(seed, 0);
        let (sources, sizes) = (1 + dice.below(2) as usize, 1 + dice.below(5));
        let mut sends = [Vec::new(), Vec::new()];
        let mut receives = Vec::new();
        for _ in 0..2 + dice.below(30) {
            let source = dice.below(sources as u64) as usize;
            // Rank 1 receives.
            let rank = 2 * source as i32;
            let patterns = [(rank, 5), (-1, 5), (rank, -1), (-1, -1)];
            let (peer, tag) = patterns[dice.below(4) as usize];
            let bytes = 1 + dice.below(sizes);
            let is_asked = dice.below(3) == 0;
            receives.push(match is_asked {
                true => asked(peer, tag),
                false => Transfer {
                    peer,
                    tag,
                    ..got_from(rank, bytes)
                },
            });
            if !is_asked || dice.below(2) == 0 {
                sends[source].push(sent(bytes));
            }
        }
        let [first, second] = sends;
        let programs = vec![
            program(0, &first),
            program(1, &receives),
            program(2, &second),
        ];
        let run = Run::new(programs, Some(3));
        let truth = run.truth[1];
        assert_eq!(truth.bytes_differ, 0, "seed {seed}");
        if sources == 1 {
            assert_eq!((truth.left, truth.assumed), (0, 0), "seed {seed}");
        }
        paired(&run);
    }
}

/// The largest length of a status means at least so many bytes.
#[test]
fn a_status_at_the_end_of_the_format_is_no_length() {
    let most = i32::MAX as u64;
    for (got, sent, same) in [
        (most, most + 1, None),
        (most, 1 << 40, None),
        (most, most, Some(true)),
        (most, most - 1, Some(false)),
        (most - 1, most + 1, Some(false)),
        (UNKNOWN_BYTES, 7, None),
        (7, UNKNOWN_BYTES, None),
        (7, 7, Some(true)),
    ] {
        assert_eq!(super::same_length(got, sent), same, "{got} of {sent}");
    }
}
