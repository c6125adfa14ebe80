//! Four agents over a network in memory that loses a tenth of the messages, with queues in memory and
//! journals that a crash cuts at any byte.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;

use rand_pcg::Pcg64;
use rand_pcg::rand_core::{Rng, SeedableRng};
use tollgate_agents::{
    AgentJournalEntry, AgentNames, OutgoingMessage, PilotKind, QueueView, RecordLog, SiteAgent,
    SiteMeter, StartedPilot, encode, read_journal, snapshot,
};
use tollgate_federation::durable::{DurableState, in_flight};
use tollgate_federation::{Envelope, Membership, SessionTerms, SessionTiming, SiteId, SiteRecord};
use tollgate_grid_policies::migrate::MigrationSpec;
use tollgate_model::{Instant, Span};
use tollgate_sites::CoreSpeed;

const SITES: u32 = 4;
const PILOTS: u32 = 6;
/// Number of seeds of a normal run with faults; `TOLLGATE_SEEDS` is another one.
const SEEDS: u64 = 6;
/// The default of a session.
const POLICY: &str = "marginal:stop=1.05";
/// The time limit of a pilot, and the interval at which an agent looks at its queue.
const LIFE: Span = Span::from_secs(120);
const LOOK: Span = Span::from_secs(3);

/// A journal in memory. `synced` bytes survive a crash; a crash may leave some of those after them.
#[derive(Clone, Debug, Default)]
struct MemoryLog(Rc<RefCell<Vec<u8>>>);

impl RecordLog for MemoryLog {
    fn append(&mut self, record: SiteRecord) -> io::Result<()> {
        let line = encode(&AgentJournalEntry::Record(record));
        self.0.borrow_mut().extend(line);
        Ok(())
    }

    fn cut(&mut self, state: &DurableState) -> io::Result<()> {
        let mut bytes = self.0.borrow_mut();
        if bytes.len() > 4096 {
            *bytes = snapshot("fit", "site", state);
        }
        Ok(())
    }
}

/// A pilot in a queue.
#[derive(Clone, Copy, Debug)]
struct QueuedPilot {
    number: u32,
    submitted: Instant,
    started: Option<Instant>,
}

/// The queue of a site, in which a limited number of pilots runs.
#[derive(Debug, Default)]
struct MemoryQueue {
    pilots: Vec<QueuedPilot>,
    started: Vec<StartedPilot>,
    next: u32,
    slots: u32,
    is_down: bool,
    /// Pilots that ran while more were there than wanted.
    late: u32,
}

impl MemoryQueue {
    /// Ends pilots at their time limit, and starts those for which there is room.
    fn pass(&mut self, now: Instant) {
        let is_over = |pilot: &QueuedPilot| pilot.started.is_some_and(|at| now.since(at) >= LIFE);
        self.pilots.retain(|pilot| !is_over(pilot));
        let mut running = self.running();
        for pilot in self
            .pilots
            .iter_mut()
            .filter(|pilot| pilot.started.is_none())
        {
            if running < self.slots {
                running += 1;
                pilot.started = Some(now);
                self.started.push(StartedPilot {
                    number: pilot.number,
                    waited_s: now.since(pilot.submitted).as_secs_f64() as u32,
                });
            }
        }
        let old = self.started.len().saturating_sub(20);
        self.started.drain(..old);
    }

    fn running(&self) -> u32 {
        let running = self.pilots.iter().filter(|pilot| pilot.started.is_some());
        u32::try_from(running.count()).expect("a few pilots")
    }

    fn hold(&mut self, now: Instant, target: u32) -> Result<QueueView, &'static str> {
        if self.is_down {
            return Err("the engine does not answer");
        }
        while self.pilots.len() < target as usize {
            self.pilots.push(QueuedPilot {
                number: self.next,
                submitted: now,
                started: None,
            });
            self.next += 1;
        }
        while self.pilots.len() > target as usize {
            let Some(at) = self
                .pilots
                .iter()
                .rposition(|pilot| pilot.started.is_none())
            else {
                self.late += 1;
                break;
            };
            self.pilots.remove(at);
        }
        let waits = self.pilots.iter().filter(|pilot| pilot.started.is_none());
        Ok(QueueView {
            running: self.running(),
            pending: waits
                .map(|pilot| now.since(pilot.submitted).as_secs_f64() as u32)
                .collect(),
            started: self.started.clone(),
            speed: CoreSpeed::UNMEASURED,
            closed: None,
        })
    }
}

/// Four sites, and the messages between them.
struct AgentWorld {
    terms: SessionTerms,
    agents: Vec<Option<SiteAgent<MemoryLog>>>,
    logs: Vec<MemoryLog>,
    queues: Vec<MemoryQueue>,
    looks: Vec<Instant>,
    in_flight: BTreeMap<(Instant, u64), (SiteId, Envelope)>,
    number: u64,
    random: Pcg64,
    loss: f64,
    now: Instant,
    gave: u64,
}

impl AgentWorld {
    fn new(seed: u64, slots: [u32; SITES as usize], loss: f64) -> Self {
        let policy = MigrationSpec::parse(POLICY).expect("a policy");
        let terms = SessionTerms {
            membership: Membership::new(7, (0..SITES).map(SiteId)),
            timing: SessionTiming {
                period: Span::from_secs(10),
                max_delay: Span::from_micros(500_000),
            },
            moves: policy.settings().move_rule().expect("a rule"),
        };
        let mut world = Self {
            terms,
            agents: (0..SITES).map(|_| None).collect(),
            logs: Vec::new(),
            queues: Vec::new(),
            looks: vec![Instant::ZERO; SITES as usize],
            in_flight: BTreeMap::new(),
            number: 0,
            random: Pcg64::seed_from_u64(seed),
            loss,
            now: Instant::ZERO,
            gave: 0,
        };
        for slots in slots {
            let state = DurableState::new(7, PILOTS);
            let bytes = snapshot("fit", "site", &state);
            world.logs.push(MemoryLog(Rc::new(RefCell::new(bytes))));
            world.queues.push(MemoryQueue {
                slots,
                ..MemoryQueue::default()
            });
        }
        for at in 0..SITES as usize {
            world.start(at);
        }
        world
    }

    fn chance(&mut self, probability: f64) -> bool {
        let drawn = self.random.next_u64() >> 11;
        drawn as f64 / (1_u64 << 53) as f64 <= probability
    }

    /// Starts the agent of a site from its journal.
    fn start(&mut self, at: usize) {
        let log = self.logs[at].clone();
        let bytes = log.0.borrow().clone();
        let read = read_journal(&bytes).expect("a journal that is whole up to its last line");
        log.0.borrow_mut().truncate(read.len);
        let kind = PilotKind {
            cores: 1,
            life: LIFE,
            at_most: 100,
            queue_at_most: None,
        };
        let policy = MigrationSpec::parse(POLICY).expect("a policy");
        let meter = SiteMeter::new(&policy, kind, self.terms.timing.period);
        let names = AgentNames {
            session: "fit".to_owned(),
            sites: (0..SITES).map(|site| format!("s{site}")).collect(),
        };
        let id = SiteId(u32::try_from(at).expect("a few sites"));
        let terms = self.terms.clone();
        let agent = SiteAgent::restore(id, names, terms, read.state, log, meter, self.now);
        self.agents[at] = Some(agent.expect("a state of this epoch"));
        self.looks[at] = self.now;
    }

    /// Kills the agent of a site. Its last write may be torn: a part of one more line is left.
    fn kill(&mut self, at: usize) {
        self.agents[at] = None;
        let torn = encode(&AgentJournalEntry::Record(SiteRecord::Promised {
            ballot: tollgate_federation::Ballot::LAST,
        }));
        let part = self.random.next_u64() as usize % torn.len();
        self.logs[at].0.borrow_mut().extend(&torn[..part]);
    }

    fn send(&mut self, sent: Vec<OutgoingMessage>) {
        for OutgoingMessage { to, envelope } in sent {
            if self.chance(self.loss) {
                continue;
            }
            let micros = i64::try_from(self.random.next_u64() % 400_000).expect("a short delay");
            self.number += 1;
            let key = (self.now + Span::from_micros(1000 + micros), self.number);
            self.in_flight.insert(key, (to, envelope));
        }
    }

    /// Does what comes next: a message, a timer, or a look at a queue.
    fn step(&mut self) {
        let message = self.in_flight.first_key_value().map(|((at, _), _)| *at);
        let wakes = (0..SITES as usize).filter_map(|at| {
            let agent = self.agents[at].as_ref()?;
            Some((agent.next_wake().min(self.looks[at]), at))
        });
        let wake = wakes.min();
        let next = message.into_iter().chain(wake.map(|(at, _)| at)).min();
        let next = next.expect("an agent is up");
        self.now = self.now.max(next);
        for queue in &mut self.queues {
            queue.pass(self.now);
        }
        if message == Some(next) {
            let ((_, _), (to, envelope)) = self.in_flight.pop_first().expect("a message");
            let now = self.now;
            if let Some(agent) = &mut self.agents[to.0 as usize] {
                let sent = agent.receive(now, envelope).expect("a log in memory");
                self.note(to.0 as usize);
                self.send(sent);
            }
            return;
        }
        let (_, at) = wake.expect("it comes next");
        let Some(agent) = &mut self.agents[at] else {
            return;
        };
        let mut sent = Vec::new();
        if self.looks[at] <= self.now {
            let view = self.queues[at].hold(self.now, agent.target());
            let view = view.as_ref().map_err(|problem| *problem);
            sent.extend(agent.look(self.now, view).expect("a log in memory"));
            self.looks[at] = self.now + LOOK;
        }
        if agent.next_wake() <= self.now {
            sent.extend(agent.wake(self.now).expect("a log in memory"));
        }
        self.note(at);
        self.send(sent);
    }

    /// Counts what an agent gave, and checks that it kept one pilot in its queue.
    fn note(&mut self, at: usize) {
        let agent = self.agents[at]
            .as_mut()
            .expect("it has just done something");
        for note in agent.take_notes() {
            if note.starts_with("gave") {
                self.gave += 1;
                assert!(!note.contains(" 0 of them wait"), "{note}");
            }
        }
    }

    fn run_until(&mut self, until: Instant) {
        while self.now < until {
            self.step();
        }
    }

    /// Returns the number of pilots that each site should have. All agents are up.
    fn target(&self) -> Vec<u32> {
        let agents = self.agents.iter().flatten();
        agents.map(SiteAgent::target).collect()
    }

    /// Returns the number of pilots in each queue.
    fn queued(&self) -> Vec<u32> {
        let queues = self.queues.iter();
        let queued = queues.map(|queue| u32::try_from(queue.pilots.len()));
        queued.map(|n| n.expect("a few pilots")).collect()
    }

    /// Returns the states on disk, of agents that are down, too.
    fn states(&self) -> BTreeMap<SiteId, DurableState> {
        let read = |log: &MemoryLog| {
            read_journal(&log.0.borrow())
                .expect("a whole journal")
                .state
        };
        (0..).map(SiteId).zip(self.logs.iter().map(read)).collect()
    }

    /// Returns the number of pilots that the journals have, those on their way included.
    fn pilots(&self) -> u32 {
        let states = self.states();
        let held: u32 = states.values().map(|state| state.proxies).sum();
        held + u32::try_from(in_flight(&states).count()).expect("a few pilots")
    }
}

const ALL: u32 = SITES * PILOTS;

#[test]
fn pilots_leave_a_full_site_and_the_last_one_stays() {
    let mut world = AgentWorld::new(1, [0, 8, 8, 8], 0.0);
    world.run_until(Instant::from_secs(400));
    // A pilot that started before it was cancelled stays until its time limit.
    let until = world.now + LIFE + LOOK;
    while world.queued() != world.target() && world.now < until {
        world.step();
    }
    let target = world.target();
    assert_eq!(target[0], 1, "{target:?}");
    assert_eq!(target.iter().sum::<u32>(), ALL);
    assert_eq!(world.queued(), target);
}

#[test]
fn equal_sites_without_waits_move_nothing() {
    let mut world = AgentWorld::new(2, [8; 4], 0.0);
    world.run_until(Instant::from_secs(600));
    assert_eq!(world.gave, 0);
}

#[test]
fn pilots_are_conserved_under_loss_and_crashes() {
    let seeds = std::env::var("TOLLGATE_SEEDS").ok();
    for seed in 0..seeds.map_or(SEEDS, |number| number.parse().expect("a number")) {
        let mut world = AgentWorld::new(seed, [0, 8, 5, 9], 0.1);
        let mut down: BTreeMap<usize, Instant> = BTreeMap::new();
        while world.now < Instant::from_secs(1200) {
            world.step();
            assert_eq!(world.pilots(), ALL, "seed {seed} at {:?}", world.now);
            if world.chance(0.001) && down.is_empty() {
                let at = world.random.next_u64() as usize % SITES as usize;
                world.kill(at);
                down.insert(at, world.now + Span::from_secs(5));
            }
            let (now, random) = (world.now, world.random.next_u64());
            if random.is_multiple_of(2000) {
                // Other people's jobs come and go, and engines fall silent.
                let at = random as usize / 2000 % SITES as usize;
                world.queues[at].slots = [0, 4, 8][random as usize / 8000 % 3];
                world.queues[at].is_down = (random / 24_000).is_multiple_of(4);
            }
            down.retain(|at, until| {
                let stays = now < *until;
                if !stays {
                    world.start(*at);
                }
                stays
            });
        }
        for at in down.into_keys() {
            world.start(at);
        }
        // Without faults, everything on its way arrives, and the queues follow.
        world.loss = 0.0;
        for queue in &mut world.queues {
            queue.is_down = false;
        }
        world.run_until(Instant::from_secs(1500));
        assert!(world.gave > 0, "seed {seed}");
        let states = world.states();
        assert_eq!(world.pilots(), ALL, "seed {seed}");
        let open: usize = states
            .values()
            .map(|state| state.unconfirmed().count())
            .sum();
        assert!(open <= 1, "seed {seed}: {open} transfers at a time");
        for (site, state) in &states {
            assert!(state.proxies > 0, "seed {seed}: site {site}");
        }
    }
}

#[test]
fn dropped_site_is_left_out_and_the_others_go_on() {
    let mut world = AgentWorld::new(3, [0, 8, 8, 8], 0.1);
    world.run_until(Instant::from_secs(100));
    let kept: u32 = world.pilots() - world.states()[&SiteId(3)].proxies;
    let membership = world.terms.membership.without(SiteId(3)).expect("a member");
    world.terms.membership = membership;
    world.kill(3);
    for at in 0..3 {
        world.kill(at);
        world.start(at);
    }
    world.run_until(Instant::from_secs(500));
    let states = world.states();
    let stay: u32 = states.values().take(3).map(|state| state.proxies).sum();
    // A proxy on its way to the lost site, or from it, is given up with the site.
    assert!(stay <= kept && stay + 1 >= kept, "{stay} of {kept}");
    assert_eq!(states[&SiteId(0)].proxies, 1);
}
