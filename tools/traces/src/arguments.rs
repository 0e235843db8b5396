//! The arguments of a call as recorded.

use std::ops::Range;

use super::{Function, Request, Status};

pub(super) const ARGUMENTS_MAX: usize = 12;

/// All arguments of a recorded call. Their lists live in vectors that the next call reuses.
#[derive(Debug, Default)]
pub struct Arguments {
    function: Option<Function>,
    places: [ArgumentPlace; ARGUMENTS_MAX],
    numbers: Vec<i32>,
    requests: Vec<Request>,
    statuses: Vec<Status>,
    text: Vec<u8>,
    texts: Vec<Range<usize>>,
}

#[derive(Clone, Debug, Default)]
enum ArgumentPlace {
    #[default]
    Absent,
    Number(i64),
    Numbers(Range<usize>),
    Texts(Range<usize>),
    /// All requests: a record has at most one list of requests and one of statuses.
    Requests,
    Statuses,
}

/// An argument's value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Argument<'a> {
    /// Not in the record: the argument matters only at the root, and this rank is not the root.
    Absent,
    /// A number, or a handle's number.
    Number(i64),
    /// Numbers or handles; the rows of a table in sequence.
    Numbers(&'a [i32]),
    /// Requests, in the order of the call.
    Requests(&'a [Request]),
    /// Statuses; empty if the program ignored them.
    Statuses(&'a [Status]),
    /// Texts, in the order of the call.
    Texts(Texts<'a>),
}

/// A list of texts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Texts<'a> {
    text: &'a [u8],
    ranges: &'a [Range<usize>],
}

impl<'a> Texts<'a> {
    /// The texts as recorded bytes, in no particular encoding.
    pub fn iter(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let Self { text, ranges } = *self;
        ranges.iter().map(|range| &text[range.clone()])
    }
}

impl Arguments {
    /// The arguments by name, in the order of the DUMPI binary file.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, Argument<'_>)> {
        let fields = self.function.map_or(&[][..], Function::fields);
        fields
            .iter()
            .enumerate()
            .map(|(position, field)| (field.name(), self.at(position)))
    }

    /// The argument with this name; `None` if the function has none.
    pub fn get(&self, name: &str) -> Option<Argument<'_>> {
        self.iter()
            .find(|(other, _)| *other == name)
            .map(|(_, argument)| argument)
    }

    pub(super) fn at(&self, position: usize) -> Argument<'_> {
        match &self.places[position] {
            ArgumentPlace::Absent => Argument::Absent,
            ArgumentPlace::Number(number) => Argument::Number(*number),
            ArgumentPlace::Numbers(range) => Argument::Numbers(&self.numbers[range.clone()]),
            ArgumentPlace::Texts(range) => Argument::Texts(Texts {
                text: &self.text,
                ranges: &self.texts[range.clone()],
            }),
            ArgumentPlace::Requests => Argument::Requests(&self.requests),
            ArgumentPlace::Statuses => Argument::Statuses(&self.statuses),
        }
    }

    /// The number at this position, or 0 if absent: MPI leaves insignificant arguments open.
    #[inline]
    pub(super) fn number(&self, position: usize) -> i64 {
        match self.places[position] {
            ArgumentPlace::Number(number) => number,
            _ => 0,
        }
    }

    pub(super) fn numbers(&self, position: usize) -> &[i32] {
        match self.at(position) {
            Argument::Numbers(numbers) => numbers,
            _ => &[],
        }
    }

    #[inline]
    pub(super) fn requests(&self) -> &[Request] {
        &self.requests
    }

    #[inline]
    pub(super) fn statuses(&self) -> &[Status] {
        &self.statuses
    }

    /// Makes a list of the call's single request.
    #[inline]
    pub(super) fn list_request(&mut self, request: Request) {
        self.requests.push(request);
    }

    #[inline]
    pub(super) fn begin(&mut self, function: Function) {
        self.function = Some(function);
        for place in &mut self.places[..function.fields().len()] {
            *place = ArgumentPlace::Absent;
        }
        self.numbers.clear();
        self.requests.clear();
        self.statuses.clear();
        self.text.clear();
        self.texts.clear();
    }

    /// Whether this rank is the root of the call: some arguments exist only there.
    pub(super) fn is_root(&self) -> bool {
        let named = |name| match self.get(name) {
            Some(Argument::Number(number)) => Some(number),
            _ => None,
        };
        named("commrank").or_else(|| named("oldcommrank")) == named("root")
    }

    pub(super) fn forget(&mut self, position: usize) {
        self.places[position] = ArgumentPlace::Absent;
    }

    #[inline]
    pub(super) fn set_number(&mut self, position: usize, number: i64) {
        self.places[position] = ArgumentPlace::Number(number);
    }

    pub(super) fn set_numbers(&mut self, position: usize, numbers: impl Iterator<Item = i32>) {
        let start = self.numbers.len();
        self.numbers.extend(numbers);
        self.places[position] = ArgumentPlace::Numbers(start..self.numbers.len());
    }

    /// Appends to the numbers that were set last.
    pub(super) fn extend_numbers(&mut self, position: usize, numbers: impl Iterator<Item = i32>) {
        self.numbers.extend(numbers);
        if let ArgumentPlace::Numbers(range) = &mut self.places[position] {
            range.end = self.numbers.len();
        }
    }

    pub(super) fn set_requests(&mut self, position: usize, requests: impl Iterator<Item = i32>) {
        self.requests.clear();
        self.requests.extend(requests.map(Request));
        self.places[position] = ArgumentPlace::Requests;
    }

    pub(super) fn set_statuses(&mut self, position: usize, statuses: impl Iterator<Item = Status>) {
        self.statuses.clear();
        self.statuses.extend(statuses);
        self.places[position] = ArgumentPlace::Statuses;
    }

    pub(super) fn begin_texts(&mut self, position: usize) {
        self.places[position] = ArgumentPlace::Texts(self.texts.len()..self.texts.len());
    }

    pub(super) fn push_text(&mut self, position: usize, text: &[u8]) {
        let start = self.text.len();
        self.text.extend_from_slice(text);
        self.texts.push(start..self.text.len());
        if let ArgumentPlace::Texts(range) = &mut self.places[position] {
            range.end = self.texts.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Field;

    /// A call has nothing of the call before it, of whatever kind.
    #[test]
    fn a_call_begins_without_what_was_before() {
        let function = |name| Function::from_name(name).expect("a function");
        let status = Status {
            bytes: 4,
            source: 5,
            tag: 6,
            cancelled: false,
            error: 7,
        };
        let mut args = Arguments::default();
        args.begin(function("MPI_Waitall"));
        args.set_numbers(0, [1, 2, 3].into_iter());
        args.set_requests(1, [8, 9].into_iter());
        args.set_statuses(2, [status; 4].into_iter());
        args.begin_texts(3);
        args.push_text(3, b"words");
        let lengths = |args: &Arguments| {
            let lists = [args.numbers.len(), args.requests().len()];
            (
                lists,
                args.statuses().len(),
                args.text.len(),
                args.texts.len(),
            )
        };
        assert_eq!(lengths(&args), ([3, 2], 4, 5, 1));
        args.begin(function("MPI_Waitall"));
        assert_eq!(lengths(&args), ([0, 0], 0, 0, 0));
        assert!(
            args.iter()
                .all(|(_, argument)| argument == Argument::Absent)
        );
    }

    #[test]
    fn no_function_has_more_arguments_than_there_is_room_for() {
        let most = Function::all()
            .map(|function| function.fields().len())
            .max();
        assert!(most <= Some(ARGUMENTS_MAX), "{most:?} arguments");
        let lists = |function: Function| {
            let is_requests = |field: &&Field| matches!(field, Field::Requests(_));
            let is_statuses = |field: &&Field| matches!(field, Field::Statuses(_));
            let fields = function.fields();
            (
                fields.iter().filter(is_requests).count(),
                fields.iter().filter(is_statuses).count(),
            )
        };
        assert!(Function::all().all(|function| lists(function).0 <= 1 && lists(function).1 <= 1));
    }
}
