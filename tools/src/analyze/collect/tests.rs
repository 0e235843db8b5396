use super::*;
use crate::analyze::program::{ANY, NOBODY};
use crate::trace::with_op;

/// The program of a rank with these calls, one a line; `trace/interpret/tests.txt` says how they
/// are written.
pub(crate) fn collected(rank: u32, calls: &str) -> Program {
    let sizes = DatatypeSizes::default();
    let mut collector = Collector::new(rank, &sizes);
    for (sequence, call) in (0..).zip(calls.lines()) {
        with_op(call, |function, op| {
            let (cpu, wall, op) = (None, None, op.expect("a good call"));
            collector.call(&Call { sequence, offset: 0, function, thread: None, cpu, wall, op });
        });
    }
    collector.finish()
}

#[test]
fn probes_with_wildcards_that_find_nothing_are_counted_by_kind() {
    let program = collected(
        0,
        "MPI_Iprobe source=0 tag=0 comm=2 flag=0\n\
         MPI_Iprobe source=-1 tag=0 comm=2 flag=0\n\
         MPI_Iprobe source=-1 tag=0 comm=3 flag=0\n\
         MPI_Iprobe source=-1 tag=0 comm=2 flag=0\n\
         MPI_Iprobe source=-1 tag=-1 comm=2 flag=0\n\
         MPI_Iprobe source=0 tag=-1 comm=2 flag=0\n\
         MPI_Iprobe source=-1 tag=0 comm=2 flag=1",
    );
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

/// MPICH writes `MPI_PROC_NULL` as any source; a status tells them apart.
#[test]
fn nobody_is_not_anybody() {
    let program = collected(
        0,
        "MPI_Recv source=-2 tag=-1 comm=2\n\
         MPI_Recv source=-1 tag=-1 comm=2 status={3:4}\n\
         MPI_Recv source=-1 tag=-1 comm=2",
    );
    let told: Vec<_> =
        program.transfers.iter().map(|transfer| (transfer.peer, transfer.unsure_null)).collect();
    assert_eq!(told, [(NOBODY, false), (ANY, false), (ANY, true)]);
    assert_eq!(program.transfers.iter().filter(|transfer| transfer.kind == Kind::Null).count(), 1);
}

/// An old status has no tag, so the posted tag counts. Without a source it names no sender.
#[test]
fn statuses_tell_what_was_received() {
    let program = collected(
        0,
        "MPI_Recv source=-1 tag=6 comm=2 status={3:-1}\n\
         MPI_Recv source=-1 tag=-1 comm=2 status={3:6}\n\
         MPI_Recv source=3 tag=6 comm=2 status={4:6}\n\
         MPI_Recv source=3 tag=6 comm=2 status={3:7}\n\
         MPI_Recv source=3 tag=-1 comm=2 status={3:-1}\n\
         MPI_Recv source=3 tag=6 comm=2\n\
         MPI_Recv source=-1 tag=6 comm=2\n\
         MPI_Irecv source=-1 tag=6 comm=2 request=9\n\
         MPI_Wait request=9 status={-1:-1}",
    );
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
    let post = |request| format!("MPI_Irecv source=0 tag=0 comm=2 request={request}\n");
    let cancelled =
        (10..14).map(|request| format!("{}MPI_Cancel request={request}\n", post(request)));
    let program = collected(
        0,
        &format!(
            "{}{}MPI_Wait request=10 status={{-1:-1!}}\nMPI_Wait request=11 status={{0:0}}\n\
         MPI_Wait request=12\nMPI_Request_free request=13\nMPI_Request_free request=14",
            cancelled.collect::<String>(),
            post(14)
        ),
    );
    let ends: Vec<_> = program.transfers.iter().map(|transfer| transfer.end).collect();
    let asked = End::CancelAsked;
    assert_eq!(ends, [End::Cancelled, End::Known, asked, asked, End::Freed]);
}

#[test]
fn a_request_number_names_operations_in_their_order() {
    let post = "MPI_Irecv source=0 tag=0 comm=2 request=7\n".repeat(3);
    let all = "MPI_Waitall count=2 requests=(7,7) statuses={0:0:1,0:0:2}\n";
    let program = collected(0, &format!("{post}{all}"));
    let bytes: Vec<_> = program.transfers.iter().map(|transfer| transfer.got_bytes).collect();
    assert_eq!(bytes, [1, 2, UNKNOWN]);
    assert_eq!(program.transfers[2].end, End::Pending);
    let program = collected(0, &format!("{post}{all}{all}"));
    assert_eq!((program.oddities.unknown_requests, program.transfers[2].got_bytes), (1, 1));
}
