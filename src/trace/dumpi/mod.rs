//! DUMPI: the binary files that `libdumpi` writes, and the text that `dumpi2ascii` makes of them.

mod binary;
mod clock;
mod cursor;
mod ending;
mod lines;
mod record;
mod sections;
mod text;
mod text_value;
mod window;

pub use binary::BinaryReader;
pub use text::TextReader;
