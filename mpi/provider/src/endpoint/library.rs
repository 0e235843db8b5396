//! What the match bits of each MPI library mean.
//!
//! A context is what the rule for match bits calls a communicator. An MPI library uses several for
//! one communicator of the program: for its point-to-point messages, for its collectives, for the
//! library's own control messages. The bits that every receive ignores identify the library, and so
//! the meaning of a context.

/// The bits that every receive of these libraries ignores.
pub(super) const MPICH: u64 = 0x00c0_0000_0000_0000;
const OPEN_MPI: u64 = 1 << 32;

/// Purpose of messages.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Kind {
    /// Point-to-point messages of the program.
    User,
    /// Messages inside collective operations.
    Collective,
    /// The library's own messages.
    Control,
    /// The bits belong to no known library.
    Unknown,
}

impl Kind {
    pub(super) const ALL: [Self; 4] = [Self::User, Self::Collective, Self::Control, Self::Unknown];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Collective => "collective",
            Self::Control => "control",
            Self::Unknown => "unknown",
        }
    }
}

/// The library that made the bits. The layouts are in the libraries' sources: MPICH's
/// `src/mpid/ch4/netmod/ofi` and `src/include/mpir_contextid.h`, Open MPI's
/// `ompi/mca/mtl/ofi/mtl_ofi_types.h`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Library {
    Mpich,
    OpenMpi,
    Unknown,
}

impl Library {
    /// By the bits that its receives ignore.
    pub(super) fn of(protocol: u64) -> Self {
        Self::by(protocol, std::env::var_os("OMPI_COMM_WORLD_RANK").is_some())
    }

    /// Open MPI's launcher decides as long as no receive has ignored any.
    fn by(protocol: u64, is_open_mpi_launcher: bool) -> Self {
        match protocol {
            MPICH => Self::Mpich,
            OPEN_MPI => Self::OpenMpi,
            0 if is_open_mpi_launcher => Self::OpenMpi,
            _ => Self::Unknown,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Mpich => "mpich",
            Self::OpenMpi => "openmpi",
            Self::Unknown => "unknown",
        }
    }

    /// Communicator and kind of a context: the match bits from bit 31 on.
    pub(super) fn decode(self, context: u64) -> (u64, Kind) {
        match self {
            // 20 bits of context, of which the lowest says collective; acknowledgement, dynamic
            // processes, active message.
            Self::Mpich if context >> 20 != 0 => (context & 0xf_ffff, Kind::Control),
            Self::Mpich if context & 1 != 0 => (context & 0xf_fffe, Kind::Collective),
            Self::Mpich => (context, Kind::User),
            // The tag's sign, which collectives set; synchronous (ignored), acknowledgement; then
            // the communicator.
            Self::OpenMpi if context & 4 != 0 => (context >> 3, Kind::Control),
            Self::OpenMpi if context & 1 != 0 => (context >> 3, Kind::Collective),
            Self::OpenMpi => (context >> 3, Kind::User),
            Self::Unknown => (context, Kind::Unknown),
        }
    }

    /// The context's bit that marks the receiver's answer to a synchronous send.
    pub(super) fn acknowledges(self) -> u64 {
        match self {
            Self::Mpich => 1 << 20,
            Self::OpenMpi => 4,
            Self::Unknown => 0,
        }
    }

    /// The tag in these bits. Open MPI's collectives have negative ones.
    pub(super) fn tag(self, bits: u64) -> i64 {
        let low = (bits & 0x7fff_ffff) as i64;
        if self == Self::OpenMpi && bits & 1 << 31 != 0 {
            low - (1 << 31)
        } else {
            low
        }
    }
}

/// Kind and communicator of a context, in words.
pub(super) fn describe(protocol: u64, context: u64) -> String {
    let (number, kind) = Library::of(protocol).decode(context);
    format!("{} {number}", kind.name())
}

/// Whether this names a kind, or a communicator as [`describe`] does.
pub(crate) fn is_name(text: &str) -> bool {
    let (kind, number) = text.split_once(' ').unwrap_or((text, "0"));
    let is_plain = number
        .parse::<u64>()
        .is_ok_and(|parsed| parsed.to_string() == number);
    is_plain && Kind::ALL.iter().any(|known| known.name() == kind)
}

/// The communicators that software matches instead of the NIC.
#[derive(Debug)]
pub(crate) struct SoftwareCommunicators {
    pub(crate) protocol: u64,
    /// Kinds and descriptions.
    pub(crate) names: Vec<String>,
}

impl SoftwareCommunicators {
    /// Whether the communicator with these match bits is one of them.
    pub(crate) fn has(&self, bits: u64) -> bool {
        let described = describe(self.protocol, (bits & !self.protocol) >> 31);
        let rest = |name: &String| described.strip_prefix(name.as_str());
        self.names
            .iter()
            .filter_map(rest)
            .any(|rest| rest.is_empty() || rest.starts_with(' '))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn communicators_are_kept_off_by_kind_or_number() {
        let names = ["collective", "user 2"].map(str::to_owned).to_vec();
        let kept = SoftwareCommunicators {
            protocol: MPICH,
            names,
        };
        let off = |context: u64| kept.has(context << 31 | 77) && kept.has(context << 31 | 3 << 54);
        assert_eq!([2, 3, 5, 4, 20].map(off), [true, true, true, false, false]);
    }

    #[test]
    fn contexts_are_told_apart() {
        let decode = |protocol, bits: u64| Library::of(protocol).decode((bits & !protocol) >> 31);
        assert_eq!(decode(MPICH, 6 << 31 | 77), (6, Kind::User));
        assert_eq!(decode(MPICH, MPICH | 7 << 31), (6, Kind::Collective));
        for high in [51, 52, 53] {
            assert_eq!(decode(MPICH, 1 << high | 6 << 31), (6, Kind::Control));
        }
        let launched = [0, 1 << 9].map(|protocol| Library::by(protocol, true));
        assert_eq!(launched, [Library::OpenMpi, Library::Unknown]);
        assert_eq!(Library::by(0, false), Library::Unknown);
        // A tag below 0 has bit 31 set.
        assert_eq!(decode(OPEN_MPI, 3 << 34 | 5), (3, Kind::User));
        assert_eq!(
            decode(OPEN_MPI, 3 << 34 | OPEN_MPI | 0xffff_fff0),
            (3, Kind::Collective)
        );
        assert_eq!(decode(OPEN_MPI, 3 << 34 | 1 << 33), (3, Kind::Control));
        assert_eq!(decode(1 << 40, 3 << 31).1, Kind::Unknown);
        let tag = |protocol, bits| Library::of(protocol).tag(3_u64 << 34 | bits);
        assert_eq!(tag(OPEN_MPI, 0xffff_fff0), -16);
        assert_eq!(
            [OPEN_MPI, MPICH].map(|one| tag(one, 0x7fff_fff0)),
            [0x7fff_fff0; 2]
        );
        assert_eq!(tag(MPICH, 0xffff_fff0), 0x7fff_fff0);
    }
}
