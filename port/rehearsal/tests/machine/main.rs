//! Small programs, assembled by hand, on the machine.

mod assembler;
mod instructions;
mod litmus;
