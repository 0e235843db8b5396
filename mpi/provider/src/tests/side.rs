//! One endpoint with all the objects that a program opens for it.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::time::{Duration, Instant};

use crate::bindings::*;
use crate::endpoint::{Completion, State};
use crate::objects;
use crate::options::ProviderOptions;
use crate::wire::{Address, TcpChoice};

/// An endpoint, its queue and its vector.
pub(super) struct Side {
    pub(super) fabric: *mut FidFabric,
    pub(super) domain: *mut FidDomain,
    pub(super) vector: *mut FidAv,
    pub(super) queue: *mut FidCq,
    pub(super) ep: *mut FidEp,
}

/// A completion with the error that came with it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Done {
    pub(super) entry: CqTaggedEntry,
    pub(super) from: u64,
    pub(super) err: i32,
    pub(super) olen: usize,
}

impl Done {
    pub(super) fn context(&self) -> usize {
        self.entry.op_context as usize
    }
}

/// The time that a test waits: a minute, and many polls, since the system may stop the process.
pub(super) struct Patience {
    end: Instant,
    polls: u32,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            end: Instant::now() + Duration::from_secs(60),
            polls: 0,
        }
    }
}

impl Patience {
    pub(super) fn lasts(&mut self) -> bool {
        self.polls += 1;
        self.polls < 100_000 || Instant::now() < self.end
    }
}

macro_rules! call {
    ($object:expr, $table:ident, $op:ident $(, $arg:expr)*) => {
        ((*(*$object).$table).$op.expect("the operation"))($object $(, $arg)*)
    };
}
pub(super) use call;

impl Side {
    pub(super) fn open(change: impl FnOnce(&mut ProviderOptions)) -> Self {
        Self::open_as(change, |_| (), FI_WAIT_NONE)
    }

    /// Opens a side whose address looks like that of machine `host`.
    pub(super) fn over_tcp(host: u64) -> Self {
        let here = TcpChoice::parse("127.0.0.1").expect("an address");
        Self::open_as(
            |options| options.tcp = here,
            |own| own.host = host,
            FI_WAIT_FD,
        )
    }

    /// Opens a side with changed options, a changed address and a wait object.
    pub(super) fn open_as(
        change: impl FnOnce(&mut ProviderOptions),
        moved: impl FnOnce(&mut Address),
        wait_obj: i32,
    ) -> Self {
        let mut side = Self {
            fabric: null_mut(),
            domain: null_mut(),
            vector: null_mut(),
            queue: null_mut(),
            ep: null_mut(),
        };
        // SAFETY: zero is a valid value of every field: null, or "whatever there is".
        let (mut queue, mut vector): (CqAttr, AvAttr) =
            unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
        (queue.format, queue.wait_obj) = (FI_CQ_FORMAT_TAGGED, wait_obj);
        // SAFETY: the objects are alive, and the results have places.
        unsafe {
            assert_eq!(objects::fabric(null_mut(), &mut side.fabric, null_mut()), 0);
            let (domain, none) = (&mut side.domain, null_mut());
            assert_eq!(call!(side.fabric, ops, domain, none, domain, null_mut()), 0);
            side.state(|state| {
                change(&mut state.common.options);
                // Inner endpoints are a stand-in's.
                state.common.core = Some(super::stand_in::library());
                state.common.mr_mode = FI_MR_VIRT_ADDR | FI_MR_PROV_KEY;
            });
            let (domain, none) = (side.domain, null_mut());
            assert_eq!(
                call!(domain, ops, av_open, &mut vector, &mut side.vector, none),
                0
            );
            assert_eq!(
                call!(domain, ops, cq_open, &mut queue, &mut side.queue, none),
                0
            );
            assert_eq!(
                call!(
                    side.domain,
                    ops,
                    endpoint,
                    null_mut(),
                    &mut side.ep,
                    null_mut()
                ),
                0
            );
            side.state(|state| moved(&mut state.endpoints[0].address));
            side.bind(side.vector.cast(), 0);
            side.bind(side.queue.cast(), FI_SEND | FI_RECV);
            let fid = side.ep.cast::<Fid>();
            assert_eq!(call!(fid, ops, control, FI_ENABLE, null_mut()), 0);
        }
        side
    }

    /// Calls a function with the state of its domain.
    pub(super) fn state<R>(&self, what: impl FnOnce(&mut State) -> R) -> R {
        // SAFETY: a domain of this side.
        unsafe { objects::in_domain(self.domain, what) }
    }

    fn bind(&self, other: *mut Fid, flags: u64) {
        let fid = self.ep.cast::<Fid>();
        // SAFETY: objects of this side.
        assert_eq!(unsafe { call!(fid, ops, bind, other, flags) }, 0);
    }

    pub(super) fn name(&self) -> [u8; Address::LENGTH] {
        let mut bytes = [0; Address::LENGTH];
        let mut length = bytes.len();
        // SAFETY: a buffer of that length.
        let got = unsafe {
            let getname = (*(*self.ep).cm).getname.expect("getname");
            getname(self.ep.cast(), bytes.as_mut_ptr().cast(), &mut length)
        };
        assert_eq!((got, length), (0, Address::LENGTH));
        bytes
    }

    /// Puts a peer into the vector.
    pub(super) fn insert(&self, name: &[u8; Address::LENGTH]) -> u64 {
        let mut row = 0;
        // SAFETY: one address, one place for the result.
        let got = unsafe {
            call!(
                self.vector,
                ops,
                insert,
                name.as_ptr().cast(),
                1,
                &mut row,
                0,
                null_mut()
            )
        };
        assert_eq!(got, 1);
        row
    }

    /// Takes a peer out of the vector.
    pub(super) fn remove(&self, row: u64) {
        let mut rows = [row];
        // SAFETY: one row.
        let got = unsafe { call!(self.vector, ops, remove, rows.as_mut_ptr(), 1, 0) };
        assert_eq!(got, 0);
    }

    pub(super) fn send(&self, bytes: &[u8], to: u64, tag: u64, context: usize) -> isize {
        let (start, none, context) = (bytes.as_ptr().cast(), null_mut(), context as *mut c_void);
        // SAFETY: the tests keep buffers until the completion.
        unsafe {
            call!(
                self.ep,
                tagged,
                send,
                start,
                bytes.len(),
                none,
                to,
                tag,
                context
            )
        }
    }

    /// Sends, making progress as long as there is no room.
    pub(super) fn send_now(&self, bytes: &[u8], to: u64, tag: u64, context: usize) {
        while self.send(bytes, to, tag, context) == -(FI_EAGAIN as isize) {
            assert!(self.read().is_none(), "no completion was expected");
        }
    }

    pub(super) fn receive(
        &self,
        buffer: &mut [u8],
        from: u64,
        (tag, ignore): (u64, u64),
        context: usize,
    ) -> isize {
        let (start, length, none) = (buffer.as_mut_ptr().cast(), buffer.len(), null_mut());
        let context = context as *mut c_void;
        // SAFETY: as above.
        unsafe {
            call!(
                self.ep, tagged, recv, start, length, none, from, tag, ignore, context
            )
        }
    }

    /// `fi_trecvmsg` with flags and without or with a buffer.
    pub(super) fn receive_flagged(
        &self,
        buffer: &mut [u8],
        (tag, ignore): (u64, u64),
        context: usize,
        flags: u64,
    ) -> isize {
        let iov = [IoVec {
            iov_base: buffer.as_mut_ptr().cast(),
            iov_len: buffer.len(),
        }];
        let parts = if buffer.is_empty() { &[][..] } else { &iov };
        let msg = tagged(parts, FI_ADDR_UNSPEC, (tag, ignore), context);
        // SAFETY: as above.
        unsafe { call!(self.ep, tagged, recvmsg, &msg, flags) }
    }

    pub(super) fn cancel(&self, context: usize) -> isize {
        // SAFETY: an endpoint of this side.
        unsafe {
            let cancel = (*(*self.ep).ops).cancel.expect("cancel");
            cancel(self.ep.cast(), context as *mut c_void)
        }
    }

    /// The next completion, if there is one.
    pub(super) fn read(&self) -> Option<Done> {
        self.read_some(1).pop()
    }

    /// Reads up to `most` completions, or the error in front of them.
    pub(super) fn read_some(&self, most: usize) -> Vec<Done> {
        let mut entries = vec![Completion::new(null_mut(), 0).entry; most];
        let mut from = vec![0; most];
        let buffer = entries.as_mut_ptr().cast();
        // SAFETY: `entries` and `from` have `most` elements each.
        match unsafe { call!(self.queue, ops, readfrom, buffer, most, from.as_mut_ptr()) } {
            got @ 1.. => {
                let all = entries.into_iter().zip(from).take(got as usize);
                all.map(|(entry, from)| Done {
                    entry,
                    from,
                    err: 0,
                    olen: 0,
                })
                .collect()
            }
            got if got == -(FI_EAGAIN as isize) => Vec::new(),
            got => {
                assert_eq!(got, -(FI_EAVAIL as isize));
                // SAFETY: zero is a valid value of every field; room for one entry.
                let error = unsafe {
                    let mut error: CqErrEntry = std::mem::zeroed();
                    assert_eq!(call!(self.queue, ops, readerr, &mut error, 0), 1);
                    error
                };
                let CqErrEntry {
                    entry, olen, err, ..
                } = error;
                vec![Done {
                    entry,
                    from: FI_ADDR_UNSPEC,
                    err,
                    olen,
                }]
            }
        }
    }

    /// Waits for a completion of this side, while the others make progress.
    pub(super) fn wait(&self, others: &[&Self]) -> Done {
        let mut patience = Patience::default();
        loop {
            if let Some(done) = self.read() {
                return done;
            }
            for other in others {
                other.progress();
            }
            assert!(patience.lasts(), "no completion came");
        }
    }

    /// Progress without taking a completion.
    pub(super) fn progress(&self) {
        // SAFETY: no entry is read.
        unsafe { call!(self.queue, ops, read, null_mut(), 0) };
    }
}

impl Drop for Side {
    fn drop(&mut self) {
        let objects: [*mut Fid; 5] = [
            self.ep.cast(),
            self.queue.cast(),
            self.vector.cast(),
            self.domain.cast(),
            self.fabric.cast(),
        ];
        for object in objects {
            // SAFETY: each is closed once, after what was bound to it.
            let closed = unsafe { call!(object, ops, close) };
            assert!(
                std::thread::panicking() || closed == 0,
                "an object cannot be closed"
            );
        }
    }
}

/// What `fi_tsendmsg` and `fi_trecvmsg` take.
pub(super) fn tagged(iov: &[IoVec], addr: u64, bits: (u64, u64), context: usize) -> MsgTagged {
    let (msg_iov, iov_count, context) = (iov.as_ptr(), iov.len(), context as *mut c_void);
    let (tag, ignore) = bits;
    MsgTagged {
        msg_iov,
        desc: null_mut(),
        iov_count,
        addr,
        tag,
        ignore,
        context,
        data: 0,
    }
}

/// Two sides that know each other, and the address that each has for the other.
pub(super) fn pair(change: impl Fn(&mut ProviderOptions)) -> (Side, Side, u64, u64) {
    let (a, b) = (Side::open(&change), Side::open(&change));
    let (to_b, to_a) = (a.insert(&b.name()), b.insert(&a.name()));
    (a, b, to_b, to_a)
}

/// The bytes of a message, different for each number.
pub(super) fn pattern(seed: usize, length: usize) -> Vec<u8> {
    (0..length)
        .map(|at| (seed * 31 + at * 7 + at / 256) as u8)
        .collect()
}

impl Side {
    /// Sleeps until a completion comes or the timeout in milliseconds passes. Returns its context.
    pub(super) fn sleep(&self, milliseconds: i32) -> usize {
        let mut entry = std::mem::MaybeUninit::<CqTaggedEntry>::uninit();
        // SAFETY: room for one entry, which is written if the call says so.
        unsafe {
            let buffer = entry.as_mut_ptr().cast();
            let got = call!(
                self.queue,
                ops,
                sread,
                buffer,
                1,
                std::ptr::null(),
                milliseconds
            );
            assert_eq!(got, 1, "no completion came");
            entry.assume_init().op_context as usize
        }
    }
}
