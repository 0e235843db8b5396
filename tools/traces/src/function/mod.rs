//! The MPI functions.

use std::fmt;

use dpamatch_vocabulary::choices;

mod beyond;
mod field;
mod recipe;
mod table;

pub use field::Field;
pub(super) use recipe::Recipe;

choices! {
    /// The class of a function for call shares (paper, Figure 6; O32).
    #[derive(Hash, PartialOrd, Ord)]
    pub enum Class, by default Other {
        /// Sends a message or posts a receive, or both. This includes starting a persistent
        /// request, but not creating one.
        P2p = "p2p",
        /// Moves data among all processes of a communicator, or synchronises them.
        Collective = "collective",
        /// Accesses another process's window, or opens, closes or synchronises one.
        OneSided = "one-sided",
        /// Completes requests or looks for messages: wait, test and probe families.
        Progress = "progress",
        /// Everything else: communicators, datatypes, files, time.
        Other = "other",
    }
}

/// An MPI function that a trace can contain.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Function(u16);

impl Function {
    /// Functions with a number in the DUMPI format: those below it.
    pub const IN_DUMPI: usize = 290;
    /// The number of functions.
    pub const COUNT: usize = Self::IN_DUMPI + beyond::COUNT;

    /// The function with this number in the DUMPI format; `None` from
    /// [`IN_DUMPI`](Self::IN_DUMPI) on.
    pub fn from_dumpi(number: u16) -> Option<Self> {
        Self::from_number(number).filter(|function| !function.is_beyond_dumpi())
    }

    /// The functions with a number in the DUMPI format.
    pub fn all_of_dumpi() -> impl Iterator<Item = Self> {
        Self::all().take(Self::IN_DUMPI)
    }

    pub(super) const fn is_beyond_dumpi(self) -> bool {
        self.0 as usize >= Self::IN_DUMPI
    }

    /// Whether its calls are counted, while nothing of what they do is read.
    pub(super) fn is_only_counted(self) -> bool {
        beyond::is_only_counted(self)
    }

    /// The function with this [`number`](Self::number); `None` from [`COUNT`](Self::COUNT) on.
    pub fn from_number(number: u16) -> Option<Self> {
        (usize::from(number) < Self::COUNT).then_some(Self(number))
    }

    /// The function with this name, such as `MPI_Send`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::all().find(|function| function.name() == name)
    }

    /// All functions, by number.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..Self::COUNT as u16).map(Self)
    }

    /// Its number, below [`COUNT`](Self::COUNT).
    pub const fn number(self) -> u16 {
        self.0
    }

    /// Its name, such as `MPI_Send`.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Its class.
    pub fn class(self) -> Class {
        self.row().class
    }

    /// Its arguments in the order of the DUMPI binary file.
    pub fn fields(self) -> &'static [Field] {
        self.row().fields
    }

    /// Its rule for making an operation from the arguments.
    pub(super) fn recipe(self) -> Recipe {
        self.row().recipe
    }

    fn row(self) -> &'static table::FunctionRow {
        let number = usize::from(self.0);
        match number.checked_sub(Self::IN_DUMPI) {
            None => &table::TABLE[number],
            Some(beyond) => &beyond::TABLE[beyond],
        }
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_lead_to_their_function() {
        for function in Function::all() {
            assert_eq!(Function::from_number(function.number()), Some(function));
            assert_eq!(
                Function::from_name(function.name()),
                Some(function),
                "{function} is there twice"
            );
        }
        assert_eq!(
            Function::from_dumpi(289).map(Function::name),
            Some("MPIO_Testsome")
        );
        assert_eq!(Function::from_dumpi(290), None);
        assert_eq!(
            Function::from_number(290).map(Function::name),
            Some("MPI_Mrecv")
        );
        assert_eq!(Function::from_number(Function::COUNT as u16), None);
        // Spot checks of the numbering, to detect a lost row.
        for (number, name) in [
            (0, "MPI_Send"),
            (33, "MPI_Sendrecv"),
            (125, "MPI_Finalize"),
            (289, "MPIO_Testsome"),
        ] {
            assert_eq!(
                Function::from_number(number).map(Function::name),
                Some(name)
            );
        }
    }

    #[test]
    fn classes_by_example() {
        let class = |name| Function::from_name(name).map(Function::class);
        assert_eq!(class("MPI_Start"), Some(Class::P2p));
        assert_eq!(class("MPI_Recv_init"), Some(Class::Other));
        assert_eq!(class("MPI_Exscan"), Some(Class::Collective));
        assert_eq!(class("MPI_Put"), Some(Class::OneSided));
        assert_eq!(class("MPI_Iprobe"), Some(Class::Progress));
        assert_eq!(class("MPI_Comm_split"), Some(Class::Other));
        assert_eq!(class("MPI_Imrecv"), Some(Class::P2p));
        assert_eq!(class("MPI_Improbe"), Some(Class::Progress));
        assert_eq!(class("MPI_Iallgather"), Some(Class::Collective));
        assert_eq!(class("MPI_Rput"), Some(Class::OneSided));
        assert_eq!(class("MPI_Ialltoallw_c"), Some(Class::Collective));
        assert_eq!(class("MPI_Neighbor_alltoallw_init_c"), Some(Class::Other));
    }

    #[test]
    fn large_counts_are_read_as_the_function_itself() {
        let large = |function: &Function| function.name().ends_with("_c");
        let mut seen = 0;
        for function in Function::all().filter(large) {
            let base = Function::from_name(function.name().trim_end_matches("_c"));
            let base = base.expect("a function");
            assert_eq!(
                (function.class(), function.recipe()),
                (base.class(), base.recipe()),
                "{function}"
            );
            seen += 1;
        }
        assert_eq!(seen, 87);
    }
}
