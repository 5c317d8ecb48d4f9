//! Ten calls each to an upstream that is busy, broken, gone, or does not have what was asked for.
//!
//! A breaker that counts errors only never sees a 503, which is an answer to the client. One that counts everything but a
//! 2xx takes a working upstream away because somebody asked for what is not there.

use reqwest_circuit_breaker::{CircuitBreakerRegistry, Classifier, FailureKind, Outcome, Verdict};

use super::calls::{Tally, calls};
use super::protected;
use super::table::{Cell, Table, exactly};
use super::upstream::Upstream;

const CALLS: usize = 10;

/// Counts errors only.
fn errors(outcome: &Outcome<'_>) -> Verdict {
    match (outcome.error(), outcome.failure_kind()) {
        (Some(_), Some(kind)) => Verdict::Failure(kind),
        _ => Verdict::Success,
    }
}

/// Counts everything but a 2xx.
fn all_but_2xx(outcome: &Outcome<'_>) -> Verdict {
    match outcome.status() {
        Some(status) if status.is_success() => Verdict::Success,
        Some(status) => Verdict::Failure(FailureKind::Status(status)),
        None => Verdict::Failure(FailureKind::Other),
    }
}

pub(crate) async fn run() -> Table {
    let mut table = Table::new(
        "What counts: ten calls each, five failures open",
        &[
            "errors only: let through",
            "rejected",
            "all but 2xx: let through",
            "rejected",
            "by default: answered",
            "errors",
            "rejected",
        ],
    );
    let claims = [
        ("429", [10, 0], [5, 5], [10, 0, 0]),
        ("503", [10, 0], [5, 5], [5, 0, 5]),
        ("refused", [5, 5], [5, 5], [0, 5, 5]),
        ("404", [10, 0], [5, 5], [10, 0, 0]),
    ];
    for (name, errors_only, but_2xx, default) in claims {
        let upstream = Upstream::start().await;
        match name.parse() {
            Ok(status) => upstream.answer(status),
            Err(_) => upstream.kill().await,
        }
        let ten = async |registry| calls(CALLS, &protected(&registry), &upstream.url("/")).await;
        let a = let_through(errors_only, &ten(classified(errors)).await);
        let b = let_through(but_2xx, &ten(classified(all_but_2xx)).await);
        let right = ten(CircuitBreakerRegistry::default()).await;
        let [answered, failed, rejected] = default;
        let [a0, a1] = a;
        let [b0, b1] = b;
        table.row(
            name,
            [
                a0,
                a1,
                b0,
                b1,
                exactly(answered, right.answered()),
                exactly(failed, right.errors),
                exactly(rejected, right.rejected()),
            ],
        );
    }
    table
}

fn classified(classifier: impl Classifier) -> CircuitBreakerRegistry {
    CircuitBreakerRegistry::builder()
        .classifier(classifier)
        .build()
        .expect("a valid registry")
}

fn let_through([through, rejected]: [usize; 2], tally: &Tally) -> [Cell; 2] {
    [
        exactly(through, tally.answered() + tally.errors),
        exactly(rejected, tally.rejected()),
    ]
}
