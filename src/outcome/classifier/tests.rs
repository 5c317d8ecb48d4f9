use http::HeaderMap;

use super::*;

const KINDS: [FailureKind; 12] = [
    FailureKind::Connect,
    FailureKind::ConnectTimeout,
    FailureKind::Dns,
    FailureKind::Tls,
    FailureKind::Timeout,
    FailureKind::Disconnect,
    FailureKind::Protocol,
    FailureKind::Status(StatusCode::BAD_GATEWAY),
    FailureKind::Body,
    FailureKind::Slow,
    FailureKind::Abandoned,
    FailureKind::Other,
];

/// An error made from a response of this status, as `error_for_status` inside the stack makes one.
fn error_of_status(status: StatusCode) -> reqwest_middleware::Error {
    let mut response = http::Response::new("");
    *response.status_mut() = status;
    reqwest::Response::from(response)
        .error_for_status()
        .expect_err("a failing status")
        .into()
}

fn of_status(classifier: &impl Classifier, status: StatusCode) -> Verdict {
    let headers = HeaderMap::new();
    let verdict = classifier.classify(&Outcome::of_response(status, &headers));
    if status.is_client_error() || status.is_server_error() {
        let error = error_of_status(status);
        let outcome = Outcome::of_error(&error);
        assert_eq!(outcome.status(), Some(status));
        assert!(outcome.answered());
        assert_eq!(
            classifier.classify(&outcome),
            verdict,
            "an error of {status} and a response of it differ"
        );
    }
    verdict
}

fn broken(kind: FailureKind) -> Outcome<'static> {
    Outcome::of_broken_body(Some(kind))
}

#[test]
fn by_default_only_a_5xx_fails() {
    let classifier = DefaultClassifier::default();
    for code in (100..=999).filter_map(|code| StatusCode::from_u16(code).ok()) {
        let expected = match code.is_server_error() {
            true => Verdict::Failure(FailureKind::Status(code)),
            false => Verdict::Success,
        };
        assert_eq!(of_status(&classifier, code), expected, "{code}");
    }
}

#[test]
fn by_default_every_failure_kind_fails() {
    for kind in KINDS {
        assert_eq!(
            DefaultClassifier::default().classify(&broken(kind)),
            Verdict::Failure(kind)
        );
    }
}

#[test]
fn by_default_what_says_nothing_is_ignored() {
    let classifier = DefaultClassifier::default();
    assert_eq!(classifier.classify(&Outcome::of_broken_body(None)), Verdict::Ignored);
    let error = reqwest_middleware::Error::middleware(std::io::Error::from(std::io::ErrorKind::TimedOut));
    assert_eq!(classifier.classify(&Outcome::of_error(&error)), Verdict::Ignored);
}

/// Ignored beats failing beats successful, whatever the order of the setters.
#[test]
fn precedence_does_not_depend_on_the_order_of_setters() {
    type Rule = fn(DefaultClassifier) -> DefaultClassifier;
    const STATUS: StatusCode = StatusCode::BAD_GATEWAY;
    let ignored: Rule = |c| c.ignored_status(STATUS);
    let failing: Rule = |c| c.failing_status(STATUS);
    let successful: Rule = |c| c.successful_status(STATUS);
    let failure = Verdict::Failure(FailureKind::Status(STATUS));

    for (rules, expected) in [
        (vec![ignored, failing, successful], Verdict::Ignored),
        (vec![successful, failing, ignored], Verdict::Ignored),
        (vec![failing, ignored], Verdict::Ignored),
        (vec![successful, ignored], Verdict::Ignored),
        (vec![ignored, successful], Verdict::Ignored),
        (vec![failing, successful], failure),
        (vec![successful, failing], failure),
        (vec![successful], Verdict::Success),
        (vec![failing], failure),
        (vec![], failure),
    ] {
        let classifier = rules
            .iter()
            .fold(DefaultClassifier::default(), |classifier, rule| rule(classifier));
        assert_eq!(of_status(&classifier, STATUS), expected, "{classifier:?}");
    }
}

#[test]
fn a_rule_about_one_status_leaves_the_others_alone() {
    let classifier = DefaultClassifier::default()
        .failing_status(StatusCode::TOO_MANY_REQUESTS)
        .successful_status(StatusCode::NOT_IMPLEMENTED)
        .ignored_kind(FailureKind::Status(StatusCode::SERVICE_UNAVAILABLE));
    let failure = |status| Verdict::Failure(FailureKind::Status(status));
    assert_eq!(
        of_status(&classifier, StatusCode::TOO_MANY_REQUESTS),
        failure(StatusCode::TOO_MANY_REQUESTS)
    );
    assert_eq!(of_status(&classifier, StatusCode::NOT_FOUND), Verdict::Success);
    assert_eq!(of_status(&classifier, StatusCode::NOT_IMPLEMENTED), Verdict::Success);
    assert_eq!(
        of_status(&classifier, StatusCode::BAD_GATEWAY),
        failure(StatusCode::BAD_GATEWAY)
    );
    assert_eq!(
        of_status(&classifier, StatusCode::SERVICE_UNAVAILABLE),
        Verdict::Ignored
    );
}

/// A status made failing by a rule is ignored under the name that its verdict has.
#[test]
fn ignoring_the_kind_of_a_status_ignores_the_status() {
    let classifier = DefaultClassifier::default()
        .ignored_kind(FailureKind::Status(StatusCode::NOT_FOUND))
        .failing_status(StatusCode::NOT_FOUND);
    assert_eq!(of_status(&classifier, StatusCode::NOT_FOUND), Verdict::Ignored);
}

#[test]
fn an_ignored_kind_is_ignored_and_no_other() {
    for ignored in KINDS.into_iter().filter(|kind| !matches!(kind, FailureKind::Status(_))) {
        let classifier = DefaultClassifier::default().ignored_kind(ignored);
        for kind in KINDS {
            let expected = if kind == ignored {
                Verdict::Ignored
            } else {
                Verdict::Failure(kind)
            };
            assert_eq!(classifier.classify(&broken(kind)), expected);
        }
    }
}

#[test]
fn a_rule_about_a_status_never_hides_a_broken_body() {
    let classifier = DefaultClassifier::default()
        .successful_status(StatusCode::OK)
        .ignored_status(StatusCode::OK);
    assert_eq!(
        classifier.classify(&broken(FailureKind::Body)),
        Verdict::Failure(FailureKind::Body)
    );
}

#[test]
fn a_host_counts_connection_failures_only() {
    for code in [200, 204, 302, 404, 429, 500, 503].map(|code| StatusCode::from_u16(code).unwrap()) {
        assert_eq!(of_status(&ConnectionFailures, code), Verdict::Success, "{code}");
    }
    for kind in KINDS {
        // Whatever broke in the body, the host answered; only a connection failure counts before that.
        let expected = if kind.is_connection_failure() {
            Verdict::Failure(kind)
        } else {
            Verdict::Success
        };
        assert_eq!(ConnectionFailures.classify(&broken(kind)), expected, "{kind}");
    }
    let foreign = reqwest_middleware::Error::middleware(std::io::Error::other("bulkhead full"));
    assert_eq!(
        ConnectionFailures.classify(&Outcome::of_error(&foreign)),
        Verdict::Ignored
    );
}

#[test]
fn closures_and_shared_classifiers_are_classifiers() {
    fn shared(classifier: impl Classifier) -> Arc<dyn Classifier> {
        Arc::new(classifier)
    }
    let headers = HeaderMap::new();
    let outcome = Outcome::of_response(StatusCode::OK, &headers);

    let closure = shared(|outcome: &Outcome<'_>| match outcome.status() {
        Some(_) => Verdict::Failure(FailureKind::Other),
        None => Verdict::Ignored,
    });
    let twice: Arc<dyn Classifier> = shared(closure);
    let thrice = shared(twice);
    assert_eq!(thrice.classify(&outcome), Verdict::Failure(FailureKind::Other));

    let limit = 200;
    assert_eq!(
        shared(move |o: &Outcome<'_>| decide(o, limit)).classify(&outcome),
        Verdict::Success
    );
    fn decide(outcome: &Outcome<'_>, limit: u16) -> Verdict {
        match outcome.status().is_some_and(|status| status.as_u16() <= limit) {
            true => Verdict::Success,
            false => Verdict::Ignored,
        }
    }
    assert_eq!(shared(free).classify(&outcome), Verdict::Success);
    fn free(_: &Outcome<'_>) -> Verdict {
        Verdict::Success
    }
    assert_eq!(
        shared(Arc::new(DefaultClassifier::default())).classify(&outcome),
        Verdict::Success
    );
}
