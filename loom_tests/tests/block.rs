//! One block: handlers search, book, meet at the partial barrier and resolve conflicts. Each
//! scenario is named for its race. `block.txt` has the models.

fn main() -> std::process::ExitCode {
    loom_tests::table::main("block", include_str!("block.txt"))
}
