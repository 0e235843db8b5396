//! Proofs of an endpoint's key, before anything else passes a TCP stream.
//!
//! The kernel does not show who listens at a port. The caller sends a random number, with a proof
//! that it knows the key of the endpoint that it calls. The endpoint answers with a proof of its
//! own for that number. Only then does the caller send its hello, which holds keys, and its
//! messages. So a process that has taken over the port of an ended endpoint gets neither.
//!
//! A proof is a SipHash-2-4 of 128 bits under the key and the endpoint's identity.

use rustix::io::Errno;
use siphasher::sip128::SipHasher24;

use super::address::{Address, array, random};

const NUMBER: usize = 16;
/// Bytes of a proof.
pub(crate) const PROOF: usize = 16;
/// Bytes of a call: the number, then the caller's proof.
pub(crate) const CALL: usize = NUMBER + PROOF;

/// Who proves. A proof of one side is none of the other.
#[derive(Clone, Copy)]
enum Side {
    Caller = 1,
    Listener,
}

fn proof(of: &Address, side: Side, number: &[u8; NUMBER]) -> [u8; PROOF] {
    let mut bytes = [side as u8; NUMBER + 1];
    bytes[1..].copy_from_slice(number);
    let hasher = SipHasher24::new_with_keys(of.key, of.identity as u64);
    hasher.hash(&bytes).as_bytes()
}

/// A call of this endpoint, and the proof that it must send.
///
/// # Errors
/// If the kernel has no random numbers.
pub(crate) fn call(to: &Address) -> Result<([u8; CALL], [u8; PROOF]), Errno> {
    let number = random()?;
    let mut call = [0; CALL];
    call[..NUMBER].copy_from_slice(&number);
    call[NUMBER..].copy_from_slice(&proof(to, Side::Caller, &number));
    Ok((call, proof(to, Side::Listener, &number)))
}

/// This endpoint's answer to a call. `None`: the caller does not know the key.
pub(crate) fn answer(own: &Address, call: &[u8; CALL]) -> Option<[u8; PROOF]> {
    let number = array(&call[..NUMBER]);
    let right = u128::from_ne_bytes(proof(own, Side::Caller, &number));
    let given = u128::from_ne_bytes(array(&call[NUMBER..]));
    (given == right).then(|| proof(own, Side::Listener, &number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_has_the_key_answers_or_is_answered() {
        let own = Address::fresh().expect("random numbers");
        let (first, owed) = call(&own).expect("random numbers");
        assert_eq!(answer(&own, &first), Some(owed));
        let (second, other) = call(&own).expect("random numbers");
        assert!(first[..NUMBER] != second[..NUMBER] && owed != other);
        // The caller's proof is not the answer, and no call carries the key.
        assert_ne!(first[NUMBER..], owed);
        let key = own.key.to_be_bytes();
        assert!(first.windows(8).all(|bytes| bytes != key));
        for bit in 0..8 * CALL {
            let mut bytes = first;
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(answer(&own, &bytes), None, "bit {bit}");
        }
        let (key, identity) = (own.key ^ 1, own.identity ^ 1);
        for stranger in [Address { key, ..own }, Address { identity, ..own }] {
            assert_eq!(answer(&stranger, &first), None);
        }
    }

    /// Both sides of a connection may run on different machines.
    #[test]
    fn proofs_are_the_same_everywhere() {
        let own = Address {
            key: 0x0706_0504_0302_0100,
            identity: 0x0f0e_0d0c_0b0a_0908,
            ..Address::of_this_host()
        };
        let number = std::array::from_fn(|at| at as u8);
        let caller = proof(&own, Side::Caller, &number);
        let listener = proof(&own, Side::Listener, &number);
        assert_eq!([caller, listener].map(u128::from_be_bytes), EXPECTED);
    }

    const EXPECTED: [u128; 2] = [
        9_418_778_219_428_867_977_589_052_783_707_553_283,
        37_721_422_399_011_003_116_790_415_492_278_469_637,
    ];
}
