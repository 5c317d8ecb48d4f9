//! A breaker for the whole host around breakers for its endpoints: each hears what is its own.

use reqwest_circuit_breaker::{
    CircuitOpenError, ConnectionFailures, FailureKind, KeyScheme, RejectReason, Route, State,
};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware};

use crate::support::client::client;
use crate::support::server::{Answer, Refusing, StatusServer};
use crate::support::stack::{End, World, end, key};

/// The two registries.
struct Layers {
    host: World,
    endpoints: World,
}

impl Layers {
    fn new() -> Self {
        Self {
            host: World::with(|builder| builder.name("host").classifier(ConnectionFailures)),
            endpoints: World::with(|builder| builder.name("endpoints").key_scheme(KeyScheme::route())),
        }
    }

    fn client(&self) -> ClientWithMiddleware {
        ClientBuilder::new(client())
            .with(self.host.breaker())
            .with(self.endpoints.breaker())
            .build()
    }

    fn endpoint(&self, url: &str, route: &str) -> reqwest_circuit_breaker::CircuitBreaker {
        let key = key(url).with_part(route);
        self.endpoints.registry.get_or_create(&key).unwrap()
    }
}

async fn get(client: &ClientWithMiddleware, url: &str, route: &str) -> End {
    end(client.get(url).with_extension(Route::new(route.to_owned()))).await
}

#[tokio::test]
async fn an_endpoint_that_answers_503_is_its_own_affair() {
    let layers = Layers::new();
    let search = StatusServer::start([503]).await;
    let (client, url) = (layers.client(), search.url("/"));
    let mut rejected = 0;
    for _ in 0..100 {
        search.answer_with([503]);
        match client.get(&url).with_extension(Route::new("/search")).send().await {
            Ok(response) => assert_eq!(response.status(), 503),
            Err(error) => {
                let open = CircuitOpenError::find(&error).expect("a rejection");
                assert_eq!((open.registry(), open.key().part()), ("endpoints", Some("/search")));
                rejected += 1;
            }
        }
        search.answer_with([200]);
        assert_eq!(get(&client, &url, "/profile").await, End::Answered(200));
    }
    assert_eq!((rejected, search.requests()), (95, 105));
    assert_eq!(layers.endpoint(&url, "/search").state(), State::Open);
    let profile = layers.endpoint(&url, "/profile").snapshot();
    assert_eq!((profile.state, profile.totals.success), (State::Closed, 100));
    let host = layers.host.seen(&url);
    assert_eq!(
        (host.state, host.generation, host.totals.failure),
        (State::Closed, 0, 0)
    );
    // A rejection further in is no outcome; an answer is one, of whatever status.
    assert_eq!((host.totals.ignored, host.totals.success), (95, 105));
}

#[tokio::test]
async fn a_host_that_refuses_is_rejected_for_all_its_endpoints() {
    let layers = Layers::new();
    let nobody = Refusing::new();
    let (client, url) = (layers.client(), nobody.url("/"));
    for n in 0..5 {
        assert_eq!(
            get(&client, &url, &format!("/{n}")).await,
            End::Failed(Some(FailureKind::Connect))
        );
    }
    for n in 0..10 {
        let error = client
            .get(&url)
            .with_extension(Route::new(format!("/{n}")))
            .send()
            .await
            .unwrap_err();
        assert_eq!(
            CircuitOpenError::find(&error).map(CircuitOpenError::registry),
            Some("host")
        );
    }
    // The endpoints never heard of the rejections, and are ready when the host is.
    for breaker in layers.endpoints.registry.snapshots() {
        assert_eq!((breaker.state, breaker.totals.started), (State::Closed, 1));
    }
}

#[tokio::test]
async fn a_rejection_further_in_spends_no_probe() {
    let layers = Layers::new();
    let server = StatusServer::start([200]).await;
    let (client, url) = (layers.client(), server.url("/"));
    let host = layers.host.make_probe_due(&url);
    layers.endpoint(&url, "/r").force_open();
    for _ in 0..10 {
        assert_eq!(get(&client, &url, "/r").await, End::Rejected(RejectReason::ForcedOpen));
        let seen = host.snapshot();
        assert_eq!(
            (seen.state, seen.half_open.map(|phase| phase.in_flight)),
            (State::HalfOpen, Some(0))
        );
    }
    assert_eq!(host.snapshot().totals.ignored, 10);
    assert_eq!(get(&client, &url, "/q").await, End::Answered(200));
    assert_eq!((host.state(), server.requests()), (State::Closed, 1));
}

#[tokio::test]
async fn a_rejection_further_in_does_not_end_a_run_of_failures() {
    let layers = Layers::new();
    let nobody = Refusing::new();
    let (client, url) = (layers.client(), nobody.url("/"));
    layers.endpoint(&url, "/r").force_open();
    for n in 0..5 {
        get(&client, &url, &format!("/{n}")).await;
        get(&client, &url, "/r").await;
    }
    assert_eq!(layers.host.of(&url).state(), State::Open);
}

#[tokio::test]
async fn a_hosts_probe_closes_it_with_any_answer() {
    let layers = Layers::new();
    let server = StatusServer::start([Answer::status(503)]).await;
    let (client, url) = (layers.client(), server.url("/"));
    let host = layers.host.make_probe_due(&url);
    assert_eq!(get(&client, &url, "/search").await, End::Answered(503));
    assert_eq!(host.state(), State::Closed, "it can be connected to");
    assert_eq!(layers.endpoint(&url, "/search").snapshot().totals.failure, 1);
}

/// Around both, and below both: whoever is asked first rejects.
#[tokio::test]
async fn the_error_names_the_layer_that_rejected() {
    let layers = Layers::new();
    let server = StatusServer::start([200]).await;
    let (client, url) = (layers.client(), server.url("/"));
    layers.endpoint(&url, "/r").force_open();
    layers.host.make(&url).force_open();
    let rejected_by = async |route: &str| {
        let error = client
            .get(&url)
            .with_extension(Route::new(route.to_owned()))
            .send()
            .await
            .unwrap_err();
        CircuitOpenError::find(&error).unwrap().registry().to_owned()
    };
    assert_eq!(rejected_by("/r").await, "host");
    layers.host.of(&url).reset();
    assert_eq!(rejected_by("/r").await, "endpoints");
    assert_eq!(server.requests(), 0);
}
