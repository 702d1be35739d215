//! Framing: messages out in one write, messages in from one buffer. No allocation per message.

use std::io;
use std::time::Duration;

use bytes::BytesMut;
use postgres_protocol::message::backend::Message;

use super::error;
use crate::engine::EngineError;
use crate::engine::remote::{Channel, Stream};

/// A longer message is taken as a sign that the peer does not speak our protocol.
const MAX_MESSAGE_BYTES: usize = 1 << 30;
/// Tag and length of a message.
const HEADER_BYTES: usize = 5;

/// A connection as a sequence of messages.
pub(super) struct Wire {
    channel: Channel,
    /// Messages to send; `flush` sends and empties it.
    pub output: BytesMut,
}

impl Wire {
    /// A connection over an open stream.
    pub(super) fn new(stream: Stream) -> Self {
        Wire { channel: Channel::new(stream), output: BytesMut::with_capacity(4096) }
    }

    /// Sends what is in `output` in one write.
    pub(super) fn flush(&mut self) -> Result<(), EngineError> {
        let sent = self.channel.write_all(&self.output);
        self.output.clear();
        sent.map_err(|error| self.write_failed(&error))
    }

    /// Sends ready-made messages in one write.
    #[inline]
    pub(super) fn send(&mut self, messages: &[u8]) -> Result<(), EngineError> {
        match self.channel.write_all(messages) {
            Ok(()) => Ok(()),
            Err(error) => Err(self.write_failed(&error)),
        }
    }

    /// A server that ends a connection says why before it closes it: prefer its words to `Broken pipe`.
    fn write_failed(&mut self, error: &io::Error) -> EngineError {
        while let Ok((tag, body)) = self.frame() {
            if tag == b'E' {
                return error::from_body(body, "");
            }
        }
        error::from_io(error)
    }

    /// The next message: tag and body.
    #[inline]
    pub(super) fn frame(&mut self) -> Result<(u8, &[u8]), EngineError> {
        let range = self.next_range().map_err(|error| error::from_io(&error))?;
        let message = self.channel.at(range);
        Ok((message[0], &message[HEADER_BYTES..]))
    }

    /// The next message, parsed by the protocol library; not for hot loops (it copies).
    pub(super) fn message(&mut self) -> Result<Message, EngineError> {
        let range = self.next_range().map_err(|error| error::from_io(&error))?;
        let mut copy = BytesMut::from(self.channel.at(range));
        match Message::parse(&mut copy) {
            Ok(Some(message)) => Ok(message),
            Ok(None) => Err(error::lost("the server sent half a message")),
            Err(error) => Err(error::from_io(&io::Error::new(io::ErrorKind::InvalidData, error))),
        }
    }

    /// Where the next message stands in the channel; it counts as read.
    #[inline]
    fn next_range(&mut self) -> io::Result<std::ops::Range<usize>> {
        let head = self.channel.peek(HEADER_BYTES)?;
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        if !(4..=MAX_MESSAGE_BYTES).contains(&length) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, format!("message of {length} bytes")));
        }
        self.channel.take(length + 1)
    }

    /// Limits every read to `timeout`; none = wait for ever.
    pub(super) fn read_timeout(&mut self, timeout: Option<Duration>) {
        self.channel.read_timeout(timeout);
    }

    /// Says goodbye and waits until the server has closed its side, which it does when the backend has ended:
    /// only then are its statistics in the counters. Waits at most `timeout`.
    pub(super) fn terminate(&mut self, timeout: Duration) {
        self.output.clear();
        postgres_protocol::message::frontend::terminate(&mut self.output);
        if self.flush().is_ok() {
            self.channel.end_of_writing();
            self.read_timeout(Some(timeout));
            while self.frame().is_ok() {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    use super::*;
    use crate::engine::remote::READ_BUFFER_BYTES;

    #[test]
    fn messages_arrive_whole_however_they_are_cut() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let body = vec![7u8; READ_BUFFER_BYTES * 2];
        let mut bytes = b"Z\x00\x00\x00\x05ID".to_vec();
        bytes.extend_from_slice(&u32::try_from(body.len() + 4).unwrap().to_be_bytes());
        bytes.extend_from_slice(&body);
        let writer = std::thread::spawn(move || bytes.chunks(1000).try_for_each(|chunk| theirs.write_all(chunk)));
        let mut wire = Wire::new(ours.into());
        assert_eq!(wire.frame().unwrap(), (b'Z', &b"I"[..]));
        assert_eq!(wire.frame().unwrap(), (b'D', &body[..]));
        writer.join().unwrap().unwrap();
        assert_eq!(wire.frame().unwrap_err().class, crate::engine::ErrorClass::Lost);
    }

    #[test]
    fn a_peer_that_speaks_another_protocol_is_no_endless_read() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(b"HTTP/1.1 400 Bad Request\r\n").unwrap();
        let error = Wire::new(ours.into()).frame().unwrap_err();
        assert!(error.message.contains("no PostgreSQL message"), "{error}");
    }
}
