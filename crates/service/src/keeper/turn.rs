//! One turn of the keeper: everything that came in meanwhile.

use tollgate_engine::Engine;
use tollgate_model::Instant;

use super::answers::PendingResponse;
use super::ask::{ControllerRequest, RequestError};
use super::commit::CommandPrograms;
use super::crowd::UserQuota;
use super::due;
use super::owner::Controller;
use crate::core::{DependencyCondition, ServiceCommand, Submission};
use crate::engine_words;
use crate::fault::ServiceFailpoint;

/// How many batches a recovery handles again at most, more or less.
const BATCHES_A_SNAPSHOT: u32 = 2_000;

/// What is to be handled in a turn.
struct TickInput {
    commands: Vec<ServiceCommand>,
    /// One a command.
    askers: Vec<PendingResponse>,
    programs: CommandPrograms,
    /// Questions, to be looked into once all that is handled.
    later: Vec<ControllerRequest>,
    crowd: UserQuota,
}

impl<E: Engine> Controller<E> {
    /// Handles what came in, commits what follows, and then answers and acts.
    pub fn turn(&mut self, asks: Vec<ControllerRequest>) {
        let now = self.now();
        self.retry = self.retry.filter(|&at| at > now);
        self.engine_off = self.engine_off.filter(|&at| at > now);
        let asks = self.hear_workers(asks);
        self.poll();
        self.full = self.full && !self.store.keep_reserve();
        let reported = !self.reports.is_empty();
        self.stored.begin_turn();
        let mut intake = TickInput {
            commands: self.reports.iter().map(engine_words::command).collect(),
            askers: self
                .reports
                .iter()
                .map(|_| PendingResponse::Nobody)
                .collect(),
            programs: CommandPrograms::new(),
            later: Vec::new(),
            crowd: self.crowd(&asks),
        };
        for command in self.fleet.news(self.core.gate()) {
            intake.add(command, PendingResponse::Nobody);
        }
        if self.core.next_wake().is_some_and(|at| at <= now) {
            intake.add(ServiceCommand::Tick, PendingResponse::Nobody);
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
            self.moment(ServiceFailpoint::Ordered);
        }
        self.acknowledge(reported);
        self.moment(ServiceFailpoint::Acknowledged);
        for ask in intake.later {
            self.look(ask);
        }
        if self.store.since_snapshot() >= BATCHES_A_SNAPSHOT {
            self.rest();
        }
    }

    /// Workers first: what they say is news for this turn. The other asks are left.
    fn hear_workers(&mut self, asks: Vec<ControllerRequest>) -> Vec<ControllerRequest> {
        let mut others = Vec::new();
        for ask in asks {
            if let ControllerRequest::Worker { heard, reply } = ask {
                let _ = reply.send(self.fleet.hear(heard));
            } else {
                others.push(ask);
            }
        }
        others
    }

    fn take_in(&mut self, ask: ControllerRequest, at: Instant, to: &mut TickInput) {
        match ask {
            ControllerRequest::Submit { .. }
            | ControllerRequest::Hold { .. }
            | ControllerRequest::Claim { .. }
                if self.full =>
            {
                ask.fail(RequestError::Full);
            }
            ControllerRequest::Submit { ref submission, .. }
            | ControllerRequest::Hold { ref submission, .. }
                if !to.crowd.enters(submission.user, submission.n_tasks()) =>
            {
                ask.fail(RequestError::TooMany(self.most_jobs));
            }
            ControllerRequest::Submit {
                submission: Submission { user, .. },
                ref program,
                ..
            }
            | ControllerRequest::Claim {
                user, ref program, ..
            } if !self.stored.enters(user, program.bytes()) => {
                ask.fail(RequestError::TooMuchStored(self.stored.most()));
            }
            ControllerRequest::Submit {
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
                    to.add(
                        ServiceCommand::Submit(submission),
                        PendingResponse::Submitted(reply),
                    );
                }
                Err(failed) => drop(reply.send(Err(failed))),
            },
            ControllerRequest::Hold {
                mut submission,
                due,
                reply,
            } => match due::settle(&mut submission, due, at) {
                Ok(()) => to.add(
                    ServiceCommand::Submit(submission),
                    PendingResponse::Held(reply),
                ),
                Err(failed) => drop(reply.send(Err(failed))),
            },
            ControllerRequest::Claim {
                user,
                job,
                program,
                reply,
            } => {
                let command = ServiceCommand::Claim { job };
                match self.may(Some(user), &command) {
                    Ok(()) => {
                        to.programs.insert(to.commands.len(), *program);
                        to.add(command, PendingResponse::Acted(reply));
                    }
                    Err(failed) => drop(reply.send(Err(failed))),
                }
            }
            ControllerRequest::Act {
                user,
                command,
                reply,
            } => match self.may(user, &command) {
                Ok(()) => to.add(command, PendingResponse::Acted(reply)),
                Err(failed) => drop(reply.send(Err(failed))),
            },
            ControllerRequest::Quote { .. }
            | ControllerRequest::Pulse { .. }
            | ControllerRequest::Census { .. }
            | ControllerRequest::Nodes { .. }
            | ControllerRequest::Explain { .. }
            | ControllerRequest::Wait { .. }
            | ControllerRequest::Worker { .. }
            | ControllerRequest::Wake
            | ControllerRequest::Stop => to.later.push(ask),
        }
    }

    fn crowd(&self, asks: &[ControllerRequest]) -> UserQuota {
        let arriving = asks.iter().filter_map(ControllerRequest::submission);
        let arriving = arriving.map(Submission::n_tasks);
        let together = self.core.n_tasks();
        let live = || self.core.tasks_of_users();
        UserQuota::new(self.most_jobs, together, arriving.sum(), live)
    }

    /// What a job is to start after must be its user's; what is over already it need not wait for.
    fn settle_predecessors(&self, submission: &mut Submission) -> Result<(), RequestError> {
        let user = submission.user;
        let mut live = Vec::new();
        for earlier in std::mem::take(&mut submission.plan.after) {
            let job = earlier.job;
            match self.core.user_of(job) {
                Some(owner) if owner == user => live.push(earlier),
                Some(_) => return Err(RequestError::NoPredecessor(job)),
                None => {
                    let ended = self
                        .store
                        .ended(job)
                        .map_err(|error| RequestError::from(&error))?;
                    let (_, well) = ended
                        .filter(|&(owner, _)| owner == user)
                        .ok_or(RequestError::NoPredecessor(job))?;
                    if earlier.need == DependencyCondition::Success && !well {
                        return Err(RequestError::InVain(job));
                    }
                }
            }
        }
        submission.plan.after = live;
        Ok(())
    }

    /// A job of somebody else is answered as one that is not there.
    fn may(&self, user: Option<u32>, command: &ServiceCommand) -> Result<(), RequestError> {
        let (ServiceCommand::Cancel { job, .. }
        | ServiceCommand::Hold { job, .. }
        | ServiceCommand::Release { job, .. }
        | ServiceCommand::Claim { job }) = command
        else {
            return Ok(());
        };
        let owner = self.core.user_of(*job);
        if owner.is_some_and(|owner| user.is_none_or(|user| owner == user)) {
            Ok(())
        } else {
            Err(RequestError::Ignored(crate::core::CommandError::UnknownJob))
        }
    }
}

impl TickInput {
    fn add(&mut self, command: ServiceCommand, asker: PendingResponse) {
        self.commands.push(command);
        self.askers.push(asker);
    }
}
