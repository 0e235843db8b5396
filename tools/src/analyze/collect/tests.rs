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

fn status(source: i32, tag: i32) -> Option<crate::trace::Status> {
    Some(crate::trace::Status { bytes: 8, source, tag, cancelled: false, error: 0 })
}

/// An old status has no tag, so the posted tag counts. Without a source it names no sender.
#[test]
fn statuses_tell_what_was_received() {
    let (rank, tag) = (|rank| Source::Rank(Rank::new(rank).expect("a rank")), Tag::new(6));
    let tag = TagSel::Tag(tag.expect("a tag"));
    let room = Payload { count: 1, datatype: Datatype(0) };
    let receive = |source, tag, status| {
        let recv = RecvSpec { source, tag, comm: Comm::WORLD, room };
        ("MPI_Recv", Op::Recv { recv, status })
    };
    let program = collected(&[
        receive(Source::Any, tag, status(3, -1)),
        receive(Source::Any, TagSel::Any, status(3, 6)),
        receive(rank(3), tag, status(4, 6)),
        receive(rank(3), tag, status(3, 7)),
        receive(rank(3), TagSel::Any, status(3, -1)),
        receive(rank(3), tag, None),
        receive(Source::Any, tag, None),
        receive(Source::AnyOrNull, tag, status(-1, -1)),
    ]);
    let told: Vec<_> = program.transfers.iter().map(|transfer| transfer.envelope()).collect();
    let posted = Some((3, 6));
    assert_eq!(told, [posted, posted, posted, posted, None, posted, None, None]);
    assert_eq!(program.oddities.contradictions, 3, "the third, fourth and fifth");
    let null = |transfer: &Transfer| transfer.kind == Kind::Null;
    let nulls: Vec<_> = program.transfers.iter().map(null).collect();
    assert_eq!(nulls, [false, false, false, false, false, false, false, true]);
}

#[test]
fn cancels_and_freed_requests_are_told_apart() {
    use crate::trace::{CompletionKind, Done, Status};
    const REQUESTS: [&[Request]; 5] =
        [&[Request(10)], &[Request(11)], &[Request(12)], &[Request(13)], &[Request(14)]];
    const CANCELLED: &[Status] =
        &[Status { bytes: 0, source: -1, tag: -1, cancelled: true, error: 0 }];
    const COMPLETE: &[Status] =
        &[Status { bytes: 8, source: 0, tag: 0, cancelled: false, error: 0 }];
    let room = Payload { count: 1, datatype: Datatype(0) };
    let (source, tag) = (Source::Rank(Rank::default()), TagSel::Tag(Tag::default()));
    let recv = RecvSpec { source, tag, comm: Comm::WORLD, room };
    let wait = |requests, statuses| {
        let (kind, done) = (CompletionKind::Wait, Done::All);
        ("MPI_Wait", Op::Completion(Completion { kind, requests, done, statuses }))
    };
    let mut calls = Vec::new();
    for [request] in REQUESTS.map(|requests| [requests[0]]) {
        calls.push(("MPI_Irecv", Op::Irecv { recv, request }));
        if request != Request(14) {
            calls.push(("MPI_Cancel", Op::Cancel(request)));
        }
    }
    calls.push(wait(REQUESTS[0], CANCELLED));
    calls.push(wait(REQUESTS[1], COMPLETE));
    calls.push(wait(REQUESTS[2], &[]));
    calls.push(("MPI_Request_free", Op::RequestFree(Request(13))));
    calls.push(("MPI_Request_free", Op::RequestFree(Request(14))));
    let program = collected(&calls);
    let ends: Vec<_> = program.transfers.iter().map(|transfer| transfer.end).collect();
    let asked = End::CancelAsked;
    assert_eq!(ends, [End::Cancelled, End::Known, asked, asked, End::Freed]);
}

#[test]
fn a_request_number_names_operations_in_their_order() {
    use crate::trace::{CompletionKind, Done, Status};
    const SHARED: &[Request] = &[Request(7), Request(7)];
    const STATUSES: &[Status] = &[
        Status { bytes: 1, source: 0, tag: 0, cancelled: false, error: 0 },
        Status { bytes: 2, source: 0, tag: 0, cancelled: false, error: 0 },
    ];
    let room = Payload { count: 1, datatype: Datatype(0) };
    let (source, tag) = (Source::Rank(Rank::default()), TagSel::Tag(Tag::default()));
    let recv = RecvSpec { source, tag, comm: Comm::WORLD, room };
    let post = ("MPI_Irecv", Op::Irecv { recv, request: Request(7) });
    let (kind, done) = (CompletionKind::Waitall, Done::All);
    let all = Completion { kind, requests: SHARED, done, statuses: STATUSES };
    let all = ("MPI_Waitall", Op::Completion(all));
    let program = collected(&[post, post, post, all]);
    let bytes: Vec<_> = program.transfers.iter().map(|transfer| transfer.got_bytes).collect();
    assert_eq!(bytes, [1, 2, UNKNOWN]);
    assert_eq!(program.transfers[2].end, End::Pending);
    let program = collected(&[post, post, post, all, all]);
    assert_eq!((program.oddities.unknown_requests, program.transfers[2].got_bytes), (1, 1));
}
