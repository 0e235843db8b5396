//! `kit`: the handlers in C with the card's side as a static library, built and run.

use std::path::PathBuf;
use std::process::Command;

use crate::build::{BuildError, cargo, finish, root, target_folder};

/// Harts of the kit's test: leader, three workers, host and wire.
pub const HARTS: usize = 5;

const PREFIX: &str = "riscv64-unknown-elf-";

/// Whether there is a C compiler for the machine.
pub fn has_compiler() -> bool {
    let compiler = Command::new(format!("{PREFIX}gcc")).arg("--version").output();
    compiler.is_ok_and(|output| output.status.success())
}

/// Builds the static library and links it with the kit's C files; returns the ELF file's path.
///
/// # Errors
/// [`BuildError`].
pub fn build() -> Result<PathBuf, BuildError> {
    let mut library = cargo("card-library", "--cfg dpamatch_firmware")?;
    let kit = root().join("kit");
    library.current_dir(kit.join("card"));
    finish(library)?;
    let folder = target_folder().join("card-library").join(crate::build::TARGET).join("release");
    let (archive, elf) = (folder.join("libdpamatch_card.a"), folder.join("kit.elf"));
    let linkable = folder.join("libdpamatch_card_c.a");
    // Linkers that do not know the newest names of extensions refuse them in this section.
    let mut strip = Command::new(format!("{PREFIX}objcopy"));
    strip.args(["--remove-section", ".riscv.attributes"]).arg(&archive).arg(&linkable);
    finish(strip)?;
    let mut compiler = Command::new(format!("{PREFIX}gcc"));
    compiler.current_dir(&kit);
    compiler.args(["-march=rv64imac", "-mabi=lp64", "-mcmodel=medany", "-O2", "-std=gnu11"]);
    compiler.args(["-Wall", "-Wextra", "-Werror", "-ffreestanding", "-nostdlib", "-T", "virt.ld"]);
    compiler.args(["start.S", "handler.c", "virt.c"]).arg(&linkable).arg("-o").arg(&elf);
    finish(compiler)?;
    Ok(elf)
}
