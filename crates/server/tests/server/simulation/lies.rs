//! A host whose reports cannot be true.

use std::sync::{Arc, Mutex};

use tollgate_model::{AttemptEvent, AttemptReport, Instant, Span};

use super::random::SplitMix;

/// Falsifies the reports of a host, or not. Clones share the state.
#[derive(Clone, Default)]
pub(crate) struct ReportFalsifier(Arc<Mutex<Option<SplitMix>>>);

impl ReportFalsifier {
    /// Falsifies reports from now on; with None reports the truth.
    pub(crate) fn falsify(&self, random: Option<SplitMix>) {
        *self.0.lock().unwrap() = random;
    }

    /// Returns the report as the host sends it: each number may be any at all, or an extreme. The outcome of
    /// the attempt is true.
    pub(super) fn distort(&self, mut report: AttemptReport) -> AttemptReport {
        let mut random = self.0.lock().unwrap();
        let Some(random) = random.as_mut() else {
            return report;
        };
        match &mut report.event {
            AttemptEvent::Started(start) => {
                start.at = instant(random, start.at);
                start.pid = start.pid.map(|_| number(random) as u32);
            }
            AttemptEvent::Ended(ended) => {
                ended.at = instant(random, ended.at);
                ended.wall = span(random, ended.wall);
                ended.cpu = span(random, ended.cpu);
                ended.peak_memory = ended.peak_memory.map(|_| number(random) as u64);
            }
            AttemptEvent::Lost { at } => *at = instant(random, *at),
        }
        report
    }
}

fn instant(random: &mut SplitMix, truth: Instant) -> Instant {
    match random.one_in(2) {
        true => truth,
        false => Instant::from_micros(number(random)),
    }
}

fn span(random: &mut SplitMix, truth: Span) -> Span {
    match random.one_in(2) {
        true => truth,
        false => Span::from_micros(number(random)),
    }
}

/// Draws a number from all there are, mostly an extreme.
fn number(random: &mut SplitMix) -> i64 {
    match random.below(5) {
        0 => i64::MAX,
        1 => i64::MIN,
        2 => 0,
        3 => -1,
        _ => random.below(u64::MAX) as i64,
    }
}
