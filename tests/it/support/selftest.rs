//! The servers do what the other tests rely on.

use super::client::client;
use super::scripted::Server;
use super::server::{Answer, Refusing, StatusServer};

#[tokio::test]
async fn a_status_server_plays_its_answers_and_repeats_the_last() {
    let server = StatusServer::start([Answer::status(503).header("retry-after", "5").body("busy"), 200.into()]).await;
    let client = client();
    let first = client.get(server.url("/a")).send().await.unwrap();
    assert_eq!(first.headers()["retry-after"], "5");
    assert_eq!(
        (first.status().as_u16(), first.text().await.unwrap()),
        (503, "busy".to_owned())
    );
    for _ in 0..2 {
        assert_eq!(
            client.post(server.url("/b")).body("x").send().await.unwrap().status(),
            200
        );
    }
    server.answer_with([404]);
    assert_eq!(client.get(server.url("/c")).send().await.unwrap().status(), 404);
    assert_eq!((server.requests(), server.connections()), (4, 1));
    let lines = [
        "GET /a HTTP/1.1",
        "POST /b HTTP/1.1",
        "POST /b HTTP/1.1",
        "GET /c HTTP/1.1",
    ];
    assert_eq!(server.request_lines(), lines);
}

#[tokio::test]
async fn a_held_request_is_counted_and_waits() {
    let server = StatusServer::start([200]).await;
    server.hold();
    let call = tokio::spawn(client().get(server.url("/")).send());
    while server.requests() == 0 {
        tokio::task::yield_now().await;
    }
    assert!(!call.is_finished());
    server.release();
    assert_eq!(call.await.unwrap().unwrap().status(), 200);
}

#[tokio::test]
async fn nobody_listens_where_nobody_should() {
    let nobody = Refusing::new();
    assert!(client().get(nobody.url("/")).send().await.unwrap_err().is_connect());
}

#[tokio::test]
#[should_panic(expected = "the server's script panicked")]
async fn a_script_that_panics_fails_the_test() {
    let server = Server::start(|_| async { panic!("in the script") }).await;
    client().get(server.url("/")).send().await.unwrap_err();
    drop(server);
}
