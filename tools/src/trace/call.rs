//! A recorded call.

use dpamatch_vocabulary::TagSel;

use super::{
    Collective, Comm, CommNew, Completion, Function, Group, GroupNew, RecvSpec, Request, SendSpec,
    Source, Status,
};

/// Entry and return of a call, in nanoseconds on the recording node's clock. Clocks of different
/// nodes are unrelated.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Span {
    pub entry_ns: i64,
    pub return_ns: i64,
}

/// An MPI call of a rank. Calls come in the order of their return. A call borrows its lists from
/// the reader until the next one is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Call<'a> {
    /// Its number within the rank, from 0.
    pub sequence: u64,
    /// Byte offset of its record in the file, after decompression.
    pub offset: u64,
    pub function: Function,
    pub thread: Option<u16>,
    pub cpu: Option<Span>,
    pub wall: Option<Span>,
    pub op: Op<'a>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op<'a> {
    Send(SendSpec),
    Recv {
        recv: RecvSpec,
        status: Option<Status>,
    },
    Isend {
        send: SendSpec,
        request: Request,
    },
    Irecv {
        recv: RecvSpec,
        request: Request,
    },
    /// `MPI_Sendrecv` and `MPI_Sendrecv_replace`: a send and a receive, both complete. The receive
    /// is posted first.
    Sendrecv {
        send: SendSpec,
        recv: RecvSpec,
        status: Option<Status>,
    },
    SendInit {
        send: SendSpec,
        request: Request,
    },
    RecvInit {
        recv: RecvSpec,
        request: Request,
    },
    /// `MPI_Start` and `MPI_Startall`: starts persistent requests in the order of the list.
    Start(&'a [Request]),
    Completion(Completion<'a>),
    /// `MPI_Request_get_status`: tests without changing the request.
    RequestStatus {
        request: Request,
        complete: bool,
        /// Its status, if complete and not ignored.
        status: Option<Status>,
    },
    /// `MPI_Probe` and `MPI_Iprobe`: looks for a message and leaves it in the queue.
    Probe {
        source: Source,
        tag: TagSel,
        comm: Comm,
        blocks: bool,
        found: bool,
        /// The message's status, if found and not ignored.
        status: Option<Status>,
    },
    /// `MPI_Cancel`: the completion's status shows whether it succeeded.
    Cancel(Request),
    /// `MPI_Request_free`: an active operation continues and completes unseen.
    RequestFree(Request),
    CommNew(CommNew<'a>),
    /// `MPI_Comm_free` and `MPI_Comm_disconnect`: another communicator may get the number.
    CommFree(Comm),
    CommSize {
        comm: Comm,
        size: i32,
    },
    CommRank {
        comm: Comm,
        /// This process' rank there.
        rank: i32,
    },
    GroupNew(GroupNew<'a>),
    GroupFree(Group),
    Collective(Collective<'a>),
    Other,
}
