//! Twenty callers, half of their calls to `/search` and half to `/profile`, while `/search` fails for a time.
//!
//! A breaker for the host takes `/profile` away with it; and as often as not a healthy `/profile` is its probe, which lets
//! the failing calls back in. A breaker for each raw path never hears of one path twice, so it never opens. A breaker for
//! each endpoint rejects what fails and nothing else.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use reqwest_circuit_breaker::{CircuitBreakerConfig, CircuitBreakerRegistry, KeyScheme, Route};
use reqwest_middleware::{ClientWithMiddleware, RequestBuilder};
use tokio::time::{Instant, sleep};

use super::calls::Tally;
use super::protected;
use super::table::{Cell, Table, at_least, exactly, within};
use super::upstream::{Answer, Upstream};

const CALLERS: usize = 20;

/// `/search` never fails for longer.
const LIMIT: Duration = Duration::from_secs(20);

/// How long, and how much. The proportions are always the same.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    /// `/search` fails in the middle half of this time, or longer if the machine is too busy for many calls. An eighth of
    /// it is the recovery timeout.
    time: Duration,
    /// Calls made with the raw path as key: `/search` fails in the middle half of them.
    calls: usize,
    /// Healthy calls that a breaker for the host rejects at least.
    least_rejected: usize,
}

impl Scale {
    #[allow(dead_code, reason = "for the lab, which takes its time")]
    pub(crate) const FULL: Self = Self {
        time: Duration::from_secs(4),
        calls: 10_400,
        least_rejected: 1_000,
    };

    #[allow(dead_code, reason = "for the tests")]
    pub(crate) const QUICK: Self = Self {
        time: Duration::from_millis(1_200),
        calls: 1_200,
        least_rejected: 50,
    };

    fn recovery_timeout(self) -> Duration {
        self.time / 8
    }
}

pub(crate) async fn run(scale: Scale) -> Table {
    let mut table = Table::new(
        "Which key: twenty callers to /search and /profile, and /search fails for a time",
        &[
            "breakers",
            "failing /search let through",
            "/search rejected",
            "/profile rejected",
        ],
    );
    // How many get through is a random walk: it depends on who is the probe. Never fewer than it takes to open.
    let site = Site::new(KeyScheme::origin(), scale).await;
    let (seen, _) = site.call_for(scale).await;
    let through = within(5..=1_000, seen.search.failing);
    let search = at_least(1, seen.search.rejected());
    let profile = at_least(scale.least_rejected, seen.profile.rejected());
    table.row("the host", site.row(1, through, search, profile));

    // Five to open, what was in flight by then, and one probe for each time that it was open.
    let site = Site::new(KeyScheme::route(), scale).await;
    let (seen, lasted) = site.call_for(scale).await;
    let probes = lasted.as_millis() / scale.recovery_timeout().as_millis() + 1;
    let most = 5 + CALLERS + usize::try_from(probes).unwrap_or(usize::MAX);
    let through = within(5..=most, seen.search.failing);
    let search = at_least(1, seen.search.rejected());
    table.row(
        "the endpoint",
        site.row(2, through, search, exactly(0, seen.profile.rejected())),
    );

    let raw_path = KeyScheme::custom(|request, _| Some(request.url().path().to_owned().into()));
    let site = Site::new(raw_path, scale).await;
    let seen = site.call_so_often(scale.calls).await;
    // Half of the calls are made while it fails, and half of these to it.
    let through = within(scale.calls / 5..=scale.calls / 3, seen.search.failing);
    table.row(
        "the raw path",
        site.row(
            scale.calls,
            through,
            exactly(0, seen.search.rejected()),
            exactly(0, seen.profile.rejected()),
        ),
    );
    table
}

/// An upstream with two endpoints, one of which may fail, and a client.
struct Site {
    upstream: Upstream,
    search_fails: Arc<AtomicBool>,
    registry: CircuitBreakerRegistry,
    client: ClientWithMiddleware,
    next_id: AtomicU64,
}

/// What the callers saw of each endpoint.
#[derive(Debug, Default)]
struct Seen {
    search: Tally,
    profile: Tally,
}

impl Site {
    async fn new(keys: KeyScheme, scale: Scale) -> Self {
        let upstream = Upstream::start().await;
        let search_fails = Arc::new(AtomicBool::new(false));
        let fails = Arc::clone(&search_fails);
        upstream.answer_with(move |path| {
            let fails = path.starts_with("/search/") && fails.load(Ordering::SeqCst);
            Answer::Status(if fails { 503 } else { 200 })
        });
        let config = CircuitBreakerConfig::builder()
            .recovery_timeout(scale.recovery_timeout())
            .build();
        let registry = CircuitBreakerRegistry::builder()
            .config(config.expect("a valid config"))
            .key_scheme(keys)
            .max_breakers(2 * scale.calls)
            .build()
            .expect("a valid registry");
        Self {
            upstream,
            search_fails,
            client: protected(&registry),
            registry,
            next_id: AtomicU64::new(0),
        }
    }

    /// Lets all call for some time, while `/search` fails in the middle of it. Returns how long that was.
    async fn call_for(&self, scale: Scale) -> (Seen, Duration) {
        let over = AtomicBool::new(false);
        let callers = join_all((0..CALLERS).map(|n| self.caller(Dice::new(n), || !over.load(Ordering::SeqCst), true)));
        let failing = async {
            sleep(scale.time / 4).await;
            self.search_fails.store(true, Ordering::SeqCst);
            let began = Instant::now();
            sleep(scale.time / 2).await;
            while self.rejected() < 5 * scale.least_rejected as u64 / 2 && began.elapsed() < LIMIT {
                sleep(scale.time / 16).await;
            }
            self.search_fails.store(false, Ordering::SeqCst);
            let lasted = began.elapsed();
            sleep(scale.time / 4).await;
            over.store(true, Ordering::SeqCst);
            lasted
        };
        let (seen, lasted) = tokio::join!(callers, failing);
        (seen.into_iter().collect(), lasted)
    }

    /// Makes so many calls, as fast as can be, while `/search` fails in the middle half of them.
    async fn call_so_often(&self, calls: usize) -> Seen {
        let mut seen = Vec::new();
        for (part, fails) in [(4, false), (2, true), (4, false)] {
            self.search_fails.store(fails, Ordering::SeqCst);
            let callers = (0..CALLERS).map(|n| {
                let mut left = calls / part / CALLERS;
                let goes_on = move || {
                    left -= 1;
                    left > 0
                };
                self.caller(Dice::new(n), goes_on, false)
            });
            seen.extend(join_all(callers).await);
        }
        seen.into_iter().collect()
    }

    /// Calls one or the other as long as it should go on, at least once.
    async fn caller(&self, mut dice: Dice, mut goes_on: impl FnMut() -> bool, pauses: bool) -> Seen {
        let mut seen = Seen::default();
        loop {
            if dice.throw() % 2 == 0 {
                seen.search.send(self.call("search")).await;
            } else {
                seen.profile.send(self.call("profile")).await;
            }
            if !goes_on() {
                return seen;
            }
            if pauses {
                sleep(Duration::from_millis(dice.throw() % 8)).await;
            }
        }
    }

    fn rejected(&self) -> u64 {
        self.registry
            .snapshots()
            .iter()
            .map(|breaker| breaker.totals.rejected)
            .sum()
    }

    fn call(&self, endpoint: &str) -> RequestBuilder {
        let id = self.next_id.fetch_add(1, Ordering::SeqCst);
        let request = self.client.get(self.upstream.url(&format!("/{endpoint}/{id}")));
        request.with_extension(Route::new(format!("/{endpoint}/{{id}}")))
    }

    fn row(&self, breakers: usize, through: Cell, search: Cell, profile: Cell) -> [Cell; 4] {
        [exactly(breakers, self.registry.len()), through, search, profile]
    }
}

impl FromIterator<Seen> for Seen {
    fn from_iter<I: IntoIterator<Item = Seen>>(parts: I) -> Self {
        let mut all = Self::default();
        for part in parts {
            all.search.add(part.search);
            all.profile.add(part.profile);
        }
        all
    }
}

/// A caller's own random numbers, the same in each run.
struct Dice(u64);

impl Dice {
    fn new(n: usize) -> Self {
        Self((n as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// The next number of a xorshift generator.
    fn throw(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 8
    }
}
