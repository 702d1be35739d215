//! `completions` and `man`: generated from the argument declarations.

use std::path::Path;

use clap::CommandFactory;

use crate::cli::args::Cli;
use crate::cli::out;
use crate::error::{Error, Kind, Result};

/// Prints the completion script of a shell.
///
/// # Errors
/// None; the signature is that of every command.
pub fn completions(shell: clap_complete::Shell) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "dbdyno", &mut script);
    out::print_rendered(&String::from_utf8_lossy(&script))
}

/// Prints the manual page: dbdyno(1), followed by a section for every command. With a directory it
/// writes dbdyno.1 and a page for every command there (`dbdyno-run.1`, `dbdyno-server-fetch.1`).
///
/// # Errors
/// If a page cannot be rendered or written.
pub fn man(dir: Option<&Path>) -> Result<()> {
    if let Some(dir) = dir {
        return clap_mangen::generate_to(Cli::command(), dir).map_err(|error| {
            Error::new(Kind::Target, dir.display().to_string(), error.to_string())
        });
    }
    let mut command = Cli::command();
    command.build();
    let mut page = Vec::new();
    render(command.clone(), &mut page)?;
    for sub in
        command.get_subcommands().filter(|sub| sub.get_name() != "help" && !sub.is_hide_set())
    {
        let name = format!("dbdyno-{}", sub.get_name());
        render(sub.clone().name(name), &mut page)?;
    }
    out::print_rendered(&String::from_utf8_lossy(&page))
}

fn render(command: clap::Command, page: &mut Vec<u8>) -> Result<()> {
    clap_mangen::Man::new(command)
        .render(page)
        .map_err(|error| Error::new(Kind::Target, "man", error.to_string()))
}
