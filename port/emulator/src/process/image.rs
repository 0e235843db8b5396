//! A private copy of a device part, loaded into this program.

use crate::machine::lock;
use crate::status::Refusal;
use object::{Object, ObjectSymbol, SymbolKind};
use std::collections::HashMap;
use std::ffi::{CStr, CString, c_void};
use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Mutex;

/// A loaded device part. Processes share no globals, since each loads another file.
pub(crate) struct Image {
    loaded: *mut c_void,
    /// The file in memory. Debuggers find it below /proc.
    pub(crate) path: String,
    /// Where it lies, and from which address its file counts.
    pub(crate) range: Range<usize>,
    /// Addresses of functions that were looked for.
    known: Mutex<HashMap<String, usize>>,
    _file: OwnedFd,
}

// SAFETY: the handle of the dynamic linker may be used by any thread.
unsafe impl Send for Image {}
// SAFETY: as above; the calls on it take no `&mut`.
unsafe impl Sync for Image {}

/// Says why bytes are no device part of this machine.
pub(crate) fn refuse(bytes: &[u8]) -> Result<(), Refusal> {
    if bytes.len() < 64 || !bytes.starts_with(b"\x7fELF") {
        return Err("the device part is no ELF file".into());
    }
    let half = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
    let machine = if cfg!(target_arch = "x86_64") {
        62
    } else {
        183
    };
    if half(18) == 243 {
        return Err("the device part is RISC-V code; compile it with the emulator's dpacc".into());
    }
    if half(16) != 3 || half(18) != machine {
        return Err("the device part is no shared object of this machine".into());
    }
    Ok(())
}

fn why() -> String {
    // SAFETY: `dlerror` gives null or a text that lives until the next call on this thread.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return "unknown error of the dynamic linker".into();
    }
    // SAFETY: not null, hence a text that ends with 0.
    unsafe { CStr::from_ptr(text) }
        .to_string_lossy()
        .into_owned()
}

/// Where a loaded file lies.
fn range(loaded: *mut c_void, bytes: &[u8]) -> Range<usize> {
    let mut map: *const usize = std::ptr::null();
    // SAFETY: the handle is loaded, and the linker's record of it begins with its base.
    let base = unsafe {
        libc::dlinfo(loaded, libc::RTLD_DI_LINKMAP, (&raw mut map).cast());
        *map
    };
    let word = |at: usize| {
        bytes[at..]
            .first_chunk()
            .map_or(0, |word| usize::from_le_bytes(*word))
    };
    let headers = (0..bytes[56]).map(|number| word(32) + 56 * usize::from(number));
    let loads = headers.filter(|&at| word(at) as u32 == libc::PT_LOAD);
    base..base
        + loads
            .map(|at| word(at + 16) + word(at + 40))
            .max()
            .unwrap_or(0)
}

impl Image {
    pub(crate) fn load(name: &str, bytes: &[u8]) -> Result<Self, Refusal> {
        refuse(bytes)?;
        let title = CString::new(name).map_err(|_| "a name with a 0 byte")?;
        // SAFETY: the title ends with 0; the call gives a new descriptor or -1.
        let file = unsafe { libc::memfd_create(title.as_ptr(), 0) };
        if file < 0 {
            return Err("no file in memory for the device part".into());
        }
        // SAFETY: a new descriptor that nobody else owns.
        let file = unsafe { OwnedFd::from_raw_fd(file) };
        let path = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
        std::fs::write(&path, bytes).map_err(|error| format!("{path}: {error}"))?;
        let linker_path = CString::new(path.clone()).map_err(|_| "a path with a 0 byte")?;
        // SAFETY: the path ends with 0. Constructors of the device part run as the host program
        // linked them.
        let loaded =
            unsafe { libc::dlopen(linker_path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if loaded.is_null() {
            return Err(format!("the device part cannot be loaded: {}", why()).into());
        }
        Ok(Self {
            loaded,
            path,
            range: range(loaded, bytes),
            known: Mutex::default(),
            _file: file,
        })
    }

    /// The function's address. `bytes` are those of the file, whose table of symbols also has the
    /// functions that are `static`.
    pub(crate) fn function(&self, name: &str, bytes: &[u8]) -> Result<usize, Refusal> {
        if let Some(&found) = lock(&self.known).get(name) {
            return Ok(found);
        }
        let found = self.find(name, bytes)?;
        lock(&self.known).insert(name.to_owned(), found);
        Ok(found)
    }

    fn find(&self, name: &str, bytes: &[u8]) -> Result<usize, Refusal> {
        let file = object::File::parse(bytes).map_err(|error| error.to_string())?;
        let is_it = |symbol: &object::Symbol<'_, '_>| {
            symbol.kind() == SymbolKind::Text && symbol.name() == Ok(name)
        };
        let mut found: Vec<u64> = file
            .symbols()
            .filter(is_it)
            .map(|it| it.address())
            .collect();
        found.dedup();
        match found[..] {
            [] => {}
            [address] => return Ok(self.range.start + address as usize),
            _ => {
                let count = found.len();
                let why = format!("the device part has {count} entry points {name}");
                return Err(why.into());
            }
        }
        let title = CString::new(name).map_err(|_| "a name with a 0 byte")?;
        // SAFETY: the handle is loaded, the name ends with 0.
        let found = unsafe { libc::dlsym(self.loaded, title.as_ptr()) } as usize;
        if !self.range.contains(&found) {
            return Err(format!("the device part has no entry point {name}").into());
        }
        Ok(found)
    }

    /// Whether a part of its code announces no accesses. `dpacc` marks such images.
    pub(crate) fn has_unseen_code(&self) -> bool {
        // SAFETY: the handle is loaded, and the name ends with 0.
        let mark = unsafe { libc::dlsym(self.loaded, c"dpa_emulator_unseen".as_ptr()) };
        !mark.is_null()
    }

    /// Function, file and line of an address, if a tool for it is installed. Functions of the
    /// headers stand for their callers.
    pub(crate) fn source_line(&self, address: usize) -> String {
        let offset = address.wrapping_sub(self.range.start);
        let mut command = std::process::Command::new("addr2line");
        command
            .args(["-i", "-f", "-p", "-e", &self.path])
            .arg(format!("{offset:#x}"));
        let output = command
            .output()
            .ok()
            .filter(|output| output.status.success());
        let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        let is_of_headers =
            |line: &str| line.contains("/libflexio-dev/") || line.contains("/doca_dpa_dev");
        let is_own = |line: &&str| !is_of_headers(line);
        let line = text.as_deref().and_then(|text| {
            text.lines()
                .find(is_own)
                .or_else(|| text.lines().next())
                .map(str::trim)
        });
        // The tool adds which of several paths through a line it means.
        let line = line.map(|line| line.split(" (discriminator").next().unwrap_or(line));
        match line.map(|line| line.trim_start_matches("(inlined by) ")) {
            Some(line) if !line.is_empty() => {
                // A line of several blocks of code has numbers for them, which help no reader.
                line.split(" (discriminator")
                    .next()
                    .unwrap_or(line)
                    .to_owned()
            }
            _ => format!("offset {offset:#x} of the device part"),
        }
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        // SAFETY: loaded once by `load`. Threads of the process are gone: each holds the process.
        unsafe { libc::dlclose(self.loaded) };
    }
}
