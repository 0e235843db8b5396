//! DUMPI: the binary files that `libdumpi` writes, and their text form by `dumpi2ascii`.

mod binary;
mod clock;
mod cursor;

mod record;
mod sections;
mod text;
mod text_value;
mod window;

pub use binary::BinaryReader;
pub use text::TextReader;
