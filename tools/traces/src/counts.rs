//! Calls by function.

use super::{Class, Function};

/// A number of calls for each function.
#[derive(Clone, PartialEq, Eq)]
pub struct Counts(Box<[u64; Function::COUNT]>);

impl Default for Counts {
    fn default() -> Self {
        Self(Box::new([0; Function::COUNT]))
    }
}

impl Counts {
    /// The number of calls of this function.
    pub fn get(&self, function: Function) -> u64 {
        self.0[usize::from(function.number())]
    }

    /// Adds calls of this function.
    pub fn add(&mut self, function: Function, times: u64) {
        self.0[usize::from(function.number())] += times;
    }

    /// Adds all counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0.iter()) {
            *mine += theirs;
        }
    }

    /// The functions with a non-zero count, and their counts.
    pub fn iter(&self) -> impl Iterator<Item = (Function, u64)> {
        Function::all()
            .map(|function| (function, self.get(function)))
            .filter(|&(_, times)| times > 0)
    }

    /// The number of calls of all functions of this class.
    pub fn of_class(&self, class: Class) -> u64 {
        self.iter()
            .filter(|(function, _)| function.class() == class)
            .map(|(_, times)| times)
            .sum()
    }

    /// The number of all calls.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }
}

impl std::fmt::Debug for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// The summary at the end of a rank's trace: calls of each function during the program, and how
/// many of them the trace omits.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Footer {
    /// Calls made.
    pub called: Counts,
    /// Calls without a record: tracing was off, or MPI made them itself.
    pub ignored: Counts,
}

impl Footer {
    /// Functions whose number of records contradicts the footer: function, records by the footer,
    /// records found. A footer that omits more calls than were made counts as 0 records.
    pub fn differences(&self, records: &Counts) -> Vec<(Function, u64, u64)> {
        Function::all()
            .map(|function| {
                let promised = self
                    .called
                    .get(function)
                    .saturating_sub(self.ignored.get(function));
                (function, promised, records.get(function))
            })
            .filter(|(_, promised, records)| promised != records)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_name_the_function() {
        let send = Function::from_name("MPI_Send").expect("a function");
        let mut footer = Footer::default();
        let mut records = Counts::default();
        footer.called.add(send, 10);
        footer.ignored.add(send, 3);
        records.add(send, 7);
        assert_eq!(footer.differences(&records), []);
        records.add(send, 1);
        assert_eq!(footer.differences(&records), [(send, 7, 8)]);
        assert_eq!(records.of_class(Class::P2p), 8);
        assert_eq!(records.of_class(Class::Other), 0);
    }
}
