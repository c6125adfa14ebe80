//! Properties of values that tools write in several ways: each way means the same.

use proptest::prelude::*;
use tollgate_model::{Bytes, Span};
use tollgate_trace::{
    ColumnSelection, ReadOptions, Trace, TraceFormat, TraceJob, TraceUsage, read,
};

use crate::record_template::template;

fn parsed(text: &str) -> Trace {
    let options = ReadOptions {
        columns: ColumnSelection::All,
    };
    read("jobs", text.as_bytes(), options).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Writes seconds as `[D-]HH:MM:SS`.
fn clock(seconds: i64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let clock = format!("{:02}:{:02}:{:02}", rest / 3600, rest / 60 % 60, rest % 60);
    if days > 0 {
        format!("{days}-{clock}")
    } else {
        clock
    }
}

/// Returns the only job of an export with these columns beside the usual ones.
fn sacct(columns: &str, cells: &str) -> (TraceJob, TraceUsage) {
    let times = "1700000000|1700000005|1709999999";
    let trace = parsed(&format!(
        "JobID|State|Submit|Start|End|{columns}\n7|COMPLETED|{times}|{cells}\n"
    ));
    (trace.jobs[0], trace.usage(0))
}

/// Writes a number with commas between its thousands.
fn grouped(number: i64) -> String {
    let digits = number.to_string();
    let head = digits.len() % 3;
    let (first, rest) = digits.split_at(head);
    let rest = rest
        .as_bytes()
        .chunks(3)
        .map(|group| String::from_utf8_lossy(group).into_owned());
    let groups: Vec<String> = [first.to_owned()]
        .into_iter()
        .filter(|first| !first.is_empty())
        .chain(rest)
        .collect();
    groups.join(",")
}

proptest! {
    #[test]
    fn columns_of_sacct_with_one_meaning_have_one_value(
        elapsed in 0i64..3_000_000,
        minutes in 1i64..50_000,
        procs in 1u32..10_000,
        cpu in 1i64..3_000_000,
    ) {
        let (limit, used) = (clock(minutes * 60), clock(cpu));
        let ran = clock(elapsed);
        let (job, usage) = sacct(
            "Elapsed|Timelimit|AllocCPUS|TotalCPU", &format!("{ran}|{limit}|{procs}|{used}"),
        );
        prop_assert_eq!((job.runtime, job.estimate), (Span::from_secs(elapsed), Span::from_secs(minutes * 60)));
        prop_assert_eq!((job.procs, usage.cpu_time), (procs, Some(Span::from_secs(cpu))));
        for (columns, cells) in [
            ("ElapsedRaw|TimelimitRaw|NCPUS|TotalCPU", format!("{elapsed}|{minutes}|{procs}|{used}")),
            ("ELAPSED|timelimit|AllocTRES|totalcpu", format!("{ran}|{limit}|billing=1,cpu={procs},node=1|{used}")),
            ("Elapsed|Timelimit|ReqTRES|TotalCPU", format!("{ran}|{limit}|energy=7,cpu={procs}|{used}")),
        ] {
            prop_assert_eq!(sacct(columns, &cells), (job, usage), "{}", columns);
        }
    }

    #[test]
    fn requests_of_pbs_with_one_meaning_have_one_value(
        chunks in 1u32..20, each in 1u32..64, days in 1i64..5, rest in 0i64..86_400,
    ) {
        let (all, seconds) = (chunks * each, days * 86_400 + rest);
        let times = format!("{:02}:{:02}:{:02}", rest / 3600, rest / 60 % 60, rest % 60);
        let hours = format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
        let record = |procs: &str, limit: &str| {
            let text = format!(
                "03/01/2024 08:00:00;E;7.srv;user=ann ctime=1700000000 start=1700000005 end=1700000045 \
                 Resource_List.{procs} Resource_List.walltime={limit}\n"
            );
            parsed(&text).jobs[0]
        };
        let expected = record(&format!("ncpus={all}"), &seconds.to_string());
        prop_assert_eq!((expected.procs, expected.estimate), (all, Span::from_secs(seconds)));
        for request in [
            format!("procs={all}"), format!("mppwidth={all}"), format!("nodes={chunks}:ppn={each}"),
            format!("select={chunks}:ncpus={each}:mem=4gb"), format!("nodes={chunks}:ppn={each}#shared"),
        ] {
            prop_assert_eq!(record(&request, &hours), expected, "{}", request);
            prop_assert_eq!(record(&request, &format!("{days}:{times}")), expected);
        }
    }

    #[test]
    fn memory_of_lsf_is_the_same_in_every_unit_and_string(gigabytes in 1u64..500) {
        let lsf = template(TraceFormat::Lsf);
        let of = |amount: &str| lsf.read(&[("requested memory", amount)]).usage(1).requested_memory;
        let expected = Some(Bytes::new(gigabytes << 30));
        for amount in [
            format!("{gigabytes}G"), format!("{gigabytes}GB"), format!("{}", gigabytes << 10),
            format!("{}.00", gigabytes << 10), format!("{}MB", gigabytes << 10), format!("{}K", gigabytes << 20),
            format!("{gigabytes}G:duration=5m"), format!("{gigabytes}GB,swp=1"),
            format!("{gigabytes}G] rusage[mem=1"),
        ] {
            prop_assert_eq!(of(&amount), expected, "{}", amount);
        }
    }

    #[test]
    fn limits_of_lsf_with_one_meaning_have_one_value(seconds in 1i64..1_000_000, factor in 1i64..50) {
        let lsf = template(TraceFormat::Lsf);
        let factor_text = format!("{factor}.0");
        let scaled = (factor * seconds).to_string();
        let of = |estimate: &str, limit: &str| {
            lsf.read(&[("estimate", estimate), ("limit", limit), ("factor", &factor_text)]).jobs[1].estimate
        };
        let expected = Span::from_secs(seconds);
        prop_assert_eq!(of("-1", &seconds.to_string()), expected);
        prop_assert_eq!(of(&scaled, "-1"), expected);
        prop_assert_eq!(of("7", &seconds.to_string()), expected, "the limit goes first");
    }

    #[test]
    fn processors_of_lsf_are_counted_on_every_host(slots in prop::collection::vec(1u32..64, 1..6)) {
        let all: u32 = slots.iter().sum();
        let record = template(TraceFormat::Lsf).file(&[]);
        let (n, usual) = (slots.len(), "0 1 \"4*n1\"");
        let listed: Vec<String> = slots.iter().enumerate().map(|(host, n)| format!("\"{n}*h{host}\"")).collect();
        let repeated: Vec<String> = slots.iter().enumerate()
            .flat_map(|(host, &n)| (0..n).map(move |_| format!("\"h{host}\""))).collect();
        for hosts in [
            format!("0 {n} {}", listed.join(" ")),
            format!("0 {all} {}", repeated.join(" ")),
            format!("2 \"h0\" \"h1\" {n} {}", listed.join(" ")),
        ] {
            let text = record.replacen(usual, &hosts, 1);
            prop_assert_eq!(parsed(&text).jobs[0].procs, all, "{}", hosts);
        }
    }

    #[test]
    fn attributes_of_condor_with_one_meaning_have_one_value(
        minutes in 1i64..100_000, cpus in 1u32..64, hosts in 1u32..20,
        run in prop_oneof![Just(0i64), 1i64..100_000], suspended in prop_oneof![Just(0i64), 1i64..1_000],
        kilobytes in 1u64..1_000_000_000,
    ) {
        let (all, seconds) = (cpus * hosts, minutes * 60);
        let head = "ClusterId = 7\nQDate = 100\nJobStartDate = 105\nCompletionDate = 999999\nExitCode = 0\n";
        let ad = |lines: &str| {
            let trace = parsed(&format!("{head}{lines}"));
            (trace.jobs[0], trace.usage(0))
        };
        let done = format!("JobStatus = 4\nCommittedTime = {run}\n");
        let expected = ad(&format!(
            "{done}CpusProvisioned = {all}\nAllowedExecuteDuration = {seconds}\nResidentSetSize = {kilobytes}\n"
        ));
        prop_assert_eq!((expected.0.procs, expected.0.estimate), (all, Span::from_secs(seconds)));
        prop_assert_eq!(expected.0.runtime, Span::from_secs(run));
        prop_assert_eq!(expected.1.peak_memory, Some(Bytes::new(kilobytes << 10)));
        let with_pause = run + suspended;
        for lines in [
            format!("{done}RequestCpus = {cpus}\nMaxHosts = {hosts}\nAllowedJobDuration = {seconds}\nResidentSetSize = {kilobytes}\n"),
            format!("{done}requestcpus = {cpus}\nMAXHOSTS = {hosts}\nMaxWallTime = {minutes}\nImageSize = {kilobytes}\n"),
            format!(
                "JobStatus = 4\nCommittedTime = {with_pause}\nCommittedSuspensionTime = {suspended}\n\
                 CpusProvisioned = {all}\nMaxWallTime = {minutes}\nResidentSetSize = {kilobytes}\n"
            ),
        ] {
            prop_assert_eq!(ad(&lines), expected, "{}", lines);
        }
        // The same attributes in JSON.
        let fields: Vec<String> = format!("{head}{done}CpusProvisioned = {all}\nMaxWallTime = {minutes}\nResidentSetSize = {kilobytes}\n")
            .lines().map(|line| line.replacen(" = ", "\": ", 1)).map(|line| format!("\"{line}")).collect();
        let trace = parsed(&format!("[\n{{{}}}\n]\n", fields.join(",\n")));
        prop_assert_eq!((trace.jobs[0], trace.usage(0)), expected);
    }

    #[test]
    fn thousands_and_states_of_tables_have_one_meaning(seconds in 1i64..10_000_000, procs in 1i64..10_000) {
        let table = template(TraceFormat::Table);
        let read = |estimate: &str, procs: &str, status: &str| {
            let trace = table.read(&[("estimate", estimate), ("procs", procs), ("status", status)]);
            (trace.jobs[1], trace.usage(1))
        };
        let expected = read(&seconds.to_string(), &procs.to_string(), "timed_out");
        prop_assert_eq!(expected.0.estimate, Span::from_secs(seconds));
        let (estimate, width) = (format!("\"{}\"", grouped(seconds)), format!("\"{}\"", grouped(procs)));
        for status in ["TIMED_OUT", "Timed out", "timed-out", "TIMEOUT"] {
            prop_assert_eq!(read(&estimate, &width, status), expected);
        }
        let none = |word| table.read(&[("estimate", word), ("wait", word), ("cpu", word), ("status", word)]);
        for word in ["NA", "N/A", "NaN", "nan", "NULL", "null", "None", "-"] {
            prop_assert_eq!(none(word).jobs, none("").jobs, "{}", word);
            prop_assert_eq!(none(word).usage(1), none("").usage(1), "{}", word);
            let findings = |word| none(word).diagnostics.to_string();
            prop_assert_eq!(findings(word), findings(""), "{}", word);
        }
    }
}
