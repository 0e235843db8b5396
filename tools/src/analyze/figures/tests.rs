use expect_test::expect_file;

use super::*;
use crate::analyze::by_hand::{counted, program, question, receive};
use crate::analyze::program::End;
use crate::analyze::stats::BlockStats;
use crate::analyze::{OrderChoice, Run};

fn numbers(all: &[(&'static str, Figure)], names: &[&str]) -> String {
    let named = all.iter().filter(|(name, _)| names.contains(name));
    named
        .map(|(name, figure)| format!("{name}\n{}\n", figure.csv()))
        .collect()
}

/// Ten messages in blocks of four; two never had a candidate.
#[test]
fn paths_are_shares_of_the_messages() {
    let mut report = counted();
    let counts = BlockStats {
        handlers: 4,
        messages: 10,
        clean: 5,
        ..BlockStats::default()
    };
    report.application.blocks = vec![BlockStats {
        fast: 2,
        slow: 1,
        ..counts
    }];
    let shown = numbers(&of_application(&report), &["figure-paths"]);
    expect_file!["paths.txt"].assert_eq(&shown);
}

/// Several applications appear in falling order of mean depth with the first number of bins, with a
/// mean. The published analyzer's depth comes from the trace.
#[test]
fn applications_stand_side_by_side() {
    let (mut first, mut second) = (counted(), counted());
    (first.name, second.name) = ("less".to_owned(), "more".to_owned());
    let depth = |report: &mut Report, bins: usize, sum, samples, most, never| {
        let tables = &mut report.application.bins[bins].tables;
        (tables.depth_sum, tables.samples, tables.depth_max) = (sum, samples, most);
        report.lifetime[bins].depth_average = never;
    };
    depth(&mut first, 0, 10, 10, 4, 7.0);
    depth(&mut first, 1, 9, 10, 3, 5.0);
    depth(&mut second, 0, 30, 10, 6, 9.0);
    depth(&mut second, 1, 1, 10, 2, 3.0);
    let all = over_applications(&[&first, &second]);
    expect_file!["bins.txt"].assert_eq(&numbers(&all, &["figure-bins"]));
    let names: Vec<_> = all.iter().map(|&(name, _)| name).collect();
    assert_eq!(names, ["figure-calls", "figure-bins", "figure-tables"]);
}

/// With more than 64 ranks, a row is the maximum of two ranks.
#[test]
fn many_ranks_share_rows() {
    let posts: Vec<_> = (0..3).map(|tag| receive(0, tag, End::Pending)).collect();
    let ranks = |rank: u32| program(rank, if rank == 3 { &posts } else { &[] });
    let heat = |processes: u32| {
        let run = Run::new((0..processes).map(ranks).collect(), Some(processes));
        let mut question = question(OrderChoice::PostsFirst);
        question.plan.handlers = Vec::new();
        let report = Report::make(&run, &question, |_| ()).expect("a report");
        let all = of_application(&report);
        let lines = numbers(&all, &["figure-ranks"]);
        let lines: Vec<&str> = lines
            .lines()
            .skip(2)
            .filter(|line| !line.is_empty())
            .collect();
        let last = lines.iter().filter(|line| {
            line.starts_with("Posted") && line.contains(",100,") && !line.ends_with(",0")
        });
        (
            lines.len(),
            last.map(|line| (*line).to_owned()).collect::<Vec<_>>(),
        )
    };
    assert_eq!(
        heat(64),
        (2 * 25 * 64, vec!["Posted receives,3,100,3".to_owned()])
    );
    assert_eq!(
        heat(65),
        (2 * 25 * 33, vec!["Posted receives,2-3,100,3".to_owned()])
    );
}
