//! Callers, and what they saw.

use reqwest_circuit_breaker::CircuitOpenError;
use reqwest_middleware::{ClientWithMiddleware, RequestBuilder};

/// What came of some calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    /// Answered, with anything but a 5xx.
    pub(crate) good: usize,
    /// Answered with a 5xx.
    pub(crate) failing: usize,
    /// Ended in an error of the transport.
    pub(crate) errors: usize,
    pub(crate) rejections: Vec<CircuitOpenError>,
}

impl Tally {
    pub(crate) fn answered(&self) -> usize {
        self.good + self.failing
    }

    pub(crate) fn rejected(&self) -> usize {
        self.rejections.len()
    }

    /// How many of the rejections are this registry's.
    pub(crate) fn rejected_by(&self, registry: &str) -> usize {
        self.rejections
            .iter()
            .filter(|open| open.registry() == registry)
            .count()
    }

    pub(crate) async fn send(&mut self, request: RequestBuilder) {
        match request.send().await {
            Ok(response) if response.status().is_server_error() => self.failing += 1,
            Ok(_) => self.good += 1,
            Err(error) => match CircuitOpenError::find(&error) {
                Some(open) => self.rejections.push(open.clone()),
                None => self.errors += 1,
            },
        }
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.good += other.good;
        self.failing += other.failing;
        self.errors += other.errors;
        self.rejections.extend(other.rejections);
    }
}

/// Makes some calls, one after the other.
pub(crate) async fn calls(n: usize, client: &ClientWithMiddleware, url: &str) -> Tally {
    let mut tally = Tally::default();
    for _ in 0..n {
        tally.send(client.get(url)).await;
    }
    tally
}
