//! `kit`: builds and runs the handlers in C with the card's side as a static library.

use std::path::PathBuf;
use std::process::Command;

use crate::build::{BuildError, cargo, finish, program, root, target_folder};

/// Harts of the kit's test: leader, three workers, host and wire.
pub const HARTS: usize = 5;

const COMPILER: &str = "riscv64-unknown-elf-gcc";

pub fn has_compiler() -> bool {
    let compiler = Command::new(COMPILER).arg("--version").output();
    compiler.is_ok_and(|output| output.status.success())
}

/// Builds the static library and links it with the kit's C files; returns the ELF file's path.
pub fn build() -> Result<PathBuf, BuildError> {
    let mut library = cargo("card-library", "--cfg dpamatch_firmware")?;
    let kit = root().join("port/kit");
    library.current_dir(kit.join("card"));
    finish(library)?;
    let folder = target_folder().join("card-library").join(crate::build::TARGET).join("release");
    let (archive, elf) = (folder.join("libdpamatch_card.a"), folder.join("kit.elf"));
    let mut linker = linker()?;
    linker.args(["-flavor", "gnu", "-nostdlib", "--gc-sections", "-T"]).arg(kit.join("virt.ld"));
    for source in ["start.S", "handler.c", "virt.c"] {
        let object = folder.join(format!("{source}.o"));
        let mut compiler = Command::new(COMPILER);
        compiler.current_dir(&kit);
        compiler.args([
            "-march=rv64imac_zicsr",
            "-mabi=lp64",
            "-mcmodel=medany",
            "-O2",
            "-std=gnu11",
        ]);
        compiler.args(["-Wall", "-Wextra", "-Werror", "-ffreestanding", "-c", source, "-o"]);
        compiler.arg(&object);
        finish(compiler)?;
        linker.arg(object);
    }
    linker.arg(archive).arg("-o").arg(&elf);
    finish(linker)?;
    Ok(elf)
}

/// The Rust compiler's linker. Others may not know the newest names of RISC-V extensions in Rust's
/// objects.
fn linker() -> Result<Command, BuildError> {
    let mut rustc = program("RUSTC", "rustc");
    rustc.args(["--print", "target-libdir"]);
    let output = rustc.output().map_err(|error| BuildError::Io("rustc".to_owned(), error))?;
    let libraries = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    let folder = libraries.parent().unwrap_or(&libraries).join("bin");
    Ok(Command::new(folder.join("rust-lld")))
}
