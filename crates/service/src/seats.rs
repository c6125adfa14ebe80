//! How many there may be of something at a time, by whose they are.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Places that are counted by whose they are. Clones count the same ones.
#[derive(Debug)]
pub struct KeyedSemaphore<K: Ord + Copy> {
    counts: Arc<Mutex<BTreeMap<K, u32>>>,
    most: u32,
}

/// A place; it is given back in the end.
#[derive(Debug)]
pub struct KeyedPermit<K: Ord + Copy> {
    seats: KeyedSemaphore<K>,
    whose: K,
}

impl<K: Ord + Copy> KeyedSemaphore<K> {
    /// So many for each.
    pub fn new(most: u32) -> Self {
        Self {
            counts: Arc::default(),
            most,
        }
    }

    /// One of them; none if all are taken.
    pub fn take(&self, whose: K) -> Option<KeyedPermit<K>> {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.get(&whose).copied().unwrap_or(0);
        if count >= self.most {
            return None;
        }
        counts.insert(whose, count + 1);
        Some(KeyedPermit {
            seats: self.clone(),
            whose,
        })
    }
}

impl<K: Ord + Copy> Clone for KeyedSemaphore<K> {
    fn clone(&self) -> Self {
        Self {
            counts: Arc::clone(&self.counts),
            most: self.most,
        }
    }
}

impl<K: Ord + Copy> Drop for KeyedPermit<K> {
    fn drop(&mut self) {
        let counts = &self.seats.counts;
        let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&self.whose) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.whose);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_their_own_places_and_gives_them_back() {
        let seats = KeyedSemaphore::new(2);
        let taken = [seats.take(1), seats.take(1)];
        assert!(taken.iter().all(Option::is_some));
        assert!(seats.take(1).is_none());
        assert!(seats.clone().take(2).is_some());
        drop(taken);
        assert!(seats.take(1).is_some());
        assert!(
            seats.counts.lock().unwrap().is_empty(),
            "nobody is remembered"
        );
    }
}
