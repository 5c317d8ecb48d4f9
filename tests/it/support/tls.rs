//! Certificates, made anew by each run.

use std::sync::{Arc, LazyLock};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, SupportedProtocolVersion};
use tokio_rustls::TlsAcceptor;

/// An authority that clients may be told to trust.
pub(crate) struct Authority {
    certificate: rcgen::Certificate,
    issuer: Issuer<'static, KeyPair>,
}

/// The authority that [`client::builder`](super::client::builder) trusts.
pub(crate) static TRUSTED: LazyLock<Authority> = LazyLock::new(Authority::new);

/// An authority that no client trusts.
pub(crate) static UNTRUSTED: LazyLock<Authority> = LazyLock::new(Authority::new);

/// Installs the TLS library's cryptography, once.
pub(crate) fn install() {
    rustls::crypto::aws_lc_rs::default_provider().install_default().ok();
}

impl Authority {
    fn new() -> Self {
        install();
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new([]).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).expect("a certificate");
        Self {
            certificate,
            issuer: Issuer::new(params, key),
        }
    }

    /// For a client's list of trusted authorities.
    pub(crate) fn root(&self) -> reqwest::Certificate {
        reqwest::Certificate::from_der(self.certificate.der()).expect("a certificate")
    }

    /// A server with a certificate for `name`, a host name or an IP address.
    pub(crate) fn server(&self, name: &str) -> TlsAcceptor {
        self.acceptor(name, rustls::ALL_VERSIONS, false, |_| {})
    }

    /// A server whose certificate is no longer valid.
    pub(crate) fn expired_server(&self, name: &str) -> TlsAcceptor {
        self.acceptor(name, rustls::ALL_VERSIONS, false, |params| {
            params.not_before = rcgen::date_time_ymd(2001, 1, 1);
            params.not_after = rcgen::date_time_ymd(2002, 1, 1);
        })
    }

    /// A server that speaks only one version, and may demand a certificate of its clients.
    pub(crate) fn strict_server(
        &self,
        name: &str,
        version: &'static SupportedProtocolVersion,
        demands_certificate: bool,
    ) -> TlsAcceptor {
        self.acceptor(name, &[version], demands_certificate, |_| {})
    }

    fn acceptor(
        &self,
        name: &str,
        versions: &[&'static SupportedProtocolVersion],
        demands_certificate: bool,
        change: impl FnOnce(&mut CertificateParams),
    ) -> TlsAcceptor {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new([name.to_owned()]).expect("a name");
        change(&mut params);
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));

        let config = ServerConfig::builder_with_protocol_versions(versions);
        let config = if demands_certificate {
            let mut roots = RootCertStore::empty();
            roots.add(self.certificate.der().clone()).expect("a certificate");
            config.with_client_cert_verifier(
                WebPkiClientVerifier::builder(Arc::new(roots))
                    .build()
                    .expect("a verifier"),
            )
        } else {
            config.with_no_client_auth()
        };
        let config = config
            .with_single_cert(vec![certificate.der().clone()], key)
            .expect("a matching key");
        TlsAcceptor::from(Arc::new(config))
    }
}
