//! The processor time of processes.

use std::fs;
use std::path::{Path, PathBuf};

/// Returns the processor time of these processes and of their ended children, in seconds.
pub(crate) fn cpu_s(processes: &[PathBuf]) -> f64 {
    let ticks = processes.iter().map(|process| {
        let path = Path::new("/proc").join(process).join("stat");
        let stat = fs::read_to_string(path).unwrap_or_default();
        let after_name = stat.rsplit(')').next().unwrap_or_default().to_owned();
        let fields = after_name.split_whitespace().skip(11).take(4);
        fields
            .filter_map(|field| field.parse::<u64>().ok())
            .sum::<u64>()
    });
    // The kernel reports ticks of 10 ms to every program.
    ticks.sum::<u64>() as f64 / 100.0
}
