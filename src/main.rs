//! The `dbdyno` program: everything is in the library.

fn main() -> std::process::ExitCode {
    dbdyno::cli::main()
}
