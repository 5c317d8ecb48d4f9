//! Real clients, upstreams that fail in every way and recover at random, callers that give up at random: in the end every
//! sum agrees, no slot is lost, who was healthy was never rejected, and who was dead was left alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use reqwest_circuit_breaker::{
    CircuitBreakerConfig, CircuitBreakerMiddleware, CircuitBreakerRegistry, CircuitKey, CircuitOpenError,
    CircuitSnapshot, ManualClock, Origin, State, Transition, TripPolicy, VerdictAt,
};
use reqwest_middleware::ClientWithMiddleware;

use self::upstream::{Mood, Protocol, Upstream};
use crate::dice::Dice;
use crate::fixture::{Events, assert_adds_up, assert_legal_path};
use crate::support::client;
use crate::support::server::Refusing;

mod upstream;

const CALLERS: usize = 16;
const CALLS: usize = 120;
const THRESHOLD: u32 = 3;
const RECOVERY: Duration = Duration::from_secs(1);

struct World {
    registry: CircuitBreakerRegistry,
    clock: ManualClock,
    events: Events,
    http1: ClientWithMiddleware,
    http2: ClientWithMiddleware,
    healthy: [Upstream; 2],
    moody: [Upstream; 4],
    stalled: Upstream,
    refusing: Refusing,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn chaos_leaves_every_sum_and_slot_in_order() {
    survive(VerdictAt::Headers).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn chaos_leaves_every_sum_and_slot_in_order_when_bodies_speak() {
    survive(VerdictAt::EndOfBody).await;
}

async fn survive(verdict_at: VerdictAt) {
    let mut dice = Dice::roll();
    let world = Arc::new(World::new(verdict_at).await);
    let over = Arc::new(AtomicBool::new(false));
    let weather = tokio::spawn(Arc::clone(&world).change(dice.split(), Arc::clone(&over)));
    let callers: Vec<_> = (0..CALLERS)
        .map(|_| tokio::spawn(Arc::clone(&world).call_around(dice.split())))
        .collect();
    for caller in callers {
        caller.await.expect("no caller panics");
    }
    over.store(true, Ordering::SeqCst);
    weather.await.expect("time does not panic");
    world.check_sums();
    world.check_the_healthy();
    world.check_the_dead();
    world.check_recovery().await;
}

impl World {
    async fn new(verdict_at: VerdictAt) -> Self {
        let (clock, events) = (ManualClock::new(), Events::default());
        let config = CircuitBreakerConfig::builder()
            .trip_on(TripPolicy::consecutive_failures(THRESHOLD))
            .recovery_timeout(RECOVERY)
            .build()
            .unwrap();
        let registry = CircuitBreakerRegistry::builder()
            .config(config)
            .verdict_at(verdict_at)
            .clock(clock.clone())
            .listener(events.listener())
            .build()
            .unwrap();
        let stack = |builder: reqwest::ClientBuilder| {
            reqwest_middleware::ClientBuilder::new(client::build(builder))
                .with(CircuitBreakerMiddleware::new(registry.clone()))
                .with(client::retry(1))
                .build()
        };
        Self {
            http1: stack(client::builder().http1_only()),
            http2: stack(client::builder().http2_prior_knowledge()),
            healthy: [
                Upstream::start(Protocol::Http1, Mood::Healthy).await,
                Upstream::start(Protocol::Http2, Mood::Healthy).await,
            ],
            moody: [
                Upstream::start(Protocol::Http1, Mood::Healthy).await,
                Upstream::start(Protocol::Http2, Mood::Healthy).await,
                Upstream::start(Protocol::Http1, Mood::Overloaded).await,
                Upstream::start(Protocol::Http2, Mood::Resetting).await,
            ],
            stalled: Upstream::start(Protocol::Http1, Mood::Stalled).await,
            refusing: Refusing::new(),
            registry,
            clock,
            events,
        }
    }

    /// Moods change, and time goes on, until all callers are done.
    async fn change(self: Arc<Self>, mut dice: Dice, over: Arc<AtomicBool>) {
        while !over.load(Ordering::SeqCst) {
            tokio::time::sleep(Duration::from_millis(10)).await;
            self.moody[dice.below(4)].turn(dice.one_of(&Mood::MIXED));
            self.clock.advance(RECOVERY / (1 + dice.below(8) as u32));
        }
        self.moody.iter().for_each(|upstream| upstream.turn(Mood::Healthy));
    }

    async fn call_around(self: Arc<Self>, mut dice: Dice) {
        for _ in 0..CALLS {
            let patience = Duration::from_millis(dice.below(12) as u64);
            let (gives_up, reads) = (dice.once_in(6), dice.once_in(2));
            let call = self.call_somebody(dice.below(9), reads);
            if gives_up {
                tokio::time::timeout(patience, call).await.ok();
            } else {
                call.await;
            }
        }
    }

    async fn call_somebody(&self, number: usize, reads: bool) {
        // Whoever is healthy may take its time, also on a busy machine.
        let (url, protocol, limit) = match number {
            0 | 1 => (self.healthy[number].url(), self.healthy[number].protocol, 30_000),
            2 => (self.refusing.url("/"), Protocol::Http1, 100),
            3 => (self.stalled.url(), Protocol::Http1, 100),
            _ => (self.moody[number % 4].url(), self.moody[number % 4].protocol, 100),
        };
        let client = self.client(protocol);
        let answer = client.get(url).timeout(Duration::from_millis(limit)).send().await;
        if let (true, Ok(response)) = (reads, answer) {
            response.bytes().await.ok();
        }
    }

    fn client(&self, protocol: Protocol) -> &ClientWithMiddleware {
        match protocol {
            Protocol::Http1 => &self.http1,
            Protocol::Http2 => &self.http2,
        }
    }

    fn seen(&self, url: &str) -> CircuitSnapshot {
        let origin = Origin::of(&url.parse().unwrap()).expect("an origin");
        let breaker = self.registry.get(&CircuitKey::from(origin)).expect("it was called");
        breaker.snapshot()
    }

    fn path(&self, seen: &CircuitSnapshot) -> Vec<Transition> {
        let mut path = self.events.transitions();
        path.retain(|transition| transition.key() == &seen.key);
        path.sort_by_key(Transition::generation);
        path
    }

    fn check_sums(&self) {
        let snapshots = self.registry.snapshots();
        assert_eq!(snapshots.len(), 8);
        for seen in snapshots {
            assert_eq!(seen.in_flight, 0, "{seen:?}");
            assert!(seen.half_open.is_none_or(|phase| phase.in_flight == 0), "{seen:?}");
            assert_adds_up(&seen);
            assert_legal_path(&self.path(&seen));
        }
        assert_eq!(self.registry.stats().misplaced, 0);
    }

    fn check_the_healthy(&self) {
        for upstream in &self.healthy {
            let seen = self.seen(&upstream.url());
            let totals = &seen.totals;
            assert_eq!(
                (seen.generation, totals.rejected, totals.failure, totals.late),
                (0, 0, 0, 0),
                "{seen:?}"
            );
        }
    }

    /// No more calls than open it, were in flight then, and probed since. Those that were given up said nothing.
    fn check_the_dead(&self) {
        for url in [self.refusing.url("/"), self.stalled.url()] {
            let seen = self.seen(&url);
            let phases = self
                .path(&seen)
                .iter()
                .filter(|step| step.to() == State::HalfOpen)
                .count();
            let heard = seen.totals.started - seen.totals.cancelled;
            let bound = THRESHOLD as usize + CALLERS + phases;
            assert!(heard <= bound as u64, "{heard} calls, but {bound} should do: {seen:?}");
            assert_eq!(
                (seen.totals.success, seen.state == State::Closed),
                (0, false),
                "{seen:?}"
            );
            assert!(seen.totals.rejected > 0, "{seen:?}");
        }
        // Each call is two attempts at most.
        let started = self.seen(&self.stalled.url()).totals.started;
        assert!(self.stalled.requests() as u64 <= 2 * started);
    }

    /// One good call closes whoever is well again; the others get their probe, and stay open.
    async fn check_recovery(&self) {
        let mut opened = 0;
        for upstream in &self.moody {
            opened += self.path(&self.seen(&upstream.url())).len();
            self.clock.advance(RECOVERY);
            let client = self.client(upstream.protocol);
            let answer = client.get(upstream.url()).send().await.expect("it is well");
            assert_eq!(answer.bytes().await.expect("a whole body").len() % 2, 0);
            let seen = self.seen(&upstream.url());
            assert_eq!((seen.state, seen.in_flight), (State::Closed, 0), "{seen:?}");
        }
        assert!(opened > 0, "the moods were too good");
        for url in [self.refusing.url("/"), self.stalled.url()] {
            self.clock.advance(RECOVERY);
            let before = self.seen(&url).totals;
            let answer = self.http1.get(&url).timeout(Duration::from_millis(50)).send().await;
            let error = answer.expect_err("it is dead");
            assert!(
                CircuitOpenError::find(&error).is_none(),
                "the probe was rejected: {error}"
            );
            let seen = self.seen(&url);
            assert_eq!(
                (seen.state, seen.totals.failure),
                (State::Open, before.failure + 1),
                "{seen:?}"
            );
        }
    }
}
