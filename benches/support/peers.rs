//! The peers, each under its own defaults and with a call that succeeds.

use std::convert::Infallible;
use std::future::Ready;
use std::hint::black_box;
use std::task::{Context, Poll};

use failsafe::CircuitBreaker as _;
use failsafe::backoff::EqualJittered;
use failsafe::failure_policy::{ConsecutiveFailures, OrElse, SuccessRateOverTimeWindow};
use futures_util::FutureExt;
use recloser::Recloser;
use tower::{Service, ServiceExt};
use tower_resilience_circuitbreaker::{CircuitBreaker, CircuitBreakerLayer, DefaultClassifier};

pub(crate) type Failsafe =
    failsafe::StateMachine<OrElse<SuccessRateOverTimeWindow<EqualJittered>, ConsecutiveFailures<EqualJittered>>, ()>;
pub(crate) type Tower = CircuitBreaker<Ok7, DefaultClassifier>;

pub(crate) fn recloser() -> Recloser {
    let recloser = Recloser::default();
    // Full rings: the state in which it is used.
    (0..1_000).for_each(|_| call_recloser(&recloser));
    recloser
}

#[inline]
pub(crate) fn call_recloser(recloser: &Recloser) {
    let _ = black_box(recloser.call(|| black_box(Ok::<_, Infallible>(7))));
}

pub(crate) fn failsafe() -> Failsafe {
    failsafe::Config::new().build()
}

#[inline]
pub(crate) fn call_failsafe(failsafe: &Failsafe) {
    let _ = black_box(failsafe.call(|| black_box(Ok::<_, Infallible>(7))));
}

pub(crate) fn tower() -> Tower {
    let layer = CircuitBreakerLayer::builder().build().expect("its defaults are valid");
    layer.layer_fn(Ok7)
}

#[inline]
pub(crate) fn call_tower(tower: &mut Tower) {
    let ready = tower.ready().now_or_never().expect("it is ready at once");
    let Ok(ready) = ready else { return };
    let _ = black_box(ready.call(()).now_or_never());
}

/// The service that is called: it succeeds at once.
#[derive(Clone)]
pub(crate) struct Ok7;

impl Service<()> for Ok7 {
    type Response = u32;
    type Error = Infallible;
    type Future = Ready<Result<u32, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, (): ()) -> Self::Future {
        std::future::ready(black_box(Ok(7)))
    }
}
