//! WebSocket: `GET /events/{event}/ws`. Messages go one way; what the client sends is ignored, and
//! too much of it ends the stream.

use super::sse::{StreamCaller, StreamQuery};
use crate::http::caller::Ids;
use crate::http::openapi::StreamProblems;
use crate::http::problem::{Code, Problem};
use crate::http::state::Streams;
use crate::json::ids::EventIdText;
use crate::live::Open;
use crate::live::message::Kind;
use axum::extract::State;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{
    CloseFrame, Message as WsMessage, WebSocket, WebSocketUpgrade, close_code,
};
use axum::response::Response;
use bytes::Bytes;
use onrush_core::ids::EventId;
use onrush_serve::connection::Connection;
use std::sync::Arc;

/// The default buffers would cost 128 KiB a socket.
const BUFFER_BYTES: usize = 4_096;
/// What may wait to be written: pongs that the client does not read.
const MAX_UNWRITTEN_BYTES: usize = 64 << 10;
/// Clients have nothing to say, so nobody needs to send much.
const MAX_MESSAGE_BYTES: usize = 4_096;

/// Live updates over WebSocket; each text message is one JSON object with `type`.
#[utoipa::path(
    get, path = "/api/v1/events/{event}/ws", tag = "live",
    params(("event" = EventIdText, Path), StreamQuery),
    responses(
        (status = 101, description = "The connection becomes a WebSocket"),
        StreamProblems,
        (status = 426, description = "The request is no WebSocket handshake: `UPGRADE_REQUIRED`",
            content_type = "application/problem+json", body = crate::http::shapes::problem::ProblemBody),
    ),
    security(("visitor" = []), ())
)]
pub async fn ws(
    State(streams): State<Arc<Streams>>,
    Ids(event): Ids<EventId>,
    caller: StreamCaller,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Problem> {
    let upgrade = upgrade.map_err(|rejection| {
        Problem::new(Code::UpgradeRequired, format!("open a WebSocket here: {rejection}"))
    })?;
    let StreamCaller { user, place, address, connection } = caller;
    let open = streams.hub.open(event, user, place, address).await?;
    if let Some(connection) = &connection {
        connection.handover.make_one_way();
    }
    let upgrade = upgrade
        .read_buffer_size(BUFFER_BYTES)
        .write_buffer_size(BUFFER_BYTES)
        .max_write_buffer_size(MAX_UNWRITTEN_BYTES)
        .max_message_size(MAX_MESSAGE_BYTES)
        .max_frame_size(MAX_MESSAGE_BYTES);
    Ok(upgrade.on_upgrade(move |socket| run(socket, open, connection)))
}

async fn run(mut socket: WebSocket, open: Open, connection: Option<Connection>) {
    loop {
        tokio::select! {
            message = open.next() => {
                let Some(message) = message else { break };
                let frame = match message.kind() {
                    Kind::KeepAlive => WsMessage::Ping(Bytes::new()),
                    Kind::Position | Kind::News | Kind::Bye => match message.json().try_into() {
                        Ok(text) => WsMessage::Text(text),
                        Err(_) => break,
                    },
                };
                if socket.send(frame).await.is_err() {
                    return;
                }
            }
            // Reading answers pings and notices the end.
            received = socket.recv() => match received {
                Some(Ok(_)) => {}
                Some(Err(_)) => {
                    if connection.is_some_and(|connection| connection.handover.was_talked_to()) {
                        let reason = "this stream only goes to you; say less".into();
                        let frame = CloseFrame { code: close_code::POLICY, reason };
                        drop(socket.send(WsMessage::Close(Some(frame))).await);
                    }
                    return;
                }
                None => return,
            },
        }
    }
    // The client may be gone already; there is nobody else to tell.
    drop(socket.send(WsMessage::Close(None)).await);
}
