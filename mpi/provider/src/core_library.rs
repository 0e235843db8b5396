//! The libfabric that loaded this provider. The provider does not link to one: a program may bring
//! any version, and the provider must call that one.

use std::ffi::{CStr, c_char, c_int, c_void};

use crate::bindings::{FabricAttr, FidFabric, Info};

/// Functions of the loaded library.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CoreLibrary {
    dupinfo: DupInfo,
    freeinfo: FreeInfo,
    version: Version,
    pub(crate) getinfo: GetInfo,
    pub(crate) fabric: Fabric,
}

type DupInfo = unsafe extern "C" fn(*const Info) -> *mut Info;
type FreeInfo = unsafe extern "C" fn(*mut Info);
type Version = unsafe extern "C" fn() -> u32;
type GetInfo = unsafe extern "C" fn(
    u32,
    *const c_char,
    *const c_char,
    u64,
    *const Info,
    *mut *mut Info,
) -> c_int;
type Fabric = unsafe extern "C" fn(*mut FabricAttr, *mut *mut FidFabric, *mut c_void) -> c_int;

fn symbol(name: &CStr) -> *mut c_void {
    // SAFETY: a lookup by name in a library that is already loaded, or in all of them.
    unsafe {
        let library = libc::dlopen(
            c"libfabric.so.1".as_ptr(),
            libc::RTLD_NOLOAD | libc::RTLD_NOW,
        );
        let found = match library.is_null() {
            true => std::ptr::null_mut(),
            false => libc::dlsym(library, name.as_ptr()),
        };
        if found.is_null() {
            libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr())
        } else {
            found
        }
    }
}

impl CoreLibrary {
    /// The functions of a stand-in.
    #[cfg(test)]
    pub(crate) fn of(
        dupinfo: DupInfo,
        freeinfo: FreeInfo,
        version: Version,
        getinfo: GetInfo,
        fabric: Fabric,
    ) -> Self {
        Self {
            dupinfo,
            freeinfo,
            version,
            getinfo,
            fabric,
        }
    }

    /// `None`: there is no libfabric in this process.
    pub(crate) fn find() -> Option<Self> {
        let functions = [
            c"fi_dupinfo",
            c"fi_freeinfo",
            c"fi_version",
            c"fi_getinfo",
            c"fi_fabric",
        ];
        let found = functions.map(symbol);
        if found.iter().any(|function| function.is_null()) {
            return None;
        }
        let [dupinfo, freeinfo, version, getinfo, fabric] = found;
        // SAFETY: in every version libfabric's functions with these names have these types.
        unsafe {
            Some(Self {
                dupinfo: std::mem::transmute::<*mut c_void, DupInfo>(dupinfo),
                freeinfo: std::mem::transmute::<*mut c_void, FreeInfo>(freeinfo),
                version: std::mem::transmute::<*mut c_void, Version>(version),
                getinfo: std::mem::transmute::<*mut c_void, GetInfo>(getinfo),
                fabric: std::mem::transmute::<*mut c_void, Fabric>(fabric),
            })
        }
    }

    pub(crate) fn version(&self) -> u32 {
        // SAFETY: the function has no preconditions.
        unsafe { (self.version)() }
    }

    /// An empty `fi_info` with all its attributes, as large as this version has them.
    pub(crate) fn new_info(&self) -> *mut Info {
        // SAFETY: null asks for a new one.
        unsafe { (self.dupinfo)(std::ptr::null()) }
    }

    /// # Safety
    /// `info` is null, or one that [`new_info`](Self::new_info) or `getinfo` gave, and it is no
    /// longer in use.
    pub(crate) unsafe fn free_info(&self, info: *mut Info) {
        // SAFETY: the caller's promise.
        unsafe { (self.freeinfo)(info) };
    }
}

/// A copy of a string that libfabric may free.
pub(crate) fn c_copy(text: &CStr) -> *mut c_char {
    // SAFETY: a string that ends; the copy comes from C's heap, which is what libfabric frees to.
    unsafe { libc::strdup(text.as_ptr()) }
}

/// A copy of bytes that libfabric may free; null when there is no memory.
pub(crate) fn c_copy_bytes(bytes: &[u8]) -> *mut c_void {
    // SAFETY: `malloc` gives null or a new allocation of that many bytes.
    unsafe {
        let copy = libc::malloc(bytes.len());
        if !copy.is_null() {
            copy.cast::<u8>()
                .copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        }
        copy
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::tests::Folder;

    /// C source of a stand-in for libfabric. The version counts the descriptions in use.
    const LIBRARY: &str = "static char info[4096]; static int held;
        void *fi_dupinfo(const void *of) { held += !of; return of ? 0 : info; }
        void fi_freeinfo(void *old) { held -= old == info; }
        unsigned fi_version(void) { return held + (2 << 16 | 3); }
        int fi_getinfo(void) { return -61; }
        int fi_fabric(void) { return -61; }";

    #[test]
    fn the_library_that_is_loaded_is_found() {
        assert!(
            CoreLibrary::find().is_none(),
            "the tests are not loaded by libfabric"
        );
        let folder = Folder::new("library");
        let [source, library] = ["library.c", "other.so"].map(|name| folder.0.join(name));
        std::fs::write(&source, LIBRARY).expect("a file");
        let arguments = ["-shared", "-fPIC", "-Wl,-soname,libfabric.so.1", "-o"];
        let built = Command::new("cc")
            .args(arguments)
            .args([&library, &source])
            .status();
        assert!(built.expect("a C compiler").success());
        let path = std::ffi::CString::new(library.to_str().expect("text")).expect("no null byte");
        // SAFETY: a library without initialisers, which stays loaded.
        assert!(!unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) }.is_null());
        let found = CoreLibrary::find().expect("it is loaded");
        assert_eq!(found.version(), 0x2_0003);
        let info = found.new_info();
        assert_eq!((info.is_null(), found.version()), (false, 0x2_0004));
        // SAFETY: as it was given.
        unsafe { found.free_info(info) };
        assert_eq!(found.version(), 0x2_0003);
    }
}
