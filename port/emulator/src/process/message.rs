//! Message streams: text from the device part to a file of the host.

use std::ffi::c_void;

pub(crate) struct Stream {
    pub(crate) file: *mut libc::FILE,
    pub(crate) level: u8,
    /// Bytes that wait for a flush; none when messages are printed immediately.
    pub(crate) waits: Option<usize>,
    pub(crate) held: Vec<u8>,
}

// SAFETY: the file is the host's, and the C library locks it at each call.
unsafe impl Send for Stream {}

impl Stream {
    pub(crate) fn write(&mut self, level: u8, text: &[u8]) {
        if level == 0 || level > self.level {
            return;
        }
        self.held.extend_from_slice(text);
        if self.waits.is_none_or(|most| self.held.len() > most) {
            self.flush();
        }
    }

    pub(crate) fn flush(&mut self) {
        let (text, bytes) = (self.held.as_ptr().cast::<c_void>(), self.held.len());
        // SAFETY: `text` has that many bytes; the host keeps the file open as long as the stream.
        unsafe {
            libc::fwrite(text, 1, bytes, self.file);
            libc::fflush(self.file);
        }
        self.held.clear();
    }
}
