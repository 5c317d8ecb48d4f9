//! A redirect is an answer, whatever comes after it.

use reqwest::redirect::Policy;

use super::*;
use crate::support::client::{build, builder, client};
use crate::support::scripted::Server;
use crate::support::scripted::Step::{Fin, Read, Send, Stall};
use crate::support::server::{Answer, Refusing, StatusServer};
use crate::support::tls::TRUSTED;

async fn to(location: impl Into<String>) -> StatusServer {
    StatusServer::start([Answer::status(302).header("location", location)]).await
}

#[tokio::test]
async fn redirects() {
    check(vec![
        row("a loop", Answers, || async {
            let server = to("/").await;
            Scene::get(client(), server.url("/")).keep(server)
        }),
        row("too many", Answers, || async {
            let server = to("/").await;
            Scene::get(build(builder().redirect(Policy::limited(2))), server.url("/")).keep(server)
        }),
        row("a policy that refuses", Answers, || async {
            let server = to("/next").await;
            let policy = Policy::custom(|attempt| attempt.error("not there"));
            Scene::get(build(builder().redirect(policy)), server.url("/")).keep(server)
        }),
        // The error wins over what its cause would be.
        row("a policy that refuses with a timeout", Answers, || async {
            let server = to("/next").await;
            let policy = Policy::custom(|attempt| attempt.error(std::io::Error::from(std::io::ErrorKind::TimedOut)));
            Scene::get(build(builder().redirect(policy)), server.url("/")).keep(server)
        }),
        row("to http, where only https is allowed", Answers, || async {
            let answer = b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1/\r\ncontent-length: 0\r\n\r\n";
            let server = Server::play_tls(TRUSTED.server("127.0.0.1"), [Read, Send(answer), Fin]).await;
            Scene::get(build(builder().https_only(true)), server.url("/")).keep(server)
        }),
        row("to no URL", Answers, || async {
            let server = to("http://[").await;
            Scene::get(client(), server.url("/")).keep(server)
        }),
        row("not followed", Answers, || async {
            let server = to("/next").await;
            Scene::get(build(builder().redirect(Policy::none())), server.url("/")).keep(server)
        }),
        row("to one that refuses", Fails(FailureKind::Connect), || async {
            let nobody = Refusing::new();
            let server = to(nobody.url("/")).await;
            Scene::get(client(), server.url("/")).keep((server, nobody))
        }),
        row("to one that hangs", Fails(FailureKind::Timeout), || async {
            let other = Server::play([Read, Stall]).await;
            let server = to(other.url("/")).await;
            Scene::get(build(builder().timeout(SHORT * 2)), server.url("/")).keep((server, other))
        }),
        row("to one that closes", Fails(FailureKind::Disconnect), || async {
            let other = Server::play([Read, Fin]).await;
            let server = to(other.url("/")).await;
            Scene::get(client(), server.url("/")).keep((server, other))
        }),
        row("to one that answers 503", Status(503), || async {
            let other = StatusServer::start([503]).await;
            let server = to(other.url("/")).await;
            Scene::get(client(), server.url("/")).keep((server, other))
        }),
        row("to one whose body breaks", BodyFails(FailureKind::Body), || async {
            let other = Server::play([Read, Send(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc"), Fin]).await;
            let server = to(other.url("/")).await;
            Scene::get(client(), server.url("/")).keep((server, other))
        }),
        // By the error alone it can't be told from a request to that URL. The middleware knows better.
        row("to ftp", Ignored, || async {
            let server = to("ftp://127.0.0.1/").await;
            Scene::get(client(), server.url("/")).keep(server)
        }),
        row("307 of a streamed body", Answers, || async {
            let server = StatusServer::start([Answer::status(307).header("location", "/next")]).await;
            let url = server.url("/");
            let stream = || reqwest::Body::wrap_stream(futures_util::stream::iter([Ok::<_, std::io::Error>("x")]));
            // Read to its end, or not: the answer is the same.
            Scene::new(client(), move |client| {
                client.post(&url).header("content-length", "1").body(stream())
            })
            .keep(server)
            .streamed()
        }),
    ])
    .await;
}
