//! Addresses of the rings between host, wire and card, for a host that is another program. It fills
//! and reads their slots itself, in the layout of message.rs.
//!
//! A slot has 64 bytes: an entry of 56, and a word whose bit 0 is the owner bit and whose other
//! bits are the stamp (see ring.rs).

use crate::Leader;
use crate::buffers::Buffers;
use crate::number::QueueId;
use crate::region::RegionKey;
use crate::ring::Ring;

/// A ring in the card's memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct RingPlace {
    /// Address of the first slot.
    pub slots: u64,
    /// Number of slots, a power of two.
    pub depth: u64,
    /// Address of the word that counts the positions which the consumer has released.
    pub head: u64,
}

/// A row of buffers in the card's memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct BuffersPlace {
    /// Address of the first buffer.
    pub first: u64,
    /// Bytes from one buffer to the next.
    pub stride: u64,
}

/// The rings that a host and a wire need, and their buffers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct BusMap {
    /// Commands from the host; the card releases positions.
    pub commands: RingPlace,
    /// The first completion queue, which the wire fills; the card releases positions.
    pub arrivals: RingPlace,
    /// Completions from the card; the host releases positions.
    pub completions: RingPlace,
    /// Bounce buffers of the first completion queue. With one for each entry, position p has
    /// buffer p modulo the depth.
    pub bounce: BuffersPlace,
    /// Staging buffers of forwarded messages, one for each position of the completion ring.
    pub staging: BuffersPlace,
}

impl<T: Copy + Default> Ring<T> {
    fn place(&self) -> RingPlace {
        const { assert!(Self::SLOT_BYTES == 64) };
        let (slots, head) = self.addresses();
        RingPlace {
            slots,
            depth: self.depth(),
            head,
        }
    }
}

impl Buffers {
    fn all(&self) -> BuffersPlace {
        let (first, stride) = self.addresses();
        BuffersPlace { first, stride }
    }
}

impl Leader {
    /// Addresses of this NIC's rings, valid while it lives. Their user replaces the host's end and
    /// the one sender, which must not be used at the same time.
    pub fn bus(&self) -> BusMap {
        BusMap {
            commands: self.shared.commands.place(),
            arrivals: self.shared.arrivals.queue(QueueId::FIRST).ring.place(),
            completions: self.shared.completions.place(),
            bounce: self.shared.arrivals.queue(QueueId::FIRST).bounce.all(),
            staging: self.shared.staging.all(),
        }
    }

    /// Address of a rendezvous message's bytes, by the first word of its entry's payload; `None`
    /// once they were read or given up. For a wire to another card: a read by it leaves the bytes
    /// in place.
    ///
    /// # Safety
    /// The NIC has not stopped, and neither it nor its senders nor its host run during the call.
    pub unsafe fn region(&self, key: u64) -> Option<u64> {
        let address = |bytes: &[u8]| bytes.as_ptr().expose_provenance() as u64;
        // SAFETY: nothing else touches the region now.
        unsafe { self.shared.regions.read(RegionKey(key), address) }
    }
}

#[cfg(all(test, feature = "ends"))]
mod tests {
    use super::*;
    use crate::{Nic, NicConfig};

    #[test]
    fn each_ring_has_its_place() {
        // Small enough for Miri.
        let config = NicConfig {
            command_queue: 8,
            completion_queue: 64,
            completion_ring: 32,
            receives: 16,
            bounce_buffers: 16,
            eager_limit: 64,
            unexpected: 16,
            unexpected_buffers: 16,
            ..NicConfig::default()
        };
        let nic = Nic::new(&config).expect("a good configuration");
        let map = nic.leader.bus();
        let BusMap {
            commands,
            arrivals,
            completions,
            ..
        } = map;
        let depths = [commands, arrivals, completions].map(|ring| ring.depth as usize);
        assert_eq!(depths, [8, 64, config.completion_ring]);
        let mut rings = [commands, arrivals, completions].map(|ring| (ring.slots, ring.depth));
        rings.sort_unstable();
        for pair in rings.windows(2) {
            assert!(
                pair[0].0 % 64 == 0 && pair[0].0 + pair[0].1 * 64 <= pair[1].0,
                "{pair:?}"
            );
        }
        // An odd number of lines holds 64 bytes: one.
        assert_eq!((map.bounce.stride, map.staging.stride), (64, 64));
        assert_eq!((map.bounce.first % 64, map.staging.first % 64), (0, 0));
        assert_ne!(map.bounce.first, map.staging.first);
    }
}
