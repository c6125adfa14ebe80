//! Reads of outputs for users, in turns: no user's reads keep those of another waiting.

use std::collections::{BTreeMap, VecDeque};

use tollgate_engine::output::{AttemptOutput, MAX_OUTPUT_READ, OutputPosition};
use tollgate_engine::{Engine, OutputRead};
use tollgate_gate::WorkerId;

use super::OutputReceiver;
use crate::pool::WorkerPool;

/// Maximum number of reads for users at a worker at a time.
const MAX_SENT: usize = 8;
/// Maximum number of them that read files of one user: her file system may never answer.
const MAX_SENT_PER_USER: usize = 2;
/// Maximum number of reads of one user's files that wait for their turn.
const MAX_WAITING_PER_USER: usize = 16;

/// The reads for users at one worker.
#[derive(Default)]
pub(super) struct UserReads {
    n_sent: BTreeMap<u32, usize>,
    waiting: BTreeMap<u32, VecDeque<UserRead>>,
    /// The user of the last read that was sent.
    last_user: u32,
}

/// A read for a user.
pub(super) struct UserRead {
    /// The owner of the job, whose files are read.
    pub(super) user: u32,
    pub(super) read: OutputRead,
    pub(super) receiver: OutputReceiver,
}

impl<E: Engine> WorkerPool<E> {
    /// Reads some of the output of an attempt of a user's job at its worker.
    pub fn read_output(
        &mut self,
        (output, user): (AttemptOutput, u32),
        from: OutputPosition,
        receiver: OutputReceiver,
    ) {
        let worker = self.output_worker(output.attempt);
        let worker = worker.filter(|&worker| self.is_connected(worker));
        let Some(worker) = worker else {
            return receiver(Err("the worker is not connected".to_owned()));
        };
        let read = OutputRead {
            id: 0,
            attempt: output.attempt,
            stream: output.stream,
            from,
            max: MAX_OUTPUT_READ,
        };
        let shown = self.outputs.shown.entry(worker).or_default();
        shown.push(UserRead {
            user,
            read,
            receiver,
        });
        self.continue_shown(worker);
    }

    /// Sends the reads for users for which there is room.
    pub(super) fn continue_shown(&mut self, worker: WorkerId) {
        let Some(shown) = self.outputs.shown.get_mut(&worker) else {
            return;
        };
        let next = std::iter::from_fn(|| shown.next());
        let reads = next.map(|next| (next.read, Some((next.user, next.receiver))));
        let reads = reads.collect();
        self.send_reads(worker, reads);
    }

    /// Makes room for another read of this user's files.
    pub(super) fn finish_shown(&mut self, worker: WorkerId, user: u32) {
        if let Some(shown) = self.outputs.shown.get_mut(&worker) {
            shown.finish(user);
        }
    }
}

impl UserReads {
    /// Adds a read. Rejects it if too many of its user wait.
    pub(super) fn push(&mut self, read: UserRead) {
        let waiting = self.waiting.entry(read.user).or_default();
        match waiting.len() < MAX_WAITING_PER_USER {
            true => waiting.push_back(read),
            false => (read.receiver)(Err(
                "too many reads of outputs of this user wait at this worker".to_owned(),
            )),
        }
    }

    /// Returns the next read to send: of the user whose turn has come. None without a waiting read, or if too
    /// many have no answer.
    pub(super) fn next(&mut self) -> Option<UserRead> {
        if self.n_sent.values().sum::<usize>() >= MAX_SENT {
            return None;
        }
        let n_sent = &self.n_sent;
        let has_room = |user: &u32| n_sent.get(user).copied().unwrap_or(0) < MAX_SENT_PER_USER;
        // The users after the last one come first.
        let after = (self.last_user.checked_add(1)).map(|next| self.waiting.range(next..));
        let users = after.into_iter().flatten().chain(&self.waiting);
        let user = users.map(|(&user, _)| user).find(has_room)?;
        let waiting = self.waiting.get_mut(&user)?;
        let read = waiting.pop_front();
        if waiting.is_empty() {
            self.waiting.remove(&user);
        }
        *self.n_sent.entry(user).or_default() += 1;
        self.last_user = user;
        read
    }

    /// Takes note of an answer to a read of this user's files.
    pub(super) fn finish(&mut self, user: u32) {
        if let Some(n_sent) = self.n_sent.get_mut(&user) {
            *n_sent -= 1;
            if *n_sent == 0 {
                self.n_sent.remove(&user);
            }
        }
    }

    /// Answers all reads that wait: the worker is gone.
    pub(super) fn give_up(self) {
        for read in self.waiting.into_values().flatten() {
            (read.receiver)(Err("the worker is not connected".to_owned()));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use tollgate_engine::output::AttemptStream;
    use tollgate_model::AttemptId;

    use super::*;

    fn read(user: u32, refused: &Arc<Mutex<usize>>) -> UserRead {
        let refused = Arc::clone(refused);
        UserRead {
            user,
            read: OutputRead {
                id: 0,
                attempt: AttemptId {
                    job: 1,
                    task: 0,
                    attempt: 1,
                },
                stream: AttemptStream::Output,
                from: OutputPosition::Start(0),
                max: 1,
            },
            receiver: Box::new(move |found| {
                *refused.lock().unwrap() += usize::from(found.is_err())
            }),
        }
    }

    #[test]
    fn one_user_keeps_no_other_from_reading() {
        let refused = Arc::default();
        let mut reads = UserReads::default();
        for _ in 0..1_000 {
            reads.push(read(7, &refused));
        }
        assert_eq!(*refused.lock().unwrap(), 1_000 - MAX_WAITING_PER_USER);
        let next = |reads: &mut UserReads| reads.next().map(|read| read.user);
        assert_eq!([(); 3].map(|()| next(&mut reads)), [Some(7), Some(7), None]);
        // The files of the first user never answer; others are read in turns.
        for user in [5, 9, 5, 9, 8] {
            reads.push(read(user, &refused));
        }
        let turns = [(); 5].map(|()| next(&mut reads).unwrap());
        assert_eq!(turns, [8, 9, 5, 9, 5]);
        reads.finish(9);
        assert_eq!(next(&mut reads), None, "only those of the first user wait");
        reads.give_up();
        assert_eq!(*refused.lock().unwrap(), 1_000 - 2);
    }
}
