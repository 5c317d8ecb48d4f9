//! What holds for every text and every URL, whoever made it up. The property tests and the fuzz target ask the same.

use reqwest::Url;
use reqwest_circuit_breaker::{CircuitKey, InvalidKey, Origin, Route};

/// No host has capital letters, so wherever this is seen it came from another piece of the URL.
const SECRET: &str = "sEcReT";

/// Reads any text as an origin, as a key, as a part and as a path.
pub(crate) fn check_text(text: &str) {
    match text.parse::<Origin>() {
        Ok(origin) => check_origin(&origin),
        Err(error) => check_error(&error),
    }
    match text.parse::<CircuitKey>() {
        Ok(key) => check_key(&key),
        Err(error) => check_error(&error),
    }
    check_part(text);
    check_path(text);
    if let Ok(url) = text.parse() {
        check_url(&url);
    }
}

/// The origin of a URL depends on nothing but scheme, host and port, and nothing else is shown.
pub(crate) fn check_url(url: &Url) {
    let origin = Origin::of(url);
    assert_eq!(origin.is_some(), matches!(url.scheme(), "http" | "https"), "{url}");

    let mut secret = url.clone();
    let has_userinfo = secret.set_username(SECRET).is_ok() && secret.set_password(Some(SECRET)).is_ok();
    secret.set_path(&format!("/items/{SECRET}@{SECRET}"));
    secret.set_query(Some(SECRET));
    secret.set_fragment(Some(SECRET));
    assert_eq!(Origin::of(&secret), origin);
    for error in [
        secret.as_str().parse::<Origin>().err(),
        secret.as_str().parse::<CircuitKey>().err(),
    ] {
        let error = error.expect("it has a path");
        check_error(&error);
        if has_userinfo || secret.cannot_be_a_base() {
            assert!(
                !format!("{error} {error:?} {}", error.text()).contains(SECRET),
                "{error} of {secret}"
            );
        }
    }

    let Some(origin) = origin else { return };
    check_origin(&origin);
    assert!(has_userinfo && !format!("{origin} {origin:?}").contains(SECRET));
    assert_eq!(Some(origin.port()), url.port_or_known_default());
    assert_eq!(origin.scheme(), url.scheme());
    check_path(url.path());
    assert_eq!(
        Route::infer(&format!("{}?{SECRET}#{SECRET}", url.path())),
        Route::infer(url.path())
    );
}

fn check_origin(origin: &Origin) {
    let text = origin.to_string();
    assert_eq!(text.parse().as_ref(), Ok(origin), "{text}");
    let url = Url::parse(&text).expect("the text of an origin is a URL");
    assert_eq!(Origin::of(&url).as_ref(), Some(origin), "{text}");
    assert_eq!(
        (url.path(), url.query(), url.fragment(), url.username()),
        ("/", None, None, ""),
        "{text}"
    );
    assert!(
        text.chars()
            .all(|char| char.is_ascii_graphic() && !char.is_ascii_uppercase()),
        "{text}"
    );
    check_key(&CircuitKey::new(origin.clone()));
}

fn check_key(key: &CircuitKey) {
    for text in [key.to_string(), format!("{key:?}")] {
        assert!(!text.contains(is_unsafe), "{text:?}");
    }
    let again: CircuitKey = key.to_string().parse().expect("the text of a key is a key");
    assert_eq!(&again, key);
    assert_eq!(again.cmp(key), std::cmp::Ordering::Equal);
    assert_eq!(
        (again.origin(), again.method(), again.part()),
        (key.origin(), key.method(), key.part())
    );
    assert_eq!(
        key.clone().with_part(key.part().unwrap_or_default()),
        *key,
        "escaped twice"
    );
    assert_ne!(key.part(), Some(""));
}

/// Whatever the part, the key is of its origin and can be read back.
fn check_part(part: &str) {
    let origin: CircuitKey = "https://api.example".parse().expect("a key");
    for narrowed in [
        origin.clone().with_part(part),
        origin.clone().with_part(part).with_method(reqwest::Method::GET),
    ] {
        check_key(&narrowed);
        assert_eq!(narrowed.origin(), origin.origin());
        assert_eq!(narrowed.part().is_some(), !part.is_empty());
        if !part.contains(is_unsafe) {
            assert_eq!(narrowed.part().unwrap_or_default(), part);
        }
    }
    assert_eq!(
        origin.with_part(part).part().unwrap_or_default(),
        Route::new(part.to_owned()).as_str()
    );
}

/// An inferred route is short, printable, of the path alone, and infers to itself.
fn check_path(path: &str) {
    let route = Route::infer(path);
    assert_eq!(Route::infer(route.as_str()), route, "{path}");
    assert!(
        route.as_str().len() <= 527 && route.as_str().starts_with('/'),
        "{route}"
    );
    assert!(route.as_str().split('/').count() <= 10, "{route}");
    assert!(
        route
            .as_str()
            .chars()
            .all(|char| char.is_ascii_graphic() && !"?#%@;=".contains(char)),
        "{route}"
    );
    let end = path.find(['?', '#']).unwrap_or(path.len());
    assert_eq!(Route::infer(&path[..end]), route);
    for segment in path[..end].split('/').filter(|segment| !segment.is_empty()) {
        if segment.bytes().all(|byte| byte.is_ascii_digit()) {
            assert_eq!(Route::infer(segment).as_str(), "/{id}");
        }
    }
}

fn check_error(error: &InvalidKey) {
    let text = error.text();
    assert!(text.chars().count() <= 281, "{text}");
    assert!(
        !text.contains(|char: char| is_unsafe(char) || "/?#@".contains(char) && !text.contains("://")),
        "{text}"
    );
    assert!(error.to_string().contains(text) && !error.to_string().contains(is_unsafe));
    assert!(format!("{error:?}").contains(text));
}

fn is_unsafe(char: char) -> bool {
    char.is_control() || matches!(char, '\u{2028}' | '\u{2029}')
}
