//! Builds the firmware.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The machine that the firmware is for.
pub const TARGET: &str = "riscv64imac-unknown-none-elf";

/// Which firmware.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Build {
    /// As it would run on a card.
    Plain,
    /// With a mark at each step.
    Marks,
    /// With the seeded faults, one of which the command line chooses.
    Faults,
}

/// Why there is no firmware.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The compiler cannot build for the target here.
    #[error("the target {TARGET} is not installed (`rustup target add {TARGET}`)")]
    NoTarget,
    /// It did not build.
    #[error("it was not built\n{0}")]
    Failed(String),
    /// A program or file could not be reached.
    #[error("{0}: {1}")]
    Io(String, std::io::Error),
}

/// Builds the card's side alone, without the ends, as a port takes it.
///
/// # Errors
/// [`BuildError`].
pub fn card() -> Result<(), BuildError> {
    let mut cargo = cargo("card", "")?;
    cargo.args(["-p", "dpa_model", "--no-default-features"]);
    finish(cargo)
}

/// The start of a build for the target, in a folder of its own.
pub(crate) fn cargo(folder: &str, flags: &str) -> Result<Command, BuildError> {
    if !has_target() {
        return Err(BuildError::NoTarget);
    }
    let mut cargo = program("CARGO", "cargo");
    cargo
        .current_dir(root())
        .args(["build", "--release", "--quiet", "--locked", "--target", TARGET, "--target-dir"])
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
    let output = command.output().map_err(|error| BuildError::Io(name, error))?;
    if output.status.success() {
        Ok(())
    } else {
        Err(BuildError::Failed(String::from_utf8_lossy(&output.stderr).into_owned()))
    }
}

/// The root of the repository that this program was built from.
pub fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.ancestors().nth(2).unwrap_or(package).to_owned()
}

pub(crate) fn program(variable: &str, otherwise: &str) -> Command {
    Command::new(env::var_os(variable).unwrap_or_else(|| otherwise.into()))
}

/// Whether the compiler can build for the target.
pub fn has_target() -> bool {
    let mut rustc = program("RUSTC", "rustc");
    let output = rustc.args(["--print", "target-libdir", "--target", TARGET]).output();
    output.is_ok_and(|output| {
        output.status.success()
            && Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir()
    })
}

impl Build {
    fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Marks => "marks",
            Self::Faults => "faults",
        }
    }

    fn flags(self) -> &'static str {
        match self {
            Self::Plain => "--cfg dpamatch_firmware",
            Self::Marks => "--cfg dpamatch_firmware --cfg dpamatch_marks",
            Self::Faults => "--cfg dpamatch_firmware --cfg dpamatch_faults",
        }
    }

    /// Builds it; returns where the ELF file is.
    ///
    /// # Errors
    /// [`BuildError`].
    pub fn build(self) -> Result<PathBuf, BuildError> {
        let mut cargo = cargo(self.name(), self.flags())?;
        cargo.current_dir(root().join("port/firmware"));
        finish(cargo)?;
        Ok(target_folder().join(self.name()).join(TARGET).join("release/dpamatch_firmware"))
    }

    /// Builds it; returns the ELF file's contents.
    ///
    /// # Errors
    /// [`BuildError`].
    pub fn image(self) -> Result<Vec<u8>, BuildError> {
        let path = self.build()?;
        std::fs::read(&path).map_err(|error| BuildError::Io(path.display().to_string(), error))
    }
}
