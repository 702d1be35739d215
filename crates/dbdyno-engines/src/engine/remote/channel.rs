//! A stream with a read buffer: bytes come in by large reads, and a message is looked at where it
//! lies in the buffer.

use std::io;
use std::ops::Range;
use std::time::Duration;

use super::{Stream, Tls, Watch, lost};
use crate::engine::EngineError;

/// Size of the read buffer at the start; it grows for a longer message.
pub(in crate::engine) const READ_BUFFER_BYTES: usize = 64 * 1024;

/// A connected stream and what was read from it.
pub(in crate::engine) struct Channel {
    stream: Stream,
    buffer: Vec<u8>,
    /// Unread bytes are `buffer[start..end]`.
    start: usize,
    end: usize,
}

impl Channel {
    /// Nothing is read yet.
    pub(in crate::engine) fn new(stream: Stream) -> Self {
        Channel { stream, buffer: vec![0; READ_BUFFER_BYTES], start: 0, end: 0 }
    }

    /// The stream itself, of which nothing is read yet.
    pub(in crate::engine) fn stream(&self) -> &Stream {
        &self.stream
    }

    /// The channel over the encrypted stream. Bytes that were read ahead would be from before the
    /// handshake, and may come from somebody else.
    ///
    /// # Errors
    /// Such bytes; those of [`Tls::encrypt`].
    pub(in crate::engine) fn encrypt(self, tls: &Tls, host: &str) -> Result<Channel, EngineError> {
        if self.start != self.end {
            return Err(lost("bytes came before the connection was encrypted"));
        }
        Ok(Channel { stream: tls.encrypt(self.stream, host)?, ..self })
    }

    /// Sends all of `bytes`.
    #[inline]
    pub(in crate::engine) fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// The next `count` bytes, which stay unread.
    #[inline]
    pub(in crate::engine) fn peek(&mut self, count: usize) -> io::Result<&[u8]> {
        while self.end - self.start < count {
            self.read_more(count)?;
        }
        Ok(&self.buffer[self.start..self.start + count])
    }

    /// Position of the next `count` bytes (see [`Channel::at`]) until the next read; they count as
    /// read.
    #[inline]
    pub(in crate::engine) fn take(&mut self, count: usize) -> io::Result<Range<usize>> {
        self.peek(count)?;
        let start = self.start;
        self.start += count;
        Ok(start..self.start)
    }

    /// The bytes of a range that [`Channel::take`] gave.
    #[inline]
    pub(in crate::engine) fn at(&self, range: Range<usize>) -> &[u8] {
        &self.buffer[range]
    }

    fn read_more(&mut self, count: usize) -> io::Result<()> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
        if self.start + count > self.buffer.len() {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        // The buffer grows with what has come, not with what a message says of its length.
        if self.end == self.buffer.len() {
            self.buffer.resize((2 * self.buffer.len()).min(count), 0);
        }
        match self.stream.read(&mut self.buffer[self.end..]) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => {
                self.end += count;
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Chooses how the session of a job waits for answers, in a test of so many jobs.
    pub(in crate::engine) fn wait_as_one_of(&mut self, jobs: u32) {
        self.stream.wait_as_one_of(jobs);
    }

    /// Limits every read to `timeout`; none = wait for ever.
    pub(in crate::engine) fn read_timeout(&mut self, timeout: Option<Duration>) {
        self.stream.set_read_timeout(timeout);
    }

    /// Ends unlimited waits when the server is gone.
    pub(in crate::engine) fn watch(&mut self, watch: Watch) {
        self.stream.add_watch(watch);
    }

    /// Tells the other side that no more will be sent.
    pub(in crate::engine) fn end_of_writing(&mut self) {
        self.stream.end_of_writing();
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn the_buffer_grows_with_what_came_not_with_what_was_promised() {
        let (mut server, client) = UnixStream::pair().unwrap();
        let mut channel = Channel::new(Stream::from(client));
        let sent: Vec<u8> = (0..3 * READ_BUFFER_BYTES).map(|at| at as u8).collect();
        let writer = std::thread::spawn({
            let sent = sent.clone();
            move || server.write_all(&sent).unwrap()
        });
        let range = channel.take(sent.len()).unwrap();
        assert!(channel.at(range) == sent);
        writer.join().unwrap();
        // The server has hung up; it had promised a gigabyte.
        let error = channel.take(1 << 30).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        assert_eq!(channel.buffer.len(), sent.len());
    }
}
