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
    /// Entry into the call.
    pub entry_ns: i64,
    /// Return from the call.
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
    /// The MPI function.
    pub function: Function,
    /// The calling thread's number, if recorded.
    pub thread: Option<u16>,
    /// Processor time at entry and return, if recorded.
    pub cpu: Option<Span>,
    /// Wall-clock time at entry and return, if recorded.
    pub wall: Option<Span>,
    /// What the call does.
    pub op: Op<'a>,
}

/// What a call does to messages, requests, communicators and groups.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op<'a> {
    /// `MPI_Send` and the other blocking sends.
    Send(SendSpec),
    /// `MPI_Recv`.
    Recv {
        /// What is received.
        recv: RecvSpec,
        /// The message's status, if not ignored.
        status: Option<Status>,
    },
    /// `MPI_Isend` and the other nonblocking sends.
    Isend {
        /// What is sent.
        send: SendSpec,
        /// The new request.
        request: Request,
    },
    /// `MPI_Irecv`.
    Irecv {
        /// What is received.
        recv: RecvSpec,
        /// The new request.
        request: Request,
    },
    /// `MPI_Sendrecv` and `MPI_Sendrecv_replace`: a send and a receive, both complete. The receive
    /// is posted first.
    Sendrecv {
        /// What is sent.
        send: SendSpec,
        /// What is received.
        recv: RecvSpec,
        /// The received message's status, if not ignored.
        status: Option<Status>,
    },
    /// `MPI_Send_init` and the other persistent sends: creates a request, sends nothing.
    SendInit {
        /// What a start sends.
        send: SendSpec,
        /// The new request.
        request: Request,
    },
    /// `MPI_Recv_init`: creates a request, posts nothing.
    RecvInit {
        /// What a start receives.
        recv: RecvSpec,
        /// The new request.
        request: Request,
    },
    /// `MPI_Start` and `MPI_Startall`: starts persistent requests in the order of the list.
    Start(&'a [Request]),
    /// A call of the wait or test family.
    Completion(Completion<'a>),
    /// `MPI_Request_get_status`: tests without changing the request.
    RequestStatus {
        /// The tested request.
        request: Request,
        /// Whether its operation is complete.
        complete: bool,
        /// Its status, if complete and not ignored.
        status: Option<Status>,
    },
    /// `MPI_Probe` and `MPI_Iprobe`: looks for a message and leaves it in the queue.
    Probe {
        /// The accepted source.
        source: Source,
        /// The accepted tag.
        tag: TagSel,
        /// The communicator of the message.
        comm: Comm,
        /// Whether it waits for a message: `MPI_Probe`.
        blocks: bool,
        /// Whether there was a message.
        found: bool,
        /// The message's status, if found and not ignored.
        status: Option<Status>,
    },
    /// `MPI_Cancel`: the completion's status shows whether it succeeded.
    Cancel(Request),
    /// `MPI_Request_free`: an active operation continues and completes unseen.
    RequestFree(Request),
    /// Creates a communicator.
    CommNew(CommNew<'a>),
    /// `MPI_Comm_free` and `MPI_Comm_disconnect`: another communicator may get the number.
    CommFree(Comm),
    /// `MPI_Comm_size`.
    CommSize {
        /// The communicator.
        comm: Comm,
        /// The number of its processes.
        size: i32,
    },
    /// `MPI_Comm_rank`.
    CommRank {
        /// The communicator.
        comm: Comm,
        /// This process' rank there.
        rank: i32,
    },
    /// Creates a group.
    GroupNew(GroupNew<'a>),
    /// `MPI_Group_free`: another group may get the number.
    GroupFree(Group),
    /// A blocking collective operation.
    Collective(Collective<'a>),
    /// Any other call.
    Other,
}
