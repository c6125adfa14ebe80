//! Energy: the active, idle and sleeping time of each computer.

use tollgate_model::{Energy, Instant, NodeId, Power, Span};

use super::layout::CampusLayout;
use super::sessions::CampusSessions;

/// A meter that derives the computers' energy from arrivals and departures of users and tasks.
/// Users and tasks wake a computer at once; an unused computer stays awake for a while.
#[derive(Clone, Debug)]
pub(super) struct EnergyMeter {
    stays_awake: Span,
    readings: Vec<ComputerStateTimes>,
}

#[derive(Clone, Copy, Debug, Default)]
struct ComputerStateTimes {
    active: Span,
    idle: Span,
    use_now: ComputerUse,
}

/// The present use of a computer.
#[derive(Clone, Copy, Debug, Default)]
enum ComputerUse {
    /// The computer was never used.
    #[default]
    Never,
    /// A user or a task is there since then.
    Used(Instant),
    /// The computer was left then.
    Left(Instant),
}

impl EnergyMeter {
    pub(super) fn new(computers: usize, stays_awake: Span) -> Self {
        Self {
            stays_awake,
            readings: vec![ComputerStateTimes::default(); computers],
        }
    }

    pub(super) fn arrival(&mut self, node: NodeId, now: Instant) {
        self.readings[node.index()].arrival(now, self.stays_awake);
    }

    pub(super) fn departure(&mut self, node: NodeId, now: Instant) {
        self.readings[node.index()].departure(now);
    }

    /// Returns the energy drawn from the origin to `end`.
    pub(super) fn total(mut self, layout: &CampusLayout, end: Instant) -> Energy {
        let span = end.since(Instant::ZERO);
        let readings = self.readings.iter_mut().zip(&layout.computers);
        readings
            .map(|(reading, computer)| {
                reading.close(end, self.stays_awake);
                reading.energy(&computer.power, span)
            })
            .sum()
    }
}

impl ComputerStateTimes {
    fn arrival(&mut self, now: Instant, stays_awake: Span) {
        if let ComputerUse::Left(left) = self.use_now {
            self.idle += now.since(left).min(stays_awake);
        }
        self.use_now = ComputerUse::Used(now);
    }

    fn departure(&mut self, now: Instant) {
        if let ComputerUse::Used(came) = self.use_now {
            self.active += now.since(came);
        }
        self.use_now = ComputerUse::Left(now);
    }

    fn close(&mut self, end: Instant, stays_awake: Span) {
        if let ComputerUse::Used(_) = self.use_now {
            self.departure(end);
        }
        self.arrival(end, stays_awake);
    }

    fn energy(&self, power: &Power, span: Span) -> Energy {
        let asleep = span - self.active - self.idle;
        power.active.during(self.active)
            + power.idle.during(self.idle)
            + power.asleep.during(asleep)
    }
}

/// Returns the energy that the computers would draw with users only.
pub(super) fn without_tasks(
    layout: &CampusLayout,
    sessions: &CampusSessions,
    stays_awake: Span,
) -> Energy {
    let mut meter = EnergyMeter::new(sessions.computers(), stays_awake);
    for (node, computer) in (0..).map(NodeId).zip(0..sessions.computers()) {
        for session in sessions.of_computer(computer) {
            meter.arrival(node, session.from);
            meter.departure(node, session.to);
        }
    }
    meter.total(layout, sessions.horizon())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campus::UserSession;
    use tollgate_grid_policies::select::CampusComputer;
    use tollgate_model::Watts;

    #[test]
    fn each_power_state_is_metered_separately() {
        let hour = |h: i64| Instant::from_secs(h * 3600);
        let layout = CampusLayout {
            computers: vec![CampusComputer {
                cluster: 0,
                power: Power {
                    active: Watts(100.0),
                    idle: Watts(10.0),
                    asleep: Watts(1.0),
                },
            }],
            reboots: vec![None],
        };
        let session = |from, to| UserSession {
            from: hour(from),
            to: hour(to),
        };
        let record = vec![vec![session(10, 12), session(14, 15), session(22, 30)]];
        let sessions = CampusSessions::of(record, hour(24));
        let energy = without_tasks(&layout, &sessions, Span::from_secs(3 * 3600));
        // Asleep 10 h, active 2 + 1 + 2 h, idle 2 h, then idle 3 of the 7 h after 15, asleep the
        // rest.
        let expected_kwh = (14.0 + 500.0 + 50.0) / 1000.0;
        assert!((energy.as_kwh() - expected_kwh).abs() < 1e-12);
    }
}
