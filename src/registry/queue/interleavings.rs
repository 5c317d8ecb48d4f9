//! Eviction against admission, in every order that loom finds. The lock stands for the map's shard.

use super::*;
use crate::breaker::interleavings::{Bench, in_every_order};
use crate::sync::{Arc, Mutex, lock, spawn};
use crate::verdict::{FailureKind, Verdict};

type Shard = Mutex<Option<CircuitBreaker>>;

/// Evicts from the shard while a call is admitted from it, ends with `verdict`, and returns whether each happened.
fn race(verdict: Verdict) -> (bool, bool, CircuitBreaker) {
    let breaker = Bench::new(1).breaker;
    // One handle is the map's and one the queue's; nobody else has one.
    let shard: Arc<Shard> = Arc::new(Mutex::new(Some(breaker.clone())));
    let map = Arc::clone(&shard);
    let caller = spawn(1, move || {
        let permit = lock(&map).as_ref().and_then(CircuitBreaker::admit_untimed);
        let admitted = permit.is_some();
        if let Some(permit) = permit {
            permit.record(verdict);
        }
        admitted
    });
    let evicted = {
        let mut entry = lock(&shard);
        let evicted = may_go(&breaker);
        if evicted {
            *entry = None;
        }
        evicted
    };
    (evicted, caller.join().unwrap(), breaker)
}

#[test]
fn no_breaker_is_evicted_whose_call_is_about_to_open_it() {
    in_every_order(|| {
        let (evicted, admitted, breaker) = race(Verdict::Failure(FailureKind::Timeout));
        assert_ne!(evicted, admitted, "the failure of an admitted call is never forgotten");
        assert_eq!(breaker.state() == State::Open, admitted);
    });
}

#[test]
fn no_breaker_is_evicted_with_a_call_in_flight() {
    in_every_order(|| {
        let (evicted, admitted, breaker) = race(Verdict::Success);
        assert!(evicted || admitted, "nobody else stood in the way");
        assert_eq!(breaker.snapshot().totals.success, u64::from(admitted));
    });
}
