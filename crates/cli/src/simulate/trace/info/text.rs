//! The output as text.

use std::io::{self, Write};

use tollgate_model::Span;
use tollgate_trace::TraceStatus;
use tollgate_trace::statistics::{NameCounts, TraceStatistics};
use tollgate_trace::summary::QuantileSummary;

use super::{TraceSurvey, format, plot};
use crate::output::messages::pluralise;

/// The width of the label before each line, in columns.
const LABEL_WIDTH: usize = 16;

/// Writes everything known about a trace.
pub(super) fn write(out: &mut impl Write, record: &TraceSurvey) -> io::Result<()> {
    writeln!(out, "{}", record.header.source)?;
    for (label, text) in facts(record) {
        writeln!(out, "  {label:<LABEL_WIDTH$}{text}")?;
    }
    writeln!(out)?;
    distributions(out, &record.survey)?;
    let oddities = oddities(record);
    if !oddities.is_empty() {
        writeln!(out, "\nodd")?;
        for oddity in oddities {
            writeln!(out, "  {oddity}")?;
        }
    }
    if !record.survey.runtimes.bins.is_empty() {
        writeln!(out, "\nrun times of the jobs that ran")?;
        write!(out, "{}", plot::histogram(&record.survey.runtimes))?;
    }
    let zone = match record.zone.name() {
        Some(zone) => zone.to_owned(),
        None => "by the clock of the record, which does not say when it began".to_owned(),
    };
    writeln!(out, "\nsubmissions by day and hour ({zone})")?;
    write!(
        out,
        "{}",
        plot::week(&record.survey.arrivals, record.zone.name().is_some())
    )
}

/// Returns pairs of a label and a fact. Facts that do not apply are left out.
fn facts(record: &TraceSurvey) -> Vec<(&'static str, String)> {
    let survey = &record.survey;
    let format = record.header.format.map(|format| format.to_string());
    let names = [
        ("users", &survey.users),
        ("groups", &survey.groups),
        ("accounts", &survey.accounts),
        ("executables", &survey.executables),
        ("queues", &survey.queues),
    ];
    let mut facts = vec![
        ("format", format),
        ("submitted", submitted(record)),
        ("jobs", Some(jobs(survey))),
        ("machine", Some(machine(survey))),
    ];
    facts.extend(names.map(|(label, counts)| (label, top_name_shares(counts, survey))));
    facts.push(("sizes", Some(sizes(survey))));
    facts.push(("estimates", Some(estimates(survey))));
    facts.push(("ended", ended(survey)));
    facts
        .into_iter()
        .filter_map(|(label, text)| Some((label, text?)))
        .collect()
}

fn submitted(record: &TraceSurvey) -> Option<String> {
    let (first, last) = record.survey.submitted?;
    let span = format::format_span(last.since(first).as_secs_f64());
    let dates = record
        .zone
        .timestamp(first)
        .zip(record.zone.timestamp(last));
    let between = match dates {
        Some((first, last)) => format!("{first} to {last}"),
        None => format!("second {first} to {last} of the record's own clock"),
    };
    let gap = record.survey.longest_gap.map_or_else(String::new, |gap| {
        format!(", longest gap {}", format::format_span(gap.as_secs_f64()))
    });
    Some(format!("{between}, {span}{gap}"))
}

fn jobs(survey: &TraceStatistics) -> String {
    let summary = &survey.summary;
    let between = summary.mean_interarrival.map_or_else(String::new, |mean| {
        format!(
            ", one every {} on average",
            format::format_span(mean.as_secs_f64())
        )
    });
    let never = match summary.never_ran {
        0 => String::new(),
        never => format!(", {never} of them never ran"),
    };
    format!("{}{never}{between}", summary.jobs)
}

fn machine(survey: &TraceStatistics) -> String {
    let summary = &survey.summary;
    let load = summary.utilisation.map_or_else(String::new, |load| {
        format!(", offered load {}", format::format_percent(load))
    });
    let processors = pluralise(summary.nodes as usize, "processor");
    format!("{processors} ({}){load}", survey.nodes_from)
}

/// Describes the shares of the most active names. None if no job has a name.
fn top_name_shares(counts: &NameCounts, survey: &TraceStatistics) -> Option<String> {
    let (top, top_10) = (counts.share_of_top(1)?, counts.share_of_top(10)?);
    let most = if counts.n_names() > 10 {
        format!(
            ", the most active has {} of the jobs, the ten most active {}",
            format::format_percent(top),
            format::format_percent(top_10)
        )
    } else if counts.n_names() > 1 {
        format!(
            ", the most active has {} of the jobs",
            format::format_percent(top)
        )
    } else {
        String::new()
    };
    let without = match survey.summary.jobs as u64 - counts.n_known() {
        0 => String::new(),
        without => format!("; {} without one", pluralise(without as usize, "job")),
    };
    Some(format!("{}{most}{without}", counts.n_names()))
}

fn sizes(survey: &TraceStatistics) -> String {
    let share = |jobs: u64| format::format_percent(jobs as f64 / survey.summary.jobs.max(1) as f64);
    format!(
        "{} on one processor, {} on 2, 4, 8, ..",
        share(survey.serial),
        share(survey.powers_of_two)
    )
}

fn estimates(survey: &TraceStatistics) -> String {
    let counts = &survey.estimates;
    if counts.known == 0 {
        return "none".to_owned();
    }
    let share = |jobs: u64, of: u64| format::format_percent(jobs as f64 / of.max(1) as f64);
    let of_ran = |jobs: u64| share(jobs, counts.known_of_ran);
    format!(
        "{} of the jobs have one; of those that ran {} too long, {} exact, {} too short",
        share(counts.known, survey.summary.jobs as u64),
        of_ran(counts.over),
        of_ran(counts.exact),
        of_ran(counts.under)
    )
}

/// Describes the ends of jobs. None if no job has a known end.
fn ended(survey: &TraceStatistics) -> Option<String> {
    let jobs = survey.summary.jobs.max(1) as f64;
    let known = TraceStatus::ALL.into_iter().filter_map(|status| {
        let count = *survey.statuses.get(&status)?;
        let word = status.key().replace('_', " ");
        Some((
            status,
            format!("{word} {}", format::format_percent(count as f64 / jobs)),
        ))
    });
    let known: Vec<(TraceStatus, String)> = known.collect();
    let is_known = known
        .iter()
        .any(|(status, _)| *status != TraceStatus::Unknown);
    let texts: Vec<String> = known.into_iter().map(|(_, text)| text).collect();
    is_known.then(|| texts.join(", "))
}

fn distributions(out: &mut impl Write, survey: &TraceStatistics) -> io::Result<()> {
    let span = format::format_span as fn(f64) -> String;
    let rows = [
        ("run time", survey.summary.runtimes_s, span),
        ("processors", survey.summary.procs, format::format_number),
        (
            "estimate / run time, too long",
            survey.over_ratios,
            format::format_number,
        ),
        (
            "run time / estimate, too short",
            survey.under_ratios,
            format::format_number,
        ),
        ("wait", survey.waits_s, span),
        (
            "processor time used",
            survey.cpu_shares,
            format::format_percent,
        ),
        ("peak memory", survey.peak_memory, format::format_bytes),
        (
            "requested memory",
            survey.requested_memory,
            format::format_bytes,
        ),
    ];
    let heading = [
        "least", "10 %", "25 %", "median", "75 %", "90 %", "99 %", "most",
    ];
    write_row(out, "", heading.map(str::to_owned))?;
    for (label, quantiles, text) in rows {
        if let Some(quantiles) = quantiles {
            write_row(out, label, values(quantiles).map(text))?;
        }
    }
    Ok(())
}

fn values(quantiles: QuantileSummary) -> [f64; 8] {
    let QuantileSummary {
        min,
        p10,
        p25,
        median,
        p75,
        p90,
        p99,
        max,
    } = quantiles;
    [min, p10, p25, median, p75, p90, p99, max]
}

fn write_row(out: &mut impl Write, label: &str, cells: [String; 8]) -> io::Result<()> {
    write!(out, "  {label:<30}")?;
    for cell in cells {
        write!(out, " {cell:>9}")?;
    }
    writeln!(out)
}

/// Returns the findings of the reader, and oddities that no single line shows.
fn oddities(record: &TraceSurvey) -> Vec<String> {
    let survey = &record.survey;
    let mut oddities: Vec<String> = record
        .header
        .diagnostics
        .to_string()
        .lines()
        .map(str::to_owned)
        .collect();
    let jobs = |count: u64| pluralise(count as usize, "job");
    if survey.too_wide > 0 {
        let wide = jobs(survey.too_wide);
        oddities.push(format!("{wide} on more processors than the machine has"));
    }
    if survey.shared_numbers > 0 {
        let shared = jobs(survey.shared_numbers);
        oddities.push(format!("{shared} with the number of a job before them"));
    }
    let week = Span::from_secs(7 * 86_400);
    if let Some(gap) = survey.longest_gap.filter(|&gap| gap > week) {
        let gap = format::format_span(gap.as_secs_f64());
        oddities.push(format!("{gap} without a submission"));
    }
    oddities
}
