//! Processes in `/proc`.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::Pid;
use tollgate_engine::BootTime;
use tollgate_host::{ProcessIdentity, ProcessStat};
use tollgate_model::Span;

/// Returns the time since the start of a process, by a clock that cannot be set; at most a clock tick too short.
pub(crate) fn age(process: ProcessIdentity) -> Duration {
    let (ticks, per_second) = (
        process.start_ticks + 1,
        rustix::param::clock_ticks_per_second(),
    );
    let start = Duration::from_secs(ticks / per_second)
        + Duration::from_secs(ticks % per_second) / u32::try_from(per_second).unwrap_or(1);
    let start = BootTime::after_boot(start);
    BootTime::now().saturating_since(start)
}

/// Returns whether a process is stopped, or does not exist.
pub(crate) fn is_stopped(pid: Pid) -> bool {
    ProcessStat::read(pid).is_none_or(|stat| stat.is_stopped())
}

/// Returns the numbers of the signals that this process ignores. None if `/proc` does not say.
pub(crate) fn ignored_signals() -> Option<Vec<i32>> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))?;
    let mask = u64::from_str_radix(mask.trim(), 16).ok()?;
    Some(
        (1..=64)
            .filter(|signal| mask >> (signal - 1) & 1 == 1)
            .collect(),
    )
}

/// Returns the peak of the memory that this process has had resident, in bytes. None if `/proc` does not say.
pub(crate) fn own_peak_memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = peak.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib << 10)
}

/// Returns the processor time of a process and of the children that it has reaped. Zero if the
/// process does not exist.
pub(crate) fn cpu_time(pid: Pid) -> Span {
    let ticks = ProcessStat::read(pid).map_or(0, |stat| stat.cpu_ticks());
    Span::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
}

/// The beginnings of the paths of graphics processors: those of NVIDIA, those of AMD for computation, and all that draw.
const GPU_PATHS: [&str; 3] = ["/dev/nvidia", "/dev/kfd", "/dev/dri/"];

/// Returns whether a process has a graphics processor open.
pub(crate) fn has_gpu_open(pid: Pid) -> bool {
    let files = fs::read_dir(format!("/proc/{}/fd", pid.as_raw_pid()));
    let files = files.into_iter().flatten().flatten();
    let mut paths = files.filter_map(|file| fs::read_link(file.path()).ok());
    paths.any(|path| {
        let path = path.to_string_lossy();
        GPU_PATHS.iter().any(|start| path.starts_with(start))
    })
}

/// Returns the id of this boot of the machine.
pub fn boot_id() -> io::Result<String> {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    Ok(id.trim().to_owned())
}

/// Returns the children of this process, including those that it inherited as a subreaper.
pub(crate) fn children() -> Vec<Pid> {
    let tasks = fs::read_dir("/proc/self/task")
        .into_iter()
        .flatten()
        .flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let numbers = lists.flat_map(|list| {
        list.split_ascii_whitespace()
            .filter_map(|word| word.parse().ok())
            .collect::<Vec<i32>>()
    });
    numbers.filter_map(Pid::from_raw).collect()
}

/// Returns whether the initial environment of a process contains all of `entries`.
pub(crate) fn has_env_entries(pid: Pid, entries: &[&str]) -> bool {
    let path = PathBuf::from(format!("/proc/{}/environ", pid.as_raw_pid()));
    let environ = fs::read(path).unwrap_or_default();
    let has = |entry: &&str| {
        let mut own = environ.split(|byte| *byte == 0);
        own.any(|own| own == entry.as_bytes())
    };
    entries.iter().all(has)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_process_is_younger_than_a_day() {
        let own = ProcessIdentity::of(rustix::process::getpid()).expect("a process");
        let age = age(own);
        assert!(age < Duration::from_secs(86_400), "{age:?}");
    }
}
