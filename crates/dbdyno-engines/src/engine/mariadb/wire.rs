//! Framing: packets out in one write, packets in from one buffer. No allocation per packet.

use std::io;
use std::time::Duration;

use super::error;
use crate::engine::EngineError;
use crate::engine::remote::{Channel, FIRST_TO_CLOSE, Stream, Tls, Watch, closing_error};

/// Three bytes of length, one of sequence number.
const HEADER_BYTES: usize = 4;
/// A payload of this length goes on in the next packet, which nothing of ours needs.
const SPLIT_BYTES: usize = 0xFF_FFFF;
/// No greeting is longer: what is, does not come from a server that speaks our protocol.
const GREETING_BYTES: usize = 4096;
const COM_QUIT: u8 = 1;

/// A connection as a sequence of packets.
pub(super) struct Wire {
    channel: Channel,
    /// Sequence number of the next packet of this exchange.
    sequence: u8,
    longest: usize,
    /// Payload of the next packet, after room for its header; see [`Wire::payload`].
    output: Vec<u8>,
}

impl Wire {
    /// A connection over an open stream, before the server's greeting.
    pub(super) fn new(stream: Stream) -> Self {
        Wire {
            channel: Channel::new(stream),
            sequence: 0,
            longest: GREETING_BYTES,
            output: Vec::new(),
        }
    }

    /// The connection, encrypted from here on.
    ///
    /// # Errors
    /// As [`Channel::encrypt`].
    pub(super) fn encrypt(self, tls: &Tls, host: &str) -> Result<Wire, EngineError> {
        Ok(Wire { channel: self.channel.encrypt(tls, host)?, ..self })
    }

    /// The stream below.
    pub(super) fn stream(&self) -> &Stream {
        self.channel.stream()
    }

    /// The greeting is over: packets of any length may come.
    pub(super) fn end_greeting(&mut self) {
        self.longest = SPLIT_BYTES;
    }

    /// An empty payload to fill, for [`Wire::flush`].
    pub(super) fn payload(&mut self) -> &mut Vec<u8> {
        self.output.clear();
        self.output.extend_from_slice(&[0; HEADER_BYTES]);
        &mut self.output
    }

    /// Starts an exchange: the next packet is a command.
    pub(super) fn command(&mut self, command: u8) -> &mut Vec<u8> {
        self.sequence = 0;
        self.payload().push(command);
        &mut self.output
    }

    /// Sends the payload as the next packet of the exchange.
    pub(super) fn flush(&mut self) -> Result<(), EngineError> {
        let length = self.output.len() - HEADER_BYTES;
        if length >= SPLIT_BYTES {
            return Err(error::statement("a statement of 16 MB cannot be sent"));
        }
        self.output[..HEADER_BYTES].copy_from_slice(&header(length, self.sequence));
        self.sequence = self.sequence.wrapping_add(1);
        let sent = self.channel.write_all(&self.output);
        sent.map_err(|error| self.write_failed(&error))
    }

    /// Sends a ready-made command packet in one write.
    #[inline]
    pub(super) fn send_command(&mut self, packet: &[u8]) -> Result<(), EngineError> {
        self.sequence = 1;
        match self.channel.write_all(packet) {
            Ok(()) => Ok(()),
            Err(error) => Err(self.write_failed(&error)),
        }
    }

    /// A server that ends a connection says why before it closes it: prefer its words to `Broken
    /// pipe`.
    fn write_failed(&mut self, error: &io::Error) -> EngineError {
        match self.packet() {
            Ok(payload) if payload.first() == Some(&error::ERROR) => {
                closing_error(error::from_packet(payload, ""))
            }
            _ => error::from_io(error),
        }
    }

    /// The payload of the next packet.
    #[inline]
    pub(super) fn packet(&mut self) -> Result<&[u8], EngineError> {
        let range = self.next_range().map_err(|error| error::from_io(&error))?;
        Ok(self.channel.at(range))
    }

    #[inline]
    fn next_range(&mut self) -> io::Result<std::ops::Range<usize>> {
        let head = self.channel.peek(HEADER_BYTES)?;
        let length = u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize;
        if length >= self.longest {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("packet of {length} bytes"),
            ));
        }
        self.sequence = head[3].wrapping_add(1);
        let whole = self.channel.take(HEADER_BYTES + length)?;
        Ok(whole.start + HEADER_BYTES..whole.end)
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

    /// Says goodbye and waits until the server has closed its side, which it does when the session
    /// has ended: only then are its counts in the server's. Waits at most `timeout`.
    pub(super) fn quit(&mut self, timeout: Duration) {
        self.command(COM_QUIT);
        if self.flush().is_ok() {
            // Whoever closes first keeps the port for a minute: let it be the server, unless it
            // waits for us.
            self.read_timeout(Some(timeout.min(FIRST_TO_CLOSE)));
            while self.packet().is_ok() {}
            self.channel.end_of_writing();
            self.read_timeout(Some(timeout));
            while self.packet().is_ok() {}
        }
    }
}

/// The header of a packet.
pub(super) fn header(length: usize, sequence: u8) -> [u8; HEADER_BYTES] {
    let bytes = (length as u32).to_le_bytes(); // below 2^24
    [bytes[0], bytes[1], bytes[2], sequence]
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    use super::*;
    use crate::engine::ErrorClass;
    use crate::engine::remote::READ_BUFFER_BYTES;

    #[test]
    fn packets_arrive_whole_however_they_are_cut() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let body = vec![7u8; READ_BUFFER_BYTES * 2];
        let mut bytes = header(2, 0).to_vec();
        bytes.extend_from_slice(b"hi");
        bytes.extend_from_slice(&header(body.len(), 1));
        bytes.extend_from_slice(&body);
        let writer = std::thread::spawn(move || {
            bytes.chunks(1000).try_for_each(|chunk| theirs.write_all(chunk))
        });
        let mut wire = Wire::new(ours.into());
        assert_eq!(wire.packet().unwrap(), b"hi");
        wire.end_greeting();
        assert_eq!(wire.packet().unwrap(), body);
        writer.join().unwrap().unwrap();
        assert_eq!(wire.packet().unwrap_err().class, ErrorClass::Lost);
    }

    #[test]
    fn a_session_that_was_ended_while_it_rested_is_lost_whatever_the_server_said() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let said = b"\xff\x2c\x07#HY000Running in read-only mode";
        theirs.write_all(&header(said.len(), 0)).unwrap();
        theirs.write_all(said).unwrap();
        drop(theirs);
        let mut wire = Wire::new(ours.into());
        let error = wire.send_command(b"\x01\0\0\0\x0e").unwrap_err();
        assert_eq!(error.message, "Running in read-only mode");
        assert_eq!((error.class, error.code.as_deref()), (ErrorClass::Lost, Some("1836")));
    }

    #[test]
    fn a_peer_that_speaks_another_protocol_is_no_endless_read() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(b"HTTP/1.1 400 Bad Request\r\n").unwrap();
        let error = Wire::new(ours.into()).packet().unwrap_err();
        assert!(error.message.contains("an invalid MariaDB packet"), "{error}");
    }
}
