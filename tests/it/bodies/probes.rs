//! A probe lasts until its body has ended, and whoever ends it makes the breaker move.

use super::*;

#[tokio::test]
async fn a_probe_holds_its_slot_until_its_body_has_ended() {
    let world = watching();
    let server = Server::play([
        Read,
        Send(SHORT_OF_SIX),
        Wait(Duration::from_millis(50)),
        Send(b"defghi"),
        Stall,
    ])
    .await;
    let url = server.url("/");
    let breaker = world.make_probe_due(&url);
    let response = answer(&world, &url).await;
    assert_eq!(
        get(&world.client(), &url).await,
        End::Rejected(RejectReason::ProbeInFlight)
    );
    assert_eq!(breaker.state(), State::HalfOpen);
    assert_eq!(response.text().await.unwrap(), "abcdefghi");
    assert_eq!(breaker.state(), State::Closed);
}

#[tokio::test]
async fn a_probe_whose_body_breaks_opens_again() {
    let world = watching();
    let server = Server::play([Read, Send(SHORT_OF_SIX), Fin]).await;
    let url = server.url("/");
    let breaker = world.make_probe_due(&url);
    answer(&world, &url).await.bytes().await.unwrap_err();
    let seen = breaker.snapshot();
    assert_eq!((seen.state, seen.last_failure), (State::Open, Some(FailureKind::Body)));
}

#[tokio::test]
async fn dropping_a_response_may_close_a_breaker_and_run_listeners() {
    let moves = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&moves);
    let world = watching_with(|builder| {
        builder.listener(move |event: &Event| {
            if let Event::Transition(step) = event {
                heard.lock().unwrap().push(step.to());
            }
        })
    });
    let server = stalling().await;
    let url = server.url("/");
    let breaker = world.make_probe_due(&url);
    drop(answer(&world, &url).await);
    assert_eq!(breaker.state(), State::Closed);
    assert_eq!(*moves.lock().unwrap(), [State::Open, State::HalfOpen, State::Closed]);
}

/// A second panic while unwinding would abort the process, and this test with it.
#[tokio::test]
async fn listeners_that_panic_while_unwinding_are_contained() {
    let world = watching_with(|builder| {
        builder.listener(|event: &Event| {
            if let Event::Transition(step) = event {
                assert_ne!(step.to(), State::Closed, "the listener panics");
            }
        })
    });
    let server = stalling().await;
    let url = server.url("/");
    let breaker = world.make_probe_due(&url);
    let response = answer(&world, &url).await;
    let caller = tokio::spawn(async move {
        let _response = response;
        panic!("the caller panics");
    });
    assert!(caller.await.unwrap_err().is_panic());
    assert_eq!(breaker.state(), State::Closed);
}

#[tokio::test]
async fn a_classifier_that_panics_at_the_end_of_a_body_is_contained() {
    let world = watching_with(|builder| {
        builder.classifier(|outcome: &Outcome<'_>| match outcome.failure_kind() {
            Some(_) => panic!("the classifier panics"),
            None => Verdict::Success,
        })
    });
    let server = Server::play([Read, Send(SHORT_OF_SIX), Fin]).await;
    let url = server.url("/");
    let breaker = world.make_probe_due(&url);
    answer(&world, &url).await.bytes().await.unwrap_err();
    // The permit was dropped: a call that was given up, whose slot is free.
    assert_eq!(heard(&world, &url), [0, 0, 0, 1, 0]);
    assert_eq!(breaker.snapshot().half_open.map(|phase| phase.in_flight), Some(0));
}
