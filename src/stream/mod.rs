//! Event streams: the posts, arrivals, cancels and probes of one process in order, as text, and
//! their results.
//!
//! One event a line, fields separated by commas; `#` starts a comment, blank lines are skipped:
//!
//! ```text
//! post,RECV,COMM,SOURCE|*,TAG|*[,key=value...]     receive RECV is posted
//! arrive,MSG,COMM,SOURCE,TAG[,key=value...]        message MSG arrives
//! cancel,RECV                                      a posted receive is cancelled
//! probe,ID,COMM,SOURCE|*,TAG|* looks for the oldest unexpected message and leaves it
//! mprobe,ID,COMM,SOURCE|*,TAG|* the same, and takes it out of matching
//! ```
//!
//! `RECV` and `MSG` are numbers below 2^64 that no other receive (message) of the stream has; `ID`
//! is free. `COMM` is below 2^32, `SOURCE` and `TAG` below 2^31. Keys, none of which changes a
//! match: `bytes` of a message, `size` of a receive's buffer, `coll` and `collbytes` for the
//! elements of a collective operation. Keys of other names are accepted and ignored.
//!
//! The results, one a line, in the order of the events that brought them about, and at the end what
//! is left:
//!
//! ```text
//! matched,RECV,MSG
//! probed,ID,MSG|none        mprobed,ID,MSG|none
//! cancelled,RECV            too-late,RECV
//! posted,RECV               left in the posted receive queue, in posting order
//! unexpected,MSG            left in the unexpected message queue, in arrival order
//! ```
//!
//! # Examples
//! ```
//! use dpamatch::engine::Oracle;
//! use dpamatch::stream::{Reader, StreamMatcher};
//!
//! let text = "post,0,0,*,7\narrive,0,0,3,7\narrive,1,0,3,7\n";
//! let events: Vec<_> = Reader::new(text.as_bytes()).collect::<Result<_, _>>()?;
//! let mut results = String::new();
//! Oracle::new().run(&mut events.into_iter(), &mut |outcome| results += &format!("{outcome}\n"))?;
//! assert_eq!(results, "matched,0,0\nunexpected,1\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod event;
mod field;
#[cfg(feature = "conformance")]
mod generate;
#[cfg(feature = "conformance")]
mod hostile;
mod id_set;
mod kinds;
pub mod lines;
mod matcher;
mod reader;

pub use dpamatch_vocabulary::{Outcome, ProbeId};
pub use event::Event;
pub use field::FieldError;
#[cfg(feature = "conformance")]
pub use generate::{Generator, Profile};
pub use kinds::{ByKind, KindStats, Kinds};
pub use matcher::{RunError, StreamMatcher, apply};
pub use reader::{LINE_BYTES_MAX, LineError, ReadError, Reader};

pub use crate::engine::{COLL_NAME_MAX, CollName, Collective};
