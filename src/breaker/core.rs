//! The concurrent shell around the state machine.
//!
//! The machine sits behind a lock; one word beside it tells what the healthy path needs to know. A closed breaker admits
//! by reading that word, and a success that would change nothing but a total is counted without the lock: neither locks,
//! allocates or reads the clock. Everything else locks for some nanoseconds, and tells the listeners after unlocking.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::clock::Tick;
use super::config::CircuitBreakerConfig;
use super::machine::{Admission, Machine, Rejection, Settlement, Ticket};
use super::site::Site;
use crate::error::CircuitOpenError;
use crate::key::CircuitKey;
use crate::observe::event::{ProbeFinished, Rejected};
use crate::observe::transition::Step;
use crate::observe::{Event, Meter};
use crate::state::State;
use crate::sync::{AtomicU64, Mutex, MutexGuard, Ordering, lock};
use crate::verdict::Verdict;

/// State of one breaker.
pub(super) struct Core {
    front: Front,
    machine: Mutex<Machine>,
    meter: Meter,
    pub(super) config: Arc<CircuitBreakerConfig>,
    pub(super) site: Arc<Site>,
    /// Time of the last verdict that may have changed more than a total.
    settled_at: AtomicU64,
}

/// What a healthy call reads. It stands together, since between two real requests it leaves the processor's cache.
struct Front {
    word: AtomicU64,
    key: CircuitKey,
    times_calls: bool,
}

/// Generation, quietness and state in one word.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Word(u64);

impl Word {
    const STATE: u64 = 0b0111;
    const QUIET: u64 = 0b1000;
    const GENERATION_SHIFT: u32 = 4;

    fn of(machine: &Machine) -> Self {
        let state = match machine.state() {
            State::Closed => 0,
            State::Open => 1,
            State::HalfOpen => 2,
            State::ForcedOpen => 3,
            State::Disabled => 4,
        };
        let quiet = if machine.is_quiet() { Self::QUIET } else { 0 };
        Self(machine.generation() << Self::GENERATION_SHIFT | quiet | state)
    }

    #[inline]
    fn is_closed(self) -> bool {
        self.0 & Self::STATE == 0
    }

    /// Whether a success of that generation changes nothing but a total.
    #[inline]
    fn is_quiet_in(self, generation: u64) -> bool {
        self.0 == generation << Self::GENERATION_SHIFT | Self::QUIET
    }

    fn state(self) -> State {
        match self.0 & Self::STATE {
            0 => State::Closed,
            1 => State::Open,
            2 => State::HalfOpen,
            3 => State::ForcedOpen,
            _ => State::Disabled,
        }
    }

    #[inline]
    fn generation(self) -> u64 {
        self.0 >> Self::GENERATION_SHIFT
    }
}

impl Core {
    pub(super) fn new(key: CircuitKey, config: Arc<CircuitBreakerConfig>, site: Arc<Site>, jitter_seed: u64) -> Self {
        let machine = Machine::new(&config, jitter_seed);
        Self {
            meter: site.meter(&key),
            front: Front {
                word: AtomicU64::new(Word::of(&machine).0),
                key,
                times_calls: config.times_calls(),
            },
            machine: Mutex::new(machine),
            config,
            site,
            settled_at: AtomicU64::new(0),
        }
    }

    #[inline]
    fn word(&self) -> Word {
        Word(self.front.word.load(Ordering::Acquire))
    }

    #[inline]
    pub(super) fn key(&self) -> &CircuitKey {
        &self.front.key
    }

    /// Whether a closed admission has to read the clock.
    #[inline]
    pub(super) fn times_calls(&self) -> bool {
        self.front.times_calls
    }

    pub(super) fn state(&self) -> State {
        self.word().state()
    }

    /// The ticket of a call that a closed breaker admits.
    #[inline]
    pub(super) fn admit_closed(&self) -> Option<Ticket> {
        let word = self.word();
        let ticket = Ticket {
            generation: word.generation(),
            probe: None,
        };
        word.is_closed().then_some(ticket)
    }

    /// Whether a success of that ticket would change nothing but a total.
    #[inline]
    pub(super) fn is_quiet(&self, ticket: Ticket) -> bool {
        ticket.probe.is_none() && self.word().is_quiet_in(ticket.generation)
    }

    /// Tells of a success that changed nothing but a total.
    #[inline]
    pub(super) fn tell_quiet_success(&self) {
        self.meter.count_success(|| self.state());
    }

    /// Tells of a call that was given up.
    pub(super) fn tell_cancelled(&self) {
        self.meter.count_cancelled(|| self.state());
    }

    /// Asks the machine, and tells what came of it. `permit` runs under the lock: it counts the start, so that no probe
    /// is in flight that never started.
    #[cold]
    pub(super) fn admit<P>(
        &self,
        patience: Option<Duration>,
        permit: impl FnOnce(Ticket, Tick) -> P,
    ) -> Result<P, CircuitOpenError> {
        let now = self.site.now();
        let (permit, spared, step) = self.locked(|machine| {
            let Admission { decision, spared, step } = machine.admit(&self.config, now, patience);
            (decision.map(|ticket| permit(ticket, now)), spared, step)
        });
        // From here on a panic drops the permit, and with it the slot.
        self.publish_step(step);
        if let Some(rejection) = spared {
            self.publish_rejection(&self.error(rejection));
        }
        permit.map_err(|rejection| {
            let error = self.error(rejection);
            self.publish_rejection(&error);
            error
        })
    }

    /// Gives the machine a verdict, and tells what came of it.
    pub(super) fn settle(
        &self,
        ticket: Ticket,
        verdict: Verdict,
        retry_after: Option<Duration>,
        admitted: Tick,
        now: Tick,
    ) {
        let elapsed = now.since(admitted);
        self.settled_at.fetch_max(now.as_nanos(), Ordering::Relaxed);
        let settlement =
            self.locked(|machine| machine.settle(&self.config, ticket, verdict, retry_after, elapsed, now));
        self.meter.count(settlement.counted, || self.state());
        self.publish(settlement);
    }

    /// Shows that the breaker is there.
    pub(super) fn announce(&self) {
        self.meter.announce(|| self.state());
    }

    /// Time of the last verdict that may have changed more than a total.
    pub(super) fn settled_at(&self) -> Tick {
        Tick::from_nanos(self.settled_at.load(Ordering::Relaxed))
    }

    /// Gives a probe's slot back. Tells nobody.
    pub(super) fn release(&self, ticket: Ticket) {
        self.locked(|machine| machine.release(ticket));
    }

    /// Changes the machine by hand, and tells what came of it.
    pub(super) fn by_hand(&self, change: impl FnOnce(&mut Machine, Tick) -> Option<Arc<Step>>) {
        let now = self.site.now();
        let step = self.locked(|machine| change(machine, now));
        self.publish_step(step);
    }

    /// The rejection that a call would get now. Changes nothing.
    pub(super) fn peek(&self) -> Option<CircuitOpenError> {
        if self.config.report_only {
            None
        } else {
            self.rejection()
        }
    }

    /// Counts and tells the rejection of a call that asks for no permit. Under `report_only` it is spared.
    pub(super) fn reject(&self) -> Option<CircuitOpenError> {
        let error = self.rejection()?;
        self.locked(Machine::count_rejection);
        self.publish_rejection(&error);
        (!self.config.report_only).then_some(error)
    }

    /// The rejection that a call would get now if rejections were enforced.
    fn rejection(&self) -> Option<CircuitOpenError> {
        if self.state() == State::Closed {
            return None;
        }
        let now = self.site.now();
        let rejection = self.read().rejection(now);
        rejection.map(|rejection| self.error(rejection))
    }

    /// Reads the machine.
    pub(super) fn read(&self) -> MutexGuard<'_, Machine> {
        lock(&self.machine)
    }

    /// Changes the machine under its lock, and the word with it.
    fn locked<T>(&self, change: impl FnOnce(&mut Machine) -> T) -> T {
        let mut machine = lock(&self.machine);
        let result = change(&mut machine);
        let word = Word::of(&machine);
        if self.word() != word {
            self.front.word.store(word.0, Ordering::Release);
        }
        result
    }

    fn publish(&self, settlement: Settlement) {
        if let (Some(verdict), true) = (settlement.counted, settlement.of_probe) {
            let finished = ProbeFinished {
                subject: self.site.subject(self.key()),
                verdict,
            };
            self.site.publish(&Event::ProbeFinished(finished));
        }
        self.publish_step(settlement.step);
    }

    fn publish_step(&self, step: Option<Arc<Step>>) {
        if let Some(step) = step {
            self.meter.count_transition(&step, || self.state());
            self.site.publish_step(self.key(), step);
        }
    }

    fn publish_rejection(&self, rejection: &CircuitOpenError) {
        self.meter.count_rejected(rejection.reason, || self.state());
        if self.site.is_heard() {
            let (rejection, enforced) = (rejection.clone(), !self.config.report_only);
            self.site.publish(&Event::Rejected(Rejected { rejection, enforced }));
        }
    }

    fn error(&self, rejection: Rejection) -> CircuitOpenError {
        CircuitOpenError {
            registry: Arc::clone(self.site.registry()),
            key: self.key().clone(),
            reason: rejection.reason,
            retry_after: rejection.retry_after,
            last_failure: rejection.last_failure,
        }
    }
}

impl fmt::Debug for Core {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Core")
            .field("key", self.key())
            .field("state", &self.state())
            .finish_non_exhaustive()
    }
}
