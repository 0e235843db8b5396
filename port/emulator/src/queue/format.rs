//! Numbers of the hardware's formats. Source: rdma-core's mlx5dv.h and Linux's mlx5 headers.

/// Bytes of a completion, of a send queue's unit, of a segment.
pub(crate) const CQE: u64 = 64;
pub(crate) const WQEBB: u64 = 64;
pub(crate) const SEGMENT: usize = 16;

/// Opcodes of completions.
pub(crate) const WRITTEN_IMMEDIATE: u8 = 1;
pub(crate) const RECEIVED: u8 = 2;
pub(crate) const RECEIVED_IMMEDIATE: u8 = 3;
pub(crate) const REQUESTER_ERROR: u8 = 13;
pub(crate) const RESPONDER_ERROR: u8 = 14;

/// Syndromes of completions with an error.
pub(crate) const LOCAL_OPERATION: u8 = 0x02;
pub(crate) const LOCAL_PROTECTION: u8 = 0x04;
pub(crate) const REMOTE_OPERATION: u8 = 0x14;
pub(crate) const REMOTE_ACCESS: u8 = 0x13;
pub(crate) const NO_ANSWER: u8 = 0x15;

/// Opcodes of send queue entries.
pub(crate) const NOP: u8 = 0x00;
pub(crate) const WRITE: u8 = 0x08;
pub(crate) const WRITE_IMMEDIATE: u8 = 0x09;
pub(crate) const SEND: u8 = 0x0a;
pub(crate) const SEND_IMMEDIATE: u8 = 0x0b;
pub(crate) const READ: u8 = 0x10;
pub(crate) const COMPARE_SWAP: u8 = 0x11;
pub(crate) const FETCH_ADD: u8 = 0x12;

/// Sets a sync event, or adds to it. The card's own way is not public.
pub(crate) const SIGNAL: u8 = 0x7e;

/// Rights of keys and QPs, as libibverbs counts them.
pub(crate) const LOCAL_WRITE: i32 = 1;
pub(crate) const REMOTE_WRITE: i32 = 2;
pub(crate) const REMOTE_READ: i32 = 4;
pub(crate) const REMOTE_ATOMIC: i32 = 8;

/// Eight bytes, wherever they are.
#[repr(C, packed)]
struct Word(u64);

/// Reads words that device code may change meanwhile.
///
/// # Safety
///
/// As many bytes are mapped there.
pub(crate) unsafe fn read_words<const WORDS: usize>(at: *const u8) -> [[u8; 8]; WORDS] {
    // SAFETY: the caller's promise; these words need no alignment.
    let word = |index| unsafe { at.cast::<Word>().add(index).read_volatile() };
    std::array::from_fn(|index| word(index).0.to_ne_bytes())
}

#[inline]
fn part<const BYTES: usize>(bytes: &[u8], at: usize) -> [u8; BYTES] {
    let part = &bytes[at..at + BYTES];
    std::array::from_fn(|index| part[index])
}

#[inline]
pub(crate) fn be16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes(part(bytes, at))
}

#[inline]
pub(crate) fn be32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(part(bytes, at))
}

#[inline]
pub(crate) fn be64(bytes: &[u8], at: usize) -> u64 {
    u64::from_be_bytes(part(bytes, at))
}
