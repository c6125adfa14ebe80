//! Semaphores that count per key, such as connections per user.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A semaphore with a separate count for each key. Clones share the same counts.
#[derive(Debug)]
pub struct KeyedSemaphore<K: Ord + Copy> {
    counts: Arc<Mutex<BTreeMap<K, u32>>>,
    max: u32,
}

/// A permit, released on drop.
#[derive(Debug)]
pub struct KeyedPermit<K: Ord + Copy> {
    semaphore: KeyedSemaphore<K>,
    key: K,
}

impl<K: Ord + Copy> KeyedSemaphore<K> {
    /// Allows at most `most` permits per key.
    pub fn new(most: u32) -> Self {
        Self {
            counts: Arc::default(),
            max: most,
        }
    }

    /// Returns a permit for a key; None at the limit.
    pub fn try_acquire(&self, key: K) -> Option<KeyedPermit<K>> {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.get(&key).copied().unwrap_or(0);
        if count >= self.max {
            return None;
        }
        counts.insert(key, count + 1);
        Some(KeyedPermit {
            semaphore: self.clone(),
            key,
        })
    }
}

impl<K: Ord + Copy> Clone for KeyedSemaphore<K> {
    fn clone(&self) -> Self {
        Self {
            counts: Arc::clone(&self.counts),
            max: self.max,
        }
    }
}

impl<K: Ord + Copy> Drop for KeyedPermit<K> {
    fn drop(&mut self) {
        let counts = &self.semaphore.counts;
        let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permits_are_counted_per_key_and_released_on_drop() {
        let permits = KeyedSemaphore::new(2);
        let taken = [permits.try_acquire(1), permits.try_acquire(1)];
        assert!(taken.iter().all(Option::is_some));
        assert!(permits.try_acquire(1).is_none());
        assert!(permits.clone().try_acquire(2).is_some());
        drop(taken);
        assert!(permits.try_acquire(1).is_some());
        assert!(
            permits.counts.lock().unwrap().is_empty(),
            "no key is remembered"
        );
    }
}
