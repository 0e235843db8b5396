//! Programs as hosts know them: a name, the device part's bytes, and stubs of its functions.

use super::image::refuse;
use super::prototype::Prototype;
use crate::handle::{Handle, Kind, destroyers};
use crate::machine::machine;
use crate::status::{Given, Refusal, attributes, calls, host, put};
use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char, c_void};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// Most bytes of a program's name.
const NAME_BYTES: usize = 256;

pub(crate) struct App {
    pub(crate) name: CString,
    pub(crate) bytes: Vec<u8>,
    /// Prototypes of functions that were called, by their place in the file.
    pub(crate) prototypes: Mutex<HashMap<u64, Arc<Prototype>>>,
    /// What the program may do, of its attributes; all if it names none.
    attributes: AtomicU64,
}

/// The attribute of notifications.
const EMPTY_COMPLETIONS: u64 = 1;

impl App {
    pub(crate) fn lacks_empty_completions(&self) -> bool {
        // ordering: set by the constructors, before `main`.
        self.attributes.load(Ordering::Relaxed) & EMPTY_COMPLETIONS == 0
    }
}

#[repr(C)]
struct AppAttributes {
    name: Text,
    bytes: *const u8,
    length: usize,
    signature: Text,
}

#[repr(C)]
struct Selection {
    name: Text,
    model: u32,
    context: *const c_void,
}

/// A text as C passes it: null, or one that ends with 0.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Text(*const c_char);

fn text<'a>(text: Text) -> Result<&'a CStr, Refusal> {
    if text.0.is_null() {
        return Err("no name".into());
    }
    // SAFETY: not null, and so a text, which the host keeps during the call.
    let text = unsafe { CStr::from_ptr(text.0) };
    if text.to_bytes().len() > NAME_BYTES {
        return Err(format!("a name of more than {NAME_BYTES} bytes").into());
    }
    Ok(text)
}

fn add(name: &CStr, bytes: &[u8]) -> Result<(u32, Arc<App>), Refusal> {
    let app = Arc::new(App {
        name: name.to_owned(),
        bytes: bytes.to_vec(),
        prototypes: Mutex::default(),
        attributes: u64::MAX.into(),
    });
    let number = machine().objects().apps.insert(|_| Arc::clone(&app));
    Ok((number.ok_or("too many programs")?, app))
}

pub(crate) fn find(app: Handle) -> Result<Arc<App>, Refusal> {
    let number = Kind::App.number(app)?;
    machine()
        .objects()
        .apps
        .get(number)
        .cloned()
        .ok_or_else(|| Kind::App.gone())
}

pub(crate) fn stub(stub: *const c_void) -> Result<(Arc<App>, String), Refusal> {
    let found = machine().objects().stubs.get(&(stub as usize)).cloned();
    found.ok_or_else(|| format!("{stub:p} is no stub of a device function").into())
}

/// What the constructors that dpacc makes call.
#[unsafe(no_mangle)]
extern "C" fn dpa_emulator_register(
    name: Text,
    image: *const u8,
    length: usize,
    count: usize,
    names: *const Text,
    stubs: *const *const c_void,
    app: Given<Handle>,
) {
    host("dpa_emulator_register", || {
        // SAFETY: dpacc writes this call: texts, an image of `length` bytes, `count` of each.
        let (name, bytes, names, stubs) = unsafe {
            let names = std::slice::from_raw_parts(names, count);
            let stubs = std::slice::from_raw_parts(stubs, count);
            (
                text(name)?,
                std::slice::from_raw_parts(image, length),
                names,
                stubs,
            )
        };
        let (number, made) = add(name, bytes)?;
        let mut objects = machine().objects();
        for (&name, &stub) in names.iter().zip(stubs) {
            let name = text(name)?.to_string_lossy().into_owned();
            objects
                .stubs
                .insert(stub as usize, (Arc::clone(&made), name));
        }
        put(app, Kind::App.handle(number))
    });
}

/// What the constructors call as well if dpacc was given attributes.
#[unsafe(no_mangle)]
extern "C" fn dpa_emulator_attributes(app: Handle, attributes: u64) {
    host("dpa_emulator_attributes", || {
        // ordering: as in `lacks_empty_completions`.
        find(app)?.attributes.store(attributes, Ordering::Relaxed);
        Ok(())
    });
}

calls! {
    fn flexio_app_create(attr: Given<AppAttributes>, app: Given<Handle>) {
        let attr = attributes(attr)?;
        let name = text(attr.name)?;
        if attr.bytes.is_null() {
            return Err("no device part".into());
        }
        // SAFETY: the host says how many bytes there are.
        let bytes = unsafe { std::slice::from_raw_parts(attr.bytes, attr.length) };
        refuse(bytes)?;
        let (number, _) = add(name, bytes)?;
        put(app, Kind::App.handle(number))
    }

    fn flexio_app_get(attr: Given<Selection>, app: Given<Handle>) {
        let attr = attributes(attr)?;
        let name = text(attr.name)?;
        let objects = machine().objects();
        let found = objects.apps.iter().find(|(_, app)| app.name.as_c_str() == name);
        let (number, _) = found.ok_or_else(|| format!("no program {}", name.to_string_lossy()))?;
        put(app, Kind::App.handle(number))
    }

    /// The pointer stays good as long as the program exists: its record is shared and not moved.
    fn flexio_app_get_name(app: Handle) -> *const c_char = std::ptr::null() => {
        Ok(find(app)?.name.as_ptr())
    }

    fn flexio_app_get_elf_size(app: Handle) -> usize = 0 => {
        Ok(find(app)?.bytes.len())
    }

    fn flexio_app_get_elf(app: Handle, buffer: *mut u8, length: usize) {
        let app = find(app)?;
        if buffer.is_null() || length < app.bytes.len() {
            return Err(format!("a buffer of {} bytes is needed", app.bytes.len()).into());
        }
        // SAFETY: the host's buffer has `length` bytes, which are enough.
        unsafe { std::ptr::copy_nonoverlapping(app.bytes.as_ptr(), buffer, app.bytes.len()) };
        Ok(())
    }

    fn flexio_func_register(app: Handle, name: Text, stub: Given<Handle>) {
        let app = find(app)?;
        let name = text(name)?.to_string_lossy().into_owned();
        let mut objects = machine().objects();
        objects.functions += 1;
        let made = Kind::Function.handle(objects.functions);
        objects.stubs.insert(made as usize, (app, name));
        put(stub, made)
    }

    fn flexio_func_pup_register(
        app: Handle, name: Text, _pack_name: Text, stub: *const c_void, _bytes: usize,
        _pack: *const c_void
    ) {
        let app = find(app)?;
        let name = text(name)?.to_string_lossy().into_owned();
        machine().objects().stubs.insert(stub as usize, (app, name));
        Ok(())
    }

    fn flexio_version_set(version: u64) {
        match version >> 32 {
            22..=26 => Ok(()),
            _ => Err(format!("version {version:#x} is not of the years 22 to 26").into()),
        }
    }
}

fn destroy(number: u32) -> Result<(), Refusal> {
    let mut objects = machine().objects();
    let gone = objects
        .apps
        .remove(number)
        .ok_or_else(|| Kind::App.gone())?;
    objects.stubs.retain(|_, (app, _)| !Arc::ptr_eq(app, &gone));
    Ok(())
}
destroyers! { flexio_app_destroy: App => destroy; }
