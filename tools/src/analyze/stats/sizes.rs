//! Messages by size.

use crate::analyze::program::UNKNOWN_BYTES;

/// The messages between two powers of two.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
pub struct SizeClass {
    /// Largest size in bytes: 0 or a power of two. `None`: the trace lacks the datatype's size.
    pub up_to: Option<u64>,
    /// Whether they exceed the NIC's eager limit.
    pub rendezvous: bool,
    pub messages: u64,
    pub bytes: u64,
}

/// The classes in rising order, without empty ones.
pub(super) fn classes(sizes: impl Iterator<Item = u64>, eager_limit: usize) -> Vec<SizeClass> {
    let mut all = Vec::new();
    for size in sizes {
        let (bytes, known) = (size, size != UNKNOWN_BYTES);
        let up_to = known.then(|| match size {
            0 => 0,
            _ => bytes.next_power_of_two(),
        });
        let rendezvous = known && bytes > eager_limit as u64;
        let bytes = if known { bytes } else { 0 };
        add(
            &mut all,
            &SizeClass {
                up_to,
                rendezvous,
                messages: 1,
                bytes,
            },
        );
    }
    all
}

pub(super) fn add(all: &mut Vec<SizeClass>, more: &SizeClass) {
    let key = |it: &SizeClass| (it.up_to.is_none(), it.up_to, it.rendezvous);
    match all.binary_search_by_key(&key(more), key) {
        Ok(at) => {
            all[at].messages += more.messages;
            all[at].bytes += more.bytes;
        }
        Err(at) => all.insert(at, *more),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_two_and_the_eager_limit_part_classes() {
        let sizes = [5000, 0, 1, 2, 3, 4, 4096, UNKNOWN_BYTES, 4097, 5, 6000];
        let mut all = classes(sizes.into_iter(), 5000);
        classes([8, 9].into_iter(), 5000)
            .iter()
            .for_each(|more| add(&mut all, more));
        let row = |it: &SizeClass| (it.up_to, it.rendezvous, it.messages, it.bytes);
        let expected = [
            (Some(0), false, 1, 0),
            (Some(1), false, 1, 1),
            (Some(2), false, 1, 2),
            (Some(4), false, 2, 7),
            (Some(8), false, 2, 13),
            (Some(16), false, 1, 9),
            (Some(4096), false, 1, 4096),
            (Some(8192), false, 2, 9097),
            (Some(8192), true, 1, 6000),
            (None, false, 1, 0),
        ];
        assert_eq!(all.iter().map(row).collect::<Vec<_>>(), expected);
    }
}
