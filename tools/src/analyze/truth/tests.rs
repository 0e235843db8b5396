use crate::analyze::Run;
use crate::analyze::by_hand::{paired, program, receive, run, send};
use crate::analyze::order::{Dice, Happening, Network};
use crate::analyze::program::{End, Transfer, UNKNOWN};
use dpamatch::engine::Oracle;

fn sent(bytes: u32) -> Transfer {
    Transfer { bytes, ..send(1, 5) }
}

fn got_from(source: i32, bytes: u32) -> Transfer {
    Transfer {
        bytes: 100,
        got_source: source,
        got_tag: 5,
        got_bytes: bytes,
        ..receive(source, 5, End::Known)
    }
}

fn got(bytes: u32) -> Transfer {
    got_from(0, bytes)
}

/// A receive of 100 bytes with a cancel and an ignored status.
fn asked(peer: i32, tag: i32) -> Transfer {
    Transfer { bytes: 100, ..receive(peer, tag, End::CancelAsked) }
}

/// Of two receives cancelled with an ignored status, only the second got a message, as the byte
/// counts of later receives show.
#[test]
fn bytes_tell_which_cancelled_receive_got_a_message() {
    for (peer, tag) in [(0, 5), (-1, 5), (0, -1), (-1, -1)] {
        let run = run(
            &[sent(1), sent(2), sent(3), sent(4)],
            &[asked(peer, tag), got(1), asked(peer, tag), got(3), got(4), asked(peer, tag)],
        );
        assert_eq!(paired(&run), [1, 2, 3, 4], "{peer}, {tag}");
        let truth = run.truth[1];
        assert_eq!((truth.pairs, truth.eliminated, truth.left, truth.assumed), (3, 1, 0, 0));
        assert_eq!((truth.bytes_equal, truth.bytes_differ), (3, 0));
        let ends = [0, 2, 5].map(|at| run.programs[1].transfers[at].end);
        assert_eq!(ends, [End::Cancelled, End::CancelAsked, End::Cancelled]);
    }
}

/// All sizes are equal: the receive posted first wins.
#[test]
fn where_bytes_do_not_tell_the_first_cancelled_receive_got_the_message() {
    let run = run(&[sent(1); 3], &[got(1), asked(0, 5), got(1), asked(0, 5)]);
    assert_eq!(paired(&run), [0, 1, 2]);
}

#[test]
fn cancelled_receives_got_nothing_where_nothing_is_over() {
    let run = run(&[sent(1), sent(2)], &[asked(0, 5), got(1), asked(-1, -1), got(2)]);
    assert_eq!(paired(&run), [1, 3]);
    assert_eq!((run.truth[1].pairs, run.truth[1].eliminated), (2, 0));
}

/// A message longer than its buffer would have ended the program.
#[test]
fn a_message_went_into_a_buffer_with_room_for_it() {
    let small = Transfer { bytes: 8, ..asked(0, 5) };
    let run = run(&[sent(9), sent(8)], &[small, asked(0, 5), small]);
    assert_eq!(paired(&run), [1, 2]);
    assert_eq!(run.programs[1].transfers[0].end, End::Cancelled);
    // The capacity also limits a complete receive whose status was ignored.
    let complete = Transfer { bytes: 8, ..receive(0, 5, End::Ignored) };
    let run = self::run(&[sent(9), sent(8)], &[asked(0, 5), complete]);
    assert_eq!(paired(&run), [0, 1]);
}

#[test]
fn a_receive_is_given_where_bytes_ask_for_it() {
    let other = Transfer { bytes: 7, ..send(1, 4) };
    let first = Transfer { got_tag: 4, got_bytes: 7, bytes: 7, tag: 4, ..got(7) };
    let run =
        run(&[other, other, sent(1), sent(2), sent(3)], &[first, got(1), asked(-1, -1), got(3)]);
    assert_eq!(paired(&run), [0, UNKNOWN, 1, 2, 3]);
    assert_eq!((run.truth[1].bytes_differ, run.truth[1].left), (0, 1));
}

#[test]
fn complete_receives_come_before_cancelled_ones() {
    let complete = Transfer { bytes: 100, ..receive(-1, -1, End::Ignored) };
    let run = run(&[sent(1), sent(1)], &[asked(-1, -1), got(1), complete]);
    assert_eq!(paired(&run), [1, 2]);
    assert_eq!((run.truth[1].eliminated, run.truth[1].without_message), (1, 0));
    let run = self::run(&[sent(1)], &[got(1), complete]);
    assert_eq!(paired(&run), [0]);
    assert_eq!(run.truth[1].without_message, 1);
}

#[test]
fn each_sender_has_its_chain() {
    let nobody = [asked(-1, -1); 20];
    let mut receivers = nobody.to_vec();
    receivers.extend([got_from(0, 1), got_from(2, 11), asked(2, 5), got_from(2, 13)]);
    receivers.extend([asked(-1, 5), got_from(0, 3), got_from(0, 4)]);
    receivers.extend(nobody);
    let to = |bytes: &[u32]| bytes.iter().map(|&bytes| sent(bytes)).collect::<Vec<_>>();
    let programs = vec![
        program(0, &to(&[1, 2, 3, 4])),
        program(1, &receivers),
        program(2, &to(&[11, 12, 13])),
    ];
    let run = Run::new(programs, Some(3));
    assert_eq!(paired(&run), [20, 24, 25, 26, 21, 22, 23]);
    assert_eq!((run.truth[1].bytes_equal, run.truth[1].bytes_differ), (5, 0));
}

/// Half of the sends are in no trace: the byte counts show which.
#[test]
fn made_up_messages_stand_where_bytes_ask_for_them() {
    let run = run(&[sent(1), sent(3), sent(5)], &[got(1), got(2), got(3), got(4), got(5)]);
    assert_eq!(paired(&run), [0, 2, 4, 1, 3]);
    let truth = run.truth[1];
    assert_eq!((truth.pairs, truth.assumed, truth.bytes_differ), (3, 2, 0));
    let bytes: Vec<_> = run.inbound[1].iter().map(|message| message.bytes).collect();
    assert_eq!(bytes, [1, 3, 5, 2, 4]);
}

#[test]
fn one_wrong_size_is_told_and_moves_nothing() {
    let run = run(&[sent(1), sent(2), sent(3)], &[got(1), got(9), got(3)]);
    let receives: Vec<u32> = run.inbound[1].iter().map(|message| message.receive).collect();
    assert_eq!(receives, [0, 1, 2]);
    assert_eq!((run.truth[1].bytes_equal, run.truth[1].bytes_differ), (2, 1));
}

#[test]
fn unknown_sizes_fit_everywhere() {
    let unknown = sent(UNKNOWN);
    let run = run(&[unknown, unknown, unknown], &[got(1), asked(0, 5), got(2)]);
    assert_eq!(paired(&run), [0, 1, 2]);
    assert_eq!((run.truth[1].bytes_equal, run.truth[1].bytes_differ), (0, 0));
    let anything = Transfer { bytes: UNKNOWN, ..asked(0, 5) };
    let run = self::run(&[sent(1), sent(1000)], &[got(1), anything]);
    assert_eq!(paired(&run), [0, 1]);
}

/// No order cancels a receive that got a message; every order cancels one that got none.
#[test]
fn a_cancel_that_failed_does_not_happen() {
    let mut run = run(&[sent(1), sent(2)], &[asked(0, 5), got(2), asked(0, 5)]);
    run.programs[0].steps[1].gap_ns = 1_000_000;
    for program in &mut run.programs {
        (1..).zip(&mut program.steps).for_each(|(at, step)| step.at_ns = at);
    }
    let causal = run.causal(Network::default()).0;
    for order in [&causal[1], &run.merged().expect("times")[1]] {
        let cancels: Vec<_> =
            order.iter().filter(|happening| matches!(happening, Happening::Cancel(_))).collect();
        assert_eq!(cancels, [Happening::Cancel(2)]);
        let replayed = run.view(1).run(&mut Oracle::new(), order).expect("an engine");
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
            let bytes = 1 + dice.below(sizes) as u32;
            let is_asked = dice.below(3) == 0;
            receives.push(match is_asked {
                true => asked(peer, tag),
                false => Transfer { peer, tag, ..got_from(rank, bytes) },
            });
            if !is_asked || dice.below(2) == 0 {
                sends[source].push(sent(bytes));
            }
        }
        let [first, second] = sends;
        let programs = vec![program(0, &first), program(1, &receives), program(2, &second)];
        let run = Run::new(programs, Some(3));
        let truth = run.truth[1];
        assert_eq!(truth.bytes_differ, 0, "seed {seed}");
        if sources == 1 {
            assert_eq!((truth.left, truth.assumed), (0, 0), "seed {seed}");
        }
        paired(&run);
    }
}
