use std::fmt::Write;

use expect_test::expect_file;

use super::*;
use crate::analyze::of_text::collected;
use crate::analyze::program::UNKNOWN_BYTES;

/// A status of the format has no more than 31 bits for a length. A message has up to 2^44 bytes,
/// and what says more is damaged.
#[test]
fn lengths_are_known_up_to_their_bounds() {
    const STATUS: u64 = i32::MAX as u64;
    for (room, got) in [(STATUS - 1, 5), (STATUS, 5), (STATUS + 1, UNKNOWN_BYTES)] {
        let call =
            format!("MPI_Recv count={room} datatype=2 source=3 tag=6 comm=2 status={{3:6:5}}");
        let program = collected(0, &call);
        assert_eq!(program.transfers.at(0).got_bytes, got, "{room}");
        assert_eq!(
            program.oddities.long_receives,
            u64::from(got != 5),
            "{room}"
        );
    }
    const MOST: u64 = 1 << 44;
    for (bytes, known) in [
        (MOST - 1, MOST - 1),
        (MOST, MOST),
        (MOST + 1, UNKNOWN_BYTES),
    ] {
        let program = collected(
            0,
            &format!("MPI_Send count={bytes} datatype=2 dest=3 tag=6 comm=2"),
        );
        assert_eq!(program.transfers.at(0).bytes, known);
    }
}

/// What a rank's calls come to, for the sections of `calls.txt`.
#[test]
fn programs_are_those_of_the_text() {
    let mut told = String::new();
    for section in include_str!("calls.txt").split("\n[").skip(1) {
        let (title, calls) = section.split_once("]\n").expect("a title");
        let program = collected(0, calls.trim_end());
        _ = writeln!(told, "[{title}]");
        for it in program.transfers.iter() {
            let (peer, tag, bytes, end) = (it.peer, it.tag, it.got_bytes, it.end);
            let unsure = if it.unsure_null { ", or nobody" } else { "" };
            let known = it.envelope();
            _ = writeln!(
                told,
                "{:?} {peer} {tag} ends {end:?} {known:?} bytes {bytes}{unsure}",
                it.kind
            );
        }
        for EmptyPolls {
            comm,
            any_source,
            any_tag,
            count,
            call,
            ..
        } in &program.empty_polls
        {
            let wild = format!("any source {any_source}, any tag {any_tag}");
            _ = writeln!(
                told,
                "empty polls {count} on {comm}, {wild}, first call {call}"
            );
        }
        _ = writeln!(told, "{:?}\n", program.oddities);
    }
    expect_file!["programs.txt"].assert_eq(&told);
}
