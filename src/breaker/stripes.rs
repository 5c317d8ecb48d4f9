//! The counters of the healthy path, one set per thread once threads fight over them.
//!
//! A permit owns a reference to its breaker, and every call counts its start and its end: on a single set of words two
//! cores would spend more time passing the cache line to and fro than doing anything else. So a breaker begins with one
//! set, and gets one per thread, each with a reference count of its own, at the first sign of a fight. A breaker that
//! only one thread uses at a time stays small.

use super::core::Core;
use super::machine::Ticket;
use crate::sync::{Arc, AtomicU64, OnceLock, Ordering, thread_number};

/// How many sets a breaker gets: enough for a few cores, small enough for ten thousand breakers. A model checker has
/// fewer cores.
const STRIPES: usize = if cfg!(breaker_loom) { 2 } else { 8 };

/// How often a reader tries to see all counters of one moment.
const READS: u32 = 4;

/// One set of counters. A reader that reads every `success` and `cancelled` before any `started` never finds more calls
/// ended than started: an end is published with `Release`, after its start. So is a start, after the ends before it: what
/// was read in between is of one moment if no end has come meanwhile.
#[derive(Debug, Default)]
struct Counters {
    started: AtomicU64,
    success: AtomicU64,
    cancelled: AtomicU64,
}

/// Counters of some of the threads. Two hot parts never share a cache line of 64 bytes: what the allocator puts between
/// them, and the padding, keep them further apart.
#[derive(Debug)]
pub(super) struct Stripe {
    core: Arc<Core>,
    counters: Counters,
    _padding: [u64; 6],
}

/// What a permit holds: the breaker, kept alive, and the counters its end goes to. One pointer, so that a permit is
/// cheap to pass on.
pub(super) type Lease = Arc<Stripe>;

impl Stripe {
    fn new(core: &Arc<Core>) -> Lease {
        Arc::new(Self {
            core: Arc::clone(core),
            counters: Counters::default(),
            _padding: [0; 6],
        })
    }

    #[inline]
    pub(super) fn core(&self) -> &Core {
        &self.core
    }

    /// Counts a success if it would change nothing but a total.
    #[inline]
    pub(super) fn count_quiet_success(&self, ticket: Ticket) -> bool {
        let quiet = self.core.is_quiet(ticket);
        if quiet {
            self.counters.success.fetch_add(1, Ordering::Release);
            self.core.tell_quiet_success();
        }
        quiet
    }

    /// Counts a call that was given up.
    pub(super) fn count_cancelled(&self) {
        self.counters.cancelled.fetch_add(1, Ordering::Release);
        self.core.tell_cancelled();
    }
}

/// The sets of one breaker.
#[derive(Debug)]
pub(super) struct Stripes {
    home: Lease,
    spread: OnceLock<Box<[Lease]>>,
}

/// Sums over all sets.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums {
    pub(super) started: u64,
    pub(super) success: u64,
    pub(super) cancelled: u64,
}

impl Stripes {
    pub(super) fn new(core: &Arc<Core>) -> Self {
        Self {
            home: Stripe::new(core),
            spread: OnceLock::new(),
        }
    }

    #[inline]
    pub(super) fn core(&self) -> &Core {
        &self.home.core
    }

    /// Counts a start and returns the lease for it.
    #[inline]
    pub(super) fn lease(&self) -> Lease {
        match self.spread.get() {
            None => self.lease_of_home(),
            Some(stripes) => lease_of_thread(stripes),
        }
    }

    #[inline]
    fn lease_of_home(&self) -> Lease {
        let started = &self.home.counters.started;
        let seen = started.load(Ordering::Relaxed);
        if started
            .compare_exchange(seen, seen + 1, Ordering::Release, Ordering::Relaxed)
            .is_err()
        {
            self.spread();
            started.fetch_add(1, Ordering::Release);
        }
        Arc::clone(&self.home)
    }

    #[cold]
    fn spread(&self) {
        self.spread
            .get_or_init(|| (0..STRIPES).map(|_| Stripe::new(&self.home.core)).collect());
    }

    /// Whether any permit is alive.
    pub(super) fn in_use(&self) -> bool {
        self.all().any(|stripe| Arc::strong_count(stripe) > 1)
    }

    /// Sums such that no more calls ended than started, and of one moment unless ends keep coming all the while: then what
    /// started meanwhile seems to be in flight. What ended elsewhere has to be read before, and to stand still.
    pub(super) fn sums(&self) -> Sums {
        let sum = |counter: fn(&Counters) -> &AtomicU64| {
            self.all()
                .map(|stripe| counter(&stripe.counters).load(Ordering::Acquire))
                .sum()
        };
        let read = |success, cancelled| Sums {
            success,
            cancelled,
            started: sum(|set| &set.started),
        };
        let (mut success, mut cancelled) = (sum(|set| &set.success), sum(|set| &set.cancelled));
        for _ in 1..READS {
            let sums = read(success, cancelled);
            (success, cancelled) = (sum(|set| &set.success), sum(|set| &set.cancelled));
            if (success, cancelled) == (sums.success, sums.cancelled) {
                return sums;
            }
        }
        read(success, cancelled)
    }

    fn all(&self) -> impl Iterator<Item = &Lease> {
        std::iter::once(&self.home).chain(self.spread.get().into_iter().flatten())
    }
}

fn lease_of_thread(stripes: &[Lease]) -> Lease {
    let stripe = &stripes[thread_number() % STRIPES];
    stripe.counters.started.fetch_add(1, Ordering::Release);
    Arc::clone(stripe)
}

#[cfg(all(test, not(breaker_loom)))]
mod tests {
    use std::collections::HashSet;
    use std::thread;

    use super::*;
    use crate::registry::CircuitBreakerRegistry;

    #[test]
    fn once_spread_threads_have_sets_of_their_own_however_many_they_are() {
        let registry = CircuitBreakerRegistry::default();
        let breaker = registry
            .get_or_create(&"https://stock.example".parse().unwrap())
            .unwrap();
        let stripes = &breaker.handle.stripes;
        stripes.spread();
        let threads = STRIPES * STRIPES + 1;
        let lease = || Arc::as_ptr(&stripes.lease()) as usize;
        let sets: HashSet<usize> = (0..threads)
            .map(|_| thread::scope(|scope| scope.spawn(lease).join().unwrap()))
            .collect();
        assert!(sets.len() > 1 && !sets.contains(&(Arc::as_ptr(&stripes.home) as usize)));
        assert_eq!(stripes.sums().started, threads as u64);
    }
}
