//! Clients that trust the test's own authority and nobody else, and stacks of middleware around them.

use std::net::SocketAddr;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest_middleware::ClientWithMiddleware;

use super::tls;

/// A builder that ignores the environment's proxies and trusts [`tls::TRUSTED`].
pub(crate) fn builder() -> reqwest::ClientBuilder {
    tls::install();
    reqwest::Client::builder()
        .no_proxy()
        .tls_certs_only([tls::TRUSTED.root()])
}

/// A client as [`builder`] makes it.
pub(crate) fn client() -> reqwest::Client {
    build(builder())
}

pub(crate) fn build(builder: reqwest::ClientBuilder) -> reqwest::Client {
    builder.build().expect("a client")
}

/// What stands between a test and its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stack {
    Bare,
    /// A retry middleware that tries so often again, a millisecond or two later.
    #[cfg(feature = "retry")]
    Retry(u32),
}

impl Stack {
    pub(crate) const ALL: &[Self] = &[
        Self::Bare,
        #[cfg(feature = "retry")]
        Self::Retry(0),
        #[cfg(feature = "retry")]
        Self::Retry(2),
    ];

    pub(crate) fn over(self, client: reqwest::Client) -> ClientWithMiddleware {
        self.within(reqwest_middleware::ClientBuilder::new(client))
    }

    /// The same, inside of what the builder holds already.
    pub(crate) fn within(self, builder: reqwest_middleware::ClientBuilder) -> ClientWithMiddleware {
        match self {
            Self::Bare => builder.build(),
            #[cfg(feature = "retry")]
            Self::Retry(retries) => builder.with(retry(retries)).build(),
        }
    }
}

/// A retry middleware that waits for a millisecond or two.
#[cfg(feature = "retry")]
pub(crate) fn retry(
    retries: u32,
) -> reqwest_retry::RetryTransientMiddleware<reqwest_retry::policies::ExponentialBackoff> {
    use std::time::Duration;

    let policy = reqwest_retry::policies::ExponentialBackoff::builder()
        .retry_bounds(Duration::from_millis(1), Duration::from_millis(2))
        .build_with_max_retries(retries);
    reqwest_retry::RetryTransientMiddleware::new_with_policy(policy)
}

/// A resolver that gives every name the same answer.
pub(crate) struct Resolver<F>(pub(crate) F);

impl<F> Resolve for Resolver<F>
where
    F: Fn() -> std::io::Result<Vec<SocketAddr>> + Send + Sync,
{
    fn resolve(&self, _: Name) -> Resolving {
        let answer = self.0();
        Box::pin(async move { Ok(Box::new(answer?.into_iter()) as Addrs) })
    }
}
