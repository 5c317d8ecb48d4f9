//! The piece of an origin that a request goes to.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;
use std::sync::Arc;

use super::identifier::is_identifier;
use super::text::{escape, lend};

/// Path template of a request: `/items/{id}`, never `/items/42`.
///
/// Under [`KeyScheme::route`](crate::KeyScheme::route) and [`KeyScheme::endpoint`](crate::KeyScheme::endpoint) each route of an
/// origin has a breaker of its own. Give a request its route as an extension:
///
/// ```
/// use reqwest_circuit_breaker::Route;
///
/// let client = reqwest_middleware::ClientWithMiddleware::default();
/// let mut request = client.get("https://api.example/items/42").with_extension(Route::new("/items/{id}"));
/// # assert_eq!(request.extensions().get(), Some(&Route::new("/items/{id}")));
/// ```
///
/// A route that holds an identifier makes a breaker per item, none of which sees enough calls to trip.
///
/// A clone does not copy the text.
#[derive(Clone)]
pub struct Route {
    text: Text,
}

#[derive(Clone)]
enum Text {
    Static(&'static str),
    Shared(Arc<str>),
}

impl Route {
    /// Names a route. An empty one is no route: the request has the breaker of its origin, also where routes are inferred.
    ///
    /// Control characters are escaped, as in every [part of a key](crate::CircuitKey::with_part).
    ///
    /// ```
    /// use reqwest_circuit_breaker::Route;
    ///
    /// assert_eq!(Route::new("/items/{id}").as_str(), "/items/{id}");
    /// assert_eq!(Route::new(format!("/{}/{{id}}", "items")), Route::new("/items/{id}"));
    /// ```
    pub fn new(template: impl Into<Cow<'static, str>>) -> Self {
        Self {
            text: match escape(template.into()) {
                Cow::Borrowed(text) => Text::Static(text),
                Cow::Owned(text) => Text::Shared(text.into()),
            },
        }
    }

    /// Infers the route of a path: every segment that looks like an identifier becomes `{id}`.
    ///
    /// | looks like an identifier | |
    /// |---|---|
    /// | a number in front, or no letter beside it | `42`, `2024-01-31`, `7.json`, `42-blue-shoes` |
    /// | more than three digits, or three that stand alone | `order-12345`, `order-123`, `user1234` |
    /// | a UUID, or eight hex digits with a decimal one among them | `67e55044-10b1-426f-9247-bb680e5fe0c8`, `deadbee7` |
    /// | twenty letters and digits in a row (ULIDs are longer), or a wild mix of cases | `01ARZ3NDEKTSV4RRFFQ69G5FAV`, `dQw4w9WgXcQ` |
    /// | what no word is spelled with: `%`, `@`, `=`, `,`, `(`, `)`, `'`, and what a URL encodes | `me@example.org`, `a%20b` |
    /// | more than 64 bytes | |
    ///
    /// Words stay, with up to three digits in them: `latest`, `favicon.ico`, `oauth2`, `sha256`, `step-2`, `v1`, `v2.10.1`.
    /// So a name or slug that users choose stays, too: give such requests a [`Route::new`].
    ///
    /// Query, fragment and the parameters of a segment (`;jsessionid=..`) never take part. After eight segments the rest
    /// becomes `{rest}`, so a route has at most 527 bytes, whatever the path. A template infers to itself.
    ///
    /// ```
    /// use reqwest_circuit_breaker::Route;
    ///
    /// assert_eq!(Route::infer("/items/42/reviews?page=2").as_str(), "/items/{id}/reviews");
    /// assert_eq!(Route::infer("/v2/oauth2/users/me@example.org").as_str(), "/v2/oauth2/users/{id}");
    /// assert_eq!(Route::infer("/a/b/c/d/e/f/g/h/i/j").as_str(), "/a/b/c/d/e/f/g/h/{rest}");
    /// ```
    pub fn infer(path: &str) -> Self {
        let mut text = String::new();
        infer_into(path, &mut text);
        Self {
            text: Text::Shared(text.into()),
        }
    }

    /// Returns the text of the route.
    ///
    /// ```
    /// use reqwest_circuit_breaker::Route;
    ///
    /// assert_eq!(Route::infer("/items/42").as_str(), "/items/{id}");
    /// ```
    pub fn as_str(&self) -> &str {
        match &self.text {
            Text::Static(text) => text,
            Text::Shared(text) => text,
        }
    }

    /// Infers the route of a path and lends its text, without an allocation once the thread has done it before.
    pub(super) fn with_inferred<R>(path: &str, use_route: impl FnOnce(&str) -> R) -> R {
        thread_local! {
            static BUFFER: Cell<String> = const { Cell::new(String::new()) };
        }
        lend(&BUFFER, |text| infer_into(path, text), use_route)
    }
}

/// Most segments of an inferred route, `{rest}` not counted.
const MAX_SEGMENTS: usize = 8;

/// Appends the route of a path: ASCII without control characters, at most 527 bytes.
fn infer_into(path: &str, route: &mut String) {
    let end = path
        .bytes()
        .position(|byte| matches!(byte, b'?' | b'#'))
        .unwrap_or(path.len());
    let path = &path[..end];
    let path = path.strip_prefix('/').unwrap_or(path);
    for (n, segment) in path.split('/').enumerate() {
        route.push('/');
        if n == MAX_SEGMENTS {
            route.push_str("{rest}");
            break;
        }
        // RFC 3986, section 3.3: what follows a semicolon are the segment's parameters.
        let word = segment.split(';').next().unwrap_or_default();
        route.push_str(if is_identifier(word) { "{id}" } else { word });
    }
}

impl PartialEq for Route {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Route {}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Route").field(&self.as_str()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::super::identifier::MAX_WORD;
    use super::*;

    fn infer(path: &str) -> String {
        let route = Route::infer(path);
        assert_eq!(Route::infer(route.as_str()), route, "{path}");
        assert_eq!(Route::with_inferred(path, str::to_owned), route.as_str());
        route.to_string()
    }

    #[test]
    fn identifiers_are_replaced_and_words_stay() {
        assert_eq!(infer("/items/42/reviews"), "/items/{id}/reviews");
        assert_eq!(
            infer("/v1/users/67e55044-10b1-426f-9247-bb680e5fe0c8"),
            "/v1/users/{id}"
        );
        assert_eq!(infer("/items/{item_id}/latest"), "/items/{item_id}/latest");
    }

    #[test]
    fn query_fragment_and_parameters_never_take_part() {
        assert_eq!(infer("/items?secret=/a"), "/items");
        assert_eq!(infer("/items#secret?x"), "/items");
        assert_eq!(infer("/items;jsessionid=secret/42;x/y"), "/items/{id}/y");
        assert_eq!(infer("?secret"), "/");
    }

    #[test]
    fn slashes_stay_and_the_first_is_added() {
        assert_eq!(infer(""), "/");
        assert_eq!(infer("/"), "/");
        assert_eq!(infer("items/42/"), "/items/{id}/");
        assert_eq!(infer("//items"), "//items");
    }

    #[test]
    fn a_hostile_path_gives_a_short_route() {
        assert_eq!(infer(&"/a".repeat(8)), "/a".repeat(8));
        assert_eq!(infer(&"/a".repeat(9)), "/a".repeat(8) + "/{rest}");
        assert_eq!(infer(&"/".repeat(100_000)), "/".repeat(9) + "{rest}");
        let segment = "/".to_owned() + &"a".repeat(MAX_WORD);
        assert_eq!(infer(&segment.repeat(100)).len(), 527);
        assert_eq!(infer(&"a".repeat(100_000)), "/{id}");
    }

    #[test]
    fn routes_are_equal_where_their_texts_are() {
        let routes = ["/items/{id}", "/items", ""];
        for (n, left) in routes.into_iter().enumerate() {
            for (m, right) in routes.into_iter().enumerate() {
                assert_eq!(
                    Route::new(left) == Route::new(right.to_owned()),
                    n == m,
                    "{left} {right}"
                );
            }
        }
    }

    #[test]
    fn a_route_has_no_control_characters() {
        assert_eq!(Route::new("/a\nb").as_str(), r"/a\nb");
        assert_eq!(infer("/a\nb"), "/{id}");
    }

    #[test]
    fn an_inferred_route_reuses_its_memory_and_may_be_nested() {
        let place = || Route::with_inferred("/items/42", |route| route.as_ptr());
        let first = place();
        // Whoever had let go of the memory would not get it back.
        let _others: Vec<String> = (3..8).map(|bits| String::with_capacity(1 << bits)).collect();
        assert_eq!(first, place());
        Route::with_inferred("/outer/42", |outer| {
            Route::with_inferred("/inner/42/x", |inner| assert_eq!(inner, "/inner/{id}/x"));
            assert_eq!(outer, "/outer/{id}");
        });
    }
}
