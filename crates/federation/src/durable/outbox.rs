//! The effects that wait until a record is on disk.

use std::collections::VecDeque;

use crate::message::{SiteEffect, SiteRecord};

/// A queue that numbers records and delays every later effect until the record is on disk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Outbox {
    /// The number of the last record.
    last: u64,
    /// The number up to which records are on disk.
    written: u64,
    /// Effects with the number of the record that they wait for.
    pending: VecDeque<(u64, SiteEffect)>,
}

impl Outbox {
    pub(super) fn write(&mut self, record: SiteRecord, effects: &mut Vec<SiteEffect>) {
        self.last += 1;
        let number = self.last;
        effects.push(SiteEffect::Write { number, record });
    }

    /// Emits an effect, or keeps it until the last record is on disk.
    pub(super) fn put(&mut self, effect: SiteEffect, effects: &mut Vec<SiteEffect>) {
        if self.written == self.last {
            effects.push(effect);
        } else {
            self.pending.push_back((self.last, effect));
        }
    }

    /// Releases the effects that waited for records up to `number`. A number that was never
    /// assigned changes nothing.
    pub(super) fn on_written(&mut self, number: u64, effects: &mut Vec<SiteEffect>) {
        self.written = self.written.max(number.min(self.last));
        while let Some(&(waits_for, effect)) = self.pending.front()
            && waits_for <= self.written
        {
            effects.push(effect);
            self.pending.pop_front();
        }
    }

    /// Resets the record count once all records are on disk, so that an explorer takes the result
    /// for the same site.
    pub(super) fn forget(&mut self) {
        if self.pending.is_empty() && self.written == self.last {
            *self = Self::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::Ballot;

    #[test]
    fn effects_after_a_record_wait_until_it_is_written() {
        let record = SiteRecord::Promised {
            ballot: Ballot::NONE,
        };
        let (mut outbox, mut effects) = (Outbox::default(), Vec::new());
        outbox.put(SiteEffect::Delete, &mut effects);
        outbox.write(record, &mut effects);
        outbox.put(SiteEffect::Add, &mut effects);
        outbox.write(record, &mut effects);
        outbox.put(SiteEffect::Delete, &mut effects);
        let write = |number| SiteEffect::Write { number, record };
        assert_eq!(effects, [SiteEffect::Delete, write(1), write(2)]);
        effects.clear();
        outbox.on_written(1, &mut effects);
        assert_eq!(effects, [SiteEffect::Add]);
        outbox.on_written(9, &mut effects);
        assert_eq!(effects, [SiteEffect::Add, SiteEffect::Delete]);
    }
}
