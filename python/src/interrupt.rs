//! Long work that Ctrl-C ends. The work runs on a thread of its own, and the calling thread asks Python for signals
//! meanwhile, without the interpreter's lock.

use std::any::Any;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

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
            // Fails only if this call was interrupted, and no one waits for the result.
            let _ = sender.send(work());
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
                    leave(py, worker);
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

/// The threads of interrupted calls, which may still be in a question to a policy in Python.
static LEFT: Mutex<Vec<JoinHandle<()>>> = Mutex::new(Vec::new());

/// Waits for a moment for the end of a thread, and keeps it for [`join_interrupted`] if it has not ended.
fn leave(py: Python<'_>, worker: JoinHandle<()>) {
    py.detach(|| {
        let end = Instant::now() + 2 * PATIENCE;
        while !worker.is_finished() && Instant::now() < end {
            thread::sleep(PATIENCE / 25);
        }
    });
    let mut left = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
    left.retain(|thread| !thread.is_finished());
    left.push(worker);
}

/// Waits for the threads of interrupted calls. An interpreter that ends before them would end them in the middle of
/// Rust code, which aborts the process.
#[pyfunction]
pub(crate) fn join_interrupted(py: Python<'_>) {
    let left = std::mem::take(&mut *LEFT.lock().unwrap_or_else(PoisonError::into_inner));
    py.detach(|| {
        for worker in left {
            // What a thread panicked with was for the call that was interrupted.
            let _ = worker.join();
        }
    });
}

/// Returns the message of a panic.
fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&'static str>().copied());
    text.unwrap_or("unknown")
}
