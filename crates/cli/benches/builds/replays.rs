//! The replays by which two builds are compared: those of the page on performance that need no files.

use BenchWorkload::{Embedded, Long, Wide};

/// A replay that is measured.
pub(crate) struct BenchReplay {
    pub(crate) name: &'static str,
    workload: BenchWorkload,
    /// Number of jobs: the last ones of the workload.
    pub(crate) jobs: u32,
    options: &'static [&'static str],
}

/// Jobs that the bench generates.
#[derive(Clone, Copy)]
pub(crate) enum BenchWorkload {
    /// Jobs like those of SDSC SP2.
    Embedded,
    /// More of these jobs.
    Long,
    /// Jobs of up to 8,192 nodes for a machine as large as CEA Curie.
    Wide,
}

/// All replays. Each is long enough to be measured in ticks of 10 ms.
pub(crate) const BENCH_REPLAYS: [BenchReplay; 12] = [
    row("easy", Long, 100_000, &["easy"]),
    row("plan", Embedded, 5_000, &["plan"]),
    row(
        "conservative, overloaded",
        Embedded,
        2_500,
        &["conservative", "--arrival-factor", "0.1"],
    ),
    row(
        "libra",
        Embedded,
        20_000,
        &["libra", "--tasks", "independent"],
    ),
    row(
        "libra-risk",
        Embedded,
        20_000,
        &["libra-risk", "--tasks", "independent"],
    ),
    row(
        "tail-risk",
        Embedded,
        5_000,
        &["tail-risk", "--tasks", "independent"],
    ),
    row("libra-risk, rigid", Embedded, 5_000, &["libra-risk"]),
    row("tail-risk, rigid", Embedded, 2_000, &["tail-risk"]),
    row("easy, wide", Wide, 5_000, &["easy"]),
    row(
        "libra, wide",
        Wide,
        1_000,
        &["libra", "--tasks", "independent"],
    ),
    row(
        "libra-risk, wide",
        Wide,
        1_000,
        &["libra-risk", "--tasks", "independent"],
    ),
    row(
        "tail-risk, wide",
        Wide,
        1_000,
        &["tail-risk", "--tasks", "independent"],
    ),
];

const fn row(
    name: &'static str,
    workload: BenchWorkload,
    jobs: u32,
    options: &'static [&'static str],
) -> BenchReplay {
    BenchReplay {
        name,
        workload,
        jobs,
        options,
    }
}

impl BenchReplay {
    /// Returns the command line that replays the last `jobs` jobs.
    pub(crate) fn words(&self, jobs: u32) -> Vec<String> {
        let last = jobs.to_string();
        let fixed = [
            "replay",
            self.workload.file(),
            "--format",
            "json",
            "--quiet",
        ];
        let own = ["--last", &last, "--policy"];
        let words = fixed.iter().chain(&own).chain(self.options);
        words.map(|&word| word.to_owned()).collect()
    }
}

impl BenchWorkload {
    pub(crate) const ALL: [Self; 3] = [Embedded, Long, Wide];

    pub(crate) const fn file(self) -> &'static str {
        match self {
            Embedded => "embedded.swf",
            Long => "long.swf",
            Wide => "wide.swf",
        }
    }

    /// Returns the options of `tollgate trace synth`.
    pub(crate) const fn options(self) -> &'static [&'static str] {
        match self {
            Embedded => &["--jobs", "20000"],
            Long => &["--jobs", "100000"],
            Wide => &[
                "--jobs",
                "20000",
                "--nodes",
                "93312",
                "--max-width",
                "8192",
                "--load",
                "0.3",
            ],
        }
    }
}
