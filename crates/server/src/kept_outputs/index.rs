//! The kept outputs by task and stream, and by owner and age.

use std::collections::BTreeMap;

use tollgate_engine::output::AttemptStream;
use tollgate_model::TaskId;

/// The output of a task that is kept: one of its streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct KeptName {
    /// The task.
    pub(crate) task: TaskId,
    /// The stream.
    pub(crate) stream: AttemptStream,
}

/// The room of the smallest file on a disk, in bytes.
pub(super) const BLOCK_BYTES: u64 = 4_096;

/// The files of kept outputs: their owners, ages and sizes.
#[derive(Debug, Default)]
pub(super) struct KeptIndex {
    files: BTreeMap<KeptName, KeptFile>,
    owners: BTreeMap<u32, OwnedFiles>,
    /// The room of all files on the disk, in bytes.
    total: u64,
    last_age: u64,
}

#[derive(Clone, Copy, Debug)]
struct KeptFile {
    owner: u32,
    /// The number of the last change: the lowest number is the oldest.
    age: u64,
    /// The room on the disk, in bytes.
    room: u64,
}

/// The files of one user.
#[derive(Debug, Default)]
struct OwnedFiles {
    by_age: BTreeMap<u64, KeptName>,
    room: u64,
}

impl KeptIndex {
    /// Returns the room of all files on the disk, in bytes.
    pub(super) const fn total(&self) -> u64 {
        self.total
    }

    /// Returns whether there is a file of an output.
    pub(super) fn contains(&self, name: KeptName) -> bool {
        self.files.contains_key(&name)
    }

    /// Returns the outputs of a job that have files.
    pub(super) fn names_of(&self, job: u64) -> Vec<KeptName> {
        let name = |task, stream| KeptName {
            task: TaskId { job, task },
            stream,
        };
        let first = name(0, AttemptStream::Output);
        let last = name(u32::MAX, AttemptStream::Error);
        let names = self.files.range(first..=last);
        names.map(|(&name, _)| name).collect()
    }

    /// Adds the file of an output of a task of `owner`, or changes its length to `bytes`. It is then the youngest.
    pub(super) fn insert(&mut self, name: KeptName, owner: u32, bytes: u64) {
        self.remove(name);
        self.last_age += 1;
        let (age, room) = (self.last_age, bytes.next_multiple_of(BLOCK_BYTES));
        self.files.insert(name, KeptFile { owner, age, room });
        let owned = self.owners.entry(owner).or_default();
        owned.by_age.insert(age, name);
        owned.room += room;
        self.total += room;
    }

    /// Removes the file of an output, if there is one.
    pub(super) fn remove(&mut self, name: KeptName) {
        let Some(file) = self.files.remove(&name) else {
            return;
        };
        self.total -= file.room;
        if let Some(owned) = self.owners.get_mut(&file.owner) {
            owned.by_age.remove(&file.age);
            owned.room -= file.room;
            if owned.by_age.is_empty() {
                self.owners.remove(&file.owner);
            }
        }
    }

    /// Returns the output whose file makes room first: the oldest of the user with the most, so that no user's
    /// outputs push out those of another user with less.
    pub(super) fn next_to_remove(&self) -> Option<KeptName> {
        let most = self.owners.values().max_by_key(|owned| owned.room)?;
        most.by_age.first_key_value().map(|(_, &name)| name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn task(job: u64) -> KeptName {
        KeptName {
            task: TaskId { job, task: 0 },
            stream: AttemptStream::Output,
        }
    }

    #[test]
    fn user_with_the_most_makes_room_first() {
        let mut index = KeptIndex::default();
        index.insert(task(1), 1_000, 1);
        for job in 2..=4 {
            index.insert(task(job), 1_001, 2 * BLOCK_BYTES);
        }
        assert_eq!(index.next_to_remove(), Some(task(2)));
        // A change makes the file the youngest.
        index.insert(task(2), 1_001, 1);
        assert_eq!(index.next_to_remove(), Some(task(3)));
        assert_eq!(index.total(), 6 * BLOCK_BYTES);
        for job in [3, 4, 2] {
            index.remove(task(job));
        }
        assert_eq!(index.next_to_remove(), Some(task(1)));
        assert_eq!(index.total(), BLOCK_BYTES);
        assert_eq!(index.names_of(1), [task(1)]);
        assert!(!index.contains(task(2)));
    }
}
