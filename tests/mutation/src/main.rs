//! Damages inputs for every parser for the number of minutes in the first argument. Counts panics,
//! inputs that take more than 10 s, and inputs that take more than 1 GB.
//!
//! Each target runs in a process of its own, which keeps its current input in a file. The file
//! stays if the process ends. The exit code is 1 if any count is above 0.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use tollgate_mutation::{MutationTarget, TARGETS, input, records};

/// The maximum time of one input.
const MAX_TIME: Duration = Duration::from_secs(10);
/// The maximum address space of a process that reads inputs, in kilobytes: 1 GB plus the space at
/// its start.
const MAX_KILOBYTES: u64 = 1_100_000;
/// The number of rounds of a process.
const ROUNDS: u64 = 20_000;
/// The interval between two looks at a process.
const INTERVAL: Duration = Duration::from_millis(200);
/// The exit code after a panic.
const PANICKED: i32 = 101;

#[derive(Default)]
struct MutationCounts {
    inputs: u64,
    panics: u64,
    too_slow: u64,
    too_large: u64,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["__read", name, seed, folder] => {
            exit_at_a_panic();
            read_inputs(name, seed.parse().expect("a seed"), Path::new(folder));
            ExitCode::SUCCESS
        }
        [minutes] | [minutes, _] if minutes.parse::<f64>().is_ok_and(|minutes| minutes > 0.0) => {
            let seed = words.get(1).map_or(Ok(1), |seed| seed.parse());
            let minutes: f64 = minutes.parse().expect("it was read");
            match seed.map(|seed| mutate(Duration::from_secs_f64(60.0 * minutes), seed)) {
                Ok(Ok(counts)) => report(&counts),
                Ok(Err(error)) => {
                    eprintln!("inputs cannot be written or read: {error}");
                    ExitCode::FAILURE
                }
                Err(_) => usage(),
            }
        }
        _ => usage(),
    }
}

fn all_targets() -> impl Iterator<Item = MutationTarget> {
    TARGETS.iter().copied().chain(records())
}

fn usage() -> ExitCode {
    eprintln!("expected MINUTES [SEED]");
    ExitCode::from(2)
}

fn report(counts: &MutationCounts) -> ExitCode {
    println!(
        "{} inputs: {} panics, {} over 10 s, {} over 1 GB",
        counts.inputs, counts.panics, counts.too_slow, counts.too_large
    );
    match counts.panics + counts.too_slow + counts.too_large {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// Runs all targets in turn until the time is over.
fn mutate(time: Duration, seed: u64) -> io::Result<MutationCounts> {
    let folder = tempfile::tempdir()?;
    let mut counts = MutationCounts::default();
    let began = Instant::now();
    for seed in seed.. {
        for target in all_targets() {
            let Some(left) = time.checked_sub(began.elapsed()) else {
                return Ok(counts);
            };
            run_target(&target, seed, left, folder.path(), &mut counts)?;
        }
    }
    Ok(counts)
}

fn run_target(
    target: &MutationTarget,
    seed: u64,
    left: Duration,
    folder: &Path,
    counts: &mut MutationCounts,
) -> io::Result<()> {
    let mut child = start(target, seed, folder)?;
    let began = Instant::now();
    let (mut round, mut since) = (0, Instant::now());
    let ended: Option<ExitStatus> = loop {
        if let Some(status) = child.try_wait()? {
            break Some(status);
        }
        let now_at = rounds_done(folder);
        if now_at != round {
            (round, since) = (now_at, Instant::now());
        }
        if since.elapsed() > MAX_TIME || began.elapsed() > left {
            break None;
        }
        std::thread::sleep(INTERVAL);
    };
    if ended.is_none() {
        child.kill()?;
        child.wait()?;
    }
    counts.inputs += rounds_done(folder);
    let found = match ended {
        Some(status) if status.success() => return Ok(()),
        Some(status) if status.code() == Some(PANICKED) => {
            counts.panics += 1;
            "panic"
        }
        Some(_) => {
            counts.too_large += 1;
            "too-large"
        }
        None if since.elapsed() > MAX_TIME => {
            counts.too_slow += 1;
            "too-slow"
        }
        // The time is up.
        None => return Ok(()),
    };
    let kept = std::env::temp_dir().join(format!("tollgate-{found}-{}-{seed}", target.name));
    fs::copy(input_file(folder), &kept)?;
    println!("{}: {found}: {}", target.name, kept.display());
    Ok(())
}

/// Starts this program again to read inputs of a target, with a limited address space.
fn start(target: &MutationTarget, seed: u64, folder: &Path) -> io::Result<Child> {
    fs::write(round_file(folder), "0")?;
    Command::new("/bin/sh")
        .args([
            "-c",
            "ulimit -v $0; exec \"$@\"",
            &MAX_KILOBYTES.to_string(),
        ])
        .arg(std::env::current_exe()?)
        .args(["__read", target.name, &seed.to_string()])
        .arg(folder)
        .stdin(Stdio::null())
        .spawn()
}

/// Ends the process with [`PANICKED`] at a panic. An abort, which is what a panic is in an optimised build,
/// could not be told from one for lack of memory.
fn exit_at_a_panic() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        report(panic);
        std::process::exit(PANICKED);
    }));
}

fn read_inputs(name: &str, seed: u64, folder: &Path) {
    let mut targets = all_targets();
    let target = targets.find(|target| target.name == name);
    let target = target.expect("a target of this name");
    for round in 0..ROUNDS {
        let data = input(&target, seed, round);
        fs::write(input_file(folder), &data).expect("it can be written");
        fs::write(round_file(folder), round.to_string()).expect("it can be written");
        let _ = (target.run)(&data);
    }
}

fn rounds_done(folder: &Path) -> u64 {
    let words = fs::read_to_string(round_file(folder)).unwrap_or_default();
    words.parse().unwrap_or(0)
}

fn input_file(folder: &Path) -> PathBuf {
    folder.join("input")
}

fn round_file(folder: &Path) -> PathBuf {
    folder.join("round")
}
