//! Log-ins: the sessions of users at computers.

use tollgate_grid_policies::select::{CampusComputer, HOURS_OF_WEEK, LoginLog, hour_of_week};
use tollgate_model::{Instant, NodeId, Span};
use tollgate_workload::rng::{RandomStream, StreamFamily, StreamPurpose};

use super::calendar::{LoginCalendar, OpeningHours};
use super::layout::ClusterUsage;
use super::settings::{CampusConfig, UserBehaviour};

/// A session of a user at a computer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UserSession {
    /// The log-in.
    pub from: Instant,
    /// The log-out; later than `from`.
    pub to: Instant,
}

/// All sessions within a period that starts at the origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CampusSessions {
    horizon: Instant,
    /// By computer, in order; no two sessions of one computer overlap or touch.
    sessions: Vec<UserSession>,
    /// Index of each computer's first session; one entry more than there are computers.
    first: Vec<usize>,
}

/// A log-in or log-out at a computer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct UserMovement {
    pub(super) at: Instant,
    /// The next log-in at this computer; never if no user comes again. It is stored here because
    /// the kernel reads movements in sequence, and a lookup elsewhere would miss the cache.
    pub(super) next: Instant,
    pub(super) node: NodeId,
    pub(super) kind: MovementKind,
}

/// The kind of a movement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum MovementKind {
    Departure,
    Arrival,
}

impl UserMovement {
    /// Returns the order of movements as one number, which is compared faster than its parts: the
    /// instant, log-outs first, then the computer. No instant is before the origin.
    fn order(&self) -> u128 {
        let at = self.at.as_micros() as u128;
        at << 33 | (self.kind as u128) << 32 | u128::from(self.node.0)
    }
}

/// Minimum time until the next user comes.
const MIN_GAP_S: f64 = 5.0;

/// The next user in line takes over after `HANDOVER_S` plus an exponential time of mean
/// `HANDOVER_MEAN_S`.
const HANDOVER_S: f64 = 36.0;
const HANDOVER_MEAN_S: f64 = 72.0;

const MIN_SESSION_S: f64 = 60.0;
const MAX_SESSION_S: f64 = 12.0 * 3600.0;

/// Maximum number of adjustments of the rate.
const ADJUSTMENTS: usize = 6;

impl CampusSessions {
    /// Builds the sessions of a record, computer by computer in any order. Sessions are cut at the
    /// `horizon`; sessions of one computer that overlap or touch are merged.
    pub fn of(computers: Vec<Vec<UserSession>>, horizon: Instant) -> Self {
        let mut all = Self::none(horizon);
        for mut sessions in computers {
            sessions.sort_unstable();
            for mut session in sessions {
                session.from = session.from.max(Instant::ZERO);
                session.to = session.to.min(horizon);
                let first = *all.first.last().unwrap_or(&0);
                match all.sessions[first..].last_mut() {
                    Some(last) if session.from <= last.to => last.to = last.to.max(session.to),
                    _ if session.from < session.to => all.sessions.push(session),
                    _ => {}
                }
            }
            all.close();
        }
        all
    }

    fn none(horizon: Instant) -> Self {
        Self {
            horizon,
            sessions: Vec::new(),
            first: vec![0],
        }
    }

    /// Closes the current computer: all further sessions belong to the next one.
    fn close(&mut self) {
        self.first.push(self.sessions.len());
    }

    /// Draws all sessions of the synthetic campus, repeatedly with an adjusted rate, until the mean
    /// time between them is as configured.
    pub(super) fn draw(
        settings: &CampusConfig,
        computers: &[CampusComputer],
        rooms: &ClusterUsage,
    ) -> Self {
        let users = &settings.users;
        let target_s = users.mean_idle.as_secs_f64();
        let calendars =
            OpeningHours::ALL.map(|opening| LoginCalendar::new(opening, users, settings.days));
        let mut rate = users.base_rate;
        let mut sessions = Self::none(Instant::ZERO + settings.horizon());
        sessions.draw_at_rate(settings, computers, rooms, &calendars, rate);
        for _ in 1..ADJUSTMENTS {
            let mean_s = sessions.mean_gap().map_or(target_s, Span::as_secs_f64);
            if (mean_s - target_s).abs() <= users.idle_within.as_secs_f64() {
                break;
            }
            rate *= mean_s / target_s;
            sessions.draw_at_rate(settings, computers, rooms, &calendars, rate);
        }
        sessions
    }

    /// Draws all sessions anew.
    fn draw_at_rate(
        &mut self,
        settings: &CampusConfig,
        computers: &[CampusComputer],
        rooms: &ClusterUsage,
        calendars: &[LoginCalendar; 3],
        rate: f64,
    ) {
        let family = StreamFamily::new(settings.seed, StreamPurpose::LogIns);
        self.sessions.clear();
        self.first.truncate(1);
        for (number, computer) in (0..).zip(computers) {
            let cluster = computer.cluster as usize;
            let calendar = &calendars[rooms.opening[cluster] as usize];
            let rate = rate * rooms.popularity[cluster];
            let mut stream = family.stream(number);
            self.draw_computer(&settings.users, calendar, rate, &mut stream);
            self.close();
        }
    }

    fn draw_computer(
        &mut self,
        users: &UserBehaviour,
        calendar: &LoginCalendar,
        rate: f64,
        stream: &mut RandomStream,
    ) {
        let horizon_s = self.horizon.as_secs_f64();
        let mut left_s = 0.0;
        let mut next_s = calendar.after(0.0, stream.exponential() / rate);
        while let Some(from_s) = next_s.filter(|&from_s| from_s < horizon_s) {
            let to_s = (from_s + users.length_s(stream))
                .min(calendar.closes_after(from_s))
                .min(horizon_s);
            let session = UserSession {
                from: Instant::ZERO + Span::from_secs_f64(from_s),
                to: Instant::ZERO + Span::from_secs_f64(to_s),
            };
            // A user who comes in the last moment before closing time does not log in.
            if session.from < session.to {
                self.sessions.push(session);
                left_s = to_s;
            }
            let stands_by = calendar.is_open(to_s) && stream.chance(users.handover_probability);
            let handed_over_s =
                stands_by.then(|| to_s + HANDOVER_S + HANDOVER_MEAN_S * stream.exponential());
            next_s = match handed_over_s {
                Some(at_s) if calendar.is_open(at_s) => Some(at_s),
                Some(_) | None => calendar.after(to_s, stream.exponential() / rate),
            };
            next_s = next_s.map(|at_s| at_s.max(left_s + MIN_GAP_S));
        }
    }

    /// Returns the end of the covered period.
    pub const fn horizon(&self) -> Instant {
        self.horizon
    }

    /// Returns the sessions of a computer, in order.
    pub fn of_computer(&self, computer: usize) -> &[UserSession] {
        &self.sessions[self.first[computer]..self.first[computer + 1]]
    }

    /// Returns the start of a computer's first session; never if it has none.
    pub(super) fn first_of(&self, computer: usize) -> Instant {
        start(self.of_computer(computer).first())
    }

    /// Returns the number of computers.
    pub const fn computers(&self) -> usize {
        self.first.len() - 1
    }

    /// Returns the times between consecutive sessions of one computer, computer by computer.
    pub fn gaps(&self) -> impl Iterator<Item = Span> {
        let computers = (0..self.computers()).map(|computer| self.of_computer(computer));
        computers.flat_map(|own| own.windows(2).map(|pair| pair[1].from.since(pair[0].to)))
    }

    /// Returns the mean gap; None without gaps.
    pub fn mean_gap(&self) -> Option<Span> {
        let (mut sum, mut count) = (0, 0);
        for gap in self.gaps() {
            sum += gap.as_micros();
            count += 1;
        }
        (count > 0).then(|| Span::from_micros(sum / count))
    }

    /// Returns every log-in and log-out, in order; at one instant log-outs first, then by computer.
    pub(super) fn movements(&self) -> Vec<UserMovement> {
        let mut movements = Vec::with_capacity(2 * self.sessions.len());
        for (node, computer) in (0..).map(NodeId).zip(0..self.computers()) {
            let own = self.of_computer(computer);
            for (nth, session) in own.iter().enumerate() {
                let next = start(own.get(nth + 1));
                for (at, kind) in [
                    (session.from, MovementKind::Arrival),
                    (session.to, MovementKind::Departure),
                ] {
                    movements.push(UserMovement {
                        at,
                        next,
                        node,
                        kind,
                    });
                }
            }
        }
        movements.sort_unstable_by_key(UserMovement::order);
        movements
    }

    /// Returns the log-in statistics of the sessions, for policies that look ahead.
    pub(super) fn log(&self, computers: &[CampusComputer]) -> LoginLog {
        let span = self.horizon.since(Instant::ZERO);
        let clusters = computers.iter().map(|one| one.cluster as usize + 1).max();
        let mut log = LoginLog {
            rate: vec![[0.0; HOURS_OF_WEEK]; clusters.unwrap_or(0)],
            ..LoginLog::default()
        };
        let mut sizes = vec![0.0; log.rate.len()];
        for (number, computer) in computers.iter().enumerate() {
            let own = self.of_computer(number);
            let used = own.iter().map(|one| one.to.since(one.from));
            let used = used.fold(Span::ZERO, |sum, span| sum + span);
            log.idle.push(span - used);
            log.sessions.push(own.len() as u32);
            sizes[computer.cluster as usize] += 1.0;
            for session in own {
                let hour = hour_of_week(session.from).0;
                log.rate[computer.cluster as usize][hour] += 1.0;
            }
        }
        let hours = hours_of_span(span);
        for (rates, size) in log.rate.iter_mut().zip(sizes) {
            for (rate, hours) in rates.iter_mut().zip(&hours) {
                *rate /= f64::max(size * hours, 1.0);
            }
        }
        log
    }
}

impl UserBehaviour {
    /// Draws the length of a session that begins now.
    pub(super) fn length(&self, stream: &mut RandomStream) -> Span {
        Span::from_secs_f64(self.length_s(stream))
    }

    fn length_s(&self, stream: &mut RandomStream) -> f64 {
        self.session_s
            .draw(stream)
            .clamp(MIN_SESSION_S, MAX_SESSION_S)
    }
}

fn start(session: Option<&UserSession>) -> Instant {
    session.map_or(Instant::MAX, |session| session.from)
}

/// Returns how often each hour of the week occurs in a span from the origin.
fn hours_of_span(span: Span) -> Vec<f64> {
    let hours = (span.as_secs_f64() / 3600.0).ceil() as usize;
    let (weeks, rest) = (hours / HOURS_OF_WEEK, hours % HOURS_OF_WEEK);
    let count = |hour: usize| (weeks + usize::from(hour < rest)) as f64;
    (0..HOURS_OF_WEEK).map(count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(from_s: i64, to_s: i64) -> UserSession {
        UserSession {
            from: Instant::from_secs(from_s),
            to: Instant::from_secs(to_s),
        }
    }

    #[test]
    fn recorded_sessions_are_sorted_merged_and_clipped() {
        let record = vec![
            vec![
                session(50, 70),
                session(-5, 10),
                session(8, 20),
                session(20, 25),
            ],
            vec![],
            vec![session(95, 200), session(100, 120)],
        ];
        let sessions = CampusSessions::of(record, Instant::from_secs(100));
        assert_eq!(sessions.of_computer(0), [session(0, 25), session(50, 70)]);
        assert_eq!(sessions.of_computer(1), []);
        assert_eq!(sessions.of_computer(2), [session(95, 100)]);
        assert_eq!(sessions.mean_gap(), Some(Span::from_secs(25)));
        let movements: Vec<_> = sessions
            .movements()
            .into_iter()
            .map(|one| {
                (
                    one.at.as_secs_f64(),
                    one.node.0,
                    one.kind == MovementKind::Arrival,
                )
            })
            .collect();
        let expected = [
            (0.0, 0, true),
            (25.0, 0, false),
            (50.0, 0, true),
            (70.0, 0, false),
            (95.0, 2, true),
            (100.0, 2, false),
        ];
        assert_eq!(movements, expected);
    }

    #[test]
    fn drawn_sessions_never_overlap_and_end_at_closing_time() {
        let settings = CampusConfig {
            scale: 0.05,
            days: 60,
            ..CampusConfig::default()
        };
        let (layout, rooms) = super::super::CampusLayout::draw(&settings);
        let sessions = CampusSessions::draw(&settings, &layout.computers, &rooms);
        let calendars = OpeningHours::ALL
            .map(|opening| LoginCalendar::new(opening, &settings.users, settings.days));
        assert!(sessions.sessions.len() > 1000);
        for (number, computer) in layout.computers.iter().enumerate() {
            let own = sessions.of_computer(number);
            let calendar = &calendars[rooms.opening[computer.cluster as usize] as usize];
            for pair in own.windows(2) {
                assert!(pair[1].from.since(pair[0].to) >= Span::from_secs(4));
            }
            for session in own {
                assert!(session.from < session.to);
                let from_s = session.from.as_secs_f64();
                assert!(calendar.is_open(from_s));
                assert!(session.to.as_secs_f64() <= calendar.closes_after(from_s));
            }
        }
    }
}
