//! An upstream inside the stack: it answers without a socket.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use http::Extensions;
use reqwest::{Request, Response, ResponseBuilderExt, Url};
use reqwest_circuit_breaker::{CircuitBreakerMiddleware, CircuitBreakerRegistry, CircuitOpenError};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware, Middleware, Next, Result};

type Answer = dyn Fn(Request) -> BoxFuture<'static, Result<Response>> + Send + Sync;

/// The innermost middleware. It counts the requests that reached it.
#[derive(Clone)]
pub(crate) struct Upstream {
    requests: Arc<AtomicUsize>,
    answer: Arc<Answer>,
}

impl Upstream {
    pub(crate) fn new<F>(answer: impl Fn(Request) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Response>> + Send + 'static,
    {
        Self {
            requests: Arc::default(),
            answer: Arc::new(move |request| Box::pin(answer(request))),
        }
    }

    /// Always the same status.
    pub(crate) fn status(status: u16) -> Self {
        Self::new(move |request| async move { Ok(answer(status, request.url())) })
    }

    /// One answer after another; the last one stays.
    pub(crate) fn statuses(statuses: &'static [u16]) -> Self {
        let next = AtomicUsize::new(0);
        Self::new(move |request| {
            let n = next.fetch_add(1, Ordering::Relaxed).min(statuses.len() - 1);
            async move { Ok(answer(statuses[n], request.url())) }
        })
    }

    /// Never an answer.
    pub(crate) fn silent() -> Self {
        Self::new(|_| std::future::pending())
    }

    /// Never an answer but the caller's own fault.
    pub(crate) fn bulkhead() -> Self {
        Self::new(|_| async {
            Err(reqwest_middleware::Error::middleware(std::io::Error::other(
                "no room here",
            )))
        })
    }

    pub(crate) fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }

    /// A client whose stack is the breakers and this upstream.
    pub(crate) fn behind(&self, registry: &CircuitBreakerRegistry) -> ClientWithMiddleware {
        self.under(|stack| stack.with(CircuitBreakerMiddleware::new(registry.clone())))
    }

    pub(crate) fn under(&self, stack: impl FnOnce(ClientBuilder) -> ClientBuilder) -> ClientWithMiddleware {
        // It never connects, and to make one reads all certificates of the system.
        static NEVER_ASKED: OnceLock<reqwest::Client> = OnceLock::new();
        let client = NEVER_ASKED.get_or_init(reqwest::Client::new).clone();
        stack(ClientBuilder::new(client)).with(self.clone()).build()
    }
}

#[async_trait]
impl Middleware for Upstream {
    async fn handle(&self, request: Request, _: &mut Extensions, _: Next<'_>) -> Result<Response> {
        self.requests.fetch_add(1, Ordering::SeqCst);
        (self.answer)(request).await
    }
}

/// An answer that came from `url`.
pub(crate) fn answer(status: u16, url: &Url) -> Response {
    let response = http::Response::builder().status(status).url(url.clone()).body("body");
    response.expect("a response").into()
}

/// The rejection in a result, if it is one.
pub(crate) fn rejection(result: Result<Response>) -> Option<CircuitOpenError> {
    result.err().and_then(|error| CircuitOpenError::find(&error).cloned())
}

/// A layer that sends a request again, so many times in all, whatever comes.
pub(crate) struct Again(pub(crate) usize);

#[async_trait]
impl Middleware for Again {
    async fn handle(&self, request: Request, extensions: &mut Extensions, next: Next<'_>) -> Result<Response> {
        for _ in 1..self.0 {
            let again = request.try_clone().expect("no streamed body here");
            let _ = next.clone().run(again, extensions).await;
        }
        next.run(request, extensions).await
    }
}
