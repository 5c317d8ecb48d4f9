//! Whole requests: through a stack without sockets, and between two cores.

use std::process::Command;

use allocation_counter::measure as count;
use reqwest_circuit_breaker::{CircuitBreakerMiddleware, CircuitBreakerRegistry};
use reqwest_middleware::ClientWithMiddleware;

use super::rounds::{Rounds, on_two_threads, per_call, per_call_with};
use super::table::{Measured, Table, Unit};
use crate::support::loopback::Loopback;
use crate::support::stack::{Empty, answered, open_registry, protected, request, send};
use crate::support::{herd, peers};
use crate::{BACKTRACES, REJECTION};

const ROUNDS: usize = 301;
const ROUNDS_OF_TWO: usize = 101;
const CALLS: usize = 2_000;
const CALLS_OF_TWO: usize = 1_000;
/// Rejections after which the slow allocations of a new thread are over.
const REJECTIONS: usize = 5_000;

pub(crate) fn measure(table: &mut Table) {
    table.judge(
        "middleware over an empty one / failsafe's bare call",
        1.0,
        Some(0.5),
        || middleware(None),
    );
    table.tell("the same, 2 threads, one breaker / failsafe's bare call", || {
        middleware(Some(()))
    });
    table.judge("allocations over an empty middleware", 0.0, Some(0.0), allocations);
    table.judge("rejection, end to end / loopback request", 0.01, None, rejection);
    table.judge(
        "allocations of a rejection, end to end",
        3.0,
        Some(2.0),
        rejection_allocations,
    );
    table.tell("rejection with RUST_BACKTRACE=1 / without", backtraces);
    table.judge(
        "loopback request / with an empty middleware",
        1.01,
        Some(1.005),
        loopback,
    );
    table.judge(
        "requests upstream, 10 000 callers at the deadline",
        1.0,
        Some(1.0),
        || {
            let requests = herd::requests_at_the_deadline(10_000);
            assert!(requests > 0, "one caller is the probe");
            Measured::new(requests as f64, Unit::Plain, "")
        },
    );
}

fn middleware(two: Option<()>) -> Measured {
    let registry = CircuitBreakerRegistry::default();
    let (own, empty) = (protected(&registry), answered(Empty));
    let failsafe = peers::failsafe();
    let sending = |client: &ClientWithMiddleware| match two {
        None => per_call_with(CALLS, request, |request| drop(send(client, request))),
        Some(()) => on_two_threads(|| per_call_with(CALLS_OF_TWO, request, |request| drop(send(client, request)))),
    };
    let rounds = Rounds::run(
        if two.is_some() { ROUNDS_OF_TWO } else { ROUNDS },
        [&mut || sending(&own), &mut || sending(&empty), &mut || match two {
            None => per_call(10 * CALLS, || peers::call_failsafe(&failsafe)),
            Some(()) => on_two_threads(|| per_call(10 * CALLS, || peers::call_failsafe(&failsafe))),
        }],
    );
    let [own, empty, failsafe] = [0, 1, 2].map(|work| rounds.undisturbed(work));
    Measured::new(
        (own - empty) / failsafe,
        Unit::Plain,
        format_args!("{:.1} ns over {empty:.0} ns; failsafe {failsafe:.1} ns", own - empty),
    )
}

fn allocations() -> Measured {
    let registry = CircuitBreakerRegistry::default();
    let of = |client: &ClientWithMiddleware| {
        drop(send(client, request()));
        let request = request();
        count(|| drop(send(client, request))).count_total as f64
    };
    let (own, empty) = (of(&protected(&registry)), of(&answered(Empty)));
    Measured::new(own - empty, Unit::Plain, format_args!("{own} - {empty}"))
}

fn reject(client: &ClientWithMiddleware) -> f64 {
    per_call_with(REJECTIONS, request, |request| {
        let rejected = send(client, request);
        assert!(rejected.is_err());
    })
}

/// Nanoseconds of a rejection in this process, whatever its environment says about backtraces.
pub(crate) fn rejection_nanos() -> f64 {
    let client = protected(&open_registry());
    Rounds::run(21, [&mut || reject(&client)]).median(|[nanos]| *nanos)
}

fn rejection() -> Measured {
    let client = protected(&open_registry());
    let loopback = Loopback::start();
    let served = loopback.client(Empty);
    let rounds = Rounds::run(
        101,
        [&mut || reject(&client), &mut || per_call(50, || loopback.get(&served))],
    );
    Measured::new(
        rounds.median(|[rejection, request]| rejection / request),
        Unit::Plain,
        format_args!(
            "{:.0} ns / {:.1} us",
            rounds.median(|round| round[0]),
            rounds.median(|round| round[1]) / 1e3
        ),
    )
}

fn rejection_allocations() -> Measured {
    let client = protected(&open_registry());
    drop(send(&client, request()));
    let request = request();
    let counted = count(|| drop(send(&client, request)));
    let (allocations, bytes) = (counted.count_total, counted.bytes_total);
    Measured::new(allocations as f64, Unit::Plain, format_args!("{bytes} B"))
}

fn backtraces() -> Measured {
    let measure = |backtraces: bool| {
        let output = this_program(backtraces).arg(REJECTION).output().expect("it runs");
        let nanos: f64 = String::from_utf8_lossy(&output.stdout)
            .trim()
            .parse()
            .expect("a number");
        nanos
    };
    let (with, without) = (measure(true), measure(false));
    let detail = format!("{with:.0} ns / {without:.0} ns");
    Measured::new(with / without, Unit::Plain, detail)
}

/// This program once more, with or without backtraces in errors.
pub(crate) fn this_program(backtraces: bool) -> Command {
    let mut program = Command::new(std::env::current_exe().expect("this program"));
    program.env(BACKTRACES, if backtraces { "1" } else { "0" });
    program
}

fn loopback() -> Measured {
    let loopback = Loopback::start();
    let registry = CircuitBreakerRegistry::default();
    let own = loopback.client(CircuitBreakerMiddleware::new(registry.clone()));
    let empty = loopback.client(Empty);
    let rounds = Rounds::run(
        1_001,
        [&mut || per_call(20, || loopback.get(&own)), &mut || {
            per_call(20, || loopback.get(&empty))
        }],
    );
    let [own, empty] = [0, 1].map(|work| rounds.undisturbed(work) / 1e3);
    Measured::new(own / empty, Unit::Plain, format_args!("{own:.2} us / {empty:.2} us"))
}
