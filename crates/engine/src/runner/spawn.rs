//! The one place with `unsafe` code: a child that shares the runner's memory until its program
//! replaces it, two questions about processes that no safe library asks, and signals that are waited for.
//!
//! A plain fork would copy the runner's page tables for each task; this costs what `posix_spawn`
//! costs, and does what that cannot: the steps of [`super::child`].
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ffi::{CString, c_char, c_int, c_void};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;
use std::sync::atomic::{AtomicI32, Ordering};

use rustix::io::Errno;
use rustix::process::{Pid, Signal};
use tollgate_model::Span;

use super::child_setup::{self, SpawnPhase};
use super::lease::LeaseEnd;
use super::spawn_spec::SpawnSpec;
use crate::AttemptStatus;

/// Stack for a child before its program replaces it. What it does there takes 4 KiB optimised,
/// several times that unoptimised.
const STACK_BYTES: usize = 128 << 10;

/// Why a child does not become its program whose runner's lease has ended.
pub(super) const LEASE_ENDED: Errno = Errno::KEYEXPIRED;

/// A stack for children, one after the other.
pub(super) struct ChildStack(Vec<u128>);

impl ChildStack {
    pub(super) fn new() -> Self {
        Self(vec![0; STACK_BYTES / size_of::<u128>()])
    }
}

/// How far a child came.
pub(super) struct SpawnResult {
    /// The child; it has to be waited for also if it never became its program.
    pub(super) pid: Pid,
    /// The last step that it took.
    pub(super) phase: SpawnPhase,
    /// Why it could not take that step. None if its program runs, or if it was killed before.
    pub(super) error: Option<Errno>,
}

struct SpawnMemory<'a> {
    spec: &'a SpawnSpec,
    lease: &'a LeaseEnd,
    argv: Vec<*const c_char>,
    env: Vec<*const c_char>,
    phase: Cell<SpawnPhase>,
    error: Cell<Option<Errno>>,
}

/// Starts a child that follows `plan`, and waits until its program has replaced it or it gave up: also
/// if the lease has ended by then. While it waits, `setting_up` holds the child's number, so that one who takes too long can be ended.
pub(super) fn spawn(
    plan: &SpawnSpec,
    lease: &LeaseEnd,
    stack: &mut ChildStack,
    setting_up: &AtomicI32,
) -> io::Result<SpawnResult> {
    let shared = SpawnMemory {
        spec: plan,
        lease,
        argv: pointers(&plan.argv),
        env: pointers(&plan.env),
        phase: Cell::new(SpawnPhase::Begin),
        error: Cell::new(None),
    };
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PARENT_SETTID | libc::SIGCHLD;
    // SAFETY: the stack is exclusively borrowed, 16-byte aligned (of `u128`s), large enough and
    // grows down from its end. CLONE_VFORK suspends this thread until the child has left our memory, so
    // `shared` and all that it borrows outlive the child's use of them, nobody else uses the
    // stack, and both never run at once on the thread-local storage they share. `enter` does not unwind.
    let number = unsafe {
        libc::clone(
            child_main,
            stack.0.as_mut_ptr_range().end.cast::<c_void>(),
            flags,
            ptr::from_ref(&shared).cast_mut().cast::<c_void>(),
            setting_up.as_ptr(),
        )
    };
    let error = io::Error::last_os_error();
    setting_up.store(0, Ordering::Release);
    let pid = Pid::from_raw(number).filter(|_| number > 0).ok_or(error)?;
    Ok(SpawnResult {
        pid,
        phase: shared.phase.get(),
        error: shared.error.get(),
    })
}

/// The pointers to `words` with the null that ends them.
fn pointers(words: &[CString]) -> Vec<*const c_char> {
    let pointers = words.iter().map(|word| word.as_ptr());
    pointers.chain([ptr::null()]).collect()
}

/// The child's first function; what it returns is its exit code.
extern "C" fn child_main(shared: *mut c_void) -> c_int {
    // SAFETY: `spawn` passes a `SpawnMemory` that it keeps until the child has left its memory.
    let shared = unsafe { &*shared.cast::<SpawnMemory<'_>>() };
    let failed = match child_setup::prepare(shared.spec, |step| shared.phase.set(step)) {
        // A child may have been held up for longer than anything may run.
        Ok(()) if shared.lease.has_ended() => LEASE_ENDED,
        Ok(()) => execute(shared),
        Err(errno) => errno,
    };
    shared.error.set(Some(failed));
    127
}

/// Becomes the program, or says why that is impossible. As the shells do it, a file on the search
/// path that may not be executed is passed over, and named as the reason if there is no other.
fn execute(shared: &SpawnMemory<'_>) -> Errno {
    reset_inherited();
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

/// Marks every descriptor but the standard ones to be closed, whoever opened it; and takes back
/// which signals are ignored or blocked: the Rust runtime ignores one, and who started the service others.
fn reset_inherited() {
    const FIRST: libc::c_uint = 3;
    const SIGNALS: std::ops::RangeInclusive<c_int> = 1..=64;
    const BYTES_OF_A_SET: usize = 8;
    // SAFETY: no memory is involved. The descriptor table is the child's own (no CLONE_FILES). A
    // kernel before 5.11 refuses; everything that the runner itself opens is marked anyway.
    unsafe {
        let mark = libc::CLOSE_RANGE_CLOEXEC;
        libc::syscall(libc::SYS_close_range, FIRST, libc::c_uint::MAX, mark);
    }
    // The kernel's `struct sigaction` has at most four words; nothing set in it asks for the default.
    // As a set of signals, one such word is the empty one.
    let nothing = [0u64; 4];
    let (zeros, no_old) = (nothing.as_ptr(), ptr::null_mut::<u64>());
    for signal in SIGNALS {
        // SAFETY: the kernel reads no more than `nothing` holds, and writes nothing. Dispositions are
        // the child's own (no CLONE_SIGHAND). The C library would not touch signals that it uses.
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

/// Signals that this process takes one by one, and that interrupt nothing. A handler would not do: until
/// its program replaces it a child shares the runner's memory, and its user could have it run there.
pub(super) struct BlockedSignals(libc::sigset_t);

impl BlockedSignals {
    /// Holds these signals back from the calling thread and from those that it starts.
    pub(super) fn block(signals: &[Signal]) -> io::Result<Self> {
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

    /// Waits for the next of them, and returns its number.
    pub(super) fn wait(&self) -> c_int {
        let mut number = 0;
        // SAFETY: both pointers are to live values of the right type. It fails for sets alone that name
        // no signal, and is then tried again.
        while unsafe { libc::sigwait(&self.0, &mut number) } != 0 {}
        number
    }
}

/// What a child that has ended used.
pub(super) struct ResourceUsage {
    pub(super) cpu: Span,
    pub(super) peak_memory: u64,
}

/// Takes a child that has ended off the process table: how it ended, and what it and those
/// of its own children that it waited for used.
pub(super) fn reap(pid: Pid) -> io::Result<(AttemptStatus, ResourceUsage)> {
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

/// A status as the operating system packs it.
pub(super) fn status_of(packed: c_int) -> AttemptStatus {
    let byte = |number: c_int| u8::try_from(number & 0xff).unwrap_or(u8::MAX);
    if libc::WIFSIGNALED(packed) {
        AttemptStatus::Signalled(byte(libc::WTERMSIG(packed)))
    } else {
        AttemptStatus::Exited(byte(libc::WEXITSTATUS(packed)))
    }
}

/// `struct pidfd_info` of Linux 6.13, `exit_code` since 6.15.
#[repr(C)]
#[derive(Default)]
struct PidfdInfo {
    mask: u64,
    cgroup: u64,
    ids: [u32; 11],
    exit_code: i32,
}

/// How the process ended that `pidfd` was opened on, though it was somebody else's child: newer
/// kernels keep that for those who hold such a descriptor. None if this one does not, or if
/// nobody has waited for the process yet.
pub(super) fn exit_status_of(pidfd: BorrowedFd<'_>) -> Option<AttemptStatus> {
    const GET_INFO: libc::Ioctl = 0xC040_FF0B; // _IOWR(0xFF, 11, struct pidfd_info)
    const EXIT: u64 = 1 << 3;
    let mut info = PidfdInfo {
        mask: EXIT,
        ..PidfdInfo::default()
    };
    // SAFETY: the request's size field says 64 bytes, which is what `info` has, and the kernel writes
    // no more than that.
    let done = unsafe { libc::ioctl(pidfd.as_raw_fd(), GET_INFO, &mut info) };
    (done == 0 && info.mask & EXIT != 0).then(|| status_of(info.exit_code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_unpacked() {
        assert_eq!(status_of(137 << 8), AttemptStatus::Exited(137));
        assert_eq!(status_of(9), AttemptStatus::Signalled(9));
        assert_eq!(status_of(0x80 | 6), AttemptStatus::Signalled(6));
        assert_eq!(size_of::<PidfdInfo>(), 64);
    }
}
