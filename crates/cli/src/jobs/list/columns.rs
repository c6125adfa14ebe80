//! The columns in which jobs are listed: one entry a column, for the table, CSV and the order.

use std::cmp::Ordering;
use std::io::{self, Write};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use console::Style;
use jiff::Zoned;
use tollgate_client::types::JobDetails;

use super::cells::{
    ColumnValue, chance_cell, expected, flag, instant, number, promise_cell, span, state_cell,
    state_style, text, word,
};
use crate::exit::CliFailure;
use crate::output::format;
use crate::output::table::Column;

/// A column of the list of jobs.
#[derive(Debug)]
pub(super) struct JobColumn {
    /// The name in CSV and for `--columns`.
    key: &'static str,
    /// The heading in a table.
    heading: &'static str,
    value: fn(&JobDetails) -> ColumnValue,
    /// The text in a table, if it is not that of the value.
    cell: Option<fn(&JobDetails) -> String>,
    /// The colour of the text on a terminal.
    style: Option<fn(&JobDetails) -> Style>,
    /// Whether the table has the column when no columns are named.
    usual: UsualColumn,
    /// Whether the heading has the time zone.
    has_zone: bool,
    /// Whether texts may be cut where the terminal is narrow.
    is_flexible: bool,
    /// Whether the service has to look ahead for its values.
    is_expecting: bool,
}

/// Whether a table has a column when none is named.
#[derive(Debug)]
enum UsualColumn {
    Always,
    /// If the users of the jobs, or their hosts, have to be told apart.
    If(fn(&[JobDetails]) -> bool),
    Never,
}

use ColumnValue::{Bytes, Id, Number, Text};
use UsualColumn::{Always, If, Never};

static COLUMNS: &[JobColumn] = &[
    JobColumn::new("id", |job: &JobDetails| Id(job.id, job.task)).usual(),
    JobColumn::new("user_id", |job: &JobDetails| Number(job.user_id.into())).heading("user id"),
    JobColumn::new("user", |job: &JobDetails| Text(job.user.clone()))
        .usual_if(has_jobs_of_others)
        .flexible(),
    JobColumn::new("account", |job: &JobDetails| text(&job.account)).flexible(),
    JobColumn::new("queue", |job: &JobDetails| text(&job.queue)).flexible(),
    JobColumn::new("name", |job: &JobDetails| Text(job.name.clone()))
        .usual()
        .flexible(),
    JobColumn::new("state", |job: &JobDetails| Text(job.state.key().to_owned()))
        .usual()
        .shown_as(state_cell)
        .flexible()
        .coloured(state_style),
    JobColumn::new("waits_for", |job: &JobDetails| {
        word(&job.waits_for.as_ref().map(|wait| wait.key.clone()))
    })
    .heading("waits for")
    .flexible(),
    JobColumn::new("why", |job: &JobDetails| {
        text(&job.waits_for.as_ref().map(|wait| wait.text.clone()))
    })
    .usual_if(have_expectations)
    .flexible(),
    JobColumn::new("procs", |job: &JobDetails| Number(job.procs.into())).usual(),
    JobColumn::new("submitted_at", |job: &JobDetails| {
        ColumnValue::Instant(job.submitted_at.clone())
    })
    .heading("submitted"),
    JobColumn::new("deadline_at", |job: &JobDetails| instant(&job.deadline_at))
        .heading("deadline")
        .usual()
        .with_zone(),
    JobColumn::new("begin_at", |job: &JobDetails| instant(&job.begin_at))
        .heading("begin")
        .usual_if(have_begins_ahead),
    JobColumn::new("expected_start_at", |job: &JobDetails| {
        expected(job, |expected| expected.expected_start_at.clone())
    })
    .heading("start expected")
    .usual_if(have_expectations)
    .expecting(),
    JobColumn::new("expected_finish_at", |job: &JobDetails| {
        expected(job, |expected| expected.expected_finish_at.clone())
    })
    .heading("end expected")
    .usual_if(have_expectations)
    .expecting(),
    JobColumn::new("earliest_finish_at", |job: &JobDetails| {
        expected(job, |expected| expected.earliest_finish_at.clone())
    })
    .heading("earliest end")
    .expecting(),
    JobColumn::new("latest_finish_at", |job: &JobDetails| {
        expected(job, |expected| expected.latest_finish_at.clone())
    })
    .heading("latest end")
    .expecting(),
    JobColumn::new("expected_probability", |job: &JobDetails| {
        let expected = job.expected.as_ref();
        number(expected.and_then(|expected| expected.probability))
    })
    .heading("in time")
    .shown_as(chance_cell)
    .usual_if(have_expectations)
    .expecting(),
    JobColumn::new("started_at", |job: &JobDetails| instant(&job.started_at))
        .heading("started")
        .usual(),
    JobColumn::new("finished_at", |job: &JobDetails| instant(&job.finished_at))
        .heading("ended")
        .usual(),
    JobColumn::new("host", |job: &JobDetails| text(&job.host))
        .usual_if(is_on_several_hosts)
        .flexible(),
    JobColumn::new("attempts", |job: &JobDetails| Number(job.attempts.into()))
        .usual_if(were_tried_again),
    JobColumn::new("promise", |job: &JobDetails| word(&job.promise))
        .usual()
        .shown_as(promise_cell)
        .flexible(),
    JobColumn::new("probability", |job: &JobDetails| number(job.probability)),
    JobColumn::new("quoted_probability", |job: &JobDetails| {
        number(job.quoted_probability)
    })
    .heading("quoted"),
    JobColumn::new("promised_probability", |job: &JobDetails| {
        number(job.promised_probability)
    })
    .heading("promised"),
    JobColumn::new("promised_at", |job: &JobDetails| instant(&job.promised_at))
        .heading("promised at"),
    JobColumn::new("counts_on_expected_hosts", |job: &JobDetails| {
        flag(job.counts_on_expected_hosts)
    })
    .heading("on expected"),
    JobColumn::new("price", |job: &JobDetails| number(job.price)),
    JobColumn::new("status", |job: &JobDetails| text(&job.status)).flexible(),
    JobColumn::new("comment", |job: &JobDetails| text(&job.comment))
        .usual_if(|jobs| jobs.iter().any(|job| job.comment.is_some()))
        .flexible(),
    JobColumn::new("estimate_s", |job: &JobDetails| {
        ColumnValue::Span(job.estimate_s)
    })
    .heading("estimate"),
    JobColumn::new("run_s", |job: &JobDetails| span(job.run_s)).heading("run time"),
    JobColumn::new("cpu_s", |job: &JobDetails| span(job.cpu_s)).heading("cpu time"),
    JobColumn::new("peak_memory_bytes", |job: &JobDetails| {
        job.peak_memory_bytes.map_or(ColumnValue::Missing, Bytes)
    })
    .heading("peak memory"),
];

impl JobColumn {
    /// Returns a column that a table has only if it is named.
    const fn new(key: &'static str, value: fn(&JobDetails) -> ColumnValue) -> Self {
        Self {
            key,
            heading: key,
            value,
            cell: None,
            style: None,
            usual: Never,
            has_zone: false,
            is_flexible: false,
            is_expecting: false,
        }
    }

    const fn heading(self, heading: &'static str) -> Self {
        Self { heading, ..self }
    }

    const fn usual(self) -> Self {
        Self {
            usual: Always,
            ..self
        }
    }

    const fn usual_if(self, is_needed: fn(&[JobDetails]) -> bool) -> Self {
        Self {
            usual: If(is_needed),
            ..self
        }
    }

    const fn shown_as(self, cell: fn(&JobDetails) -> String) -> Self {
        Self {
            cell: Some(cell),
            ..self
        }
    }

    const fn coloured(self, style: fn(&JobDetails) -> Style) -> Self {
        Self {
            style: Some(style),
            ..self
        }
    }

    const fn with_zone(self) -> Self {
        Self {
            has_zone: true,
            ..self
        }
    }

    const fn flexible(self) -> Self {
        Self {
            is_flexible: true,
            ..self
        }
    }

    const fn expecting(self) -> Self {
        Self {
            is_expecting: true,
            ..self
        }
    }
}

impl JobColumn {
    /// Returns a parser of the names of columns. Headings without blanks are names too.
    pub(super) fn parser() -> impl TypedValueParser<Value = &'static Self> {
        let names = COLUMNS.iter().map(|column| {
            let name = PossibleValue::new(column.key);
            match column.heading == column.key || column.heading.contains(' ') {
                true => name,
                false => name.alias(column.heading),
            }
        });
        PossibleValuesParser::new(names)
            .try_map(|name| Self::named(&name).ok_or("there is no such column"))
    }

    fn named(name: &str) -> Option<&'static Self> {
        COLUMNS
            .iter()
            .find(|column| column.key == name || column.heading == name)
    }

    /// Returns whether the service has to look ahead for the values of the column.
    pub(super) const fn is_expecting(&self) -> bool {
        self.is_expecting
    }

    /// Returns the columns of a table of these jobs.
    pub(super) fn usual_of(jobs: &[JobDetails]) -> Vec<&'static Self> {
        let columns = COLUMNS.iter().filter(|column| match column.usual {
            Always => true,
            If(is_needed) => is_needed(jobs),
            Never => false,
        });
        columns.collect()
    }

    /// Returns the column of a table, in colour where the terminal has it.
    pub(super) fn shown<'a>(&'static self, now: &'a Zoned) -> Column<'a, JobDetails> {
        let heading = match self.has_zone {
            true => format!("{} {}", self.heading, now.strftime("%Z")),
            false => self.heading.to_owned(),
        };
        let column = Column::new(heading, move |job: &JobDetails| {
            let text = match self.cell {
                Some(cell) => cell(job),
                None => (self.value)(job).for_people(now),
            };
            match self.style {
                Some(style) => style(job).apply_to(text).to_string(),
                None => text,
            }
        });
        match self.is_flexible {
            true => column.flexible(),
            false => column,
        }
    }
}

/// An order of jobs.
#[derive(Clone, Copy, Debug)]
pub(super) struct SortOrder {
    column: &'static JobColumn,
    descending: bool,
}

impl SortOrder {
    pub(super) fn parse(word: &str) -> Result<Self, String> {
        let (name, descending) = match word.strip_prefix('-') {
            Some(name) => (name, true),
            None => (word, false),
        };
        let column = JobColumn::named(name).ok_or_else(|| {
            let known: Vec<&str> = COLUMNS.iter().map(|column| column.key).collect();
            format!("expected one of {}", known.join(", "))
        })?;
        Ok(Self { column, descending })
    }

    /// Returns the column by which jobs are sorted.
    pub(super) const fn column(self) -> &'static JobColumn {
        self.column
    }

    /// Sorts the jobs. Those without a value come last; equal ones stay in their order.
    pub(super) fn sort(self, jobs: &mut [JobDetails]) {
        let value = self.column.value;
        jobs.sort_by(|one, other| {
            let (one, other) = (value(one), value(other));
            match (&one, &other) {
                (ColumnValue::Missing, ColumnValue::Missing) => Ordering::Equal,
                (ColumnValue::Missing, _) => Ordering::Greater,
                (_, ColumnValue::Missing) => Ordering::Less,
                _ if self.descending => other.compare(&one),
                _ => one.compare(&other),
            }
        });
    }
}

/// Writes the numbers of the jobs, one a line.
pub(super) fn write_numbers(out: &mut impl Write, jobs: &[JobDetails]) -> io::Result<()> {
    jobs.iter()
        .try_for_each(|job| writeln!(out, "{}", format::format_job_id(job)))
}

/// Writes CSV with these columns, or with all.
pub(super) fn write_csv(
    out: impl Write,
    jobs: &[JobDetails],
    columns: &[&'static JobColumn],
) -> Result<(), CliFailure> {
    let all: Vec<&JobColumn>;
    let columns = if columns.is_empty() {
        all = COLUMNS.iter().collect();
        &all
    } else {
        columns
    };
    let mut rows = csv::Writer::from_writer(out);
    let mut write = || -> Result<(), csv::Error> {
        rows.write_record(columns.iter().map(|column| column.key))?;
        for job in jobs {
            rows.write_record(columns.iter().map(|column| (column.value)(job).exact()))?;
        }
        Ok(rows.flush()?)
    };
    write().map_err(|error| io::Error::from(error).into())
}

fn have_expectations(jobs: &[JobDetails]) -> bool {
    jobs.iter().any(|job| job.expected.is_some())
}

fn has_jobs_of_others(jobs: &[JobDetails]) -> bool {
    let own = rustix::process::geteuid().as_raw();
    jobs.iter().any(|job| job.user_id != own)
}

/// Returns whether a job, or a task of an array, has had several attempts.
fn were_tried_again(jobs: &[JobDetails]) -> bool {
    let mut alone = jobs.iter().filter(|job| job.array.is_none());
    alone.any(|job| job.attempts > 1)
}

/// Returns whether a job waits for a time of its own.
fn have_begins_ahead(jobs: &[JobDetails]) -> bool {
    let mut waiting = jobs.iter().filter(|job| job.decided_at.is_none());
    waiting.any(|job| job.begin_at.is_some() && job.finished_at.is_none())
}

fn is_on_several_hosts(jobs: &[JobDetails]) -> bool {
    let mut hosts = jobs.iter().filter_map(|job| job.host.as_ref());
    let first = hosts.next();
    hosts.any(|host| Some(host) != first)
}
