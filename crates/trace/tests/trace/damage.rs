//! Properties of files with junk lines, zero bytes and cut records in them: what stands around the
//! damage is read as without it.

use proptest::prelude::*;
use tollgate_trace::{ColumnSelection, Finding, ReadOptions, Trace, TraceJob, TraceUsage, read};

/// The jobs of a trace with their usage and names, as far as there are any.
fn jobs(text: &[u8]) -> Vec<(TraceJob, TraceUsage, Vec<String>)> {
    let columns = ColumnSelection::All;
    let Ok(trace) = read("jobs", text, ReadOptions { columns }) else {
        return Vec::new();
    };
    (0..trace.jobs.len())
        .map(|row| (trace.jobs[row], trace.usage(row), names(&trace, row)))
        .collect()
}

fn names(trace: &Trace, row: usize) -> Vec<String> {
    let names = trace.metadata.as_ref().unwrap();
    [&names.user, &names.account, &names.executable]
        .map(|column| column.get(row).unwrap_or_default().to_owned())
        .to_vec()
}

fn pbs(number: usize) -> String {
    let (start, end) = (1_700_000_000 + number * 10, 1_700_000_300 + number * 17);
    format!(
        "03/01/2024 08:00:00;E;{number}.srv;user=u{number} account=\"my group\" jobname=j ctime=1700000000 \
         start={start} end={end} exec_host=n1/0 Resource_List.walltime=01:00:00 Exit_status=0"
    )
}

fn sge(number: usize) -> String {
    let zeros = "0:".repeat(17);
    format!(
        "all.q:h1:users:u{number}:a:{number}:sge:0:1600000000:1600000100:1600000160:0:0:60:{zeros}\
         NONE:dept:mpi:4:0:3:1.5:0.0:-l h_rt=60:0.0:NONE:1024:0:0"
    )
}

fn swf(number: usize) -> String {
    format!(
        "{number} {} 5 40 4 35 1000 4 900 2000 1 7 2 11 3 -1 -1 -1",
        number * 10
    )
}

fn lsf(number: usize) -> String {
    format!(
        "\"JOB_FINISH\" \"10.108\" 220 {number} 1501 33554434 8 100 0 0 160 \"ann\" \"normal\" \"\" \"\" \
         \"\" \"head\" \"/home\" \"\" \"\" \"\" \"1.101\" 0 1 \"n1\" 64 2.0 \"j\" \"run \"\"it\"\"\" \
         1.5 0.5 10 0 -1 0 0 1 1 0 1 1 -1 0 0 0 1 1 -1 \"\" \"proj\" 0 1"
    )
}

const RECORDS: [fn(usize) -> String; 4] = [pbs, sge, swf, lsf];

/// The place of SWF among them.
const SWF: usize = 2;

/// Returns the lines of four records, of one format.
fn file(record: fn(usize) -> String) -> Vec<String> {
    (1..=4).map(record).collect()
}

proptest! {
    /// A junk line between two records changes no job.
    #[test]
    fn junk_line_changes_no_job(
        format in 0..RECORDS.len(),
        at in 1_usize..=4,
        junk in "[a-zA-Z.,!? ]{1,60}",
    ) {
        let mut lines = file(RECORDS[format]);
        let before = jobs(lines.join("\n").as_bytes());
        lines.insert(at, junk);
        prop_assert_eq!(jobs(lines.join("\n").as_bytes()), before);
    }

    /// A block of zero bytes at any offset takes at most the record that it cuts.
    #[test]
    fn zero_bytes_take_only_the_record_that_they_cut(
        format in 0..RECORDS.len(),
        offset in any::<prop::sample::Index>(),
        zeros in 1_usize..300,
    ) {
        let lines = file(RECORDS[format]);
        let text = lines.join("\n") + "\n";
        let before = jobs(text.as_bytes());
        let at = offset.index(text.len() - 1) + 1;
        let cut = text[..at].matches('\n').count();
        let is_boundary = text[..at].ends_with('\n');
        let mut damaged = text.into_bytes();
        damaged.splice(at..at, vec![0; zeros]);
        let after = jobs(&damaged);
        for (place, job) in before.iter().enumerate() {
            // In SWF nothing tells a whole line from the rest of one.
            let is_cut = place == cut && (!is_boundary || format == SWF);
            prop_assert!(is_cut || after.contains(job), "{place} of {} bytes at {at}", zeros);
        }
        prop_assert!(after.iter().all(|job| before.contains(job)));
    }

    /// A file that breaks off at any offset has the whole records before the break.
    #[test]
    fn records_before_a_break_are_unchanged(
        format in 0..RECORDS.len(),
        offset in any::<prop::sample::Index>(),
    ) {
        let text = file(RECORDS[format]).join("\n") + "\n";
        let before = jobs(text.as_bytes());
        let at = offset.index(text.len());
        let whole = text[..at].matches('\n').count();
        let after = jobs(&text.as_bytes()[..at]);
        prop_assert_eq!(&after[..whole.min(after.len())], &before[..whole]);
    }

    /// A record that is wrapped at a fixed width is read as in one line.
    #[test]
    fn records_wrapped_at_a_width_are_whole(width in 30_usize..120) {
        let lines = file(pbs);
        let wrapped: Vec<String> = lines.iter().flat_map(|line| {
            let pieces = line.as_bytes().chunks(width);
            pieces.map(|piece| String::from_utf8(piece.to_vec()).unwrap()).collect::<Vec<_>>()
        }).collect();
        // Two lines alone do not prove a width.
        prop_assume!(lines.iter().all(|line| line.len() > 2 * width));
        prop_assert_eq!(jobs(wrapped.join("\n").as_bytes()), jobs(lines.join("\n").as_bytes()));
    }
}

#[test]
fn stray_lines_and_zero_bytes_are_reported_with_their_lines() {
    let text = format!(
        "{}\nserver restarted\n{}\nxx{}\n\0\0\0{}\n",
        pbs(1),
        pbs(2),
        pbs(3),
        pbs(4)
    );
    let trace = read("jobs", text.as_bytes(), ReadOptions::default()).unwrap();
    let numbers: Vec<u64> = trace.jobs.iter().map(|job| job.number).collect();
    assert_eq!(numbers, [1, 2, 4]);
    let lines = |finding| {
        let mut all = trace.diagnostics.iter();
        all.find(|(found, _)| *found == finding)
            .map(|(_, tally)| tally.lines.clone())
    };
    assert_eq!(lines(Finding::StrayLine), Some(vec![2, 4]));
    assert_eq!(lines(Finding::ZeroBytes), Some(vec![5]));
}
