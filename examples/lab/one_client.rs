//! One client calls three upstreams in turn, and one of them answers 503.
//!
//! A breaker for the whole client hears one failure in three calls, and takes the two healthy upstreams away with the sick
//! one. A breaker for each origin takes away nothing but the sick one.

use reqwest_circuit_breaker::CircuitBreakerRegistry;
use reqwest_middleware::ClientWithMiddleware;

use super::calls::Tally;
use super::one_breaker::OneBreaker;
use super::table::{Table, exactly};
use super::upstream::Upstream;
use super::{plain, protected};

const NAMES: [&str; 3] = ["stock", "pricing", "reviews"];
const ROUNDS: usize = 10;

pub(crate) async fn run() -> Table {
    let upstreams = [
        Upstream::start().await,
        Upstream::start().await,
        Upstream::start().await,
    ];
    upstreams[2].answer(503);

    let for_the_client = in_turn(&plain().with(OneBreaker::new(15)).build(), &upstreams).await;
    let per_origin = in_turn(&protected(&CircuitBreakerRegistry::default()), &upstreams).await;

    let mut table = Table::new(
        "One client, three upstreams, ten rounds; reviews answers 503",
        &[
            "one breaker for the client: answered",
            "rejected",
            "one per origin: answered",
            "rejected",
        ],
    );
    let claims = [[5, 5, 10, 0], [5, 5, 10, 0], [5, 5, 5, 5]];
    for (n, [a, b, c, d]) in claims.into_iter().enumerate() {
        let (wrong, right) = (&for_the_client[n], &per_origin[n]);
        table.row(
            NAMES[n],
            [
                exactly(a, wrong.answered()),
                exactly(b, wrong.rejected()),
                exactly(c, right.answered()),
                exactly(d, right.rejected()),
            ],
        );
    }
    table
}

async fn in_turn(client: &ClientWithMiddleware, upstreams: &[Upstream; 3]) -> [Tally; 3] {
    let mut tallies = [Tally::default(), Tally::default(), Tally::default()];
    for _ in 0..ROUNDS {
        for (tally, upstream) in tallies.iter_mut().zip(upstreams) {
            tally.send(client.get(upstream.url("/items/7"))).await;
        }
    }
    tallies
}
