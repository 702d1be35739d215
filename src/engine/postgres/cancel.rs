//! Cancels a running statement: a request on a connection of its own (PostgreSQL manual, "Canceling Requests").

use bytes::BytesMut;
use postgres_protocol::message::frontend;

use super::connect::{CONNECT_TIMEOUT, open_stream};
use super::url::Host;
use super::wire::Wire;

/// Where a session's backend is and the secret that lets us cancel what it does.
#[derive(Clone)]
pub(super) struct CancelKey {
    pub host: Host,
    /// 0 = the server gave none.
    pub pid: i32,
    pub secret: i32,
}

impl CancelKey {
    /// Asks the server to cancel the statement that runs; nothing happens if none runs, or nobody answers.
    pub(super) fn cancel(&self) {
        let Ok((stream, _)) = open_stream(&self.host) else { return };
        let mut request = BytesMut::new();
        frontend::cancel_request(self.pid, self.secret, &mut request);
        let mut wire = Wire::new(stream);
        wire.read_timeout(Some(CONNECT_TIMEOUT));
        if self.pid != 0 && wire.send(&request).is_ok() {
            // The server answers by closing the connection, after it has passed the signal on.
            let _ = wire.frame();
        }
    }
}
