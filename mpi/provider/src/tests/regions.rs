//! Reads and writes of registered memory.

use std::ptr::null_mut;

use super::rogue::totals;
use super::side::{Side, call, pair, pattern};
use crate::bindings::*;
use crate::wire::EAGER_MAX;

/// Registers a buffer; gives the region and its key.
pub(super) fn register(side: &Side, buffer: &mut [u8], access: u64) -> (*mut FidMr, u64) {
    register_as(side, buffer, access, 0)
}

/// Registers a buffer under a key of the program's choice, if the domain lets it choose.
fn register_as(side: &Side, buffer: &mut [u8], access: u64, key: u64) -> (*mut FidMr, u64) {
    let mut region = null_mut();
    // SAFETY: the tests keep the buffer as long as the region.
    unsafe {
        let reg = (*(*side.domain).mr).reg.expect("reg");
        let (start, length) = (buffer.as_ptr().cast(), buffer.len());
        let got = reg(
            side.domain.cast(),
            start,
            length,
            access,
            0,
            key,
            0,
            &mut region,
            null_mut(),
        );
        assert_eq!(got, 0);
        (region, (*region).key)
    }
}

pub(super) fn close(region: *mut FidMr) {
    let fid = region.cast::<Fid>();
    // SAFETY: closed once.
    assert_eq!(unsafe { call!(fid, ops, close) }, 0);
}

pub(super) fn transfer(
    side: &Side,
    write: bool,
    buffer: &mut [u8],
    to: u64,
    address: u64,
    key: u64,
) {
    let (start, length, none) = (buffer.as_mut_ptr().cast(), buffer.len(), null_mut());
    // SAFETY: the tests keep the buffer until the completion.
    let got = unsafe {
        match write {
            true => call!(
                side.ep, rma, write, start, length, none, to, address, key, none
            ),
            false => call!(
                side.ep, rma, read, start, length, none, to, address, key, none
            ),
        }
    };
    assert_eq!(got, 0);
}

/// Writes with data, injected ones, and lists of buffers, in both directions. Only data give the
/// other side a completion.
#[test]
fn writes_carry_data_and_lists_are_put_together() {
    for read_peers in [true, false] {
        let (a, b, to_b, to_a) = pair(|options| options.read_peers = read_peers);
        let mut memory = vec![0_u8; 500_000];
        let start = memory.as_ptr() as u64;
        let (region, key) = register(&b, &mut memory, FI_REMOTE_WRITE | FI_REMOTE_READ);
        let (none, posted) = (
            null_mut(),
            (FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA, to_a),
        );
        for (seed, length) in [
            (0, 0),
            (1, 11),
            (2, EAGER_MAX),
            (3, EAGER_MAX + 1),
            (4, 150_000),
        ] {
            let (bytes, data) = (pattern(seed, length), 70 + seed as u64);
            let from = bytes.as_ptr().cast();
            // SAFETY: the buffer lives until the completion.
            let begun = unsafe {
                call!(
                    a.ep,
                    rma,
                    writedata,
                    from,
                    length,
                    none,
                    data,
                    to_b,
                    start,
                    key,
                    5 as *mut _
                )
            };
            assert_eq!((begun, a.wait(&[&b]).context()), (0, 5));
            let done = b.wait(&[&a]);
            assert_eq!((done.entry.flags, done.from), posted);
            assert_eq!((done.entry.len, done.entry.data), (length, data));
            // SAFETY: injected: the buffer is free on return.
            let injected = |length| unsafe {
                call!(
                    a.ep,
                    rma,
                    injectdata,
                    from,
                    length,
                    data + 1,
                    to_b,
                    start + 160_000,
                    key
                )
            };
            if length > EAGER_MAX {
                assert_eq!(injected(length), -(FI_EMSGSIZE as isize));
            } else {
                assert_eq!((injected(length), b.wait(&[&a]).entry.data), (0, data + 1));
                assert!(a.read().is_none() && memory[160_000..][..length] == bytes);
            }
            assert!(memory[..length] == bytes, "{length} bytes");
            let mut back = vec![0; length];
            transfer(&a, false, &mut back, to_b, start, key);
            assert_eq!(
                (a.wait(&[&b]).entry.flags, back == bytes),
                (FI_RMA | FI_READ, true)
            );
            let mut parts = [vec![0; length / 3], vec![0; length - length / 3]];
            let iov = parts.each_mut().map(|part| IoVec {
                iov_base: part.as_mut_ptr().cast(),
                iov_len: part.len(),
            });
            // SAFETY: the buffers live until the completion.
            unsafe {
                let list = iov.as_ptr();
                assert_eq!(
                    call!(
                        a.ep,
                        rma,
                        readv,
                        list,
                        &mut none.cast(),
                        2,
                        to_b,
                        start,
                        key,
                        none
                    ),
                    0
                );
                assert_eq!(a.wait(&[&b]).entry.flags, FI_RMA | FI_READ);
                let to = start + 320_000;
                assert_eq!(
                    call!(
                        a.ep,
                        rma,
                        writev,
                        list,
                        &mut none.cast(),
                        2,
                        to_b,
                        to,
                        key,
                        none
                    ),
                    0
                );
            }
            assert_eq!(a.wait(&[&b]).entry.flags, FI_RMA | FI_WRITE);
            assert!(parts.concat() == bytes && memory[320_000..][..length] == bytes);
            assert!(b.read().is_none(), "without data there is no completion");
        }
        close(region);
    }
}

#[test]
fn what_was_not_registered_for_it_is_refused() {
    let (a, b, to_b, _) = pair(|_| ());
    let mut memory = vec![7_u8; 20_000];
    let start = memory.as_ptr() as u64;
    let (region, key) = register(&b, &mut memory, FI_REMOTE_READ);
    let mut bytes = vec![1; 20_000];
    let refused = |write, bytes: &mut [u8], address, key| {
        transfer(&a, write, bytes, to_b, address, key);
        assert_eq!(a.wait(&[&b]).err, FI_EACCES);
    };
    refused(true, &mut bytes, start, key);
    refused(true, &mut bytes[..8], start, key);
    refused(false, &mut bytes, start + 1, key);
    refused(false, &mut bytes[..8], start, key + 1);
    close(region);
    refused(false, &mut bytes[..8], start, key);
    assert!(memory.iter().all(|&byte| byte == 7));
    assert!(bytes.iter().all(|&byte| byte == 1));
}

/// A program closes a region while its data move in pieces, and registers other memory under the
/// same key: no transfer touches either memory from then on, and the peer gets an error, behind the
/// pieces that are under way. The link stays.
#[test]
fn a_key_that_is_used_again_does_not_open_the_old_memory() {
    const KEY: u64 = 7;
    const LENGTH: usize = 4 << 20;
    for write in [true, false] {
        let (a, b, to_b, _) = pair(|options| options.read_peers = false);
        b.state(|state| state.common.mr_mode = FI_MR_VIRT_ADDR);
        let access = FI_REMOTE_READ | FI_REMOTE_WRITE;
        let (mut old, mut new, mut local) = (vec![1; LENGTH], vec![2; LENGTH], vec![3; LENGTH]);
        let (region, key) = register_as(&b, &mut old, access, KEY);
        transfer(&a, write, &mut local, to_b, old.as_ptr() as u64, key);
        let has_begun = |old: &[u8], local: &[u8]| if write { old[0] == 3 } else { local[0] == 1 };
        while !has_begun(&old, &local) {
            b.progress();
            assert!(a.read().is_none(), "one round moves less than all");
        }
        b.progress();
        close(region);
        b.progress();
        let (again, _) = register_as(&b, &mut new, access, KEY);
        old.fill(4);
        assert_eq!(a.wait(&[&b]).err, FI_EACCES, "write: {write}");
        assert!(
            old.iter().all(|&byte| byte == 4),
            "the old memory was written"
        );
        assert!(
            new.iter().all(|&byte| byte == 2),
            "the new memory was written"
        );
        assert!(!local.contains(&4), "the old memory was read");
        transfer(&a, false, &mut local, to_b, new.as_ptr() as u64, key);
        assert_eq!(a.wait(&[&b]).err, 0);
        assert!(
            local.iter().all(|&byte| byte == 2),
            "the new memory was not read"
        );
        assert_eq!(totals(&a).lost, 0);
        close(again);
    }
}
