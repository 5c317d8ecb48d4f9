//! One upstream has one key, however its URL is spelled, and a key shows nothing else of a URL.

use std::collections::{BTreeSet, HashSet};

use http::Extensions;
use proptest::prelude::*;
use reqwest::{Method, Request, Url};
use reqwest_circuit_breaker::{CircuitBreakerRegistry, CircuitKey, KeyScheme, Origin, Route};

mod checks;

fn origin_of(url: &str) -> Origin {
    Origin::of(&Url::parse(url).expect("a URL")).expect("an origin")
}

#[test]
fn same_origin_in_many_spellings_is_one_key() {
    let spellings = [
        "http://EXAMPLE.test",
        "http://example.test:80/",
        "http://example.test/a?b#c",
        "http://user:pw@example.test",
        "http://example.test.",
    ];
    let keys: HashSet<CircuitKey> = spellings.iter().map(|url| CircuitKey::from(origin_of(url))).collect();
    assert_eq!(keys, HashSet::from(["http://example.test".parse().unwrap()]));
}

#[test]
fn different_origins_stay_apart() {
    let urls = [
        "http://h.test:8080",
        "http://h.test",
        "https://h.test",
        "http://h.test:8081",
        "http://www.h.test",
    ];
    let hashed: HashSet<CircuitKey> = urls.iter().map(|url| origin_of(url).into()).collect();
    let sorted: BTreeSet<CircuitKey> = urls.iter().map(|url| origin_of(url).into()).collect();
    assert_eq!((hashed.len(), sorted.len()), (urls.len(), urls.len()));
}

#[test]
fn a_registry_tells_the_key_of_a_request() {
    let registry = CircuitBreakerRegistry::builder()
        .key_scheme(KeyScheme::endpoint())
        .build()
        .unwrap();
    let mut extensions = Extensions::new();
    extensions.insert(Route::new("/items/{id}"));
    let key_of = |url: &str| registry.key_of(&Request::new(Method::GET, url.parse().unwrap()), &extensions);
    let key = key_of("https://me:secret@api.example/items/42?secret");
    assert_eq!(key, Some("GET https://api.example /items/{id}".parse().unwrap()));
    assert_eq!(key_of("data:text/plain,x"), None);
    assert!(registry.is_empty(), "it makes no breaker");
}

#[test]
fn ten_thousand_items_are_one_inferred_route() {
    let routes: HashSet<String> = (0..10_000)
        .map(|n| Route::infer(&format!("/items/{n}?q={n}")).to_string())
        .collect();
    assert_eq!(routes, HashSet::from(["/items/{id}".to_owned()]));
}

#[cfg(feature = "serde")]
#[test]
fn keys_serialize_as_they_are_displayed() {
    let key: CircuitKey = "GET https://api.example /items/{id}".parse().unwrap();
    assert_eq!(serde_json::to_value(&key).unwrap(), key.to_string());
    assert_eq!(serde_json::to_value(key.origin()).unwrap(), "https://api.example");
}

/// A host name in lower case.
fn host() -> impl Strategy<Value = String> {
    "[a-z][a-z0-9_]{0,8}(-[a-z]{1,3})?(\\.[a-z]{1,6}){0,3}"
        .prop_filter("the start of Punycode", |host| !host.contains("xn--"))
}

/// Something that a URL parser may or may not take, more often than any text would be.
fn url_like() -> impl Strategy<Value = String> {
    let scheme = prop_oneof![4 => "https?", 1 => "HTTPS?", 1 => "(GET |PUT  ?)?https?", 1 => "[a-z+.]{0,5}"];
    let mark =
        prop_oneof![6 => Just("://"), 1 => "[:/\\\\]{0,4}".prop_map(|mark| if mark.is_empty() { "" } else { ":\\\\" })];
    let userinfo = prop_oneof![3 => Just(String::new()), 1 => "[a-z:@%/]{0,6}@"];
    let authority = prop_oneof![
        4 => host(),
        2 => "[A-Za-z0-9.%_ -]{0,12}",
        1 => "\\[[0-9a-f:.]{0,20}\\]?",
        1 => "[0-9a-fx.]{1,15}",
        1 => "\\PC{0,8}",
    ];
    let port = prop_oneof![2 => Just(String::new()), 1 => ":(80|443|8080|0|65536|)", 1 => ":[0-9a-z]{0,6}"];
    let rest =
        prop_oneof![2 => Just(String::new()), 2 => "[/\\\\?# ]\\PC{0,30}", 1 => "(/[A-Za-z0-9._~%@;={}-]{0,40}){0,12}"];
    (scheme, mark, userinfo, authority, port, rest)
        .prop_map(|(scheme, mark, userinfo, host, port, rest)| format!("{scheme}{mark}{userinfo}{host}{port}{rest}"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_text_is_read_without_a_panic_or_a_leak(text in any::<String>()) {
        checks::check_text(&text);
    }

    #[test]
    fn any_url_is_read_without_a_panic_or_a_leak(text in url_like()) {
        checks::check_text(&text);
    }

    #[test]
    fn spelling_does_not_make_a_key(
        https in any::<bool>(),
        host in host(),
        port in proptest::option::of(1..=u16::MAX),
        capitals in any::<u64>(),
        dot in prop_oneof![Just(""), Just("."), Just("%2E"), Just("\u{3002}")],
        userinfo in "([a-z]{0,5}(:[a-z/?#%]{0,5})?@)?".prop_map(|text| text.replace(['/', '?', '#'], "%2F")),
        rest in "([/?#]\\PC{0,20})?",
    ) {
        let scheme = if https { "https" } else { "http" };
        let known = if https { 443 } else { 80 };
        let plain = match port {
            Some(port) if port != known => format!("{scheme}://{host}:{port}"),
            _ => format!("{scheme}://{host}"),
        };
        let spelled: String = host
            .chars()
            .enumerate()
            .map(|(n, char)| if capitals >> (n % 64) & 1 == 1 { char.to_ascii_uppercase() } else { char })
            .collect();
        let port = port.map(|port| format!(":{port}")).unwrap_or_default();
        let url = format!("{}://{userinfo}{spelled}{dot}{port}{rest}", scheme.to_uppercase());

        let origin = origin_of(&url);
        prop_assert_eq!(origin.to_string(), plain.as_str());
        prop_assert_eq!(plain.parse::<Origin>(), Ok(origin.clone()));
        let other = if https { plain.replacen("https", "http", 1) } else { plain.replacen("http", "https", 1) };
        prop_assert_ne!(origin_of(&other), origin.clone());
        prop_assert_ne!(origin_of(&plain.replacen("://", "://www.", 1)), origin);
    }

    #[test]
    fn every_piece_of_a_key_comes_back_from_its_text(
        host in host(),
        method in proptest::option::of("[A-Za-z!#$%&'*+.^_`|~0-9-]{1,20}"),
        part in prop_oneof![any::<String>(), "[ \\\\n/:a-z]{0,10}", "(GET )?https?://[a-z ]{1,8}"],
    ) {
        let mut key = CircuitKey::new(format!("https://{host}").parse().unwrap()).with_part(&part);
        if let Some(method) = &method {
            key = key.with_method(Method::from_bytes(method.as_bytes()).unwrap());
        }
        let again: CircuitKey = key.to_string().parse().unwrap();
        prop_assert_eq!(again.part(), key.part());
        prop_assert_eq!(again.method().map(Method::as_str), method.as_deref());
        prop_assert_eq!(again.origin().host(), host);
        prop_assert_eq!(again, key);
    }

    #[test]
    fn an_identifier_never_makes_a_route(
        id in prop_oneof![
            "[0-9]{1,20}",
            "[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}",
            "[0-9A-F]{8}-[0-9A-F]{4}-[1-8][0-9A-F]{3}-[89AB][0-9A-F]{3}-[0-9A-F]{12}",
            "[0-9a-f]{7,40}[0-9]",
            "[0-7][0-9A-HJKMNP-TV-Z]{25}",
            "[A-Za-z0-9_-]{65,200}",
            "[a-z]{1,10}@[a-z]{1,10}\\.[a-z]{2,3}",
            "[a-z]{0,5}%[0-9A-F]{2}[a-z]{0,5}",
            "[0-9]{4}-[0-9]{2}-[0-9]{2}",
            "[a-z]{1,8}[-_.]?[0-9]{4,9}",
            "[0-9]{1,9}\\.[a-z]{2,4}",
        ],
        word in "[a-z]{1,15}(-[a-z]{1,8}){0,3}",
    ) {
        let path = format!("/{word}/{id}/{word}");
        prop_assert_eq!(Route::infer(&path).to_string(), format!("/{word}/{{id}}/{word}"));
    }
}
