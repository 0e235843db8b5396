//! DUMPI: the binary files that `libdumpi` writes, and the text that `dumpi2ascii` makes of them.

mod binary;
mod clock;
mod cursor;
mod encode;
mod ending;
mod record;
mod sections;
mod text;
mod text_value;
mod window;

pub use binary::BinaryReader;
pub(super) use encode::Encoder;
pub use text::TextReader;
