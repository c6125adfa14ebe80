//! One turn of the keeper: everything that came in meanwhile.

use std::collections::BTreeMap;

use tollgate_engine::Engine;

use super::answers::Asker;
use super::ask::{Ask, Failed};
use super::crowd::Crowd;
use super::owner::Keeper;
use crate::core::Command;
use crate::engine_words;
use crate::fault::Moment;

/// How many batches a recovery handles again at most, more or less.
const BATCHES_A_SNAPSHOT: u32 = 2_000;

impl<E: Engine> Keeper<E> {
    /// Handles what came in, commits what follows, and then answers and acts.
    pub fn turn(&mut self, asks: Vec<Ask>) {
        let now = self.now();
        self.retry = self.retry.filter(|&at| at > now);
        self.engine_off = self.engine_off.filter(|&at| at > now);
        let asks = self.hear_workers(asks);
        self.poll();
        self.full = self.full && !self.store.keep_reserve();
        let mut commands = Vec::new();
        let mut askers = Vec::new();
        // By the place of the command that it came with.
        let mut programs = BTreeMap::new();
        for report in &self.reports {
            commands.push(engine_words::command(report));
            askers.push(Asker::Nobody);
        }
        for command in self.fleet.news(self.core.gate()) {
            commands.push(command);
            askers.push(Asker::Nobody);
        }
        if self.core.next_wake().is_some_and(|at| at <= now) {
            commands.push(Command::Tick);
            askers.push(Asker::Nobody);
        }
        let mut later = Vec::new();
        let mut crowd = self.crowd(&asks);
        for ask in asks {
            match ask {
                Ask::Submit { .. } | Ask::Hold { .. } | Ask::Claim { .. } if self.full => {
                    ask.fail(Failed::Full);
                }
                Ask::Submit { ref submission, .. } | Ask::Hold { ref submission, .. }
                    if !crowd.enters(submission.user) =>
                {
                    ask.fail(Failed::TooMany(self.most_jobs));
                }
                Ask::Submit {
                    submission,
                    program,
                    reply,
                } => {
                    programs.insert(commands.len(), *program);
                    commands.push(Command::Submit(submission));
                    askers.push(Asker::Submitted(reply));
                }
                Ask::Hold { submission, reply } => {
                    commands.push(Command::Submit(submission));
                    askers.push(Asker::Held(reply));
                }
                Ask::Claim {
                    user,
                    job,
                    program,
                    reply,
                } => {
                    let command = Command::Claim { job };
                    match self.may(Some(user), &command) {
                        Ok(()) => {
                            programs.insert(commands.len(), *program);
                            commands.push(command);
                            askers.push(Asker::Acted(reply));
                        }
                        Err(failed) => drop(reply.send(Err(failed))),
                    }
                }
                Ask::Act {
                    user,
                    command,
                    reply,
                } => match self.may(user, &command) {
                    Ok(()) => {
                        commands.push(command);
                        askers.push(Asker::Acted(reply));
                    }
                    Err(failed) => drop(reply.send(Err(failed))),
                },
                Ask::Quote { .. }
                | Ask::Census { .. }
                | Ask::Nodes { .. }
                | Ask::Explain { .. }
                | Ask::Wait { .. }
                | Ask::Worker { .. }
                | Ask::Wake
                | Ask::Stop => later.push(ask),
            }
        }
        if !commands.is_empty() {
            self.act(&commands, programs, askers);
        }
        for (worker, running) in self.fleet.settle(self.core.gate()) {
            self.bring_up_to_date(worker, &running);
        }
        if self.engine_off.is_none() {
            self.carry_out();
            self.moment(Moment::Ordered);
        }
        for ask in later {
            self.look(ask);
        }
        if self.store.since_snapshot() >= BATCHES_A_SNAPSHOT {
            self.rest();
        }
    }

    /// Workers first: what they say is news for this turn. The other asks are left.
    fn hear_workers(&mut self, asks: Vec<Ask>) -> Vec<Ask> {
        let mut others = Vec::new();
        for ask in asks {
            match ask {
                Ask::Worker { heard, reply } => drop(reply.send(self.fleet.hear(heard))),
                ask => others.push(ask),
            }
        }
        others
    }

    fn crowd(&self, asks: &[Ask]) -> Crowd {
        let live = || self.core.jobs().map(|(_, live)| live.user);
        Crowd::new(self.most_jobs, asks.len(), live)
    }

    /// A job of somebody else is answered as one that is not there.
    fn may(&self, user: Option<u32>, command: &Command) -> Result<(), Failed> {
        let (Command::Cancel { job }
        | Command::Hold { job }
        | Command::Release { job }
        | Command::Claim { job }) = command
        else {
            return Ok(());
        };
        let live = self.core.job(*job);
        let own = live.is_some_and(|live| user.is_none_or(|user| live.user == user));
        if own {
            Ok(())
        } else {
            Err(Failed::Ignored(crate::core::Ignored::UnknownJob))
        }
    }
}
