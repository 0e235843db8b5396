//! An endpoint's address: 64 bytes with its sockets and its key.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::MetadataExt;

pub(crate) const LENGTH: usize = 64;
const MAGIC: u32 = 0x6d41_5044;
const VERSION: u16 = 3;

/// Where an endpoint is. The bytes are what `fi_getname` gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Address {
    /// Identifies the machine, its network and process namespaces, and the user.
    pub(crate) host: u64,
    /// Unique for all time. Part of the name of its Unix socket.
    pub(crate) identity: u128,
    /// The key that a peer must know. Other users cannot see it.
    pub(crate) key: u64,
    /// It may sleep, so its senders must check.
    pub(crate) sleeps: bool,
    /// Its TCP socket, if it has one.
    pub(crate) tcp: Option<SocketAddr>,
}

impl Address {
    pub(crate) const LENGTH: usize = LENGTH;

    /// A fresh address on this machine.
    ///
    /// # Errors
    /// If the kernel has no random numbers.
    pub(crate) fn fresh() -> Result<Self, rustix::io::Errno> {
        let bytes = random::<24>()?;
        let word = |at: usize| u64::from_ne_bytes(array(&bytes[at..at + 8]));
        let identity = u128::from(word(0)) << 64 | u128::from(word(8));
        Ok(Self {
            host: this_host(),
            identity,
            key: word(16),
            sleeps: false,
            tcp: None,
        })
    }

    /// The address of this machine before there is an endpoint, like a network address without a
    /// port. No peer can be reached by it.
    pub(crate) fn of_this_host() -> Self {
        Self {
            host: this_host(),
            identity: 0,
            key: 0,
            sleeps: false,
            tcp: None,
        }
    }

    pub(crate) fn socket_name(&self) -> String {
        format!("dpamatch-{:032x}", self.identity)
    }

    pub(crate) fn to_bytes(self) -> [u8; LENGTH] {
        let mut bytes = [0; LENGTH];
        bytes[0..4].copy_from_slice(&MAGIC.to_be_bytes());
        bytes[4..6].copy_from_slice(&VERSION.to_be_bytes());
        bytes[6] = u8::from(self.sleeps);
        bytes[8..16].copy_from_slice(&self.host.to_be_bytes());
        bytes[16..32].copy_from_slice(&self.identity.to_be_bytes());
        bytes[32..40].copy_from_slice(&self.key.to_be_bytes());
        if let Some(socket) = self.tcp {
            let (family, ip) = match socket.ip() {
                IpAddr::V4(ip) => (4, ip.to_ipv6_mapped()),
                IpAddr::V6(ip) => (6, ip),
            };
            bytes[7] = family;
            bytes[40..56].copy_from_slice(&ip.octets());
            bytes[56..58].copy_from_slice(&socket.port().to_be_bytes());
        }
        bytes
    }

    /// Parses an address; `None` if the bytes are invalid.
    pub(crate) fn from_bytes(bytes: &[u8; LENGTH]) -> Option<Self> {
        let magic = u32::from_be_bytes(array(&bytes[0..4]));
        let version = u16::from_be_bytes(array(&bytes[4..6]));
        let identity = u128::from_be_bytes(array(&bytes[16..32]));
        if magic != MAGIC || version != VERSION || bytes[6] > 1 || identity == 0 {
            return None;
        }
        let ip = Ipv6Addr::from(array::<16>(&bytes[40..56]));
        let ip = match bytes[7] {
            0 => None,
            4 => Some(IpAddr::V4(ip.to_ipv4_mapped()?)),
            6 => Some(IpAddr::V6(ip)),
            _ => return None,
        };
        let port = u16::from_be_bytes(array(&bytes[56..58]));
        Some(Self {
            host: u64::from_be_bytes(array(&bytes[8..16])),
            identity,
            key: u64::from_be_bytes(array(&bytes[32..40])),
            sleeps: bytes[6] == 1,
            tcp: ip.map(|ip| SocketAddr::new(ip, port)),
        })
    }
}

/// Random bytes of the kernel.
///
/// # Errors
/// If the kernel has none.
pub(super) fn random<const N: usize>() -> Result<[u8; N], rustix::io::Errno> {
    let mut bytes = [0; N];
    let got = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    if got < N {
        return Err(rustix::io::Errno::AGAIN);
    }
    Ok(bytes)
}

/// The slice as an array; its length is known where this is called.
pub(super) fn array<const N: usize>(slice: &[u8]) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(slice);
    array
}

/// The namespaces that two processes must share to reach each other's Unix sockets, memory and
/// process numbers.
fn this_host() -> u64 {
    let mut hash = DefaultHasher::new();
    fs::read("/proc/sys/kernel/random/boot_id")
        .unwrap_or_default()
        .hash(&mut hash);
    for space in ["net", "pid"] {
        let entry = fs::metadata(format!("/proc/self/ns/{space}"));
        entry
            .map(|entry| entry.ino())
            .unwrap_or_default()
            .hash(&mut hash);
    }
    rustix::process::geteuid().as_raw().hash(&mut hash);
    hash.finish()
}

/// The address of this machine for a TCP socket, if others can reach it at one.
pub(super) fn outside_ip() -> Option<IpAddr> {
    let mut first = std::ptr::null_mut();
    // SAFETY: a place for the list, which is freed below.
    if unsafe { libc::getifaddrs(&mut first) } != 0 {
        return None;
    }
    let mut all = Vec::new();
    let mut next = first;
    // SAFETY: entries of a list that `getifaddrs` made; the address of each is null or of the
    // length that its family has.
    while let Some(entry) = unsafe { next.as_ref() } {
        next = entry.ifa_next;
        // SAFETY: as above.
        let Some(ip) = (unsafe { ip_of(entry.ifa_addr) }) else {
            continue;
        };
        all.push((entry.ifa_flags as i32, ip));
    }
    // SAFETY: made above.
    unsafe { libc::freeifaddrs(first) };
    first_outside(all)
}

/// The IP address in a socket's address, if it has one.
///
/// # Safety
/// The address is null, or of the length that its family has.
unsafe fn ip_of(address: *const libc::sockaddr) -> Option<IpAddr> {
    // SAFETY: the caller's promise.
    unsafe {
        match address.as_ref()?.sa_family.into() {
            libc::AF_INET => {
                let address = &*address.cast::<libc::sockaddr_in>();
                Some(Ipv4Addr::from(u32::from_be(address.sin_addr.s_addr)).into())
            }
            libc::AF_INET6 => {
                let address = &*address.cast::<libc::sockaddr_in6>();
                Some(Ipv6Addr::from(address.sin6_addr.s6_addr).into())
            }
            _ => None,
        }
    }
}

/// The first of these addresses, with the flags of their interfaces, that others can reach: IPv4
/// before IPv6, no loopback, no address that holds on one link alone.
fn first_outside(all: Vec<(i32, IpAddr)>) -> Option<IpAddr> {
    let outside = all.into_iter().filter(|&(flags, ip)| {
        let one_link = matches!(ip, IpAddr::V6(ip) if ip.is_unicast_link_local());
        flags & (libc::IFF_UP | libc::IFF_LOOPBACK) == libc::IFF_UP && !one_link
    });
    outside.map(|(_, ip)| ip).min_by_key(IpAddr::is_ipv6)
}

#[cfg(test)]
mod tests {
    use super::super::{Listener, TcpChoice};
    use super::*;

    #[test]
    fn bytes_give_the_address_back() {
        let plain = Address::fresh().expect("random numbers");
        for tcp in [None, Some("10.1.2.3:4567"), Some("[fe80::1]:1")] {
            let tcp = tcp.map(|text| text.parse().expect("an address"));
            let address = Address {
                tcp,
                sleeps: tcp.is_some(),
                ..plain
            };
            assert_eq!(Address::from_bytes(&address.to_bytes()), Some(address));
        }
        assert_ne!(
            Address::fresh().expect("random numbers").identity,
            plain.identity
        );
    }

    #[test]
    fn other_bytes_are_refused() {
        let good = Address::fresh().expect("random numbers").to_bytes();
        for (at, value) in [(0, 0), (4, 9), (6, 2), (7, 5), (7, 4)] {
            let mut bytes = good;
            bytes[at] = value;
            assert_eq!(Address::from_bytes(&bytes), None, "byte {at} = {value}");
        }
        assert_eq!(Address::from_bytes(&[0; LENGTH]), None);
        // A machine is no endpoint.
        let machine = Address::of_this_host();
        assert!(machine.host > 1);
        assert_eq!(machine.host, Address::fresh().expect("random numbers").host);
        assert_eq!(Address::from_bytes(&machine.to_bytes()), None);
    }

    /// Machines without IPv6 have no interface with such an address.
    #[test]
    fn the_address_of_a_socket_is_read_by_its_family() {
        // SAFETY: zeros are valid.
        let mut four: libc::sockaddr_in = unsafe { std::mem::zeroed() };
        // SAFETY: as above.
        let mut six: libc::sockaddr_in6 = unsafe { std::mem::zeroed() };
        four.sin_family = libc::AF_INET as u16;
        four.sin_addr.s_addr = u32::from_be_bytes([10, 0, 1, 2]).to_be();
        six.sin6_family = libc::AF_INET6 as u16;
        let ip: Ipv6Addr = "fd00::1:2".parse().expect("an address");
        six.sin6_addr.s6_addr = ip.octets();
        // SAFETY: addresses of these families.
        let read = unsafe {
            [
                ip_of((&raw const four).cast()),
                ip_of((&raw const six).cast()),
                ip_of(std::ptr::null()),
            ]
        };
        assert_eq!(read, [Some([10, 0, 1, 2].into()), Some(ip.into()), None]);
        six.sin6_family = libc::AF_UNIX as u16;
        // SAFETY: longer than what is read of an address of another family.
        assert_eq!(unsafe { ip_of((&raw const six).cast()) }, None);
    }

    #[test]
    fn others_reach_the_first_address_that_is_outside() {
        const UP: i32 = libc::IFF_UP;
        let mut all = [
            (UP | libc::IFF_LOOPBACK, "127.0.0.1"),
            (UP, "fe80::1"),
            (0, "10.0.0.9"),
            (libc::IFF_RUNNING, "10.0.0.8"),
            (UP, "fd00::2"),
            (UP | libc::IFF_RUNNING, "10.0.0.2"),
            (UP, "fd00::1"),
            (UP, "10.0.0.1"),
        ]
        .map(|(flags, ip)| (flags, ip.parse().expect("an address")))
        .to_vec();
        for ip in ["10.0.0.2", "10.0.0.1", "fd00::2", "fd00::1"] {
            assert_eq!(
                first_outside(all.clone()).map(|ip| ip.to_string()),
                Some(ip.to_owned())
            );
            all.retain(|(_, other)| other.to_string() != ip);
        }
        assert_eq!(first_outside(all), None);

        // Where packets have a way out, so do the endpoint's peers have one to it.
        let routes = fs::read_to_string("/proc/net/route").unwrap_or_default();
        let listens = |ip: IpAddr| std::net::TcpListener::bind((ip, 0)).is_ok();
        let reached = outside_ip().is_some_and(|ip| ip.is_ipv4() && listens(ip));
        assert!(reached || routes.lines().count() < 2, "{routes}");
        let elsewhere = TcpChoice::parse("192.0.2.1").expect("an address");
        for (choice, opens) in [(TcpChoice::Outside, true), (elsewhere, false)] {
            let mut own = Address::fresh().expect("random numbers");
            assert_eq!(Listener::open(&mut own, choice).is_ok(), opens);
            assert_eq!(own.tcp.map(|at| at.ip()), outside_ip().filter(|_| opens));
        }
    }
}
