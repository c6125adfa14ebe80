//! Statements about waits: they never see their own outcome, and are kept as often as their level demands.

use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, LogNormal};
use rand_pcg::Pcg64;
use tollgate_forecast::wait::{
    JobWidth, WaitEnd, WaitEventKind, WaitForecaster, WaitJob, WaitRecord, WaitStatement,
    evaluate_waits, wait_events,
};
use tollgate_model::{Instant, Span};

use crate::archive;

/// Draws jobs of two queues. Jobs of the first one start at once or soon; the waits of the second one grow with their
/// processors.
fn draw(n_jobs: usize, seed: u64) -> Vec<WaitRecord> {
    let mut random = Pcg64::seed_from_u64(seed);
    let noise = LogNormal::new(0.0, 1.0).expect("a distribution");
    let mut now = 0;
    let record = |_| {
        // Some jobs are submitted together.
        now += random.random_range(0..6) * 400;
        let queue = random.random_range(0..2_u32);
        let procs = 1 << random.random_range(0..8);
        let scale = if queue == 0 {
            5.0
        } else {
            100.0 * f64::from(procs)
        };
        let wait_s = (scale * noise.sample(&mut random)) as i64;
        let wait = Span::from_secs(if queue == 0 && wait_s < 5 { 0 } else { wait_s });
        let runtime = Span::from_secs(random.random_range(10..5_000));
        WaitRecord {
            job: WaitJob {
                user: Some(random.random_range(0..9)),
                queue: Some(queue),
                procs,
                request: random.random_ratio(4, 5).then_some(Span::from_secs(7_200)),
            },
            queued: Instant::from_secs(now),
            wait_end: if random.random_ratio(1, 20) {
                WaitEnd::Cancelled(wait)
            } else {
                WaitEnd::Ran { wait, runtime }
            },
        }
    };
    (0..n_jobs).map(record).collect()
}

/// Feeds a forecaster with the events of records. Fits run at once.
fn replay(
    records: &[WaitRecord],
    mut visit: impl FnMut(usize, Option<WaitStatement>),
) -> WaitForecaster {
    let mut forecaster = WaitForecaster::default();
    for event in wait_events(records) {
        feed(&mut forecaster, records, &event, &mut visit);
        while let Some(refit) = forecaster.refit_due(event.at) {
            forecaster.install(refit.run());
        }
    }
    forecaster
}

fn feed(
    forecaster: &mut WaitForecaster,
    records: &[WaitRecord],
    event: &tollgate_forecast::wait::WaitEvent,
    visit: &mut impl FnMut(usize, Option<WaitStatement>),
) {
    let id = event.job as u64;
    for later in forecaster.advance(event.at) {
        visit(later.job as usize, Some(later.statement));
    }
    match event.kind {
        WaitEventKind::Queued => {
            let stated = forecaster.submit(event.at, id, records[event.job].job);
            visit(event.job, stated);
        }
        WaitEventKind::Started => forecaster.start(event.at, id),
        WaitEventKind::Ended => forecaster.end(event.at, id),
        WaitEventKind::Cancelled => forecaster.cancel(id),
    }
}

/// Returns every statement up to that at the submission of the job `last`, and the first one after it.
fn statements(
    records: &[WaitRecord],
    last: usize,
) -> (Vec<Option<WaitStatement>>, Option<WaitStatement>) {
    let mut until = Vec::new();
    let mut seen = false;
    let mut after = None;
    replay(records, |job, stated| {
        if !seen {
            until.push(stated);
            seen = job == last;
        } else if job == last + 40 && after.is_none() {
            after = stated;
        }
    });
    (until, after)
}

#[test]
fn statement_never_sees_its_own_outcome() {
    let records = draw(900, 7);
    let mut n_changed = 0;
    for planted in [400, 503, 640, 777, 820] {
        let mut others = records.clone();
        // Far from every wait of the record: a leaf that held it would show it.
        others[planted].wait_end = match records[planted].wait_end {
            WaitEnd::Ran { wait, runtime } if wait > Span::ZERO => WaitEnd::Ran {
                wait: Span::ZERO,
                runtime: runtime + Span::from_secs(9_000_000),
            },
            WaitEnd::Ran { runtime, .. } => WaitEnd::Ran {
                wait: Span::from_secs(9_000_000),
                runtime,
            },
            WaitEnd::Cancelled(_) => WaitEnd::Ran {
                wait: Span::ZERO,
                runtime: Span::from_secs(1),
            },
        };
        let (stated, after) = statements(&records, planted);
        let (stated_with, after_with) = statements(&others, planted);
        assert!(stated.last().is_some_and(Option::is_some));
        assert_eq!(stated, stated_with, "job {planted}");
        n_changed += usize::from(after != after_with);
    }
    // Later statements do see it.
    assert!(n_changed > 0);
}

#[test]
fn statements_are_kept_as_often_as_their_level_demands() {
    let evaluated = evaluate_waits(&draw(6_000, 11));
    assert!(evaluated.wait.n_jobs > 3_000, "{}", evaluated.wait.n_jobs);
    assert!(evaluated.n_cancelled > 100);
    // A quarter of the waits are exactly 0, so no bound of a wait can be kept less often.
    let levels = [(1, 0.1), (2, 0.5), (3, 0.9), (4, 0.95)];
    for (score, levels) in [
        (&evaluated.wait, &levels[1..]),
        (&evaluated.end, &levels[..]),
        (&evaluated.hour_anew, &levels[..]),
    ] {
        for (idx, level) in levels {
            let kept = score.coverage(*idx).expect("bounds");
            assert!((kept - level).abs() < 0.03, "{level}: {kept}");
        }
    }
    // The forest knows the queue of a job, and so do the classes; what users estimate says nothing here.
    let loss = |score: &tollgate_forecast::wait::BoundScore| score.pinball(3).expect("bounds")[0];
    assert!(loss(&evaluated.wait) < loss(&evaluated.binomial));
    assert!(loss(&evaluated.hour_anew) < loss(&evaluated.hour_before));
}

#[test]
fn restored_forecaster_states_the_same() {
    let records = draw(700, 3);
    let known = replay(&records, |_, _| ());
    let stored = postcard::to_stdvec(&known).expect("serialisable");
    let restored: WaitForecaster = postcard::from_bytes(&stored).expect("whole");
    assert_eq!(
        postcard::to_stdvec(&restored).expect("serialisable"),
        stored
    );
    let now = Instant::from_secs(10_000_000);
    let job = records[0].job;
    assert!(known.quote(now, &job).is_some());
    assert_eq!(restored.quote(now, &job), known.quote(now, &job));
}

#[test]
fn late_fit_misses_no_outcome() {
    let records = draw(700, 5);
    let at_once = replay(&records, |_, _| ());
    // The same fits, each installed ten events after it was due.
    let mut forecaster = WaitForecaster::default();
    let mut running = std::collections::VecDeque::new();
    let events = wait_events(&records);
    for (nth, event) in events.iter().enumerate() {
        feed(&mut forecaster, &records, event, &mut |_, _| ());
        while let Some(refit) = forecaster.refit_due(event.at) {
            running.push_back((nth + 10, refit));
        }
        while running.front().is_some_and(|(ready, _)| *ready <= nth) {
            let (_, refit) = running.pop_front().expect("a fit");
            forecaster.install(refit.run());
        }
    }
    running
        .into_iter()
        .for_each(|(_, refit)| forecaster.install(refit.run()));
    // Offsets differ by what was stated meanwhile; the leaves do not.
    let now = Instant::from_secs(10_000_000);
    for record in &records[..20] {
        let explained = |from: &WaitForecaster| from.explain(now, &record.job, 5);
        assert_eq!(explained(&forecaster), explained(&at_once));
        let at_once_part = |from: &WaitForecaster| from.quote(now, &record.job).map(|s| s.at_once);
        assert_eq!(at_once_part(&forecaster), at_once_part(&at_once));
    }
}

#[test]
fn repeated_and_unknown_events_change_nothing() {
    let records = draw(60, 9);
    let mut forecaster = replay(&records[..50], |_, _| ());
    let now = Instant::from_secs(10_000_000);
    forecaster.advance(now);
    let known = forecaster.clone();
    forecaster.start(now, 3);
    forecaster.end(now, 3);
    forecaster.cancel(3);
    forecaster.start(now, 999);
    forecaster.end(now, 999);
    assert_eq!(forecaster, known);
}

#[test]
fn waits_of_an_archived_trace_are_covered() {
    let Some(jobs) = archive::records("SDSC-SP2-1998-4.2-cln.swf.gz") else {
        return;
    };
    let ran = jobs.iter().filter(|job| job.runtime > Span::ZERO);
    let records: Vec<WaitRecord> = ran
        .take(8_000)
        .map(|job| WaitRecord {
            job: WaitJob {
                user: Some(job.job.class.0),
                queue: None,
                procs: job.job.procs,
                request: job.job.request,
            },
            queued: job.submit,
            wait_end: WaitEnd::Ran {
                wait: job.finish.since(job.submit) - job.runtime,
                runtime: job.runtime,
            },
        })
        .collect();
    let evaluated = evaluate_waits(&records);
    for (idx, level) in [(2, 0.5), (3, 0.9), (4, 0.95)] {
        let kept = evaluated.wait.coverage(idx).expect("bounds");
        assert!((kept - level).abs() < 0.04, "{level}: {kept}");
    }
    let loss = |score: &tollgate_forecast::wait::BoundScore| score.pinball(3).expect("bounds")[0];
    assert!(loss(&evaluated.wait) < 0.8 * loss(&evaluated.binomial));
    assert!(loss(&evaluated.wait_of_planned) < loss(&evaluated.plan));
    assert!(evaluated.by_width.0.contains_key(&JobWidth::Wide));
}
