//! Long work that Ctrl-C ends. The work runs on a thread of its own, and the calling thread asks Python for signals
//! meanwhile, without the interpreter's lock.

use std::any::Any;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;

use crate::errors::ErrorClass;

/// The time between two questions for signals.
const PATIENCE: Duration = Duration::from_millis(25);

/// Runs `work` without the interpreter's lock. `watch` is called on this thread every few milliseconds, with the lock;
/// if it fails or a signal came, `stop` is called, the work is left to end by itself, and the error is returned.
///
/// # Errors
/// That of a signal's handler or of `watch`, or an internal error if the work panicked.
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
    mut watch: impl FnMut(Python<'_>) -> PyResult<()>,
    stop: impl FnOnce(),
) -> PyResult<T> {
    let (sender, result) = mpsc::channel();
    let worker = thread::Builder::new()
        .name("tollgate".to_owned())
        .spawn(move || {
            // The interpreter knows the thread from here to the end of the work, so that a policy in Python need not
            // introduce it at each question.
            let done = Python::attach(|py| py.detach(work));
            // Fails only if this call was interrupted, and no one waits for the result.
            let _ = sender.send(done);
        })
        .map_err(|error| ErrorClass::Internal.raise(format_args!("no thread: {error}"), None))?;
    let mut result = result;
    loop {
        // A receiver belongs to one thread at a time, so that it is moved out of the lock and back.
        let waited;
        (result, waited) = py.detach(move || {
            let waited = result.recv_timeout(PATIENCE);
            (result, waited)
        });
        match waited {
            Ok(done) => return Ok(done),
            Err(RecvTimeoutError::Timeout) => {
                if let Err(error) = py.check_signals().and_then(|()| watch(py)) {
                    stop();
                    return Err(error);
                }
            }
            Err(RecvTimeoutError::Disconnected) => {
                let panic = worker.join().err();
                let message = panic.as_deref().map_or("unknown", panic_message);
                let hint = "this is a bug in tollgate; please report it with the input";
                return Err(ErrorClass::Internal.raise(message, Some(hint)));
            }
        }
    }
}

/// Returns the message of a panic.
fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&'static str>().copied());
    text.unwrap_or("unknown")
}
