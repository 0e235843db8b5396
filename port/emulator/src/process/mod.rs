//! DPA processes: the program image, its heap, messages to the host, and how a process ends.

mod app;
mod heap;
mod host;
mod image;
mod memory;
mod message;
mod prototype;
mod resources;

pub(crate) use app::{App, find as app, stub};
pub(crate) use heap::{Heap, HeapInfo, Place, is_of_a_heap};
pub(crate) use host::{create, destroy};
pub(crate) use image::Image;
pub(crate) use memory::bytes;
pub(crate) use prototype::{Class, Parameter, Prototype, Scalar};

use crate::machine::lock;
use message::Stream;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// Codes with which a process ends.
pub(crate) mod ended {
    pub(crate) const NOT: u32 = 0;
    /// The system ended it: a crash.
    pub(crate) const CRASH: u32 = 1;
    pub(crate) const FINISHED: u32 = 0x40;
    /// Codes of programs begin here.
    pub(crate) const USER: u32 = 128;
}

pub(crate) struct Process {
    pub(crate) id: u32,
    pub(crate) app: Arc<App>,
    pub(crate) image: Image,
    pub(crate) heap: Arc<Heap>,
    pub(crate) shadows: crate::check::race::Shadows,
    /// The protection domain that queues and keys of the process default to.
    pub(crate) pd: usize,
    /// Whether the process has made that domain.
    owns_pd: bool,
    pub(crate) doca: crate::doca::Shared,
    streams: Mutex<Vec<Option<Stream>>>,
    state: AtomicU32,
    error_handler: AtomicUsize,
    error_event: std::os::fd::OwnedFd,
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.owns_pd {
            crate::verbs::free_pd(self.pd);
        }
    }
}

impl Process {
    /// With which code the process ended, or [`ended::NOT`].
    pub(crate) fn state(&self) -> u32 {
        // ordering: a process ends once, and threads look at each step; no memory goes with the
        // code.
        self.state.load(Ordering::Acquire)
    }

    /// Ends the process, once. Its threads stop at their next step.
    pub(crate) fn end(self: &Arc<Self>, code: u32) {
        // ordering: as in `state`.
        let old = self.state.compare_exchange(
            ended::NOT,
            code.max(1),
            Ordering::AcqRel,
            Ordering::Acquire,
        );
        if old.is_err() || code == ended::FINISHED {
            return;
        }
        crate::thread::signal(&self.error_event);
        // ordering: as in `flexio_process_error_handler_set`.
        let entry = self.error_handler.load(Ordering::Acquire);
        if entry != 0 {
            crate::thread::last_words(self, entry, u64::from(code));
        }
    }

    /// The prototype of the function at `address`.
    pub(crate) fn prototype(&self, address: usize) -> Result<Arc<Prototype>, String> {
        let offset = (address - self.image.range.start) as u64;
        let mut known = lock(&self.app.prototypes);
        if let Some(found) = known.get(&offset) {
            return Ok(Arc::clone(found));
        }
        let found = Arc::new(Prototype::find(&self.app.bytes, offset)?);
        known.insert(offset, Arc::clone(&found));
        Ok(found)
    }

    fn streams(&self) -> MutexGuard<'_, Vec<Option<Stream>>> {
        lock(&self.streams)
    }

    /// A message of the device part for stream `stream`, or for all streams if it is negative.
    pub(crate) fn message(&self, stream: i32, level: u8, text: &[u8]) {
        let mut streams = self.streams();
        let chosen = |at: usize| stream < 0 || stream as usize == at;
        let numbered = streams.iter_mut().enumerate().filter(|(at, _)| chosen(*at));
        for stream in numbered.filter_map(|(_, stream)| stream.as_mut()) {
            stream.write(level, text);
        }
    }
}
