//! Sizes of datatypes.

use super::{Datatype, Payload};

/// Sizes of datatypes 2 to 27 with common compilers, for traces without sizes.
const USUAL: [u32; 28] = [
    0, 0, 1, 1, 1, 1, 4, 2, 2, 4, 4, 8, 8, 4, 8, 16, 8, 8, 8, 1, 0, 0, 8, 12, 12, 6, 8, 20,
];

/// Sizes of a rank's datatypes in bytes per element, without gaps (`MPI_Type_size`).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DatatypeSizes {
    recorded: Vec<u32>,
}

impl DatatypeSizes {
    /// The sizes in a trace, indexed by datatype; 0 if unknown.
    pub fn new(recorded: Vec<u32>) -> Self {
        Self { recorded }
    }

    pub(super) fn set(&mut self, datatype: usize, bytes: u32) {
        if self.recorded.len() <= datatype {
            self.recorded.resize(datatype + 1, 0);
        }
        self.recorded[datatype] = bytes;
    }

    /// The recorded sizes, indexed by datatype; 0 if unknown.
    pub fn recorded(&self) -> &[u32] {
        &self.recorded
    }

    /// Bytes of an element, if the trace gives them or the datatype is predefined.
    pub fn bytes_of(&self, datatype: Datatype) -> Option<u32> {
        let number = usize::try_from(datatype.0).ok()?;
        let known = |sizes: &[u32]| sizes.get(number).copied().filter(|&bytes| bytes > 0);
        known(&self.recorded).or_else(|| known(&USUAL))
    }

    /// Bytes of a payload. No elements have 0 bytes, whatever the datatype.
    pub fn bytes(&self, payload: Payload) -> Option<u64> {
        if payload.count == 0 {
            return Some(0);
        }
        u64::from(self.bytes_of(payload.datatype)?).checked_mul(payload.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_sizes_come_first() {
        let mut recorded = vec![0; 30];
        recorded[14] = 10;
        recorded[29] = 24;
        let sizes = DatatypeSizes::new(recorded);
        let bytes = |count, datatype| {
            sizes.bytes(Payload {
                count,
                datatype: Datatype(datatype),
            })
        };
        assert_eq!(bytes(3, 14), Some(30), "recorded");
        assert_eq!(bytes(3, 9), Some(12), "usual size of MPI_INT");
        assert_eq!(bytes(2, 29), Some(48));
        assert_eq!(bytes(2, 28), None);
        assert_eq!(bytes(0, 28), Some(0));
        assert_eq!(bytes(u64::MAX, 29), None);
    }
}
