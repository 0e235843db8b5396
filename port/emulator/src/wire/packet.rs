//! A wire to an interface of this machine, such as one end of a veth pair: a packet socket.

use std::io::Error;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Bytes of the longest frame.
const FRAME: usize = 1 << 14;

fn set<T>(socket: &OwnedFd, option: i32, value: &T) -> bool {
    let (value, bytes) = (std::ptr::from_ref(value).cast(), size_of::<T>() as u32);
    // SAFETY: the value has that many bytes and outlives the call.
    unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_PACKET, option, value, bytes) == 0 }
}

pub(crate) struct Packet {
    socket: OwnedFd,
    /// Where the next frame lands.
    room: Box<[u8; FRAME]>,
}

impl Packet {
    /// Opens the interface. It takes rights for raw packets.
    pub(crate) fn open(interface: &str) -> Result<Self, String> {
        let failed = || format!("{interface}: {}", Error::last_os_error());
        let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: a new descriptor, or -1. It gets no frame before it is bound.
        let socket = unsafe { libc::socket(libc::AF_PACKET, kind, 0) };
        if socket < 0 {
            return Err(failed());
        }
        // SAFETY: new, and owned by nobody else.
        let socket = unsafe { OwnedFd::from_raw_fd(socket) };
        let name = std::ffi::CString::new(interface).map_err(|error| error.to_string())?;
        // SAFETY: a name that ends with 0, and an address of zeros, which is a valid one.
        let (index, mut address) = unsafe {
            (
                libc::if_nametoindex(name.as_ptr()),
                std::mem::zeroed::<libc::sockaddr_ll>(),
            )
        };
        if index == 0 {
            return Err(failed());
        }
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = index as i32;
        let (descriptor, length) = (socket.as_raw_fd(), size_of::<libc::sockaddr_ll>() as u32);
        // All frames that come, whatever their address, and none that this machine sends.
        let all = libc::packet_mreq {
            mr_ifindex: index as i32,
            mr_type: libc::PACKET_MR_PROMISC as u16,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        let is_set = set(&socket, libc::PACKET_ADD_MEMBERSHIP, &all)
            && set(&socket, libc::PACKET_IGNORE_OUTGOING, &1_i32);
        // SAFETY: an address of that length, which outlives the call.
        if !is_set || unsafe { libc::bind(descriptor, (&raw const address).cast(), length) } < 0 {
            return Err(failed());
        }
        Ok(Self {
            socket,
            room: Box::new([0; FRAME]),
        })
    }

    pub(crate) fn next(&mut self) -> Option<Vec<u8>> {
        let (descriptor, room) = (self.socket.as_raw_fd(), self.room.as_mut_ptr().cast());
        // SAFETY: a place for that many bytes. The call does not wait.
        let count = unsafe { libc::recv(descriptor, room, FRAME, 0) };
        Some(self.room[..usize::try_from(count).ok()?].to_vec())
    }

    /// Sends a frame. One that the interface does not take is lost, as on a network.
    pub(crate) fn send(&self, frame: &[u8]) {
        // SAFETY: a frame of that many bytes. The call does not wait.
        unsafe {
            libc::send(
                self.socket.as_raw_fd(),
                frame.as_ptr().cast(),
                frame.len(),
                0,
            )
        };
    }
}
