//! The program for a card is built with RISC-V's compilers. `cargo xtask rv64` runs this test.

use dpamatch_needs::Need;
use dpamatch_port::kit;

#[test]
fn the_device_part_compiles_for_risc_v() {
    if Need::RiscVCompiler.require(kit::has_compiler()) {
        kit::build_for_card().unwrap_or_else(|error| panic!("{error}"));
    }
}
