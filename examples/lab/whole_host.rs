//! A host with ten endpoints goes down.
//!
//! Breakers for endpoints learn it one by one, with five failures each. A breaker for the host in front of them, which
//! counts connection failures only, learns it once; and it does not mind an endpoint that is broken by itself.

use reqwest_circuit_breaker::{
    CircuitBreakerMiddleware, CircuitBreakerRegistry, ConnectionFailures, KeyScheme, Route, State,
};
use reqwest_middleware::ClientWithMiddleware;

use super::calls::Tally;
use super::plain;
use super::table::{Cell, Table, exactly, nothing};
use super::upstream::{Answer, Upstream};

const ENDPOINTS: usize = 10;
const ROUNDS: usize = 10;

pub(crate) async fn run() -> Table {
    let mut table = Table::new(
        "A whole host: ten endpoints, ten calls to each in turn",
        &[
            "answered",
            "connects that fail",
            "rejected by endpoints",
            "by the host",
            "host breaker",
        ],
    );
    let upstream = Upstream::start().await;
    upstream.kill().await;

    let tally = ten_each(&layered(None, &endpoints()), &upstream).await;
    table.row("host down, endpoints alone", row([0, 50, 50, 0], &tally, nothing()));

    let host = host();
    let tally = ten_each(&layered(Some(&host), &endpoints()), &upstream).await;
    table.row(
        "host down, host in front",
        row([0, 5, 0, 95], &tally, state(State::Open, &host)),
    );

    upstream.revive();
    upstream.answer_with(|path| Answer::Status(if path == "/0" { 503 } else { 200 }));
    let host = self::host();
    let tally = ten_each(&layered(Some(&host), &endpoints()), &upstream).await;
    table.row(
        "one endpoint down, host in front",
        row([95, 0, 5, 0], &tally, state(State::Closed, &host)),
    );
    table
}

fn endpoints() -> CircuitBreakerRegistry {
    let builder = CircuitBreakerRegistry::builder()
        .name("endpoints")
        .key_scheme(KeyScheme::route());
    builder.build().expect("a valid registry")
}

fn host() -> CircuitBreakerRegistry {
    let builder = CircuitBreakerRegistry::builder()
        .name("host")
        .classifier(ConnectionFailures);
    builder.build().expect("a valid registry")
}

fn layered(host: Option<&CircuitBreakerRegistry>, endpoints: &CircuitBreakerRegistry) -> ClientWithMiddleware {
    let mut builder = plain();
    if let Some(host) = host {
        builder = builder.with(CircuitBreakerMiddleware::new(host.clone()));
    }
    builder.with(CircuitBreakerMiddleware::new(endpoints.clone())).build()
}

async fn ten_each(client: &ClientWithMiddleware, upstream: &Upstream) -> Tally {
    let mut tally = Tally::default();
    for _ in 0..ROUNDS {
        for endpoint in 0..ENDPOINTS {
            let path = format!("/{endpoint}");
            tally
                .send(client.get(upstream.url(&path)).with_extension(Route::new(path)))
                .await;
        }
    }
    tally
}

fn row([answered, errors, by_endpoints, by_host]: [usize; 4], tally: &Tally, host: Cell) -> [Cell; 5] {
    [
        exactly(answered, tally.answered()),
        exactly(errors, tally.errors),
        exactly(by_endpoints, tally.rejected_by("endpoints")),
        exactly(by_host, tally.rejected_by("host")),
        host,
    ]
}

fn state(claimed: State, host: &CircuitBreakerRegistry) -> Cell {
    let states: Vec<String> = host
        .snapshots()
        .iter()
        .map(|breaker| format!("{:?}", breaker.state))
        .collect();
    exactly(format!("{claimed:?}"), states.join(", "))
}
