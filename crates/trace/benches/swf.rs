//! Measures the number of lines of the Standard Workload Format that are read per second.

use std::fmt::Write;
use std::hint::black_box;
use std::path::Path;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tollgate_model::{Instant, Span};
use tollgate_trace::{ColumnSelection, ReadOptions, Trace, TraceJob, open, swf};

/// Repetitions of a short trace: 100,000 lines.
const COPIES: i64 = 10;

/// Shift between consecutive copies, in spans of the trace.
const SHIFT: f64 = 1.2;

fn main_benches(c: &mut Criterion) {
    read_lines(c, "synthetic", &replicated(&synthetic()));
    let Some(folder) = std::env::var_os("TOLLGATE_TRACES") else {
        println!("skipped lublin: TOLLGATE_TRACES is not set");
        return;
    };
    let path = Path::new(&folder).join("swf/lublin_256.swf.gz");
    let lublin = open(&path, ReadOptions::default()).expect("the trace can be read");
    read_lines(c, "lublin", &replicated(&lublin));
}

fn read_lines(c: &mut Criterion, name: &str, text: &str) {
    let mut group = c.benchmark_group("swf");
    group.throughput(Throughput::Elements(text.lines().count() as u64));
    for (columns, options) in [
        ("core", ColumnSelection::Core),
        ("all", ColumnSelection::All),
    ] {
        let options = ReadOptions { columns: options };
        group.bench_function(format!("{name}/{columns}"), |b| {
            b.iter(|| swf::read(name, black_box(text.as_bytes()), options).expect("has jobs"));
        });
    }
    group.finish();
}

/// Returns 10,000 jobs with numbers as long as those of a real trace.
fn synthetic() -> Trace {
    let job = |number: u32| TraceJob {
        number: u64::from(number),
        submit: Instant::from_secs(1_969 * i64::from(number)),
        runtime: Span::from_secs(i64::from(number * 7_919 % 64_800)),
        estimate: Span::from_secs(i64::from(1 + number % 18) * 3_600),
        is_estimated: true,
        procs: 1 << (number % 8),
    };
    let mut trace = Trace::empty("synthetic");
    trace.jobs = (1..=10_000).map(job).collect();
    trace
}

/// Returns `trace` repeated, in the columns of the archive; requested processors and time are
/// copied from the used ones.
fn replicated(trace: &Trace) -> String {
    let last = trace.jobs.last().expect("has jobs");
    let shift = last.submit.as_secs_f64() * SHIFT;
    let mut text = String::from("; MaxProcs: 256\n");
    for copy in 0..COPIES {
        for job in &trace.jobs {
            let submit = (job.submit.as_secs_f64() + shift * copy as f64) as i64;
            let number = job.number + copy as u64 * trace.jobs.len() as u64;
            let (runtime, procs, estimate) = (job.runtime, job.procs, job.estimate);
            writeln!(
                text,
                "{number:5} {submit:8} -1 {runtime:6} {procs:3} -1 -1 {procs:3} {estimate:6} -1 1 \
                 -1 -1 -1 0 -1 -1 -1"
            )
            .expect("memory takes everything");
        }
    }
    text
}

criterion_group!(benches, main_benches);
criterion_main!(benches);
