//! One block with conflict domains (`Domains::Keyed`): handlers wait only for lower handlers whose
//! messages a posted receive could match as well as their own. Everything else of a block is in
//! `block.txt`. `domains.txt` has the models.

fn main() -> std::process::ExitCode {
    loom_tests::table::main("domains", include_str!("domains.txt"))
}
