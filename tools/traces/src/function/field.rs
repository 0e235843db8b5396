//! An argument of a recorded call.

/// Name and encoding of an argument in a DUMPI binary file. Numbers are big-endian. A plural is a
/// 32-bit count followed by that many items.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Field {
    /// One byte.
    U8(&'static str),
    /// Two bytes, for a handle.
    U16(&'static str),
    /// Four bytes, signed.
    I32(&'static str),
    /// Eight bytes, signed.
    I64(&'static str),
    /// A count and that many bytes of text.
    Str(&'static str),
    /// Statuses of 14 bytes each; absent if the record's mask says so.
    Statuses(&'static str),
    /// Bytes.
    U8s(&'static str),
    /// Two bytes each, for handles.
    U16s(&'static str),
    /// Requests of four bytes each.
    Requests(&'static str),
    /// Numbers of four bytes each, signed.
    I32s(&'static str),
    /// Rows of such numbers.
    I32ss(&'static str),
    /// Texts.
    Strs(&'static str),
    /// Rows of texts.
    Strss(&'static str),
    /// The program's arguments: `argc` and `argv` combined.
    Args,
    /// Present in the file only if the caller is the root.
    AtRoot(&'static Field),
}

impl Field {
    /// The argument's name; `argv` for [`Args`](Self::Args).
    pub const fn name(&self) -> &'static str {
        match self {
            Self::U8(name) | Self::U16(name) | Self::I32(name) | Self::I64(name) => name,
            Self::Str(name) | Self::Statuses(name) => name,
            Self::U8s(name)
            | Self::Requests(name)
            | Self::U16s(name)
            | Self::I32s(name)
            | Self::I32ss(name) => name,
            Self::Strs(name) | Self::Strss(name) => name,
            Self::Args => "argv",
            Self::AtRoot(field) => field.name(),
        }
    }
}
