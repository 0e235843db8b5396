//! One recorded call.

use dpamatch_vocabulary::TagSel;

use super::{
    Collective, Comm, CommNew, Completion, Function, Group, GroupNew, RecvSpec, Request, SendSpec,
    Source, Status,
};

/// When a call was entered and left, in nanoseconds on the recording node's clock. Clocks of
/// different nodes have nothing to do with each other.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Span {
    /// At entry.
    pub entry_ns: i64,
    /// At return.
    pub return_ns: i64,
}

/// One MPI call of one rank, in the order in which the calls of the rank returned. It borrows its
/// lists from the reader until the next call is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Call<'a> {
    /// Its number within the rank, from 0.
    pub sequence: u64,
    /// Byte offset of its record in the file, after decompression.
    pub offset: u64,
    /// Which function.
    pub function: Function,
    /// Which thread, from 0, if recorded.
    pub thread: Option<u16>,
    /// Processor time, if recorded.
    pub cpu: Option<Span>,
    /// Wall time, if recorded.
    pub wall: Option<Span>,
    /// What it did.
    pub op: Op<'a>,
}

/// What a call did, as far as matching is concerned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op<'a> {
    /// A blocking send.
    Send(SendSpec),
    /// A blocking receive, complete.
    Recv {
        /// The receive.
        recv: RecvSpec,
        /// What it got, unless ignored.
        status: Option<Status>,
    },
    /// A send that goes on after the call.
    Isend {
        /// The send.
        send: SendSpec,
        /// Its request.
        request: Request,
    },
    /// A receive that goes on after the call.
    Irecv {
        /// The receive.
        recv: RecvSpec,
        /// Its request.
        request: Request,
    },
    /// `MPI_Sendrecv` and `MPI_Sendrecv_replace`: both at once, both complete. The receive is
    /// posted first.
    Sendrecv {
        /// The send.
        send: SendSpec,
        /// The receive.
        recv: RecvSpec,
        /// What the receive got, unless ignored.
        status: Option<Status>,
    },
    /// A persistent send is made; nothing is sent.
    SendInit {
        /// The send of each start.
        send: SendSpec,
        /// Its request, until it is freed.
        request: Request,
    },
    /// A persistent receive is made; nothing is posted.
    RecvInit {
        /// The receive of each start.
        recv: RecvSpec,
        /// Its request, until it is freed.
        request: Request,
    },
    /// `MPI_Start` and `MPI_Startall`: persistent requests begin, in the order of the list.
    Start(&'a [Request]),
    /// Wait and test families.
    Completion(Completion<'a>),
    /// `MPI_Request_get_status`: a look that leaves the request as it is.
    RequestStatus {
        /// The request.
        request: Request,
        /// Whether it is complete.
        complete: bool,
        /// What it got, if complete and not ignored.
        status: Option<Status>,
    },
    /// `MPI_Probe` and `MPI_Iprobe`: a look that leaves the message.
    Probe {
        /// Whose messages.
        source: Source,
        /// Which tags.
        tag: TagSel,
        /// The communicator.
        comm: Comm,
        /// Whether it waits for a message.
        blocks: bool,
        /// Whether there is a message.
        found: bool,
        /// The message, if there is one and it was not ignored.
        status: Option<Status>,
    },
    /// `MPI_Cancel`: whether it succeeded is in the status of the completion.
    Cancel(Request),
    /// `MPI_Request_free`: an active operation goes on and completes unseen.
    RequestFree(Request),
    /// A new communicator.
    CommNew(CommNew<'a>),
    /// `MPI_Comm_free` and `MPI_Comm_disconnect`: the number may come back for another
    /// communicator.
    CommFree(Comm),
    /// `MPI_Comm_size`.
    CommSize {
        /// The communicator.
        comm: Comm,
        /// Number of its processes.
        size: i32,
    },
    /// `MPI_Comm_rank`.
    CommRank {
        /// The communicator.
        comm: Comm,
        /// This process' rank there.
        rank: i32,
    },
    /// A new group.
    GroupNew(GroupNew<'a>),
    /// `MPI_Group_free`.
    GroupFree(Group),
    /// A collective call.
    Collective(Collective),
    /// Anything else.
    Other,
}
