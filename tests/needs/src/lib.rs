//! What a check needs of the machine beside Rust. A check that did not run has failed, unless
//! somebody said beforehand that this machine cannot run it.
//!
//! `DPAMATCH_WITHOUT` names what the machine lacks, separated by commas. A check that needs
//! something else that is missing fails, and its message says what to install.

#![forbid(unsafe_code)]

use std::env;

/// The variable with the names of [`Need`]s to do without.
pub const WITHOUT: &str = "DPAMATCH_WITHOUT";

/// A part of the machine that some checks need.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Need {
    /// A C compiler, `cc`.
    CCompiler,
    /// `pkg-config`.
    PkgConfig,
    /// A C compiler with the libraries of its address and leak sanitizers.
    Sanitizers,
    /// `cmake`.
    CMake,
    /// `meson` and `ninja`.
    Meson,
    /// `gdb`.
    Debugger,
    /// `valgrind`.
    Valgrind,
    /// Network namespaces for this user: `unshare -rn` and `ip`.
    Namespaces,
    /// Rust's standard library for RISC-V.
    RiscV,
    /// A C compiler for RISC-V.
    RiscVCompiler,
    /// Python with pandas and matplotlib.
    Pandas,
    /// MPI libraries with their test suites and programs.
    Mpi,
    /// The rights of root, to act as another user.
    Root,
    /// `bash`.
    Bash,
    /// `git`.
    Git,
}

impl Need {
    const ALL: [Self; 15] = [
        Self::CCompiler,
        Self::PkgConfig,
        Self::Sanitizers,
        Self::CMake,
        Self::Meson,
        Self::Debugger,
        Self::Valgrind,
        Self::Namespaces,
        Self::RiscV,
        Self::RiscVCompiler,
        Self::Pandas,
        Self::Mpi,
        Self::Root,
        Self::Bash,
        Self::Git,
    ];

    /// The name in `DPAMATCH_WITHOUT`.
    pub fn name(self) -> &'static str {
        match self {
            Self::CCompiler => "cc",
            Self::PkgConfig => "pkg-config",
            Self::Sanitizers => "sanitizers",
            Self::CMake => "cmake",
            Self::Meson => "meson",
            Self::Debugger => "gdb",
            Self::Valgrind => "valgrind",
            Self::Namespaces => "namespaces",
            Self::RiscV => "riscv64",
            Self::RiscVCompiler => "riscv64-gcc",
            Self::Pandas => "pandas",
            Self::Mpi => "mpi",
            Self::Root => "root",
            Self::Bash => "bash",
            Self::Git => "git",
        }
    }

    fn how(self) -> &'static str {
        match self {
            Self::CCompiler => "install a C compiler, for example Debian's package gcc",
            Self::PkgConfig => "install pkg-config",
            Self::Sanitizers => "install GCC's or Clang's sanitizers, for example Debian's libasan",
            Self::CMake => "install cmake",
            Self::Meson => "install meson and ninja",
            Self::Debugger => "install gdb",
            Self::Valgrind => "install valgrind",
            Self::Namespaces => "allow `unshare -rn`, and install iproute2",
            Self::RiscV => "run `rustup target add riscv64imac-unknown-none-elf`",
            Self::RiscVCompiler => "install Debian's package gcc-riscv64-unknown-elf",
            Self::Pandas => "run `pip install pandas matplotlib`",
            Self::Mpi => "run mpi/provider/mpi/install.sh",
            Self::Root => "be root",
            Self::Bash => "install bash",
            Self::Git => "install git",
        }
    }

    /// Whether the check can run, given whether the machine has what it needs.
    ///
    /// # Errors
    /// The need is not met, and `DPAMATCH_WITHOUT` does not name it; or that variable has a name
    /// that no need has.
    pub fn check(self, is_met: bool) -> Result<bool, String> {
        self.judge(is_met, &env::var(WITHOUT).unwrap_or_default())
    }

    /// [`check`](Self::check) for a test.
    ///
    /// # Panics
    /// Where `check` returns an error.
    pub fn require(self, is_met: bool) -> bool {
        self.check(is_met)
            .unwrap_or_else(|reason| panic!("{reason}"))
    }

    fn judge(self, is_met: bool, without: &str) -> Result<bool, String> {
        let mut given = without.split(',').filter(|name| !name.is_empty());
        if let Some(unknown) = given
            .clone()
            .find(|name| Self::ALL.iter().all(|need| need.name() != *name))
        {
            let known = Self::ALL.map(Self::name).join(", ");
            return Err(format!(
                "{WITHOUT}: no need is called `{unknown}`; known: {known}"
            ));
        }
        let name = self.name();
        if is_met {
            return Ok(true);
        }
        if given.any(|given| given == name) {
            eprintln!("NOT RUN: this machine is without {name} ({WITHOUT})");
            return Ok(false);
        }
        Err(format!(
            "NOT RUN: this machine is without {name}. To run the check, {}. To leave it out, set \
             {WITHOUT}={name}.",
            self.how()
        ))
    }
}

/// FNV-1a of a text, in hexadecimal: the same on every machine.
pub fn digest(text: &str) -> String {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

/// One line for each section of a text: heading, number of lines, and [`digest`] of them.
///
/// A heading is a line that begins with `# `. Lines before the first heading are a section without
/// one.
pub fn digests(text: &str) -> String {
    let mut sections = vec![("", Vec::new())];
    for line in text.lines() {
        match (line.strip_prefix("# "), sections.last_mut()) {
            (Some(heading), _) => sections.push((heading, Vec::new())),
            (None, Some((_, lines))) => lines.push(line),
            (None, None) => {}
        }
    }
    let described = |(heading, lines): (&str, Vec<&str>)| {
        let count = lines.len();
        format!("{heading} | {count} | {}\n", digest(&lines.join("\n")))
    };
    let used = sections.into_iter().filter(|(_, lines)| !lines.is_empty());
    used.map(described).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Only a need that was named beforehand may be missing.
    #[test]
    fn a_check_that_cannot_run_is_an_error_unless_it_was_left_out() {
        for need in Need::ALL {
            let name = need.name();
            let others: Vec<&str> = Need::ALL
                .iter()
                .map(|need| need.name())
                .filter(|&other| other != name)
                .collect();
            assert_eq!(need.judge(true, ""), Ok(true));
            assert_eq!(need.judge(true, name), Ok(true), "what is there is used");
            assert_eq!(need.judge(false, name), Ok(false));
            assert_eq!(need.judge(false, &format!("cc,{name}")), Ok(false));
            for without in ["", &others.join(",")] {
                let error = need.judge(false, without).expect_err("it did not run");
                assert!(
                    error.contains(need.how()) && error.contains(name),
                    "{error}"
                );
            }
        }
        assert_eq!(
            Need::Mpi.judge(true, "mpi,qemu"),
            Err(
                "DPAMATCH_WITHOUT: no need is called `qemu`; known: cc, pkg-config, sanitizers, cmake, \
                 meson, gdb, valgrind, namespaces, \
                 riscv64, riscv64-gcc, pandas, mpi, root, bash, git"
                    .to_owned()
            )
        );
    }
}
