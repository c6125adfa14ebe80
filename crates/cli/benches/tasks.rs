//! Benchmark of the whole service with tasks that do nothing. The benchmark uses the real programs:
//! `tollgate serve`, `tollgate submit`, the runner, and the store with full synchronisation.
//!
//! `cargo bench -p tollgate-cli --bench tasks [-- TASKS [PROGRAM...]]`. Rounds of the kinds
//! alternate with a loop that only calls `posix_spawn` and waits, so that other load on the machine
//! slows all of them down. Processor time counts all processes of a kind. Each PROGRAM, a path with
//! a `/`, is another build of `tollgate` that is measured in the same rounds.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const ROUNDS: usize = 3;
const STARTS: usize = 100;
/// The kinds: a name and the configuration of the service.
const KINDS: [(&str, &str); 3] = [
    ("libra-risk (time-shared)", "policy = \"libra-risk\"\n"),
    ("tail-risk (time-shared)", "policy = \"tail-risk\"\n"),
    ("easy (space-shared)", "policy = \"easy\"\n"),
];

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = args.iter().find_map(|word| word.parse().ok());
    let tasks: u32 = number.unwrap_or(5_000);
    let others = args.iter().filter(|word| word.contains('/'));
    let programs: Vec<PathBuf> = [PathBuf::from(env!("CARGO_BIN_EXE_tollgate"))]
        .into_iter()
        .chain(others.map(PathBuf::from))
        .collect();
    let mut sites: Vec<(String, BenchSite)> = Vec::new();
    for (name, settings) in KINDS {
        for program in &programs {
            let name = if programs.len() == 1 {
                name.to_owned()
            } else {
                format!("{name}, {}", program.display())
            };
            sites.push((name, BenchSite::start(program, settings)));
        }
    }
    let mut rounds: Vec<Vec<BenchRound>> = vec![Vec::new(); sites.len() + 1];
    for _ in 0..ROUNDS {
        rounds[0].push(bare(tasks));
        for ((_, site), rounds) in sites.iter().zip(&mut rounds[1..]) {
            rounds.push(site.array(tasks));
        }
    }
    println!("{tasks} tasks of `true`, medians of {ROUNDS} rounds");
    let bare = median(&rounds[0], |round| round.rate);
    let names = ["posix_spawn and wait"].into_iter();
    let names = names.chain(sites.iter().map(|(name, _)| name.as_str()));
    for (name, rounds) in names.zip(&rounds) {
        let rate = median(rounds, |round| round.rate);
        println!(
            "{rate:8.0} tasks/s {:5.2} of bare {:7.0} us processor time a task; answered in {:4.0} ms  {name}",
            rate / bare,
            median(rounds, |round| round.cpu_s * 1e6 / f64::from(tasks)),
            median(rounds, |round| round.answer_s * 1e3),
        );
    }
    for (name, site) in &sites {
        println!(
            "{:8.1} MB resident, the service, {name}",
            site.resident_mb()
        );
    }
    let (_, site) = &sites[0];
    // The two alternate, so that other load slows both down alike.
    let (mut alone, mut submitted) = (Vec::new(), Vec::new());
    for _ in 0..STARTS {
        alone.push(site.alone());
        submitted.push(site.submit_to_start());
    }
    for (name, mut starts) in [
        ("of a shell that is spawned", alone),
        ("of the client, to the same shell as its task", submitted),
    ] {
        starts.sort_by(f64::total_cmp);
        let (half, most) = (starts[STARTS / 2] * 1e3, starts[STARTS * 9 / 10] * 1e3);
        println!("{half:8.2} ms, {most:.2} in nine of ten, from the exec {name} to what it writes");
    }
}

#[derive(Clone, Copy)]
struct BenchRound {
    rate: f64,
    /// The time until the answer to the submission, in seconds.
    answer_s: f64,
    cpu_s: f64,
}

fn median(rounds: &[BenchRound], of: impl Fn(&BenchRound) -> f64) -> f64 {
    let mut values: Vec<f64> = rounds.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Measures programs started by the standard library, which uses `posix_spawn` unless more is asked
/// for.
fn bare(tasks: u32) -> BenchRound {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let (began, cpu) = (Instant::now(), cpu_s(&["self".into()]));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                for _ in 0..tasks as usize / threads {
                    let mut command = Command::new("/bin/true");
                    command
                        .stdin(Stdio::null())
                        .stdout(Stdio::null())
                        .env_clear();
                    assert!(command.status().expect("it runs").success());
                }
            });
        }
    });
    BenchRound {
        rate: f64::from(tasks) / began.elapsed().as_secs_f64(),
        answer_s: 0.0,
        cpu_s: cpu_s(&["self".into()]) - cpu,
    }
}

/// A service that ends when the value is dropped.
struct BenchSite {
    program: PathBuf,
    folder: tempfile::TempDir,
    service: Child,
}

impl BenchSite {
    fn start(program: &Path, settings: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("config.toml"), settings).expect("settings");
        let service = Command::new(program)
            .args(["serve", "--data"])
            .arg(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .expect("it starts");
        let site = Self {
            program: program.to_owned(),
            folder,
            service,
        };
        while !site.tollgate(&["status"]).1 {
            std::thread::sleep(Duration::from_millis(20));
        }
        site.array(200);
        site
    }

    /// Runs the program. Returns its output, and whether it succeeded.
    fn tollgate(&self, words: &[&str]) -> (String, bool) {
        let ran = Command::new(&self.program)
            .args(words)
            .env("TOLLGATE_DATA", self.folder.path())
            .stderr(Stdio::null())
            .output()
            .expect("it runs");
        (
            String::from_utf8_lossy(&ran.stdout).trim().to_owned(),
            ran.status.success(),
        )
    }

    /// Measures an array, from the start of the client to the end of the last task.
    fn array(&self, tasks: u32) -> BenchRound {
        let processes = self.processes();
        let (began, cpu) = (Instant::now(), cpu_s(&processes));
        let range = format!("1-{tasks}");
        let words = [
            "submit",
            "-q",
            "-o",
            "none",
            "-a",
            &range,
            "--",
            "/bin/true",
        ];
        let (id, accepted) = self.tollgate(&words);
        assert!(accepted, "it is refused");
        let answer_s = began.elapsed().as_secs_f64();
        assert!(self.tollgate(&["wait", "-q", &id]).1, "a task failed");
        BenchRound {
            rate: f64::from(tasks) / began.elapsed().as_secs_f64(),
            answer_s,
            cpu_s: cpu_s(&self.processes()) - cpu,
        }
    }

    /// Measures the seconds from the exec of the client to the first output of its task.
    fn submit_to_start(&self) -> f64 {
        let (line, there) = self.clock_line();
        let began = now_s();
        let words = [
            "submit", "-q", "-o", "none", "-e", "1s", "--", "/bin/sh", "-c", &line,
        ];
        let (id, accepted) = self.tollgate(&words);
        assert!(accepted, "it is refused");
        assert!(self.tollgate(&["wait", "-q", &id]).1, "a task failed");
        read_s(&there) - began
    }

    /// Measures the same seconds for a shell that is started without the service.
    fn alone(&self) -> f64 {
        let (line, there) = self.clock_line();
        let began = now_s();
        let status = Command::new("/bin/sh").args(["-c", &line]).status();
        assert!(status.expect("it runs").success());
        read_s(&there) - began
    }

    /// Returns a shell line that writes the time to a file, and the path of the file.
    fn clock_line(&self) -> (String, PathBuf) {
        let there = self.folder.path().join("there");
        let _ = fs::remove_file(&there);
        (format!("date +%s.%N > {}", there.display()), there)
    }

    /// Returns the service and the processes that run its tasks.
    fn processes(&self) -> Vec<PathBuf> {
        let service = PathBuf::from(self.service.id().to_string());
        let all = fs::read_dir("/proc").expect("processes");
        let names = all.filter_map(|entry| Some(entry.ok()?.path()));
        let folder = self.folder.path().to_string_lossy().into_owned();
        let runners = names.filter(|process| {
            let line = fs::read(process.join("cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).into_owned();
            line.contains(&folder) && !line.contains("serve")
        });
        let runners = runners.filter_map(|process| Some(PathBuf::from(process.file_name()?)));
        [service].into_iter().chain(runners).collect()
    }

    fn resident_mb(&self) -> f64 {
        let path = format!("/proc/{}/status", self.service.id());
        let status = fs::read_to_string(path).unwrap_or_default();
        let line = status.lines().find(|line| line.starts_with("VmRSS:"));
        let kb = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
        kb.unwrap_or(0.0) / 1024.0
    }
}

impl Drop for BenchSite {
    fn drop(&mut self) {
        let _ = self.service.kill();
        let _ = self.service.wait();
    }
}

fn now_s() -> f64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.expect("after 1970").as_secs_f64()
}

fn read_s(path: &Path) -> f64 {
    let at = fs::read_to_string(path).expect("it ran");
    at.trim().parse().expect("an instant")
}

/// Returns the processor time of these processes and of their ended children, in seconds.
fn cpu_s(processes: &[PathBuf]) -> f64 {
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
