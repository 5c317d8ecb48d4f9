//! A classifier of your own, on top of the default one: what says "back in a minute" is no outage.
//!
//! `cargo run --example custom_classifier`, and `cargo test --example custom_classifier` for its test, which needs no
//! network.

use anyhow::{Result, ensure};
use reqwest::StatusCode;
use reqwest_circuit_breaker::{
    CircuitBreakerMiddleware, CircuitBreakerRegistry, Classifier, DefaultClassifier, Outcome, State, Verdict,
};
use reqwest_middleware::ClientBuilder;

use self::upstream::{Answer, Upstream};

#[path = "support/upstream.rs"]
mod upstream;

/// Ignores planned maintenance, which the upstream announces in a header; leaves everything else to the default, for
/// which a 507 is a full disk that no pause will mend.
struct MaintenanceAware {
    otherwise: DefaultClassifier,
}

impl Default for MaintenanceAware {
    fn default() -> Self {
        Self {
            otherwise: DefaultClassifier::default().successful_status(StatusCode::INSUFFICIENT_STORAGE),
        }
    }
}

impl Classifier for MaintenanceAware {
    fn classify(&self, outcome: &Outcome<'_>) -> Verdict {
        let announced = outcome
            .headers()
            .is_some_and(|headers| headers.contains_key("x-maintenance"));
        if announced {
            Verdict::Ignored
        } else {
            self.otherwise.classify(outcome)
        }
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let registry = CircuitBreakerRegistry::builder()
        .classifier(MaintenanceAware::default())
        .build()?;
    let plain = reqwest::Client::builder().no_proxy().build()?; // the upstream is on this machine
    let client = ClientBuilder::new(plain)
        .with(CircuitBreakerMiddleware::new(registry.clone()))
        .build();
    let upstream = Upstream::start().await;

    for (answer, state) in [
        (Answer::WithHeader(503, "x-maintenance: 1"), State::Closed),
        (Answer::Status(507), State::Closed),
        (Answer::Status(503), State::Open),
    ] {
        upstream.answer_with(move |_| answer);
        for _ in 0..5 {
            client.get(upstream.url("/")).send().await?;
        }
        let snapshot = &registry.snapshots()[0];
        let (totals, is) = (&snapshot.totals, snapshot.state);
        println!(
            "five times {answer:?}: {is}, {} ignored, {} success, {} failure",
            totals.ignored, totals.success, totals.failure
        );
        ensure!(is == state);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderMap;
    use reqwest_circuit_breaker::FailureKind;

    use super::*;

    #[test]
    fn an_announced_503_is_ignored_and_any_other_is_a_failure() {
        let classifier = MaintenanceAware::default();
        let unavailable = StatusCode::SERVICE_UNAVAILABLE;
        let mut headers = HeaderMap::new();
        let verdict = classifier.classify(&Outcome::of_response(unavailable, &headers));
        assert_eq!(verdict, Verdict::Failure(FailureKind::Status(unavailable)));

        headers.insert("x-maintenance", "1".parse().expect("a header's value"));
        let verdict = classifier.classify(&Outcome::of_response(unavailable, &headers));
        assert_eq!(verdict, Verdict::Ignored);
    }

    #[test]
    fn a_full_disk_is_an_answer() {
        let outcome = (StatusCode::INSUFFICIENT_STORAGE, HeaderMap::new());
        let verdict = MaintenanceAware::default().classify(&Outcome::of_response(outcome.0, &outcome.1));
        assert_eq!(verdict, Verdict::Success);
    }
}
