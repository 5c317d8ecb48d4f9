//! Measuring in turn.
//!
//! A shared machine is never the same twice: clocks throttle, neighbours come and go. So the works of one budget take
//! turns in short batches, the ratio is taken within each round, and the median of the rounds is what counts.

#![allow(clippy::disallowed_methods, reason = "a benchmark measures the time that passes")]

use std::hint::spin_loop;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How often two threads try to run at the same time.
const TRIES: usize = 100;

/// Few enough to be still in the first cache when they are used, as a request is that was just built.
const AT_ONCE: usize = 20;

/// Nanoseconds per call of several works, round by round.
pub(crate) struct Rounds<const N: usize>(Vec<[f64; N]>);

impl<const N: usize> Rounds<N> {
    /// Runs the works in turn, in changing order. Each returns its nanoseconds per call.
    pub(crate) fn run(rounds: usize, mut works: [&mut dyn FnMut() -> f64; N]) -> Self {
        // The first batches warm up caches, connections and thread-locals.
        works.iter_mut().for_each(|work| {
            work();
        });
        let mut all = vec![[0.0; N]; rounds];
        for (n, round) in all.iter_mut().enumerate() {
            for turn in 0..N {
                let index = if n % 2 == 0 { turn } else { N - 1 - turn };
                round[index] = works[index]();
            }
        }
        Self(all)
    }

    /// What a work takes where nothing disturbs it: a low quantile, since a busy machine only ever adds. For a
    /// difference of works that is small beside both.
    pub(crate) fn undisturbed(&self, work: usize) -> f64 {
        let mut values: Vec<f64> = self.0.iter().map(|round| round[work]).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 5]
    }

    /// The median over the rounds of what is computed within each.
    pub(crate) fn median(&self, of: impl Fn(&[f64; N]) -> f64) -> f64 {
        let mut values: Vec<f64> = self.0.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    }
}

/// Nanoseconds per call of `calls` calls.
#[inline]
pub(crate) fn per_call(calls: usize, mut call: impl FnMut()) -> f64 {
    let start = Instant::now();
    for _ in 0..calls {
        call();
    }
    nanos(start.elapsed(), calls)
}

/// Nanoseconds per call of `calls` calls, each with an input that was made shortly before.
#[inline]
pub(crate) fn per_call_with<T>(calls: usize, make: impl Fn() -> T, mut call: impl FnMut(T)) -> f64 {
    let mut elapsed = Duration::ZERO;
    let mut inputs = Vec::with_capacity(AT_ONCE);
    for _ in 0..calls / AT_ONCE {
        inputs.extend((0..AT_ONCE).map(|_| make()));
        let start = Instant::now();
        for input in inputs.drain(..) {
            call(input);
        }
        elapsed += start.elapsed();
    }
    nanos(elapsed, calls / AT_ONCE * AT_ONCE)
}

/// Nanoseconds per call on each of two threads at the same time: the mean of both.
///
/// Threads that take turns on one core do not fight, so a try counts only if they ran side by side from beginning to end.
pub(crate) fn on_two_threads(work: impl Fn() -> f64 + Sync) -> f64 {
    let mut nanos = f64::NAN;
    for _ in 0..TRIES {
        let ready = AtomicUsize::new(0);
        let timed = || {
            // Spinning, not sleeping: whoever goes on has a core at that moment.
            ready.fetch_add(1, Ordering::SeqCst);
            while ready.load(Ordering::SeqCst) < 2 {
                spin_loop();
            }
            let (start, waited) = (Instant::now(), waited_for_a_core());
            let nanos = work();
            let waited = waited_for_a_core().saturating_sub(waited);
            let end = Instant::now();
            (nanos, start, end, waited * 50 > end - start)
        };
        let (own, other) = thread::scope(|scope| {
            let other = scope.spawn(timed);
            (timed(), other.join().expect("it measures"))
        });
        nanos = (own.0 + other.0) / 2.0;
        let all = own.2.max(other.2) - own.1.min(other.1);
        let together = own.2.min(other.2).saturating_duration_since(own.1.max(other.1));
        if together * 10 > all * 8 && !own.3 && !other.3 {
            break;
        }
    }
    nanos
}

/// How long this thread was ready and had no core to run on, where the kernel says so.
fn waited_for_a_core() -> Duration {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = stat.split(' ').nth(1).and_then(|nanos| nanos.parse().ok());
    Duration::from_nanos(nanos.unwrap_or_default())
}

pub(crate) fn nanos(elapsed: Duration, calls: usize) -> f64 {
    elapsed.as_nanos() as f64 / calls as f64
}
