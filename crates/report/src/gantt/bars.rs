//! The jobs of a Gantt chart as rectangles.

use tollgate_model::{Instant, NodeRange, Outcome, Span};

use super::{GanttChart, GanttPlacement, GanttSharing};

/// A job that ran, with the data of its rectangle.
pub(super) struct JobBar {
    pub(super) start: Instant,
    pub(super) finish: Instant,
    /// The deadline, if it was missed.
    pub(super) missed: Option<Instant>,
    /// The instant for which the nodes of the job were last reserved.
    pub(super) reserved: Option<Instant>,
    /// The nodes of the job, with adjacent nodes merged into one range.
    pub(super) nodes: Vec<NodeRange>,
    /// The tooltip.
    pub(super) tooltip: String,
}

/// Returns the jobs that ran on nodes of the chart, in order.
pub(super) fn of<'a>(
    gantt: &GanttChart<'_>,
    number_of: impl Fn(usize) -> u64,
    place_of: impl Fn(usize) -> GanttPlacement<'a>,
) -> Vec<JobBar> {
    let bar = |(index, job): (usize, &Outcome)| {
        let ran = job.ran?;
        let place = place_of(index);
        let nodes = merged(place.nodes, gantt.nodes);
        (!nodes.is_empty()).then(|| JobBar {
            start: ran.start,
            finish: ran.finish,
            missed: job.due.filter(|_| job.delay() > Span::ZERO),
            reserved: place.reserved,
            nodes,
            tooltip: tooltip(number_of(index), job, place.reserved),
        })
    };
    gantt.jobs.iter().enumerate().filter_map(bar).collect()
}

/// Returns whether two bars ever overlap: some node runs one job before another has finished.
pub(super) fn sharing(bars: &[JobBar]) -> GanttSharing {
    let mut order: Vec<&JobBar> = bars.iter().collect();
    order.sort_by_key(|bar| bar.start);
    let last = bars.iter().flat_map(|bar| &bar.nodes);
    let nodes = last.map(|range| range.first + range.len).max().unwrap_or(0);
    let mut free_from = vec![Instant::from_micros(i64::MIN); nodes as usize];
    for bar in order {
        for node in bar.nodes.iter().flat_map(|range| range.nodes()) {
            if bar.start < free_from[node.index()] {
                return GanttSharing::Time;
            }
            free_from[node.index()] = bar.finish;
        }
    }
    GanttSharing::Space
}

/// Merges adjacent ranges into one, in ascending order, and cuts off nodes beyond the last.
fn merged(ranges: &[NodeRange], nodes: u32) -> Vec<NodeRange> {
    let mut ascending: Vec<NodeRange> = ranges
        .iter()
        .filter(|range| range.first < nodes)
        .map(|range| NodeRange {
            first: range.first,
            len: range.len.min(nodes - range.first),
        })
        .collect();
    ascending.sort_unstable();
    let mut merged: Vec<NodeRange> = Vec::with_capacity(ascending.len());
    for range in ascending {
        match merged.last_mut() {
            Some(last) if last.first + last.len >= range.first => {
                last.len = last.len.max(range.first + range.len - last.first);
            }
            Some(_) | None => merged.push(range),
        }
    }
    merged
}

fn tooltip(number: u64, job: &Outcome, reserved: Option<Instant>) -> String {
    let wait = job.wait().unwrap_or(Span::ZERO);
    let delay = job.delay();
    let deadline = match job.due {
        None => String::new(),
        Some(_) if delay > Span::ZERO => format!(", {} late", format_span(delay)),
        Some(due) => {
            let spare = job.ran.map_or(Span::ZERO, |ran| due.since(ran.finish));
            format!(", {} to spare", format_span(spare.max(Span::ZERO)))
        }
    };
    let early = job.ran.zip(reserved).map(|(ran, at)| at.since(ran.start));
    let reservation = match early {
        None => String::new(),
        Some(early) if early > Span::ZERO => {
            format!(", started {} before its reservation", format_span(early))
        }
        Some(_) => ", started at its reservation".to_owned(),
    };
    let processors = if job.procs == 1 {
        "processor"
    } else {
        "processors"
    };
    format!(
        "job {number}: {} {processors}, ran {}, waited {}{reservation}{deadline}",
        job.procs,
        format_span(
            job.ran
                .map_or(Span::ZERO, |ran| ran.finish.since(ran.start))
        ),
        format_span(wait)
    )
}

/// Formats a span in the unit that leaves one to four digits.
fn format_span(span: Span) -> String {
    let secs = span.as_secs_f64();
    if secs < 120.0 {
        format!("{secs:.0} s")
    } else if secs < 7200.0 {
        format!("{:.0} min", secs / 60.0)
    } else {
        format!("{:.1} h", secs / 3600.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn range(first: u32, len: u32) -> NodeRange {
        NodeRange { first, len }
    }

    fn bar(start: i64, finish: i64, nodes: NodeRange) -> JobBar {
        JobBar {
            start: Instant::from_secs(start),
            finish: Instant::from_secs(finish),
            missed: None,
            reserved: None,
            nodes: vec![nodes],
            tooltip: String::new(),
        }
    }

    #[test]
    fn adjacent_nodes_become_one_range() {
        let ranges = [
            range(4, 2),
            range(0, 2),
            range(2, 1),
            range(6, 100),
            range(200, 1),
        ];
        assert_eq!(merged(&ranges, 10), [range(0, 3), range(4, 6)]);
        assert_eq!(merged(&ranges, 0), []);
    }

    #[test]
    fn consecutive_jobs_do_not_share_a_node() {
        let apart = [
            bar(0, 5, range(0, 2)),
            bar(5, 6, range(1, 2)),
            bar(0, 9, range(2, 1)),
        ];
        assert_eq!(sharing(&apart[..2]), GanttSharing::Space);
        assert_eq!(sharing(&apart), GanttSharing::Time);
        assert_eq!(sharing(&[]), GanttSharing::Space);
    }

    #[test]
    fn spans_are_formatted_in_a_fitting_unit() {
        let labels =
            [0, 119, 120, 7199, 7200, 360_000].map(|secs| format_span(Span::from_secs(secs)));
        assert_eq!(
            labels,
            ["0 s", "119 s", "2 min", "120 min", "2.0 h", "100.0 h"]
        );
    }
}
