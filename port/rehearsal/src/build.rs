//! Builds the firmware.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::rv64::{Image, ImageError};

pub const TARGET: &str = "riscv64imac-unknown-none-elf";

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Build {
    Plain,
    Marks,
    /// With the seeded faults, selected on the command line.
    Faults,
}

#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    #[error("the target {TARGET} is not installed (`rustup target add {TARGET}`)")]
    NoTarget,
    #[error("it was not built\n{0}")]
    Failed(String),
    #[error("{0}: {1}")]
    Io(String, std::io::Error),
    #[error(transparent)]
    Image(#[from] ImageError),
}

pub(crate) fn cargo(folder: &str, flags: &str) -> Result<Command, BuildError> {
    if !has_target() {
        return Err(BuildError::NoTarget);
    }
    let mut cargo = program("CARGO", "cargo");
    cargo
        .current_dir(root())
        .args([
            "build",
            "--release",
            "--quiet",
            "--locked",
            "--target",
            TARGET,
            "--target-dir",
        ])
        .arg(target_folder().join(folder))
        .env("RUSTFLAGS", flags)
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("CARGO_BUILD_TARGET");
    Ok(cargo)
}

pub(crate) fn target_folder() -> PathBuf {
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), Into::into);
    target.join("firmware")
}

pub(crate) fn finish(mut command: Command) -> Result<(), BuildError> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .map_err(|error| BuildError::Io(name, error))?;
    if output.status.success() {
        Ok(())
    } else {
        Err(BuildError::Failed(
            String::from_utf8_lossy(&output.stderr).into_owned(),
        ))
    }
}

pub fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.ancestors().nth(2).unwrap_or(package).to_owned()
}

pub(crate) fn program(variable: &str, otherwise: &str) -> Command {
    Command::new(env::var_os(variable).unwrap_or_else(|| otherwise.into()))
}

pub fn has_target() -> bool {
    let mut rustc = program("RUSTC", "rustc");
    let output = rustc
        .args(["--print", "target-libdir", "--target", TARGET])
        .output();
    output.is_ok_and(|output| {
        output.status.success()
            && Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir()
    })
}

impl Build {
    /// Its folder, and the compiler's flags.
    fn parts(self) -> (&'static str, &'static str) {
        match self {
            Self::Plain => ("plain", "--cfg dpamatch_firmware"),
            Self::Marks => ("marks", "--cfg dpamatch_firmware --cfg dpamatch_marks"),
            Self::Faults => ("faults", "--cfg dpamatch_firmware --cfg dpamatch_faults"),
        }
    }

    /// Builds the firmware.
    pub fn image(self) -> Result<Image, BuildError> {
        let (name, flags) = self.parts();
        let mut cargo = cargo(name, flags)?;
        cargo.current_dir(root().join("port/firmware"));
        finish(cargo)?;
        let folder = target_folder().join(name).join(TARGET);
        let path = folder.join("release/dpamatch_firmware");
        let elf = std::fs::read(&path);
        let elf = elf.map_err(|error| BuildError::Io(path.display().to_string(), error))?;
        Ok(Image::from_elf(&elf)?)
    }
}
