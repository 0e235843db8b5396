//! libfabric's C interface as far as it is used, written by hand: the binary interface of version
//! 1.17, of which 2.x is an extension.
//!
//! No field that is newer than 1.17 is named, so none is read or written. Fields whose type is a C
//! enumeration are plain numbers here: what another library wrote there may be none of the values
//! that are known, and an `enum` of Rust must not hold such a number. Sizes and offsets are checked
//! by the tests against `layout.txt`, and that file against the C headers where they are installed.

/// C structures: the name here and in C, then the fields by type. A field `kind` is C's `type`. A
/// list of them has their names in C and where their fields are.
macro_rules! structures {
    ($list:ident: $(
        $(#[$about:meta])*
        $name:ident = $c:literal { $($($field:ident),+: $kind:ty;)+ }
    )*) => {
        #[cfg(test)]
        pub(super) const $list: &[super::layout::Structure] = &[$(($c, || {
            vec![$($((stringify!($field), std::mem::offset_of!($name, $field)),)+)+]
        }),)*];
        $(#[doc = concat!("`struct ", $c, "`.")]
        $(#[$about])*
        #[repr(C)]
        #[derive(Debug)]
        pub(crate) struct $name {
            $($(pub(crate) $field: $kind,)+)+
        }
        )*
    };
}

mod entries;
mod info;
#[cfg(test)]
mod layout;
mod numbers;
mod objects;

pub(crate) use entries::*;
pub(crate) use info::*;
pub(crate) use numbers::*;
pub(crate) use objects::*;

/// Index of an address in an address vector.
pub(crate) type FiAddr = u64;
