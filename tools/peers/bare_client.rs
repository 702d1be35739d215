//! A bare client of PostgreSQL: on its Unix socket, for each execution of a prepared statement one
//! write and as few reads as it takes, which wait for the answer, and nothing else. What our client
//! drive loses against it is its own cost.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Instant;

use dbdyno::error::{Error, Result};
use dbdyno::stats::keys::KeyStream;

use crate::failed;
use crate::lab::{Lab, SEED};
use crate::pairs::Done;
use crate::pgbench::SESSION_OPTIONS;

/// Ops between two looks at the clock.
const BATCH: u64 = 100;
/// Version 3.0 of the protocol.
const PROTOCOL: u32 = 3 << 16;
/// Name of the statement, with its end.
const STATEMENT: &[u8] = b"lookup\0";
/// Type of the key, `int8`.
const INT8_OID: u32 = 20;
/// Format of values: binary.
const BINARY: u16 = 1;
/// Tag and length of a message.
const HEADER_BYTES: usize = 5;
/// More than any answer to a lookup takes.
const BUFFER_BYTES: usize = 1 << 16;

/// Loops for `seconds` in `jobs` sessions of a thread each over `sql`, whose only parameter is a
/// key of 1 to `keys`: lookups per second of all. Each lookup must find one row.
pub fn run(lab: &Lab, sql: &str, keys: u64, jobs: u32, seconds: f64) -> Result<Done> {
    let address = Address::of(lab)?;
    let mut sessions = Vec::new();
    for _ in 0..jobs {
        sessions.push(Session::open(&address, sql)?);
    }
    std::thread::scope(|scope| {
        let start = |(job, session): (u32, Session)| {
            let stream = KeyStream::for_job(SEED, job);
            scope.spawn(move || session.lookups(stream, keys, seconds))
        };
        let threads: Vec<_> = (1..).zip(sessions).map(start).collect();
        let (mut rate, mut ops) = (0.0, 0.0);
        for thread in threads {
            let done = thread.join().unwrap_or_else(|_| Err(wrong("it panicked")))?;
            rate += done.rate;
            ops += done.ops.unwrap_or_default();
        }
        Ok(Done::new(rate, Some(ops)))
    })
}

/// Socket of the server, with the user and the database of the sessions.
struct Address {
    socket: PathBuf,
    user: String,
    database: String,
}

impl Address {
    /// The server's own words.
    fn of(lab: &Lab) -> Result<Address> {
        let sql = "select current_setting('unix_socket_directories'), current_setting('port'), \
                   current_user, current_database()";
        let mut session = lab.session("bare client")?;
        let rows = session.query(sql, &[]).map_err(|error| error.at("bare client"))?;
        let row = rows.rows.into_iter().next().unwrap_or_default();
        let texts: Option<Vec<String>> = row.into_iter().collect();
        let [directory, port, user, database] = texts
            .and_then(|texts| texts.try_into().ok())
            .ok_or_else(|| wrong("the server does not tell its socket"))?;
        let socket = PathBuf::from(directory).join(format!(".s.PGSQL.{port}"));
        Ok(Address { socket, user, database })
    }
}

/// A session with its statement prepared.
struct Session {
    stream: UnixStream,
    buffer: Box<[u8]>,
    /// Bind, Execute and Sync of a lookup.
    lookup: Vec<u8>,
    /// Position of the key within them.
    key_at: usize,
}

impl Session {
    fn open(address: &Address, sql: &str) -> Result<Session> {
        let stream = UnixStream::connect(&address.socket).map_err(|error| io(&error))?;
        let (lookup, key_at) = lookup_messages();
        let buffer = vec![0; BUFFER_BYTES].into_boxed_slice();
        let mut session = Session { stream, buffer, lookup, key_at };
        session.exchange(&startup(address))?;
        session.exchange(&parse(sql))?;
        Ok(session)
    }

    /// Looks keys up for so many seconds.
    fn lookups(mut self, mut stream: KeyStream, keys: u64, seconds: f64) -> Result<Done> {
        let (start, mut ops, mut rows) = (Instant::now(), 0, 0);
        while start.elapsed().as_secs_f64() < seconds {
            for _ in 0..BATCH {
                let key = stream.key(keys).to_be_bytes();
                self.lookup[self.key_at..self.key_at + key.len()].copy_from_slice(&key);
                rows += self.look_up()?;
            }
            ops += BATCH;
        }
        let rate = ops as f64 / start.elapsed().as_secs_f64();
        match rows == ops {
            true => Ok(Done::new(rate, Some(ops as f64))),
            false => Err(wrong(&format!("{ops} lookups found {rows} rows"))),
        }
    }

    /// Rows of one lookup.
    #[inline]
    fn look_up(&mut self) -> Result<u64> {
        self.stream.write_all(&self.lookup).map_err(|error| io(&error))?;
        self.answer()
    }

    fn exchange(&mut self, messages: &[u8]) -> Result<u64> {
        self.stream.write_all(messages).map_err(|error| io(&error))?;
        self.answer()
    }

    /// Reads until the server is ready again: number of rows.
    #[inline]
    fn answer(&mut self) -> Result<u64> {
        let (mut filled, mut at, mut rows) = (0, 0, 0);
        loop {
            match self.stream.read(&mut self.buffer[filled..]) {
                Ok(0) => return Err(wrong("the server closed the connection, or said too much")),
                Ok(bytes) => filled += bytes,
                Err(error) => return Err(io(&error)),
            }
            while at + HEADER_BYTES <= filled {
                let head = &self.buffer[at..at + HEADER_BYTES];
                let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
                let (tag, end) = (head[0], at + 1 + length);
                if end > filled {
                    break;
                }
                match tag {
                    b'D' => rows += 1,
                    b'Z' => return Ok(rows),
                    b'E' => {
                        let said = String::from_utf8_lossy(&self.buffer[at + HEADER_BYTES..end]);
                        return Err(wrong(&said.replace('\0', " ")));
                    }
                    // The server trusts whoever reaches its socket.
                    b'R' if self.buffer[at + HEADER_BYTES..end] != [0; 4] => {
                        return Err(wrong("the server wants a password"));
                    }
                    _ => {}
                }
                at = end;
            }
        }
    }
}

/// A message: its tag, its length and its body.
fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    [&[tag][..], &length(body), body].concat()
}

/// Length of a message, which counts itself.
fn length(body: &[u8]) -> [u8; 4] {
    (body.len() as u32 + 4).to_be_bytes()
}

/// Begin of a session with the settings of our job sessions.
fn startup(address: &Address) -> Vec<u8> {
    let mut body = PROTOCOL.to_be_bytes().to_vec();
    let parameters =
        [("user", &*address.user), ("database", &address.database), ("options", SESSION_OPTIONS)];
    for (name, value) in parameters {
        for text in [name, value] {
            body.extend_from_slice(text.as_bytes());
            body.push(0);
        }
    }
    body.push(0);
    [&length(&body)[..], &body].concat()
}

/// Parse of the statement with one parameter, and Sync.
fn parse(sql: &str) -> Vec<u8> {
    let mut body = [STATEMENT, sql.as_bytes(), b"\0"].concat();
    body.extend_from_slice(&1_u16.to_be_bytes());
    body.extend_from_slice(&INT8_OID.to_be_bytes());
    [message(b'P', &body), message(b'S', &[])].concat()
}

/// Bind, Execute and Sync of the statement, and the position of the key.
fn lookup_messages() -> (Vec<u8>, usize) {
    // To the unnamed portal.
    let mut bind = [b"\0", STATEMENT].concat();
    // One format for all parameters, one parameter of eight bytes.
    for number in [1, BINARY, 1] {
        bind.extend_from_slice(&number.to_be_bytes());
    }
    bind.extend_from_slice(&8_u32.to_be_bytes());
    let key_at = HEADER_BYTES + bind.len();
    bind.extend_from_slice(&[0; 8]);
    // One format for all columns.
    for number in [1, BINARY] {
        bind.extend_from_slice(&number.to_be_bytes());
    }
    // Of the unnamed portal all rows.
    let execute = [0; 5];
    ([message(b'B', &bind), message(b'E', &execute), message(b'S', &[])].concat(), key_at)
}

fn wrong(what: &str) -> Error {
    failed("bare client", what)
}

fn io(error: &std::io::Error) -> Error {
    wrong(&error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_of_a_lookup_is_where_it_is_said_to_be() {
        let (messages, key_at) = lookup_messages();
        let before = &messages[key_at - 4..key_at];
        assert_eq!(before, 8_u32.to_be_bytes(), "length of the parameter");
        let bind_bytes = u32::from_be_bytes(messages[1..5].try_into().unwrap()) as usize;
        assert_eq!(messages[1 + bind_bytes], b'E', "Execute follows Bind");
        assert_eq!(&messages[key_at + 8..key_at + 12], [0, 1, 0, 1], "one format, binary");
    }
}
