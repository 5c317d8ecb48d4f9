//! Mistakes in the set-up that the registry notices by itself.
//!
//! Both are silent otherwise: a breaker inside the retries opens on attempts instead of calls, and one with an id in its
//! key never opens at all. Each is told once, and counted.

use super::store::Store;
use crate::breaker::site::Site;
use crate::key::CircuitKey;
use crate::observe::event::{Event, KeysGrow, Misplaced};
use crate::sync::{AtomicBool, AtomicU64, Ordering};

/// Up to this many keys nobody wonders.
const MANY_KEYS: u64 = 1_000;

/// What was noticed so far.
pub(super) struct Misuse {
    misplaced: AtomicU64,
    /// At how many keys to look again.
    next_look: AtomicU64,
    told_keys_grow: AtomicBool,
}

impl Default for Misuse {
    fn default() -> Self {
        Self {
            misplaced: AtomicU64::new(0),
            next_look: AtomicU64::new(MANY_KEYS + 1),
            told_keys_grow: AtomicBool::new(false),
        }
    }
}

impl Misuse {
    pub(super) fn misplaced(&self) -> u64 {
        self.misplaced.load(Ordering::Relaxed)
    }

    /// Counts a second attempt of one request, and tells the first.
    pub(super) fn note_misplaced(&self, site: &Site, key: &CircuitKey) {
        if self.misplaced.fetch_add(1, Ordering::Relaxed) == 0 {
            site.publish(&Event::Misplaced(Misplaced {
                subject: site.subject(key),
            }));
        }
    }

    /// Looks, each time the number of keys has doubled, whether they seem to have an id in them.
    pub(super) fn keys_grow(&self, site: &Site, store: &Store, key: &CircuitKey) -> Option<Event> {
        let created = store.created();
        let next_look = self.next_look.load(Ordering::Relaxed);
        let claim = |next: u64| {
            self.next_look
                .compare_exchange(next_look, next, Ordering::Relaxed, Ordering::Relaxed)
        };
        if created < next_look || claim(created.saturating_mul(2)).is_err() || site.ever_opened() {
            return None;
        }
        let first = store.most_are_hardly_used() && !self.told_keys_grow.swap(true, Ordering::Relaxed);
        first.then(|| {
            Event::KeysGrow(KeysGrow {
                subject: site.subject(key),
                created,
            })
        })
    }
}
