use std::fmt::Write;

use expect_test::expect_file;

use super::*;
use crate::analyze::of_text::collected;

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
