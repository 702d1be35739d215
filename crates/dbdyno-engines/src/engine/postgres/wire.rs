//! Framing: messages out in one write, messages in from one buffer. No allocation per message.

use std::io;
use std::time::Duration;

use bytes::BytesMut;
use postgres_protocol::message::backend::Message;
use postgres_protocol::message::frontend;

use super::error;
use crate::engine::remote::{Channel, FIRST_TO_CLOSE, Stream, Watch, closing_error};
use crate::engine::{EngineError, ErrorClass};

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

    /// The hash of the server's certificate; none where nothing is encrypted.
    pub(super) fn end_point(&self) -> Option<Vec<u8>> {
        self.channel.stream().end_point()
    }

    /// The stream below.
    pub(super) fn stream(&self) -> &Stream {
        self.channel.stream()
    }

    /// True if the connection is encrypted.
    pub(super) fn is_encrypted(&self) -> bool {
        self.channel.stream().is_encrypted()
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

    /// A server that ends a connection says why before it closes it: prefer its words to `Broken
    /// pipe`.
    fn write_failed(&mut self, error: &io::Error) -> EngineError {
        while let Ok((tag, body)) = self.frame() {
            if tag == b'E' {
                return closing_error(error::from_body(body, ""));
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

    /// Reads the answer to `sql` up to `ReadyForQuery`; what is neither an error nor that is given
    /// to `take`, as tag and body. A server that ends the session says so and never becomes ready.
    ///
    /// # Errors
    /// The first: the server's, or that of `take`.
    pub(super) fn until_ready(
        &mut self,
        sql: &str,
        mut take: impl FnMut(u8, &[u8]) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        let mut failure = None;
        loop {
            // A server that ends the session says why before it closes the connection.
            let (tag, body) = match self.frame() {
                Ok(frame) => frame,
                Err(lost) => return Err(failure.map_or(lost, error::as_lost)),
            };
            let taken = match tag {
                b'Z' => return failure.map_or(Ok(()), Err),
                b'E' => Err(error::from_body(body, sql)),
                b'G' => self.refuse_copy(),
                _ => take(tag, body),
            };
            match taken {
                Err(error) if error.class == ErrorClass::Lost => return Err(error),
                Err(error) => {
                    failure.get_or_insert(error);
                }
                Ok(()) => {}
            }
        }
    }

    /// The server wants the data of a copy that nobody has.
    fn refuse_copy(&mut self) -> Result<(), EngineError> {
        frontend::copy_fail("no data follows", &mut self.output)
            .map_err(|error| error::from_io(&error))?;
        self.flush()
    }

    /// Position of the next message in the channel; it counts as read.
    #[inline]
    fn next_range(&mut self) -> io::Result<std::ops::Range<usize>> {
        let head = self.channel.peek(HEADER_BYTES)?;
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        if !(4..=MAX_MESSAGE_BYTES).contains(&length) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("message of {length} bytes"),
            ));
        }
        self.channel.take(length + 1)
    }

    /// Limits every read to `timeout`; none = wait for ever.
    pub(super) fn read_timeout(&mut self, timeout: Option<Duration>) {
        self.channel.read_timeout(timeout);
    }

    /// Chooses how the session of a job waits for answers, in a test of so many jobs.
    pub(super) fn wait_as_one_of(&mut self, jobs: u32) {
        self.channel.wait_as_one_of(jobs);
    }

    /// Ends unlimited waits when the server is gone.
    pub(super) fn watch(&mut self, watch: Watch) {
        self.channel.watch(watch);
    }

    /// Says goodbye and waits until the server has closed its side, which it does when the backend
    /// has ended: only then are its statistics in the counters. Waits at most `timeout`.
    pub(super) fn terminate(&mut self, timeout: Duration) {
        self.output.clear();
        frontend::terminate(&mut self.output);
        if self.flush().is_ok() {
            // Whoever closes first keeps the port for a minute: let it be the server, unless it
            // waits for us.
            self.read_timeout(Some(timeout.min(FIRST_TO_CLOSE)));
            while self.frame().is_ok() {}
            self.channel.end_of_writing();
            self.read_timeout(Some(timeout));
            while self.frame().is_ok() {}
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    use super::*;
    use crate::engine::remote::READ_BUFFER_BYTES;

    #[test]
    fn a_server_that_waits_for_our_end_of_the_connection_gets_it() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let server = std::thread::spawn(move || theirs.read_to_end(&mut Vec::new()));
        Wire::new(ours.into()).terminate(Duration::from_secs(3600));
        server.join().unwrap().unwrap();
    }

    #[test]
    fn messages_arrive_whole_however_they_are_cut() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let body = vec![7u8; READ_BUFFER_BYTES * 2];
        let mut bytes = b"Z\x00\x00\x00\x05ID".to_vec();
        bytes.extend_from_slice(&u32::try_from(body.len() + 4).unwrap().to_be_bytes());
        bytes.extend_from_slice(&body);
        let writer = std::thread::spawn(move || {
            bytes.chunks(1000).try_for_each(|chunk| theirs.write_all(chunk))
        });
        let mut wire = Wire::new(ours.into());
        assert_eq!(wire.frame().unwrap(), (b'Z', &b"I"[..]));
        assert_eq!(wire.frame().unwrap(), (b'D', &body[..]));
        writer.join().unwrap().unwrap();
        assert_eq!(wire.frame().unwrap_err().class, crate::engine::ErrorClass::Lost);
    }

    /// A wire on which these messages stand, the last before the server ends the connection.
    pub(in super::super) fn answering_server(messages: &[(u8, &[u8])]) -> (Wire, UnixStream) {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        for (tag, body) in messages {
            theirs.write_all(&[*tag]).unwrap();
            theirs.write_all(&u32::try_from(body.len() + 4).unwrap().to_be_bytes()).unwrap();
            theirs.write_all(body).unwrap();
        }
        theirs.shutdown(std::net::Shutdown::Write).unwrap();
        (Wire::new(ours.into()), theirs)
    }

    pub(in super::super) const SHUT_DOWN: &[u8] = b"SFATAL\0C57P01\0Mterminating connection\0\0";
    const WRONG: &[u8] = b"SERROR\0C42P01\0Mno such table\0\0";
    const READY: (u8, &[u8]) = (b'Z', b"I");

    #[test]
    fn an_answer_is_read_to_its_end_also_after_an_error() {
        let messages =
            [(b'N', &b"a notice"[..]), (b'E', WRONG), READY, (b'C', &b"SELECT 1\0"[..]), READY];
        let (mut wire, _server) = answering_server(&messages);
        let mut tags = Vec::new();
        let mut read = |wire: &mut Wire| {
            wire.until_ready("select 1", |tag, _| {
                tags.push(char::from(tag));
                Ok(())
            })
        };
        assert_eq!(read(&mut wire).unwrap_err().code.as_deref(), Some("42P01"));
        read(&mut wire).unwrap();
        assert_eq!(tags, ['N', 'C']);
    }

    #[test]
    fn a_server_that_ends_the_session_is_quoted() {
        let (mut wire, _server) = answering_server(&[(b'E', SHUT_DOWN)]);
        let error = wire.until_ready("select 1", |_, _| Ok(())).unwrap_err();
        assert_eq!(
            (error.class, error.message.as_str()),
            (ErrorClass::Lost, "terminating connection")
        );
    }

    #[test]
    fn what_a_server_says_last_is_not_replaced_by_the_end_of_the_connection() {
        let late = b"SFATAL\0C25P04\0Mterminating connection due to transaction timeout\0\0";
        let (mut wire, _server) = answering_server(&[(b'E', late)]);
        let error = wire.until_ready("select 1", |_, _| Ok(())).unwrap_err();
        assert!(error.message.contains("due to transaction timeout"), "{error}");
        assert_eq!(error.class, ErrorClass::Lost, "the session cannot be used any more");
    }

    #[test]
    fn a_session_that_was_ended_while_it_rested_is_lost_whatever_the_server_said() {
        let late = b"SFATAL\0C25P03\0Mterminating connection due to idle-in-transaction\0\0";
        let (mut wire, server) = answering_server(&[(b'E', late)]);
        drop(server);
        let error = wire.send(b"Q\0\0\0\x05\0").unwrap_err();
        assert!(error.message.contains("due to idle-in-transaction"), "{error}");
        assert_eq!((error.class, error.code.as_deref()), (ErrorClass::Lost, Some("25P03")));
        let full = b"SFATAL\0C53300\0Msorry, too many clients already\0\0";
        let (mut wire, server) = answering_server(&[(b'E', full)]);
        drop(server);
        let refused = wire.send(b"startup").unwrap_err();
        assert_eq!(refused.class, ErrorClass::Unreachable, "the next host may answer");
    }

    #[test]
    fn a_copy_that_nobody_asked_for_is_refused() {
        let (mut wire, mut server) = answering_server(&[(b'G', &[0; 3][..]), (b'E', WRONG), READY]);
        wire.until_ready("copy t from stdin", |_, _| Ok(())).unwrap_err();
        let mut sent = [0; 5];
        server.read_exact(&mut sent).unwrap();
        assert_eq!(sent[0], b'f');
    }

    #[test]
    fn a_peer_that_speaks_another_protocol_is_no_endless_read() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(b"HTTP/1.1 400 Bad Request\r\n").unwrap();
        let error = Wire::new(ours.into()).frame().unwrap_err();
        assert!(error.message.contains("an invalid PostgreSQL message"), "{error}");
    }
}
