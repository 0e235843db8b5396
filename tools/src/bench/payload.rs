//! Payloads: a message carries its number at both ends, which exposes wrong, late and short copies.

/// Minimum distance of two buffers: a cache line.
const STRIDE_MIN: usize = 64;
/// Fills a buffer before a checked window.
const BLANK: u8 = 0xff;

fn ends(length: usize) -> [std::ops::Range<usize>; 2] {
    let word = if length <= 8 {
        length
    } else {
        (length / 2).min(8)
    };
    [0..word, length - word..length]
}

pub(super) fn stamp(bytes: &mut [u8], number: usize) {
    let word = (number as u64).to_le_bytes();
    for end in ends(bytes.len()) {
        let length = end.len();
        bytes[end].copy_from_slice(&word[..length]);
    }
}

pub(super) fn holds(bytes: &[u8], number: usize) -> bool {
    let word = (number as u64).to_le_bytes();
    ends(bytes.len()).into_iter().all(|end| {
        let length = end.len();
        bytes[end] == word[..length]
    })
}

pub(super) fn buffers(count: usize, size: usize) -> Vec<Vec<u8>> {
    let buffer = |_| {
        let mut buffer = Vec::with_capacity(size.max(STRIDE_MIN));
        buffer.resize(size, BLANK);
        buffer
    };
    (0..count).map(buffer).collect()
}

pub(super) fn blank(bytes: &mut [u8]) {
    bytes.fill(BLANK);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_told_apart() {
        for size in [1, 7, 8, 12, 24, 1000] {
            let mut buffer = buffers(1, size).remove(0);
            assert!(!holds(&buffer, 0), "{size}: blank");
            for number in [0, 1, 200] {
                stamp(&mut buffer, number);
                assert!(holds(&buffer, number) && !holds(&buffer, number + 1));
            }
            stamp(&mut buffer, 5);
            buffer[size - 1] ^= 1;
            assert!(!holds(&buffer, 5), "{size}: cut off");
        }
        assert!(holds(&[], 3), "nothing to tell apart");
    }
}
