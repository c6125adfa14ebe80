//! The only module with `unsafe` code. It has a child that shares the runner's memory until its program
//! replaces it, and signals that a thread waits for. It also has two queries about processes and a priority that no
//! safe library offers.
//!
//! A plain fork would copy the runner's page tables for each task. This code costs as much as
//! `posix_spawn` and can do more: the steps of [`setup`].
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ffi::{CString, c_char, c_int, c_void};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;
use std::sync::LazyLock;

use rustix::io::Errno;
use rustix::process::{Pid, Signal};
use tollgate_model::{AttemptStatus, Span};

use super::setup::{self, SpawnPhase};
use super::spec::SpawnSpec;
use crate::lease::LeaseEnd;
use crate::process::procfs;
use crate::slot::stuck::SetupWatch;

/// The size of a child's stack before its program replaces it. The steps need 4 KiB in an optimised
/// build, several times that in an unoptimised one.
const STACK_BYTES: usize = 128 << 10;

/// The error of a child that does not become its program because its runner's lease has ended.
pub(crate) const LEASE_ENDED: Errno = Errno::KEYEXPIRED;

/// The signals that this process ignores, which do not change while it runs: the Rust runtime ignores
/// one, and the parent of the service may have ignored others.
static IGNORED_SIGNALS: LazyLock<Vec<c_int>> =
    LazyLock::new(|| procfs::ignored_signals().unwrap_or_else(|| (1..=64).collect()));

/// A stack that children use one after the other.
pub(crate) struct ChildStack(Vec<u128>);

impl ChildStack {
    pub(crate) fn new() -> Self {
        Self(vec![0; STACK_BYTES / size_of::<u128>()])
    }
}

/// The progress of a child.
pub(crate) struct SpawnResult {
    /// The child; it must be reaped even if it never became its program.
    pub(crate) pid: Pid,
    /// The last step that the child tried.
    pub(crate) phase: SpawnPhase,
    /// The error of that step. None if the program runs, or if the child was killed before.
    pub(crate) error: Option<Errno>,
    /// Whether the child was given up, and its attempt reported as not started.
    pub(crate) is_given_up: bool,
}

struct SpawnMemory<'a> {
    spec: &'a SpawnSpec,
    lease: &'a LeaseEnd,
    argv: Vec<*const c_char>,
    env: Vec<*const c_char>,
    ignored_signals: &'a [c_int],
    phase: Cell<SpawnPhase>,
    error: Cell<Option<Errno>>,
}

/// Starts a child that follows `plan`, and waits until its program has replaced it or it gave up,
/// which it also does if the lease has ended by then. Meanwhile `watch` holds the child's process id, so
/// that a child that takes too long can be ended, or given up.
pub(crate) fn spawn(
    plan: &SpawnSpec,
    lease: &LeaseEnd,
    stack: &mut ChildStack,
    watch: &SetupWatch,
) -> io::Result<SpawnResult> {
    let shared = SpawnMemory {
        spec: plan,
        lease,
        argv: pointers(&plan.argv),
        env: pointers(&plan.env),
        ignored_signals: &IGNORED_SIGNALS,
        phase: Cell::new(SpawnPhase::Begin),
        error: Cell::new(None),
    };
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PARENT_SETTID | libc::SIGCHLD;
    // SAFETY: the stack is exclusively borrowed, 16-byte aligned (of `u128`s), large enough and grows down
    // from its end. CLONE_VFORK suspends this thread until the child has left our memory. So `shared` and all
    // that it borrows outlive the child's use of them, and no other thread uses the stack. Parent and child
    // never run at once on the thread-local storage they share. `enter` does not unwind.
    let number = unsafe {
        libc::clone(
            child_main,
            stack.0.as_mut_ptr_range().end.cast::<c_void>(),
            flags,
            ptr::from_ref(&shared).cast_mut().cast::<c_void>(),
            watch.as_ptr(),
        )
    };
    let error = io::Error::last_os_error();
    let is_given_up = watch.finish();
    let pid = Pid::from_raw(number).filter(|_| number > 0).ok_or(error)?;
    Ok(SpawnResult {
        pid,
        phase: shared.phase.get(),
        error: shared.error.get(),
        is_given_up,
    })
}

/// Returns the pointers to `words` with the terminating null pointer.
fn pointers(words: &[CString]) -> Vec<*const c_char> {
    let pointers = words.iter().map(|word| word.as_ptr());
    pointers.chain([ptr::null()]).collect()
}

/// Runs as the child's first function and returns its exit code.
extern "C" fn child_main(shared: *mut c_void) -> c_int {
    // SAFETY: `spawn` passes a `SpawnMemory` that it keeps until the child has left its memory.
    let shared = unsafe { &*shared.cast::<SpawnMemory<'_>>() };
    let failed = match setup::prepare(shared.spec, |step| shared.phase.set(step)) {
        // The child may have been delayed beyond the end of the lease.
        Ok(()) if shared.lease.has_ended() => LEASE_ENDED,
        Ok(()) => execute(shared),
        Err(errno) => errno,
    };
    shared.error.set(Some(failed));
    127
}

/// Becomes the program, or returns the error. As in the shells, a file on the search path that may
/// not be executed is skipped, and its error is returned if there is no other file.
fn execute(shared: &SpawnMemory<'_>) -> Errno {
    reset_inherited(shared.ignored_signals);
    let mut failed = Errno::NOENT;
    for program in &shared.spec.programs {
        // SAFETY: the program's name and every word are NUL-terminated and outlive the call, and
        // both lists end with a null.
        unsafe {
            libc::execve(program.as_ptr(), shared.argv.as_ptr(), shared.env.as_ptr());
        }
        match Errno::from_io_error(&io::Error::last_os_error()) {
            Some(Errno::NOENT | Errno::NOTDIR) | None => {}
            Some(Errno::ACCESS) => failed = Errno::ACCESS,
            Some(errno) => return errno,
        }
    }
    failed
}

/// Marks every descriptor except the standard ones to be closed, whichever code opened it. Resets
/// ignored and blocked signals; the kernel itself resets those with a handler.
fn reset_inherited(ignored_signals: &[c_int]) {
    const FIRST: libc::c_uint = 3;
    const BYTES_OF_A_SET: usize = 8;
    // SAFETY: no memory is involved. The descriptor table is the child's own (no CLONE_FILES). A
    // kernel before 5.11 rejects the call; all descriptors of the runner itself are marked anyway.
    unsafe {
        let mark = libc::CLOSE_RANGE_CLOEXEC;
        libc::syscall(libc::SYS_close_range, FIRST, libc::c_uint::MAX, mark);
    }
    // The kernel's `struct sigaction` has at most four words; all zeros mean the default action. As
    // a set of signals, one such word is the empty set.
    let nothing = [0u64; 4];
    let (zeros, no_old) = (nothing.as_ptr(), ptr::null_mut::<u64>());
    for &signal in ignored_signals {
        // SAFETY: the kernel reads no more than `nothing` holds, and writes nothing. Dispositions
        // are the child's own (no CLONE_SIGHAND). The C library would not touch signals that it
        // uses.
        unsafe {
            libc::syscall(
                libc::SYS_rt_sigaction,
                signal,
                zeros,
                no_old,
                BYTES_OF_A_SET,
            );
        }
    }
    // SAFETY: as above; the mask is the child's own.
    unsafe {
        let set = libc::SIG_SETMASK;
        libc::syscall(libc::SYS_rt_sigprocmask, set, zeros, no_old, BYTES_OF_A_SET);
    }
}

/// Signals that this process receives one by one, and that interrupt no call. A handler is not
/// possible: until its program replaces it a child shares the runner's memory, and the child's user
/// could make the handler run there.
pub(crate) struct BlockedSignals(libc::sigset_t);

impl BlockedSignals {
    /// Blocks these signals in the calling thread and in the threads that it starts.
    pub(crate) fn block(signals: &[Signal]) -> io::Result<Self> {
        // SAFETY: an all-zero set is a valid value, and is made the empty set before it is used.
        let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
        // SAFETY: `set` is a live set, and the numbers are those of signals.
        unsafe {
            libc::sigemptyset(&mut set);
            for signal in signals {
                libc::sigaddset(&mut set, signal.as_raw());
            }
        }
        // SAFETY: `set` is a live set, and no old one is asked for.
        match unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &set, ptr::null_mut()) } {
            0 => Ok(Self(set)),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }

    /// Waits for the next of these signals, and returns its number.
    pub(crate) fn wait(&self) -> c_int {
        let mut number = 0;
        // SAFETY: both pointers are to live values of the right type. The call fails only for sets
        // that name no signal, and is then tried again.
        while unsafe { libc::sigwait(&self.0, &mut number) } != 0 {}
        number
    }
}

/// The resource usage of a child that has ended.
pub(crate) struct ResourceUsage {
    pub(crate) cpu: Span,
    pub(crate) peak_memory: u64,
}

/// Lets the disk requests of the calling thread wait for those of all others.
pub(super) fn set_idle_io_priority() -> Result<(), Errno> {
    const OF_PROCESS: c_int = 1; // IOPRIO_WHO_PROCESS
    const IDLE: c_int = 3 << 13; // IOPRIO_CLASS_IDLE
    // SAFETY: the call has three numbers and no pointer; process 0 is the caller.
    let done = unsafe { libc::syscall(libc::SYS_ioprio_set, OF_PROCESS, 0, IDLE) };
    match done {
        0 => Ok(()),
        _ => Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::INVAL)),
    }
}

/// Reaps a child that has ended. Returns its exit status and the resource usage of the child and of
/// the children that it reaped itself.
pub(crate) fn reap(pid: Pid) -> io::Result<(AttemptStatus, ResourceUsage)> {
    let mut status = 0;
    // SAFETY: an all-zero `rusage` is a valid one.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to live values of the right type.
    let number = unsafe { libc::wait4(pid.as_raw_pid(), &mut status, 0, &mut usage) };
    if number < 0 {
        return Err(io::Error::last_os_error());
    }
    let micros =
        |time: libc::timeval| Span::from_secs(time.tv_sec) + Span::from_micros(time.tv_usec);
    let usage = ResourceUsage {
        cpu: micros(usage.ru_utime) + micros(usage.ru_stime),
        peak_memory: u64::try_from(usage.ru_maxrss).unwrap_or(0) << 10,
    };
    Ok((status_of(status), usage))
}

/// Decodes a status in the operating system's format.
pub(crate) fn status_of(packed: c_int) -> AttemptStatus {
    let byte = |number: c_int| u8::try_from(number & 0xff).unwrap_or(u8::MAX);
    if libc::WIFSIGNALED(packed) {
        AttemptStatus::Signalled(byte(libc::WTERMSIG(packed)))
    } else {
        AttemptStatus::Exited(byte(libc::WEXITSTATUS(packed)))
    }
}

/// The kernel's `struct pidfd_info` of Linux 6.13, with `exit_code` since 6.15.
#[repr(C)]
#[derive(Default)]
struct PidfdInfo {
    mask: u64,
    cgroup: u64,
    ids: [u32; 11],
    exit_code: i32,
}

/// Returns the exit status of the process that `pidfd` refers to, even if it was a child of another process.
/// Newer kernels keep the status for holders of such a descriptor. None if this kernel does not, or if the
/// process has not been reaped yet.
pub(crate) fn exit_status_of(pidfd: BorrowedFd<'_>) -> Option<AttemptStatus> {
    const GET_INFO: libc::Ioctl = 0xC040_FF0B; // _IOWR(0xFF, 11, struct pidfd_info)
    const EXIT: u64 = 1 << 3;
    let mut info = PidfdInfo {
        mask: EXIT,
        ..PidfdInfo::default()
    };
    // SAFETY: the request's size field says 64 bytes, which is the size of `info`, and the kernel
    // writes no more than that.
    let done = unsafe { libc::ioctl(pidfd.as_raw_fd(), GET_INFO, &mut info) };
    (done == 0 && info.mask & EXIT != 0).then(|| status_of(info.exit_code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wait_statuses_are_decoded() {
        assert_eq!(status_of(137 << 8), AttemptStatus::Exited(137));
        assert_eq!(status_of(9), AttemptStatus::Signalled(9));
        assert_eq!(status_of(0x80 | 6), AttemptStatus::Signalled(6));
        assert_eq!(size_of::<PidfdInfo>(), 64);
    }
}
