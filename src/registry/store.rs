//! The map of breakers, and its bound.
//!
//! Looking up takes a read lock of one shard of the map, for some nanoseconds. Creating and evicting, which are rare,
//! stand in line for one lock: so the bound is hard, and the queue of those that may go agrees with the map.
//!
//! The map's hasher is a fast one, and seeded: whoever chooses the keys does not know in which bucket they meet.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use dashmap::DashMap;
use foldhash::fast::RandomState;

use super::Answer;
use super::queue::{self, EXACT_UP_TO, Queue};
use crate::breaker::CircuitBreaker;
use crate::breaker::clock::Tick;
use crate::breaker::site::Site;
use crate::key::{CircuitKey, KeyRef};
use crate::observe::RegistryStats;
use crate::observe::event::{Event, Evicted, EvictionReason, Overflowed};
use crate::sync::{AtomicU64, Ordering};

/// At most so often per idle timeout the idle are looked for.
const SWEEPS_PER_TIMEOUT: u32 = 64;

/// At most one event of this kind per second.
const OVERFLOW_EVENT_EVERY: Duration = Duration::from_secs(1);

pub(super) struct Store {
    breakers: DashMap<CircuitKey, CircuitBreaker, RandomState>,
    max_breakers: usize,
    idle_timeout: Option<Duration>,
    /// Orders the uses.
    epoch: AtomicU64,
    /// As [`Tick`]. Not before this time is the next look for idle breakers.
    next_sweep: AtomicU64,
    line: Mutex<Line>,
}

/// What creating and evicting need, and what they count.
struct Line {
    queue: Queue,
    created: u64,
    evicted: u64,
    overflowed: u64,
    next_overflow_event: Tick,
}

impl Store {
    pub(super) fn new(max_breakers: usize, idle_timeout: Option<Duration>) -> Self {
        let line = Line {
            queue: Queue::new(max_breakers),
            created: 0,
            evicted: 0,
            overflowed: 0,
            next_overflow_event: Tick::ZERO,
        };
        Self {
            breakers: DashMap::default(),
            max_breakers,
            idle_timeout,
            epoch: AtomicU64::new(1),
            next_sweep: AtomicU64::new(0),
            line: Mutex::new(line),
        }
    }

    pub(super) fn get(&self, key: &KeyRef<'_>) -> Option<CircuitBreaker> {
        key.with_text(|text| self.breakers.get(text).map(|entry| entry.value().clone()))
    }

    /// Lets the breaker of a key, given by its text, admit a call, if there is one. What may call foreign code is left to
    /// the caller, who holds no lock.
    #[inline(always)]
    pub(super) fn answer(&self, key: &str, now: Option<Tick>) -> Option<Answer> {
        let entry = self.breakers.get(key)?;
        let breaker = entry.value();
        self.mark_used(breaker, now);
        Some(match breaker.admit_untimed() {
            Some(permit) => Answer::Admitted(permit),
            None => Answer::Ask(breaker.clone()),
        })
    }

    /// All breakers of one moment: whenever the queue's lock is free, it agrees with the map.
    pub(super) fn all(&self) -> Vec<CircuitBreaker> {
        self.line().queue.iter().cloned().collect()
    }

    pub(super) fn len(&self) -> usize {
        self.line().queue.len()
    }

    pub(super) fn stats(&self) -> RegistryStats {
        let line = self.line();
        RegistryStats {
            breakers: line.queue.len(),
            created: line.created,
            evicted: line.evicted,
            overflowed: line.overflowed,
            misplaced: 0,
        }
    }
}

/// # Creating
impl Store {
    /// Puts a new breaker under a key, unless there is one, and makes room for it if need be. Without room it is the
    /// origin's breaker, if the key is narrower. The events are for the caller to publish, once the lock is released.
    pub(super) fn insert(
        &self,
        site: &Site,
        key: &CircuitKey,
        make: impl FnOnce() -> CircuitBreaker,
    ) -> (Option<CircuitBreaker>, Option<Event>) {
        // The clock is foreign code: it is read before the lock is taken.
        let now = site.now();
        let mut line = self.line();
        if let Some(breaker) = self.get(&key.as_ref()) {
            return (Some(breaker), None);
        }
        let mut event = None;
        if line.queue.len() >= self.max_breakers {
            let Some(evicted) = line.queue.evict(|victim| self.remove(victim)) else {
                let origin = key.is_narrow().then(|| self.get(&key.as_ref().origin_only())).flatten();
                return (origin, line.overflow(site, key, now));
            };
            line.evicted += 1;
            let (subject, reason) = (site.subject(evicted.key()), EvictionReason::Capacity);
            event = Some(Event::Evicted(Evicted { subject, reason }));
        }
        let breaker = make();
        let order = self.epoch.fetch_add(1, Ordering::Relaxed) + 1;
        breaker.mark_used(order);
        breaker.mark_seen(now);
        line.created += 1;
        line.queue.push(breaker.clone(), order);
        self.breakers.insert(key.clone(), breaker.clone());
        (Some(breaker), event)
    }

    /// Takes a breaker out of the map, if it may go. Under the shard's lock nobody can begin to use it.
    fn remove(&self, victim: &CircuitBreaker) -> bool {
        let may_go = |_: &CircuitKey, breaker: &CircuitBreaker| queue::may_go(breaker);
        self.breakers.remove_if(victim.key(), may_go).is_some()
    }

    /// Marks a use: in the order of uses, and with its time if idle breakers retire.
    #[inline]
    pub(super) fn mark_used(&self, breaker: &CircuitBreaker, now: Option<Tick>) {
        let mut order = self.epoch.load(Ordering::Relaxed);
        if self.max_breakers <= EXACT_UP_TO && breaker.last_used() != order {
            order = self.epoch.fetch_add(1, Ordering::Relaxed) + 1;
        }
        breaker.mark_used(order);
        if let Some(now) = now {
            breaker.mark_seen(now);
        }
    }
}

/// # Retiring
impl Store {
    /// Whether idleness matters, so that uses need their time.
    #[inline]
    pub(super) fn retires_idle(&self) -> bool {
        self.idle_timeout.is_some()
    }

    /// Retires the idle, if it is time to look for them. Returns the events, which are for the caller to publish.
    pub(super) fn retire_idle(&self, site: &Site, now: Tick) -> Vec<Event> {
        match self.idle_timeout {
            Some(timeout) if now.as_nanos() >= self.next_sweep.load(Ordering::Relaxed) => {
                self.sweep(site, timeout, now)
            }
            _ => Vec::new(),
        }
    }

    #[cold]
    fn sweep(&self, site: &Site, timeout: Duration, now: Tick) -> Vec<Event> {
        let mut events = Vec::new();
        let mut line = self.line();
        let mut next = now.after(timeout);
        line.queue.retain(|breaker| {
            let idle_at = breaker.last_seen().after(timeout);
            if idle_at <= now && queue::may_go(breaker) && self.remove(breaker) {
                let (subject, reason) = (site.subject(breaker.key()), EvictionReason::Idle);
                events.push(Event::Evicted(Evicted { subject, reason }));
                return false;
            }
            next = next.min(idle_at);
            true
        });
        line.evicted += events.len() as u64;
        let next = next.max(now.after(timeout / SWEEPS_PER_TIMEOUT));
        self.next_sweep.store(next.as_nanos(), Ordering::Relaxed);
        events
    }

    /// Numbers for whoever suspects that the keys have an id in them: how many were created, and whether most of the
    /// present ones saw fewer calls than any policy needs.
    pub(super) fn created(&self) -> u64 {
        self.line().created
    }

    pub(super) fn most_are_hardly_used(&self) -> bool {
        let line = self.line();
        let hardly_used = |breaker: &&CircuitBreaker| breaker.calls() < u64::from(breaker.fewest_calls_to_trip());
        line.queue.iter().filter(hardly_used).count() * 2 > line.queue.len()
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Line {
    fn overflow(&mut self, site: &Site, key: &CircuitKey, now: Tick) -> Option<Event> {
        self.overflowed += 1;
        let due = self.overflowed == 1 || now >= self.next_overflow_event;
        due.then(|| {
            self.next_overflow_event = now.after(OVERFLOW_EVENT_EVERY);
            Event::Overflowed(Overflowed {
                subject: site.subject(key),
            })
        })
    }
}
