//! Calls written by hand.

use dpamatch_vocabulary::{Rank, Tag};

use super::*;
use crate::analyze::program::{ANY, NOBODY};
use crate::trace::{Datatype, Function};

fn collected(calls: &[(&str, Op<'_>)]) -> Program {
    let sizes = DatatypeSizes::default();
    let mut collector = Collector::new(0, &sizes);
    for (sequence, &(name, op)) in calls.iter().enumerate() {
        let function =
            Function::all().find(|function| function.name() == name).expect("a function");
        let sequence = sequence as u64;
        collector.call(&Call {
            sequence,
            offset: 0,
            function,
            thread: None,
            cpu: None,
            wall: None,
            op,
        });
    }
    collector.finish()
}

fn poll(source: Source, tag: TagSel, comm: u32, found: bool) -> (&'static str, Op<'static>) {
    ("MPI_Iprobe", Op::Probe { source, tag, comm: Comm(comm), blocks: false, found, status: None })
}

#[test]
fn probes_with_wildcards_that_find_nothing_are_counted_by_kind() {
    let (rank, tag) = (Source::Rank(Rank::default()), TagSel::Tag(Tag::default()));
    let program = collected(&[
        poll(rank, tag, 2, false),
        poll(Source::Any, tag, 2, false),
        poll(Source::Any, tag, 3, false),
        poll(Source::Any, tag, 2, false),
        poll(Source::Any, TagSel::Any, 2, false),
        poll(rank, TagSel::Any, 2, false),
        poll(Source::Any, tag, 2, true),
    ]);
    let told =
        |polls: &EmptyPolls| (polls.comm, polls.any_source, polls.any_tag, polls.count, polls.call);
    let told: Vec<_> = program.empty_polls.iter().map(told).collect();
    assert_eq!(
        told,
        [
            (WORLD, true, false, 2, 1),
            (SELF, true, false, 1, 2),
            (WORLD, true, true, 1, 4),
            (WORLD, false, true, 1, 5)
        ]
    );
    assert_eq!(program.transfers.len(), 1, "only the last one found something");
}

#[test]
fn nobody_is_not_anybody() {
    let room = Payload { count: 1, datatype: Datatype(0) };
    let (tag, comm) = (TagSel::Any, Comm::WORLD);
    let receive = |source| {
        ("MPI_Recv", Op::Recv { recv: RecvSpec { source, tag, comm, room }, status: None })
    };
    let program =
        collected(&[receive(Source::Null), receive(Source::Any), receive(Source::AnyOrNull)]);
    let told: Vec<_> =
        program.transfers.iter().map(|transfer| (transfer.peer, transfer.unsure_null)).collect();
    assert_eq!(told, [(NOBODY, false), (ANY, false), (ANY, true)]);
    assert_eq!(program.transfers.iter().filter(|transfer| transfer.kind == Kind::Null).count(), 1);
}
