//! Starts the user's browser.

use std::env;
use std::process::{Command, Stdio};
use std::thread;

/// Opens a link in the browser of the desktop, or in that of the variable `BROWSER`. Returns false if there is none.
pub(super) fn open(link: &str) -> bool {
    let set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
    let program = match env::var("BROWSER") {
        Ok(program) if !program.is_empty() => program,
        _ if cfg!(target_os = "macos") => "open".to_owned(),
        _ if set("DISPLAY") || set("WAYLAND_DISPLAY") => "xdg-open".to_owned(),
        _ => return false,
    };
    let started = Command::new(program)
        .arg(link)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    match started {
        Ok(mut child) => {
            // Without a reader of its status it would stay in the list of processes.
            thread::spawn(move || child.wait());
            true
        }
        Err(_) => false,
    }
}
