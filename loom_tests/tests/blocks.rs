//! Several blocks: the fence between them (S1), reused descriptors, and changes at the boundary.
//! `blocks.txt` has the models.

fn main() -> std::process::ExitCode {
    loom_tests::table::main("blocks", include_str!("blocks.txt"))
}
