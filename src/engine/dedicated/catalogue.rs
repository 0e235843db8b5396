//! Numbers for collective operations and for their parameters, so that structures can be indexed by
//! them.

use super::super::{CollName, Collective};

/// Collective operations that get their own queues. MPI has about 20, each in up to three forms
/// (blocking, non-blocking, persistent); operations beyond the bound stay on the profiling queue.
pub(super) const COLLECTIVES_MAX: usize = 64;

/// Parameter sets that are profiled. Elements of sets beyond the bound use their operation's
/// queues.
pub(super) const PROFILES_MAX: usize = 4096;

/// The parameters p of an allocation: operation, message size, communicator size. Unknown sizes are
/// `None`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Parameters {
    class: u32,
    bytes: Option<u64>,
    comm_size: Option<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Kind {
    /// [`Kind::POINT_TO_POINT`], or the number of the collective operation.
    pub(super) class: u32,
    /// Number of its parameter set; `None` if it is not profiled.
    pub(super) profile: Option<u32>,
}

impl Kind {
    pub(super) const POINT_TO_POINT: u32 = 0;
    /// Class of collective elements that have no own queues.
    pub(super) const NO_QUEUES: u32 = 1;

    pub(super) const P2P: Self = Self {
        class: Self::POINT_TO_POINT,
        profile: None,
    };
    /// An element of a collective operation beyond the bounds.
    pub(super) const PLAIN_COLLECTIVE: Self = Self {
        class: Self::NO_QUEUES,
        profile: None,
    };
}

/// Every operation and parameter set seen, up to the bounds.
#[derive(Clone, Debug, Default)]
pub(super) struct Catalogue {
    names: Vec<CollName>,
    /// Parameter sets, sorted, with their numbers.
    parameters: Vec<(Parameters, u32)>,
}

impl Catalogue {
    /// The kind of an element with this mark. Adds new operations and parameter sets.
    pub(super) fn kind(&mut self, coll: &Collective, comm_size: Option<u32>) -> Kind {
        let Some(name) = self.name(coll.name) else {
            return Kind::PLAIN_COLLECTIVE;
        };
        let class = Kind::NO_QUEUES + 1 + name;
        let wanted = Parameters {
            class,
            bytes: coll.bytes,
            comm_size,
        };
        let profile = match self
            .parameters
            .binary_search_by_key(&wanted, |&(parameters, _)| parameters)
        {
            Ok(at) => Some(self.parameters[at].1),
            Err(_) if self.parameters.len() == PROFILES_MAX => None,
            Err(at) => {
                let number = self.parameters.len() as u32;
                self.parameters.insert(at, (wanted, number));
                Some(number)
            }
        };
        Kind { class, profile }
    }

    fn name(&mut self, wanted: CollName) -> Option<u32> {
        let at = self
            .names
            .iter()
            .position(|&name| name == wanted)
            .unwrap_or(self.names.len());
        if at == COLLECTIVES_MAX {
            return None;
        }
        if at == self.names.len() {
            self.names.push(wanted);
        }
        Some(at as u32)
    }

    pub(super) fn bytes(&self) -> usize {
        self.names.capacity() * size_of::<CollName>()
            + self.parameters.capacity() * size_of::<(Parameters, u32)>()
    }

    /// Maximum number of bytes ever: vectors double.
    pub(super) const BYTES_BOUND: usize = COLLECTIVES_MAX * 2 * size_of::<CollName>()
        + PROFILES_MAX * 2 * size_of::<(Parameters, u32)>();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(name: &str, bytes: u64) -> Collective {
        Collective {
            name: CollName::new(name).expect("a good name"),
            bytes: Some(bytes),
        }
    }

    /// Each of the three parameters makes another set; the operation alone makes the class.
    #[test]
    fn parameters_are_told_apart() {
        let mut catalogue = Catalogue::default();
        let first = catalogue.kind(&mark("gather", 8), None);
        let others = [
            catalogue.kind(&mark("gather", 16), None),
            catalogue.kind(&mark("gather", 8), Some(64)),
            catalogue.kind(&mark("bcast", 8), None),
        ];
        assert_eq!(
            others.map(|kind| kind.class == first.class),
            [true, true, false]
        );
        assert!(others.iter().all(|kind| kind.profile != first.profile));
        assert_eq!(catalogue.kind(&mark("gather", 8), None), first);
    }

    #[test]
    fn sixty_four_names_and_4096_parameter_sets_are_told_apart() {
        let mut catalogue = Catalogue::default();
        for number in 0..66 {
            let kind = catalogue.kind(&mark(&format!("c{number}"), 0), None);
            let plain = kind == Kind::PLAIN_COLLECTIVE;
            assert_eq!(plain, number >= 64, "name {number}");
        }
        // The names above have 64 sets.
        for size in 64..4098 {
            let profile = catalogue.kind(&mark("c7", size), None).profile;
            let expected = (size < 4096).then_some(size as u32);
            assert_eq!(profile, expected, "set {size}");
        }
        assert_eq!(catalogue.kind(&mark("c63", 0), None).profile, Some(63));
    }

    #[test]
    fn a_flood_of_names_and_sizes_is_bounded() {
        let mut catalogue = Catalogue::default();
        for number in 0..10_000 {
            catalogue.kind(&mark("gather", number), None);
            catalogue.kind(&mark(&format!("c{number}"), 0), None);
        }
        assert!(catalogue.bytes() <= Catalogue::BYTES_BOUND);
        assert_eq!(
            catalogue.kind(&mark("one_more", 0), None),
            Kind::PLAIN_COLLECTIVE
        );
        assert_eq!(
            catalogue.kind(&mark("gather", u64::MAX), None).profile,
            None
        );
        assert_eq!(catalogue.names.len(), COLLECTIVES_MAX);
    }
}
