//! Operations completed by calls of the wait and test families.

use super::{Request, Status};

/// The function that completes requests.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CompletionKind {
    /// `MPI_Wait`.
    Wait,
    /// `MPI_Waitall`.
    Waitall,
    /// `MPI_Waitany`.
    Waitany,
    /// `MPI_Waitsome`.
    Waitsome,
    /// `MPI_Test`.
    Test,
    /// `MPI_Testall`.
    Testall,
    /// `MPI_Testany`.
    Testany,
    /// `MPI_Testsome`.
    Testsome,
}

impl CompletionKind {
    /// Whether the call waits for a completion.
    pub const fn blocks(self) -> bool {
        matches!(
            self,
            Self::Wait | Self::Waitall | Self::Waitany | Self::Waitsome
        )
    }
}

/// Which requests of a list are complete.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Done<'a> {
    /// None: the flag was 0, or there was no active request.
    None,
    /// All of them.
    All,
    /// The request at this position.
    One(usize),
    /// The requests at these positions, each within the list.
    Some(&'a [i32]),
}

/// A call of the wait or test family. A call for a single request has a list of one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Completion<'a> {
    /// The function.
    pub kind: CompletionKind,
    /// The list before the call. It may contain [`Request::NULL`], inactive persistent requests,
    /// and requests of unrecorded calls.
    pub requests: &'a [Request],
    /// Which of them are complete after the call.
    pub done: Done<'a>,
    /// One status for each complete request in the order of [`done`](Self::done); empty if the
    /// program ignored them.
    pub statuses: &'a [Status],
}

impl<'a> Completion<'a> {
    /// The complete requests: position in the list, request, and status unless ignored. Null
    /// requests are included.
    pub fn completed(&self) -> impl Iterator<Item = (usize, Request, Option<Status>)> + use<'a> {
        let Self {
            requests,
            done,
            statuses,
            ..
        } = *self;
        let count = match done {
            Done::None => 0,
            Done::All => requests.len(),
            Done::One(_) => 1,
            Done::Some(positions) => positions.len(),
        };
        (0..count).filter_map(move |k| {
            let position = match done {
                Done::One(position) => position,
                Done::Some(positions) => usize::try_from(*positions.get(k)?).ok()?,
                Done::All | Done::None => k,
            };
            Some((position, *requests.get(position)?, statuses.get(k).copied()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_go_with_the_order_of_completion() {
        let status = |source| Status {
            bytes: 4,
            source,
            tag: 1,
            cancelled: false,
            error: 0,
        };
        let requests = [7, 8, 9].map(Request);
        let statuses = [status(90), status(70)];
        let completion = Completion {
            kind: CompletionKind::Waitsome,
            requests: &requests,
            done: Done::Some(&[2, 0]),
            statuses: &statuses,
        };
        let completed: Vec<_> = completion.completed().collect();
        assert_eq!(
            completed,
            [
                (2, Request(9), Some(status(90))),
                (0, Request(7), Some(status(70)))
            ]
        );

        let any = Completion {
            kind: CompletionKind::Waitany,
            done: Done::One(1),
            statuses: &[],
            ..completion
        };
        assert_eq!(any.completed().collect::<Vec<_>>(), [(1, Request(8), None)]);
        let none = Completion {
            kind: CompletionKind::Test,
            done: Done::None,
            ..completion
        };
        assert_eq!(none.completed().count(), 0);
        let all = Completion {
            kind: CompletionKind::Waitall,
            done: Done::All,
            statuses: &[],
            ..completion
        };
        assert_eq!(all.completed().count(), 3);
    }
}
