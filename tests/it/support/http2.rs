//! HTTP/2 frames by hand, for servers that break its rules.

use super::connection::Connection;

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;

pub(crate) const END_STREAM: u8 = 0x1;
pub(crate) const ACK: u8 = 0x1;
pub(crate) const END_HEADERS: u8 = 0x4;

pub(crate) const NO_ERROR: u32 = 0x0;
pub(crate) const INTERNAL_ERROR: u32 = 0x2;

/// `:status: 200` as a compressed header block.
pub(crate) const STATUS_200: &[u8] = &[0x88];

/// The first stream of a client.
pub(crate) const FIRST: u32 = 1;

pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("a short payload").to_be_bytes();
    let mut frame = vec![length[1], length[2], length[3], kind, flags];
    frame.extend_from_slice(&stream.to_be_bytes());
    frame.extend_from_slice(payload);
    frame
}

pub(crate) fn reset(stream: u32, code: u32) -> Vec<u8> {
    frame(RST_STREAM, 0, stream, &code.to_be_bytes())
}

pub(crate) fn go_away(last_stream: u32, code: u32) -> Vec<u8> {
    frame(GOAWAY, 0, 0, &[last_stream.to_be_bytes(), code.to_be_bytes()].concat())
}

/// The head of a response with status 200, whose body follows.
pub(crate) fn head() -> Vec<u8> {
    frame(HEADERS, END_HEADERS, FIRST, STATUS_200)
}

pub(crate) fn data(text: &str) -> Vec<u8> {
    frame(DATA, 0, FIRST, text.as_bytes())
}

/// Shakes hands, and reads up to the first request's headers. Returns its stream, or `None` if the client hangs up.
pub(crate) async fn read_request(connection: &mut Connection) -> Option<u32> {
    connection.read(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".len()).await;
    connection.send(frame(SETTINGS, 0, 0, &[])).await;
    read_next_request(connection).await
}

/// Reads up to the headers of one more request. Returns its stream, or `None` if the client hangs up.
pub(crate) async fn read_next_request(connection: &mut Connection) -> Option<u32> {
    loop {
        let (kind, flags, stream) = read_frame(connection).await?;
        match kind {
            SETTINGS if flags & ACK == 0 => connection.send(frame(SETTINGS, ACK, 0, &[])).await,
            HEADERS => return Some(stream),
            _ => {}
        }
    }
}

/// Reads one frame: its kind, flags and stream.
pub(crate) async fn read_frame(connection: &mut Connection) -> Option<(u8, u8, u32)> {
    let head = connection.read(9).await;
    let &[a, b, c, kind, flags, ref stream @ ..] = head.as_slice() else {
        return None;
    };
    connection.read(u32::from_be_bytes([0, a, b, c]) as usize).await;
    Some((kind, flags, u32::from_be_bytes(stream.try_into().ok()?)))
}
