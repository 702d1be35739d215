//! A page printed by the Chromium or Chrome of this machine: without a window, with a profile of
//! its own that is removed.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use crate::error::{Error, Result};

/// Names of the program.
const NAMES: [&str; 5] =
    ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];
/// No window, no network, nothing of the user's.
const FLAGS: [&str; 9] = [
    "--headless",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-pdf-header-footer",
];
/// A large page takes some seconds.
const PRINT_TIMEOUT: Duration = Duration::from_secs(180);
const PLACE: &str = "--format pdf";

/// The browser that prints.
///
/// # Errors
/// If there is none on the PATH.
pub fn browser() -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    find_program(&path).ok_or_else(|| {
        Error::usage(PLACE, "there is no Chromium or Chrome on the PATH")
            .advise("install chromium, or print the page of --format html yourself")
    })
}

fn find_program(path: &OsStr) -> Option<PathBuf> {
    let directories: Vec<PathBuf> =
        std::env::split_paths(path).filter(|directory| directory.is_absolute()).collect();
    let programs =
        NAMES.iter().flat_map(|name| directories.iter().map(move |directory| directory.join(name)));
    programs.into_iter().find(|program| is_program(program))
}

fn is_program(path: &Path) -> bool {
    path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

/// Prints a page.
///
/// # Errors
/// If there is no browser, or it does not print.
pub fn print(page: &[u8]) -> Result<Vec<u8>> {
    print_by(&browser()?, page, PRINT_TIMEOUT)
}

fn print_by(browser: &Path, page: &[u8], timeout: Duration) -> Result<Vec<u8>> {
    let failed = |what: String| {
        Error::target(PLACE, format!("{}: {what}", browser.display()))
            .advise("print the page of --format html yourself")
    };
    let directory = private_directory().map_err(|error| failed(error.to_string()))?;
    let [source, printed] = ["page.html", "page.pdf"].map(|name| directory.path().join(name));
    fs::write(&source, page).map_err(|error| failed(error.to_string()))?;
    let child = command(browser, directory.path(), &source, &printed).spawn();
    let status = await_browser(child.map_err(|error| failed(error.to_string()))?, timeout)
        .map_err(failed)?;
    let content = fs::read(&printed).ok().filter(|content| content.starts_with(b"%PDF"));
    content.ok_or_else(|| failed(format!("it wrote no PDF ({status})")))
}

/// A directory for what is printed, which may not be for others.
fn private_directory() -> std::io::Result<tempfile::TempDir> {
    tempfile::Builder::new().permissions(fs::Permissions::from_mode(0o700)).tempdir()
}

fn command(browser: &Path, home: &Path, source: &Path, printed: &Path) -> Command {
    let mut command = Command::new(browser);
    command.args(FLAGS);
    // As root it does not start with its sandbox.
    if rustix::process::geteuid().is_root() {
        command.arg("--no-sandbox");
    }
    command.arg(format!("--user-data-dir={}", home.join("profile").display()));
    command
        .arg(format!("--print-to-pdf={}", printed.display()))
        .arg(format!("file://{}", source.display()));
    // What it writes beside its profile is removed with it.
    command
        .env("HOME", home)
        .env("TMPDIR", home)
        .env_remove("XDG_CONFIG_HOME")
        .env_remove("XDG_CACHE_HOME");
    command.process_group(0).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Waits for the end of a browser; whatever it started is ended with it.
fn await_browser(mut child: Child, timeout: Duration) -> std::result::Result<ExitStatus, String> {
    let pid = Pid::from_child(&child);
    let in_time = awaits(pid, timeout);
    // Its helpers may still write into the profile.
    let _ = kill_process_group(pid, Signal::KILL);
    let status = child.wait().map_err(|error| error.to_string())?;
    match in_time {
        Ok(true) => Ok(status),
        Ok(false) => Err(format!("it took longer than {} s", timeout.as_secs_f64())),
        Err(error) => Err(error.to_string()),
    }
}

/// True if the process ended in time.
fn awaits(pid: Pid, timeout: Duration) -> rustix::io::Result<bool> {
    let process = pidfd_open(pid, PidfdFlags::empty())?;
    let timeout = Timespec::try_from(timeout).map_err(|_| rustix::io::Errno::INVAL)?;
    let mut watched = [PollFd::new(&process, PollFlags::IN)];
    rustix::io::retry_on_intr(|| poll(&mut watched, Some(&timeout))).map(|ready| ready > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A browser that does what a script says; `$out` is the file to print to, `$home` its
    /// profile's directory.
    fn fake(directory: &Path, script: &str) -> PathBuf {
        let browser = directory.join("chromium");
        let text = format!(
            "#!/bin/sh\nfor word in \"$@\"; do case $word in --print-to-pdf=*) out=${{word#*=}};; \
             esac; done\n{script}\n"
        );
        fs::write(&browser, text).unwrap();
        fs::set_permissions(&browser, fs::Permissions::from_mode(0o755)).unwrap();
        browser
    }

    #[test]
    fn what_the_browser_prints_is_taken_and_its_files_are_gone() {
        let directory = tempfile::tempdir().unwrap();
        let kept = directory.path().join("home");
        let script = format!(
            "stat -c %a $HOME > {0}; echo $HOME >> {0}; touch $HOME/trace; printf '%%PDF-1' > $out",
            kept.display()
        );
        assert_eq!(
            print_by(&fake(directory.path(), &script), b"<p>", PRINT_TIMEOUT).unwrap(),
            b"%PDF-1"
        );
        let told = fs::read_to_string(kept).unwrap();
        let (mode, home) = told.trim().split_once('\n').unwrap();
        assert!(mode == "700" && !Path::new(home).exists(), "{told}");
    }

    #[test]
    fn a_browser_that_fails_or_hangs_is_one_line() {
        let directory = tempfile::tempdir().unwrap();
        let said = |script: &str, timeout| {
            print_by(&fake(directory.path(), script), b"<p>", timeout).unwrap_err().to_string()
        };
        assert!(said("exit 7", PRINT_TIMEOUT).contains("it wrote no PDF (exit status: 7)"));
        assert!(said("echo text > $out", PRINT_TIMEOUT).contains("it wrote no PDF"));
        let late = said("exec sleep 100000", Duration::from_millis(20));
        assert!(late.contains("it took longer than 0.02 s"), "{late}");
    }

    #[test]
    fn only_programs_of_absolute_directories_are_started() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().as_os_str();
        assert_eq!(find_program(path), None);
        let browser = fake(directory.path(), "");
        assert_eq!(
            (find_program(path), find_program(OsStr::new("."))),
            (Some(browser.clone()), None)
        );
        fs::set_permissions(&browser, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(find_program(path).is_none_or(|found| found == browser));
    }
}
