//! What the service answers to a worker.

use std::collections::BTreeSet;

use tollgate_engine::{AttemptKey, Capacity, Engine, Event, KillReason, Report};
use tollgate_gate::WorkerId;

use super::muster::{Fleet, Whose};
use super::post::{Connection, Heard, Post, Stage, What};
use super::words::{Count, Frame, Hello, Order, ToService, ToWorker, VERSION};
use crate::engine_words;

/// The longest name of a worker, in bytes.
const LONGEST_NAME: usize = 64;
/// What the user is called whose jobs are run only where that was asked for.
const ROOT: &str = "root";
/// The most nodes of one worker: who offers more is mistaken, or means harm.
const MOST_NODES: u32 = 4096;

impl<E: Engine> Fleet<E> {
    /// Takes what a connection brings. False if the connection is of no use any more.
    pub(crate) fn hear(&mut self, heard: Heard) -> bool {
        match heard.what {
            What::Opened(line) => {
                let connection = Connection {
                    line,
                    heard: Count::default(),
                    said: Count::default(),
                    stage: Stage::New,
                };
                self.lines.insert(heard.line, connection);
            }
            What::Said(frame) => self.listen(heard.line, frame),
            What::Closed => self.hang_up(heard.line),
        }
        self.lines.contains_key(&heard.line)
    }

    /// Gives a connection up.
    pub(super) fn hang_up(&mut self, line: u64) {
        self.lines.remove(&line);
        for post in self.posts.values_mut() {
            post.line = post.line.filter(|&other| other != line);
            post.offer = post.offer.filter(|&other| other != line);
        }
    }

    fn listen(&mut self, line: u64, frame: Frame<ToService>) {
        let Some(connection) = self.lines.get_mut(&line) else {
            return;
        };
        match connection.heard.hear(frame.seq) {
            Order::Next => {}
            Order::Known => return,
            Order::Gap => return self.hang_up(line),
        }
        let stage = connection.stage;
        match (stage, frame.word) {
            (Stage::New, ToService::Hello(hello)) => self.greet(line, hello),
            (Stage::Greeted(worker, goes_on), ToService::Offer { capacity, running }) => {
                self.take_offer(line, worker, goes_on, capacity, running);
            }
            (Stage::Greeted(worker, _) | Stage::Offered(worker), ToService::Beat(number)) => {
                // Who has no life yet has none to lose.
                let word = match frame.epoch == 0 || self.note(worker, frame.epoch) {
                    true => ToWorker::Beat(number),
                    false => ToWorker::Over,
                };
                self.answer(line, frame.epoch, word);
            }
            (Stage::Offered(worker), ToService::Reports(reports)) => {
                match self.note(worker, frame.epoch) {
                    true => self.take_reports(worker, reports),
                    false => self.answer(line, frame.epoch, ToWorker::Over),
                }
            }
            (Stage::Offered(worker), ToService::Leave) => match self.note(worker, frame.epoch) {
                true => {
                    let post = self.posts.get_mut(&worker);
                    post.into_iter().for_each(|post| post.has_left = true);
                }
                false => self.answer(line, frame.epoch, ToWorker::Over),
            },
            // Whoever says something else is no worker of ours.
            _ => self.hang_up(line),
        }
    }

    fn answer(&mut self, line: u64, epoch: u32, word: ToWorker) {
        let last = matches!(word, ToWorker::Over | ToWorker::Refused(_));
        let connection = self.lines.get_mut(&line);
        let said = connection.is_some_and(|connection| connection.say(epoch, word));
        if last || !said {
            self.hang_up(line);
        }
    }

    /// Notes that a life goes on. False if it does not.
    fn note(&mut self, worker: WorkerId, epoch: u32) -> bool {
        let now = (self.ticks)();
        let post = self.posts.get_mut(&worker);
        let post = post.filter(|post| post.life.is_some_and(|life| life.epoch == epoch));
        let is_so = post.is_some();
        post.into_iter().for_each(|post| post.heard = now);
        is_so
    }

    fn greet(&mut self, line: u64, hello: Hello) {
        if let Err(why) = self.may_work(&hello) {
            return self.answer(line, 0, ToWorker::Refused(why));
        }
        let posts = &self.posts;
        let is_free = |worker| {
            posts
                .get(&worker)
                .is_none_or(|post: &Post| post.life.is_none())
        };
        let entered = self.roster.enter(&hello.identity, &hello.name, is_free);
        let (Ok(worker), Some(house)) = (entered, &self.house) else {
            // The disk may be full; the worker comes again.
            return self.hang_up(line);
        };
        let now = (self.ticks)();
        let post = self.posts.entry(worker).or_insert_with(|| Post::new(now));
        let same = hello.service.as_ref() == Some(&house.service);
        let goes_on = same && post.life.is_some_and(|life| life.epoch == hello.epoch);
        let welcome = ToWorker::Welcome {
            service: house.service.clone(),
            grace_ms: u64::try_from(house.terms.grace.as_millis()).unwrap_or(u64::MAX),
            goes_on,
        };
        let older: Vec<u64> = self.lines_of(worker).collect();
        for older in older {
            self.hang_up(older);
        }
        if goes_on && let Some(post) = self.posts.get_mut(&worker) {
            post.heard = now;
        }
        if let Some(connection) = self.lines.get_mut(&line) {
            connection.stage = Stage::Greeted(worker, goes_on);
        }
        let epoch = if goes_on { hello.epoch } else { 0 };
        self.answer(line, epoch, welcome);
    }

    /// Connections on which this worker has said who it is.
    fn lines_of(&self, worker: WorkerId) -> impl Iterator<Item = u64> + '_ {
        let lines = self.lines.iter();
        let its = move |stage: Stage| match stage {
            Stage::New => false,
            Stage::Greeted(other, _) | Stage::Offered(other) => other == worker,
        };
        lines
            .filter(move |(_, connection)| its(connection.stage))
            .map(|(&line, _)| line)
    }

    fn may_work(&self, hello: &Hello) -> Result<(), String> {
        let Some(house) = &self.house else {
            return Err("this service accepts no workers".to_owned());
        };
        if hello.version != VERSION {
            let theirs = hello.version;
            return Err(format!(
                "protocol version mismatch: the worker has {theirs}, the service {VERSION}"
            ));
        }
        let is_plain = |text: &str| {
            (1..=LONGEST_NAME).contains(&text.len()) && !text.contains(char::is_control)
        };
        if !is_plain(&hello.name) || !is_plain(&hello.identity) {
            return Err(format!(
                "expected a name of 1 to {LONGEST_NAME} bytes without control characters"
            ));
        }
        let other = |service: &String| *service != house.service;
        if hello.service.as_ref().is_some_and(other) {
            return Err("the worker's directory belongs to another service".to_owned());
        }
        match &house.whose {
            Whose::Own(own) if own == ROOT && !hello.root_jobs => {
                Err("the service runs jobs of root: the worker needs `--root-jobs`".to_owned())
            }
            _ if hello.all_users => Ok(()),
            Whose::Own(own) if *own == hello.user => Ok(()),
            Whose::Own(own) => Err(format!(
                "the service runs jobs of user {own}, but the worker only jobs of user {}",
                hello.user
            )),
            Whose::All => Err(format!(
                "the service runs jobs of every user, but the worker only jobs of user {}",
                hello.user
            )),
        }
    }

    fn take_offer(
        &mut self,
        line: u64,
        worker: WorkerId,
        goes_on: bool,
        capacity: Capacity,
        running: Vec<AttemptKey>,
    ) {
        let Some(post) = self.posts.get_mut(&worker) else {
            return;
        };
        let nodes = capacity.nodes;
        let epoch = post.epoch();
        // The life may have ended since it was said that it goes on.
        let fits = post.life.is_some_and(|life| life.nodes.len == nodes);
        if !(1..=MOST_NODES).contains(&nodes) {
            let why = format!("expected a worker with 1 to {MOST_NODES} nodes, found {nodes}");
            return self.answer(line, epoch, ToWorker::Refused(why));
        }
        if (goes_on && !fits) || (!goes_on && !running.is_empty()) {
            return self.answer(line, epoch, ToWorker::Over);
        }
        post.capacity = Some(capacity);
        if goes_on {
            let running: BTreeSet<AttemptKey> = running.into_iter().collect();
            post.line = Some(line);
            post.running = Some(running.clone());
            // Before anything else is sent there: that is not among them yet.
            self.seat_all(worker, &running);
        } else {
            post.offer = Some(line);
        }
        if let Some(connection) = self.lines.get_mut(&line) {
            connection.stage = Stage::Offered(worker);
        }
        if goes_on {
            self.answer(line, epoch, ToWorker::Taken);
        }
    }

    /// What a worker says of attempts that it was never given is not believed; what it says again
    /// of those that are done with, it need not say any more.
    fn take_reports(&mut self, worker: WorkerId, reports: Vec<Report>) {
        let is_its = |report: &Report| {
            let seat = self.seats.get(&report.attempt);
            seat.is_some_and(|seat| seat.worker == worker)
        };
        let (its, others): (Vec<_>, Vec<_>) = reports.into_iter().partition(is_its);
        self.inbox.extend(its.into_iter().map(lost_if_evicted));
        let ends = others.into_iter().filter(engine_words::is_end);
        let done: Vec<AttemptKey> = ends.map(|report| report.attempt).collect();
        if !done.is_empty() {
            self.tell(worker, ToWorker::Acknowledge(done));
        }
    }
}

/// A task that was ended because its worker lost touch or went, or its host did, was lost, not finished.
pub(super) fn lost_if_evicted(report: Report) -> Report {
    match report.event {
        Event::Ended(ended) if ended.killed == Some(KillReason::Evicted) => Report {
            event: Event::Lost { at: ended.at },
            ..report
        },
        Event::Started(_) | Event::Ended(_) | Event::Lost { .. } => report,
    }
}

#[cfg(test)]
mod tests;
