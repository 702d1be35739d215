//! The other side of Oracle's protocol, as far as a driver needs it to log in and to run
//! statements: every statement is answered at once by a function of ours. No Oracle server is in
//! it; written after what the driver `oracledb` sends and reads.
//!
//! Integers travel as a length and that many bytes (`ub`), texts as a length and their bytes.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

/// Answer to a statement.
#[derive(Debug, Clone)]
pub enum Answer {
    /// Rows of a query; a column is of the type of its first value, of texts if there is none.
    Rows { columns: Vec<&'static str>, rows: Vec<Vec<Value>> },
    /// So many rows were changed.
    Changed(u64),
    /// The values of the last binds of a block of PL/SQL; those before them go in only.
    Out(Vec<Value>),
    /// `ORA-` and this number.
    Error(u32, &'static str),
}

/// A value; an empty text is NULL.
#[derive(Debug, Clone)]
pub enum Value {
    Number(u64),
    Text(String),
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.into())
    }
}

impl Answer {
    /// One row of one column.
    pub fn scalar(text: &str) -> Answer {
        Answer::Rows { columns: vec!["V"], rows: vec![vec![text.into()]] }
    }
}

/// Version that the server says it has.
const VERSION: u32 = 19 << 24;
/// Version of the fields of messages: that of 19.1.
const FIELDS: u8 = 12;

const CONNECT: u8 = 1;
const ACCEPT: u8 = 2;
const DATA: u8 = 6;
const PROTOCOL: u8 = 1;
const DATA_TYPES: u8 = 2;
const FUNCTION: u8 = 3;
const ERROR: u8 = 4;
const ROW_DATA: u8 = 7;
const PARAMETERS: u8 = 8;
const STATUS: u8 = 9;
const IO_VECTOR: u8 = 11;
const DESCRIBE: u8 = 16;
const PIGGYBACK: u8 = 17;

const REEXECUTE: u8 = 4;
const REEXECUTE_AND_FETCH: u8 = 78;
const EXECUTE: u8 = 94;
const CLOSE_CURSORS: u8 = 105;
const LOG_IN: u8 = 115;
const ASK_FOR_KEY: u8 = 118;
const END_TO_END: u8 = 135;

/// Serves every connection on a thread of its own, as long as the process lives; its port. `answer`
/// is given the statement.
pub fn serve(answer: impl Fn(&str) -> Answer + Send + Sync + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let answer: Arc<dyn Fn(&str) -> Answer + Send + Sync> = Arc::new(answer);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answer = answer.clone();
            std::thread::spawn(move || Session::new(stream).serve(&*answer));
        }
    });
    port
}

/// Unread rest of a client's message.
struct Message<'a>(&'a [u8]);

impl<'a> Message<'a> {
    fn bytes(&mut self, count: usize) -> &'a [u8] {
        let (head, rest) = self.0.split_at(count);
        self.0 = rest;
        head
    }
    fn byte(&mut self) -> u8 {
        self.bytes(1)[0]
    }
    fn ub(&mut self) -> u64 {
        let length = usize::from(self.byte());
        self.bytes(length).iter().fold(0, |value, byte| value << 8 | u64::from(*byte))
    }
    fn ubs(&mut self, count: usize) {
        for _ in 0..count {
            self.ub();
        }
    }
    /// A length, or 254 and pieces that end with an empty one.
    fn text(&mut self) -> Vec<u8> {
        match self.byte() {
            254 => {
                let mut text = Vec::new();
                while let length @ 1.. = self.ub() {
                    text.extend_from_slice(self.bytes(length as usize));
                }
                text
            }
            length => self.bytes(length.into()).to_vec(),
        }
    }
    fn pointer_and_ub(&mut self) -> u64 {
        self.byte();
        self.ub()
    }
}

/// An answer that is being written.
#[derive(Default)]
struct Reply(Vec<u8>);

impl Reply {
    fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }
    fn ub(self, value: u64) -> Self {
        let bytes = value.to_be_bytes();
        let bytes = &bytes[value.leading_zeros() as usize / 8..];
        self.bytes(&[bytes.len() as u8]).bytes(bytes)
    }
    fn ubs(self, values: &[u64]) -> Self {
        values.iter().fold(self, |reply, value| reply.ub(*value))
    }
    fn text(self, text: &[u8]) -> Self {
        match u8::try_from(text.len()) {
            Ok(length @ 0..=252) => self.bytes(&[length]).bytes(text),
            _ => self.bytes(&[254]).ub(text.len() as u64).bytes(text).ub(0),
        }
    }
    /// A text after its length as an integer; nothing follows an empty one.
    fn counted(self, text: &str) -> Self {
        let reply = self.ub(text.len() as u64);
        if text.is_empty() { reply } else { reply.text(text.as_bytes()) }
    }
    fn pairs(self, pairs: &[(&str, String)]) -> Self {
        let reply = self.bytes(&[PARAMETERS]).ub(pairs.len() as u64);
        pairs.iter().fold(reply, |reply, (name, value)| reply.counted(name).counted(value).ub(0))
    }
    fn status(self) -> Self {
        self.bytes(&[STATUS]).ubs(&[0, 0])
    }
    /// The end of a statement: cursor, rows, and the error if its number is not 0.
    fn ended(self, cursor: u64, rows: u64, code: u32, text: &str) -> Self {
        let reply = self.bytes(&[ERROR]).ubs(&[0, 0, 0, 0, 0, 0, cursor, 0]).bytes(&[0; 6]);
        // Row id (four integers and a byte), then the system's error, two bytes, and integers.
        let reply = reply.ubs(&[0, 0]).bytes(&[0]).ubs(&[0, 0, 0]).bytes(&[0, 0]).ubs(&[0; 6]);
        let reply = reply.ub(code.into()).ub(rows);
        if code == 0 { reply } else { reply.text(text.as_bytes()) }
    }
    /// Columns: of NUMBER, or of texts of at most 4,000 bytes, whose character set is UTF-8.
    fn described(self, columns: &[&str], first: Option<&Vec<Value>>) -> Self {
        let reply = self.bytes(&[DESCRIBE, 0]).ubs(&[0, columns.len() as u64]).bytes(&[0]);
        let reply = columns.iter().enumerate().fold(reply, |reply, (at, name)| {
            let is_number = matches!(first.map(|row| &row[at]), Some(Value::Number(_)));
            let (kind, size, charset, form) =
                if is_number { (2, 22, 0, 0) } else { (1, 4000, 873, 1) };
            let reply =
                reply.bytes(&[kind, 0, 0, 0]).ubs(&[size, 0, 0, 0, 0, charset]).bytes(&[form]);
            let reply = reply.ubs(&[size, 0]).bytes(&[1, name.len() as u8]).counted(name);
            reply.ubs(&[0, 0, at as u64 + 1, 0])
        });
        reply.ubs(&[0; 6])
    }
    fn value(self, value: &Value) -> Self {
        match value {
            Value::Number(number) => self.text(&encode(*number)),
            Value::Text(text) => self.text(text.as_bytes()),
        }
    }
    fn row(self, row: &[Value]) -> Self {
        row.iter().fold(self.bytes(&[ROW_DATA]), Reply::value)
    }
    /// Values that come back from PL/SQL, each with the sign that it was not cut off.
    fn out(self, values: &[Value]) -> Self {
        values.iter().fold(self.bytes(&[ROW_DATA]), |reply, value| reply.value(value).ub(0))
    }
}

/// A whole number as Oracle's NUMBER: an exponent, then digits to the base of 100, each one more.
fn encode(number: u64) -> Vec<u8> {
    let mut digits = Vec::new();
    let mut rest = number;
    while rest > 0 {
        digits.push((rest % 100) as u8 + 1);
        rest /= 100;
    }
    let exponent = if digits.is_empty() { 128 } else { 192 + digits.len() as u8 };
    let digits = digits.into_iter().rev().collect::<Vec<_>>();
    let significant = digits.iter().rposition(|digit| *digit > 1).map_or(0, |at| at + 1);
    [&[exponent], &digits[..significant]].concat()
}

/// A statement that the client keeps.
struct Cursor {
    sql: String,
    binds: u64,
}

struct Session {
    stream: TcpStream,
    cursors: HashMap<u64, Cursor>,
}

impl Session {
    fn new(stream: TcpStream) -> Self {
        Session { stream, cursors: HashMap::new() }
    }

    /// Until the client goes.
    fn serve(mut self, answer: &dyn Fn(&str) -> Answer) {
        let _ = self.stream.set_nodelay(true);
        if self.greet().is_err() {
            return;
        }
        while let Ok(message) = self.message() {
            let reply = self.reply(&message, answer);
            if reply.0.is_empty() || self.send(&reply.0).is_err() {
                return;
            }
        }
    }

    /// The layer below: long connect strings come in a packet of their own. From here on lengths
    /// have four bytes.
    fn greet(&mut self) -> io::Result<()> {
        let (kind, body) = self.packet(2)?;
        let asked = u16::from_be_bytes([body[16], body[17]]);
        if kind != CONNECT {
            return Err(io::ErrorKind::InvalidData.into());
        }
        if asked > 230 {
            self.packet(2)?;
        }
        let mut accept = [0; 45];
        accept[..2].copy_from_slice(&318_u16.to_be_bytes());
        accept[24..28].copy_from_slice(&8192_u32.to_be_bytes());
        let length = (8 + accept.len() as u16).to_be_bytes();
        self.stream.write_all(&[&length[..], &[0, 0, ACCEPT, 0, 0, 0], &accept[..]].concat())
    }

    /// Kind and body of the next packet, whose length has so many bytes.
    fn packet(&mut self, length_bytes: usize) -> io::Result<(u8, Vec<u8>)> {
        let mut head = [0; 8];
        self.stream.read_exact(&mut head)?;
        let length =
            head[..length_bytes].iter().fold(0, |length, byte| length << 8 | usize::from(*byte));
        let mut body = vec![0; length.saturating_sub(head.len())];
        self.stream.read_exact(&mut body)?;
        Ok((head[4], body))
    }

    /// The next message, of as many packets as it has: all but the last are as long as a packet may
    /// be.
    fn message(&mut self) -> io::Result<Vec<u8>> {
        let mut message = Vec::new();
        loop {
            let (kind, body) = self.packet(4)?;
            if kind != DATA || body.len() < 3 {
                return Err(io::ErrorKind::InvalidData.into());
            }
            message.extend_from_slice(&body[2..]);
            if body.len() + 8 < 8192 {
                return Ok(message);
            }
        }
    }

    fn send(&mut self, reply: &[u8]) -> io::Result<()> {
        let length = (10 + reply.len() as u32).to_be_bytes();
        self.stream.write_all(&[&length[..], &[DATA, 0, 0, 0, 0, 0], reply].concat())
    }

    fn reply(&mut self, message: &[u8], answer: &dyn Fn(&str) -> Answer) -> Reply {
        let mut message = Message(message);
        loop {
            match (message.byte(), message.byte()) {
                (PROTOCOL, _) => return protocol(),
                (DATA_TYPES, _) => return Reply::default().bytes(&[DATA_TYPES, 0, 0]),
                (PIGGYBACK, kind) => pass_over(kind, &mut message),
                (FUNCTION, function) => {
                    message.byte();
                    return self.function(function, &mut message, answer);
                }
                _ => return Reply::default(),
            }
        }
    }

    fn function(
        &mut self,
        function: u8,
        message: &mut Message<'_>,
        answer: &dyn Fn(&str) -> Answer,
    ) -> Reply {
        match function {
            ASK_FOR_KEY => key(),
            LOG_IN => logged_in(),
            EXECUTE => {
                let (cursor, is_new) = self.parse(message);
                self.execute(cursor, is_new, answer)
            }
            REEXECUTE | REEXECUTE_AND_FETCH => {
                let cursor = message.ub();
                self.execute(cursor, false, answer)
            }
            _ => Reply::default().status(),
        }
    }

    /// The cursor of an execution, and whether its statement came with it.
    fn parse(&mut self, message: &mut Message<'_>) -> (u64, bool) {
        message.ub();
        let known = message.ub();
        let length = message.pointer_and_ub();
        message.pointer_and_ub();
        message.bytes(2);
        message.ubs(3);
        let binds = message.pointer_and_ub();
        message.bytes(7);
        message.ub();
        message.bytes(2);
        message.pointer_and_ub();
        message.pointer_and_ub();
        message.ub();
        message.pointer_and_ub();
        message.byte();
        message.pointer_and_ub();
        message.pointer_and_ub();
        message.byte();
        message.pointer_and_ub();
        if length == 0 {
            return (known, false);
        }
        let sql = String::from_utf8(message.text()).unwrap();
        let cursor = if known > 0 { known } else { self.cursors.len() as u64 + 1 };
        self.cursors.insert(cursor, Cursor { sql, binds });
        (cursor, true)
    }

    fn execute(&mut self, cursor: u64, is_new: bool, answer: &dyn Fn(&str) -> Answer) -> Reply {
        let Cursor { sql, binds } = &self.cursors[&cursor];
        let reply = Reply::default();
        match answer(sql) {
            Answer::Rows { columns, rows } => {
                let reply = if is_new { reply.described(&columns, rows.first()) } else { reply };
                let reply = rows.iter().fold(reply, |reply, row| reply.row(row));
                reply.ended(cursor, rows.len() as u64, 1403, "ORA-01403: no data found\n")
            }
            Answer::Changed(rows) => reply.ended(cursor, rows, 0, ""),
            Answer::Out(values) => {
                let reply = reply.bytes(&[IO_VECTOR, 0]).ubs(&[0, 0, 0, 0, 0, 0]);
                let inputs = binds.saturating_sub(values.len() as u64);
                let reply = (0..*binds)
                    .fold(reply, |reply, at| reply.bytes(&[if at < inputs { 0x20 } else { 0x30 }]));
                reply.out(&values).ended(cursor, 1, 0, "")
            }
            Answer::Error(code, text) => {
                reply.ended(cursor, 0, code, &format!("ORA-{code:05}: {text}\n"))
            }
        }
    }
}

/// Skips data that come before a message and need no answer.
fn pass_over(kind: u8, message: &mut Message<'_>) {
    message.byte();
    match kind {
        CLOSE_CURSORS => {
            let count = message.pointer_and_ub();
            message.ubs(count as usize);
        }
        END_TO_END => {
            message.bytes(2);
            message.ub();
            let names = (0..3).map(|_| message.pointer_and_ub()).collect::<Vec<_>>();
            message.pointer_and_ub();
            message.pointer_and_ub();
            let client = message.pointer_and_ub();
            message.pointer_and_ub();
            message.pointer_and_ub();
            let operation = message.pointer_and_ub();
            let texts = names.into_iter().chain([client, operation]).filter(|length| *length > 0);
            texts.for_each(|_| drop(message.text()));
        }
        _ => panic!("piggyback {kind} is not known here"),
    }
}

fn protocol() -> Reply {
    let mut compiled = [0; 41];
    compiled[7] = FIELDS;
    let mut at_run_time = [0; 7];
    at_run_time[6] = 4; // texts of 32,767 bytes
    let description = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0x07, 0xd0]; // national characters in AL16UTF16
    let head =
        Reply::default().bytes(&[PROTOCOL, 6, 0]).bytes(b"stub\0").bytes(&873_u16.to_le_bytes());
    head.bytes(&[1, 0, 0, 0, 11]).bytes(&description).text(&compiled).text(&at_run_time)
}

/// Half of a session's key that fits no password: the driver does not ask whether the server knows
/// it.
fn key() -> Reply {
    let pairs = [
        ("AUTH_SESSKEY", "0".repeat(64)),
        ("AUTH_VFR_DATA", "0".repeat(32)),
        ("AUTH_PBKDF2_CSK_SALT", "0".repeat(32)),
        ("AUTH_PBKDF2_VGEN_COUNT", "4096".into()),
        ("AUTH_PBKDF2_SDER_COUNT", "3".into()),
    ];
    Reply::default().pairs(&pairs).status()
}

fn logged_in() -> Reply {
    let pairs = [
        ("AUTH_VERSION_NO", VERSION.to_string()),
        ("AUTH_SESSION_ID", "7".into()),
        ("AUTH_SERIAL_NUM", "77".into()),
        ("AUTH_MAX_OPEN_CURSORS", "300".into()),
        ("AUTH_INSTANCENAME", "STUB1".into()),
    ];
    Reply::default().pairs(&pairs).status()
}
