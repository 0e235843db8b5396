//! Programs whose calls are written as text, for tests.

use std::collections::BTreeMap;

use dpamatch_traces::{Call, DatatypeSizes, with_op};

use super::collect::Collector;
use super::program::Program;

/// The program of a rank with these calls, one a line, in the form of
/// `tools/traces/src/interpret/tests.txt`.
pub(super) fn collected(rank: u32, calls: &str) -> Program {
    let sizes = DatatypeSizes::default();
    let mut collector = Collector::new(rank, &sizes);
    for (sequence, call) in (0..).zip(calls.lines()) {
        with_op(call, |function, op| {
            let (cpu, wall, op) = (None, None, op.expect("a good call"));
            collector.call(&Call {
                sequence,
                offset: 0,
                function,
                thread: None,
                cpu,
                wall,
                op,
            });
        });
    }
    collector.finish()
}

/// The programs of a section's calls, and its other lines.
pub fn programs_of_text<'a>(
    lines: impl Iterator<Item = &'a str>,
) -> (Vec<Program>, Vec<Vec<&'a str>>) {
    let (mut calls, mut claims) = (BTreeMap::<u32, String>::new(), Vec::new());
    for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match line.split_once(" MPI_") {
            Some((ranks, call)) => {
                for rank in ranks
                    .split(',')
                    .map(|rank| rank.parse::<u32>().expect("a number"))
                {
                    *calls.entry(rank).or_default() += &format!("MPI_{call}\n");
                }
            }
            None => claims.push(line.split(' ').collect()),
        }
    }
    let program = |(rank, calls): (u32, String)| collected(rank, &calls);
    (calls.into_iter().map(program).collect(), claims)
}
