//! One turn of the keeper: everything that came in meanwhile.

use tollgate_engine::Engine;
use tollgate_model::Instant;

use super::answers::Asker;
use super::ask::{Ask, Failed};
use super::commit::Programs;
use super::crowd::Crowd;
use super::due;
use super::owner::Keeper;
use crate::core::{Command, Need, Submission};
use crate::engine_words;
use crate::fault::Moment;

/// How many batches a recovery handles again at most, more or less.
const BATCHES_A_SNAPSHOT: u32 = 2_000;

/// What is to be handled in a turn.
struct Intake {
    commands: Vec<Command>,
    /// One a command.
    askers: Vec<Asker>,
    programs: Programs,
    /// Questions, to be looked into once all that is handled.
    later: Vec<Ask>,
    crowd: Crowd,
}

impl<E: Engine> Keeper<E> {
    /// Handles what came in, commits what follows, and then answers and acts.
    pub fn turn(&mut self, asks: Vec<Ask>) {
        let now = self.now();
        self.retry = self.retry.filter(|&at| at > now);
        self.engine_off = self.engine_off.filter(|&at| at > now);
        let asks = self.hear_workers(asks);
        self.poll();
        self.full = self.full && !self.store.keep_reserve();
        let reported = !self.reports.is_empty();
        self.stored.begin_turn();
        let mut intake = Intake {
            commands: self.reports.iter().map(engine_words::command).collect(),
            askers: self.reports.iter().map(|_| Asker::Nobody).collect(),
            programs: Programs::new(),
            later: Vec::new(),
            crowd: self.crowd(&asks),
        };
        for command in self.fleet.news(self.core.gate()) {
            intake.add(command, Asker::Nobody);
        }
        if self.core.next_wake().is_some_and(|at| at <= now) {
            intake.add(Command::Tick, Asker::Nobody);
        }
        // What is left until a deadline is counted from the instant at which it is decided about.
        let at = self.now();
        for ask in asks {
            self.take_in(ask, at, &mut intake);
        }
        if !intake.commands.is_empty() {
            self.act(at, &intake.commands, intake.programs, intake.askers);
        }
        for (worker, running) in self.fleet.settle(self.core.gate()) {
            self.bring_up_to_date(worker, &running);
        }
        self.log_workers();
        if self.engine_off.is_none() {
            self.carry_out();
            self.moment(Moment::Ordered);
        }
        self.acknowledge(reported);
        self.moment(Moment::Acknowledged);
        for ask in intake.later {
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
            if let Ask::Worker { heard, reply } = ask {
                let _ = reply.send(self.fleet.hear(heard));
            } else {
                others.push(ask);
            }
        }
        others
    }

    fn take_in(&mut self, ask: Ask, at: Instant, to: &mut Intake) {
        match ask {
            Ask::Submit { .. } | Ask::Hold { .. } | Ask::Claim { .. } if self.full => {
                ask.fail(Failed::Full);
            }
            Ask::Submit { ref submission, .. } | Ask::Hold { ref submission, .. }
                if !to.crowd.enters(submission.user, submission.n_tasks()) =>
            {
                ask.fail(Failed::TooMany(self.most_jobs));
            }
            Ask::Submit {
                submission: Submission { user, .. },
                ref program,
                ..
            }
            | Ask::Claim {
                user, ref program, ..
            } if !self.stored.enters(user, program.bytes()) => {
                ask.fail(Failed::TooMuchStored(self.stored.most()));
            }
            Ask::Submit {
                mut submission,
                due,
                program,
                reply,
            } => match self
                .settle_predecessors(&mut submission)
                .and_then(|()| due::settle(&mut submission, due, at))
            {
                Ok(()) => {
                    to.programs.insert(to.commands.len(), *program);
                    to.add(Command::Submit(submission), Asker::Submitted(reply));
                }
                Err(failed) => drop(reply.send(Err(failed))),
            },
            Ask::Hold {
                mut submission,
                due,
                reply,
            } => match due::settle(&mut submission, due, at) {
                Ok(()) => to.add(Command::Submit(submission), Asker::Held(reply)),
                Err(failed) => drop(reply.send(Err(failed))),
            },
            Ask::Claim {
                user,
                job,
                program,
                reply,
            } => {
                let command = Command::Claim { job };
                match self.may(Some(user), &command) {
                    Ok(()) => {
                        to.programs.insert(to.commands.len(), *program);
                        to.add(command, Asker::Acted(reply));
                    }
                    Err(failed) => drop(reply.send(Err(failed))),
                }
            }
            Ask::Act {
                user,
                command,
                reply,
            } => match self.may(user, &command) {
                Ok(()) => to.add(command, Asker::Acted(reply)),
                Err(failed) => drop(reply.send(Err(failed))),
            },
            Ask::Quote { .. }
            | Ask::Pulse { .. }
            | Ask::Census { .. }
            | Ask::Nodes { .. }
            | Ask::Explain { .. }
            | Ask::Wait { .. }
            | Ask::Worker { .. }
            | Ask::Wake
            | Ask::Stop => to.later.push(ask),
        }
    }

    fn crowd(&self, asks: &[Ask]) -> Crowd {
        let arriving = asks.iter().filter_map(Ask::submission);
        let arriving = arriving.map(Submission::n_tasks);
        let together = self.core.n_tasks();
        let live = || self.core.tasks_of_users();
        Crowd::new(self.most_jobs, together, arriving.sum(), live)
    }

    /// What a job is to start after must be its user's; what is over already it need not wait for.
    fn settle_predecessors(&self, submission: &mut Submission) -> Result<(), Failed> {
        let user = submission.user;
        let mut live = Vec::new();
        for earlier in std::mem::take(&mut submission.plan.after) {
            let job = earlier.job;
            match self.core.user_of(job) {
                Some(owner) if owner == user => live.push(earlier),
                Some(_) => return Err(Failed::NoPredecessor(job)),
                None => {
                    let ended = self
                        .store
                        .ended(job)
                        .map_err(|error| Failed::from(&error))?;
                    let (_, well) = ended
                        .filter(|&(owner, _)| owner == user)
                        .ok_or(Failed::NoPredecessor(job))?;
                    if earlier.need == Need::Success && !well {
                        return Err(Failed::InVain(job));
                    }
                }
            }
        }
        submission.plan.after = live;
        Ok(())
    }

    /// A job of somebody else is answered as one that is not there.
    fn may(&self, user: Option<u32>, command: &Command) -> Result<(), Failed> {
        let (Command::Cancel { job, .. }
        | Command::Hold { job, .. }
        | Command::Release { job, .. }
        | Command::Claim { job }) = command
        else {
            return Ok(());
        };
        let owner = self.core.user_of(*job);
        if owner.is_some_and(|owner| user.is_none_or(|user| owner == user)) {
            Ok(())
        } else {
            Err(Failed::Ignored(crate::core::Ignored::UnknownJob))
        }
    }
}

impl Intake {
    fn add(&mut self, command: Command, asker: Asker) {
        self.commands.push(command);
        self.askers.push(asker);
    }
}
