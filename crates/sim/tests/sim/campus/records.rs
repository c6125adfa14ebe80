//! Tests of a campus from records.

use tollgate_model::Span;
use tollgate_sim::campus::from_traces::{CampusTraceOptions, environment};
use tollgate_sim::campus::{CampusConfig, TaskTruth};
use tollgate_trace::{ColumnSelection, ReadOptions, logins, read};

use super::small::run_policies;

/// Two tasks that ended, one cancelled, one that never ran; from Tuesday 2010-03-02.
const HISTORY: &str = "\
ClusterId = 1\nQDate = 1267524000\nJobStatus = 4\nJobStartDate = 1267524060\n\
JobCurrentStartDate = 1267524060\nCompletionDate = 1267524660\nRemoteWallClockTime = 600.0\n\n\
ClusterId = 2\nQDate = 1267524000\nJobStatus = 4\nJobStartDate = 1267524060\n\
JobCurrentStartDate = 1267524060\nCompletionDate = 1267531260\nRemoteWallClockTime = 7200.0\n\n\
ClusterId = 3\nQDate = 1267524000\nJobStatus = 3\nJobStartDate = 1267524060\n\
EnteredCurrentStatus = 1267610460\nRemoteWallClockTime = 86400.0\n\n";

fn reading(computers: u32) -> CampusTraceOptions {
    CampusTraceOptions {
        computers,
        reboot: Some(Span::from_secs(5 * 3600)),
        settings: CampusConfig::default(),
    }
}

fn options() -> ReadOptions {
    ReadOptions {
        columns: ColumnSelection::All,
    }
}

#[test]
fn tasks_run_on_computers_without_sessions() {
    let trace = read("history", HISTORY.as_bytes(), options()).unwrap();
    let text = "computer,login,logout\na,1267524000,1267527600\nb,1267525000,1267526000\n";
    let logins = logins::read("logins", text.as_bytes()).unwrap();
    let (campus, notes) = environment(&trace, &logins, &reading(1)).unwrap();
    assert_eq!(notes.weeks_moved, 0);
    assert_eq!(
        (campus.layout().computers.len(), campus.tasks().len()),
        (2, 3)
    );
    assert_eq!(notes.removed, 1);
    let bad = campus.tasks().iter().filter(|task| !task.is_good());
    assert_eq!(bad.count(), 1);
    let year = run_policies(&campus, "x0/c1");
    assert_eq!(
        (year.metrics.good.completed, year.metrics.bad.removed),
        (2, 1)
    );
    // `b` is taken at 1000 s: the task that starts there first is evicted.
    assert!(year.metrics.good.evictions + year.metrics.bad.evictions > 0);
}

#[test]
fn logins_of_another_year_are_shifted_by_whole_weeks() {
    let trace = read("history", HISTORY.as_bytes(), options()).unwrap();
    let text = "location,datetime\nlab,2016-02-01 09:00:00\nlab,2016-02-01 09:01:00\n\
                lab,2016-02-01 09:02:00\n";
    let logins = logins::read("logins", text.as_bytes()).unwrap();
    let (campus, notes) = environment(&trace, &logins, &reading(2)).unwrap();
    assert_eq!(notes.ends_drawn, 3);
    assert_eq!(notes.crowded, 1);
    assert!(notes.weeks_moved < 0);
    // Monday at nine stays Monday at nine.
    let first = campus.sessions().of_computer(0)[0];
    assert_eq!(first.from.as_secs_f64(), 9.0 * 3600.0);
    assert!(matches!(campus.tasks()[2].truth, TaskTruth::Bad { .. }));
}
