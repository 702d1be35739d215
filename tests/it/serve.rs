//! The site of a results file: who is let in, what it shows, a run under way, and that browsers
//! find nothing to complain of.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Child;
use std::sync::OnceLock;

use dbdyno::model::{RunRecord, RunStatus, TestResult};
use dbdyno::store::Store;
use rusqlite::Connection;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::chromium::{Browser, DESKTOP, LEVELS_A_AND_AA, OF_COLORS, PHONE, View};
use crate::fixture;
use crate::support::{Desk, axe, ended, signal, until};

/// Runs of the fixture: from the sixth on a setting differs and everything is slower by a fifth.
pub const RUNS: i64 = 10;
const SECRET: &str = "sixteen-or-more-letters";

/// Makes a results file with these runs: a copy of one that is written once.
pub fn fill(path: &Path) {
    static WRITTEN: OnceLock<Desk> = OnceLock::new();
    let written = WRITTEN.get_or_init(|| {
        let desk = Desk::new();
        write_runs(&desk.path("results.db"));
        desk
    });
    std::fs::copy(written.path("results.db"), path).unwrap();
}

fn write_runs(path: &Path) {
    let mut store = Store::open(path).unwrap();
    for number in 1..=RUNS {
        let is_late = number > 5;
        let name = match number {
            2 => "<b>bold</b>".to_string(),
            4 => "night 4 \u{1b}[31m\u{202e}".to_string(),
            _ => format!("night {number}"),
        };
        let started_at = Some(format!("2026-03-{number:02}T20:15:00Z"));
        let mut run = RunRecord { name: Some(name), started_at, ..fixture::run() };
        run.disclosure.set("settings", "shared_buffers", if is_late { "16MB" } else { "128MB" });
        let id = store.begin_run(&run).unwrap();
        let factor = if is_late { 0.8 } else { 1.0 } + 0.001 * (number % 3) as f64;
        for test in fixture::tests() {
            let kpm_value = test.kpm_value.map(|value| value * factor);
            store.save_test(id, &TestResult { kpm_value, ..test }).unwrap();
        }
        store.finish_run(id, RunStatus::Finished).unwrap();
    }
}

/// The program that serves a file; it is ended as a user ends it.
pub struct Served {
    child: Option<Child>,
    address: String,
}

impl Served {
    pub fn start(desk: &Desk, line: &str, token: Option<&str>) -> Served {
        let port = crate::support::free_port();
        let mut command = desk.command(&format!("serve {line} --listen {port}"));
        command
            .envs(token.map(|token| ("DBDYNO_TOKEN", token)))
            .stdout(std::process::Stdio::piped());
        let mut child = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
        let mut told = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut told).unwrap();
        let address = format!("127.0.0.1:{port}");
        assert!(told.starts_with(&format!("http://{address}/")), "{told}");
        Served { child: Some(child), address }
    }

    /// Of a file that is [`fill`]ed.
    fn filled(desk: &Desk, line: &str) -> Served {
        fill(&desk.path("results.db"));
        Served::start(desk, line, None)
    }

    /// Head and body of the answer to what is sent.
    fn sent(&self, request: &str) -> (String, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        (head.to_string(), body.to_string())
    }

    fn asked(&self, path: &str, headers: &str) -> (String, String) {
        self.sent(&format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{headers}\r\n",
            self.address
        ))
    }

    /// The body of a page that is there.
    #[track_caller]
    pub fn page(&self, path: &str) -> String {
        let (head, body) = self.asked(path, "");
        assert!(head.starts_with("HTTP/1.1 200"), "{path}: {head}\n{body}");
        body
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Ctrl-C ends it well, and it said nothing.
    fn end(mut self) {
        let child = self.child.take().unwrap();
        signal(child.id(), Signal::INT);
        let done = ended(child, "serve").ok();
        assert_eq!(done.stderr, "");
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.child.iter_mut().for_each(|child| drop((child.kill(), child.wait())));
    }
}

#[test]
fn every_page_is_there_and_names_are_text() {
    let desk = Desk::new();
    let served = Served::filled(&desk, "");
    let before = std::fs::read(desk.path("results.db")).unwrap();
    let parts = [
        (
            "/",
            vec![
                "10 of 10 runs",
                "&lt;b&gt;bold&lt;/b&gt;",
                "href=\"/run/10\"",
                "name=\"run\" value=\"3\"",
            ],
        ),
        (
            "/?q=BOLD+lab-1&status=finished&verdict=not&sort=oldest",
            vec!["1 of 10 runs", "href=\"/run/2\""],
        ),
        ("/?q=nothing", vec!["0 of 10 runs"]),
        (
            "/run/2",
            vec![
                "&lt;b&gt;bold",
                "Key performance metrics",
                "href=\"/run/2/test/12\"",
                "class=\"card\"",
            ],
        ),
        ("/run/last/test/2", vec!["Run 10 test 2: SRV-QUERY1", "/history?workload=SRV-QUERY1"]),
        ("/compare?run=10&run=1&base=oldest", vec!["run=10&amp;run=1", "shared_buffers"]),
        (
            "/history",
            vec!["workload=TP-LIGHT", "param=update_pct%3D50", "<polyline", "over 10 runs"],
        ),
        (
            "/history?workload=SRV-QUERY1&jobs=2",
            vec!["10 of 10", "night 6", "worse, 0.800×", "16MB", "128MB"],
        ),
        (
            "/history?workload=SRV-QUERY1&jobs=4",
            vec!["0 of 10", "not valid", "Too few valid figures"],
        ),
    ];
    for (path, parts) in parts {
        let page = served.page(path);
        for part in parts {
            assert!(page.contains(part), "{path}: no {part} in {page}");
        }
        assert!(
            !page.contains("<b>") && !page.contains(" style=") && !page.contains("<style"),
            "{path}"
        );
        assert!(!page.contains(['\u{1b}', '\u{202e}']), "{path}");
        assert_eq!(
            page.matches("<script").count(),
            page.matches("<script src=\"/").count(),
            "{path}"
        );
    }
    assert!(
        served.page("/site.js").contains("EventSource")
            && served.page("/report.css").contains("--ink")
    );
    assert_eq!(std::fs::read(desk.path("results.db")).unwrap(), before, "nothing is written");
    served.end();
}

#[test]
fn what_cannot_be_answered_has_a_clear_page_or_status() {
    let desk = Desk::new();
    let served = Served::filled(&desk, "");
    for (path, status, word) in [
        ("/run/99", "404", "holds no run"),
        ("/run/1/test/99", "404", "no test 99"),
        ("/run/1/test/x", "404", "no page"),
        ("/nothing/here", "404", "no page"),
        ("/compare?run=1", "400", "Tick 2"),
        ("/compare?run=1&run=<x>", "400", ""),
        ("/compare?run=1&run=%3Cx%3E", "404", "&lt;x&gt;"),
        ("/history?workload=NONE&jobs=1", "404", "No measured run"),
        ("/history?workload=SRV-QUERY1&jobs=-1", "400", "is not a number"),
        ("/run/%2e%2e/etc", "404", ""),
    ] {
        let (head, body) = served.asked(path, "");
        assert!(
            head.starts_with(&format!("HTTP/1.1 {status}")) && body.contains(word),
            "{path}: {head} {body}"
        );
    }
    let rest = format!("Host: {}\r\nConnection: close\r\n\r\n", served.address);
    let (head, _) = served.sent(&format!("POST / HTTP/1.1\r\n{rest}"));
    assert!(head.starts_with("HTTP/1.1 405") && head.contains("allow: GET, HEAD"), "{head}");
    let (head, body) = served.sent(&format!("HEAD / HTTP/1.1\r\n{rest}"));
    assert!(
        head.starts_with("HTTP/1.1 200")
            && body.is_empty()
            && head.contains("frame-ancestors 'none'"),
        "{head}"
    );
    let (head, _) = served.sent(&format!("GET /{} HTTP/1.1\r\n{rest}", "a".repeat(9_000)));
    assert!(head.starts_with("HTTP/1.1 400"), "{head}");
    let (head, _) =
        served.sent("GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 403"), "{head}");
    // A client that says nothing keeps nobody waiting.
    let silent: Vec<TcpStream> =
        (0..40).map(|_| TcpStream::connect(&served.address).unwrap()).collect();
    assert!(served.page("/").contains("10 of 10"));
    drop(silent);
}

#[test]
fn a_token_is_needed_where_others_can_listen_and_opens_the_site() {
    let desk = Desk::new();
    fill(&desk.path("results.db"));
    desk.run("serve --listen 0.0.0.0:8433").fails(2, &["--listen", "DBDYNO_TOKEN", "--token-file"]);
    let mut short = desk.command("serve");
    short.env("DBDYNO_TOKEN", "short");
    crate::support::finished(short, "serve").fails(2, &["DBDYNO_TOKEN", "16 characters"]);
    desk.run("serve --results nowhere.db").fails(2, &["nowhere.db"]);
    for (version, words) in
        [(1, ["older dbdyno", "dbdyno results list"]), (99, ["newer dbdyno", "update dbdyno"])]
    {
        let path = desk.path("other.db");
        drop(Store::open(&path).unwrap());
        Connection::open(&path).unwrap().pragma_update(None, "user_version", version).unwrap();
        desk.run(&format!("serve --results {}", path.display())).fails(2, &words);
        std::fs::remove_file(&path).unwrap();
    }
    let served = Served::start(&desk, "--language de", Some(SECRET));
    assert!(served.asked("/", "").0.starts_with("HTTP/1.1 401"));
    let (head, _) = served.asked(&format!("/history?token={SECRET}"), "");
    assert!(head.starts_with("HTTP/1.1 303") && head.contains("location: /history\r\n"), "{head}");
    let cookie = head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
    let pair = cookie.split(';').next().unwrap();
    let (head, body) = served.asked("/history", &format!("Cookie: {pair}\r\n"));
    assert!(head.starts_with("HTTP/1.1 200") && body.contains("<h1>Verläufe</h1>"), "{head}");
    let (head, body) = served.asked(
        "/history?workload=SRV-QUERY1&jobs=2",
        &format!("Authorization: Bearer {SECRET}\r\n"),
    );
    assert!(head.starts_with("HTTP/1.1 200") && body.contains("schlechter, 0,800×"), "{body}");
}

#[test]
fn a_run_under_way_is_shown_test_by_test() {
    let desk = Desk::new();
    fill(&desk.path("results.db"));
    let served = Served::start(&desk, "", None);
    let line = "run sqlite --quiet --size 0.01 --workload SRV-QUERY1 --jobs 1,2 --repeat 500 \
                --warmup 0 --duration 100ms --think 5ms";
    let mut run = desk.spawn(line);
    let at = format!("/run/{}", RUNS + 1);
    until("a test is told by the site while the run goes on", || {
        let events = served.asked(&format!("{at}/events"), "").1;
        events.contains("id: 1\nevent: test\n") && !events.contains("event: ended")
    });
    let page = served.page(&at);
    assert!(
        page.contains(&format!("data-events=\"{at}/events?after="))
            && page.contains("of 1000 planned"),
        "{page}"
    );
    assert!(page.contains("<noscript><meta http-equiv=\"refresh\""), "{page}");
    let later = served.asked(&format!("{at}/events"), "Last-Event-ID: 1\r\n").1;
    assert!(later.contains("retry: ") && !later.contains("id: 1\n"), "{later}");
    assert!(served.page(&format!("{at}?now=1")).contains("SRV-QUERY1"));
    // Rows come without the page being asked for again; with the end of the run comes its report.
    let mut browser = Browser::online();
    browser.open_url(&served.url(&at), DESKTOP);
    let rows = |browser: &mut Browser| {
        browser.count("document.querySelectorAll('table.tests tbody tr').length")
    };
    let first = rows(&mut browser);
    until("a test comes to the page", || rows(&mut browser) > first);
    assert_eq!(browser.count("document.querySelectorAll('main[data-events]').length"), 1);
    assert!(browser.complaints().is_empty(), "{:#?}", browser.complaints());
    browser.loads(|_| {
        signal(run.id(), Signal::INT);
        run.wait().unwrap();
    });
    assert_eq!(
        browser.count("document.querySelectorAll('section#tests').length"),
        1,
        "the report takes its place"
    );
    assert!(browser.complaints().is_empty(), "{:#?}", browser.complaints());
    let events = served.asked(&format!("{at}/events"), "").1;
    assert!(events.ends_with("event: ended\ndata: {}\n\n"), "{events}");
    assert!(!served.page(&at).contains("data-events"));
    let (head, _) = served.asked("/run/999/events", "");
    assert!(head.starts_with("HTTP/1.1 204"), "browsers ask no more: {head}");
}

/// Presses a key on the element in focus.
fn press(browser: &mut Browser, key: &str, code: u32, text: &str) {
    for kind in ["keyDown", "keyUp"] {
        let event = json!({
            "type": kind,
            "key": key,
            "code": key,
            "windowsVirtualKeyCode": code,
            "text": text,
        });
        browser.call("Input.dispatchKeyEvent", event);
    }
}

#[test]
fn a_browser_ticks_two_runs_and_has_nothing_to_complain_of() {
    let desk = Desk::new();
    let served = Served::filled(&desk, "");
    let mut browser = Browser::online();
    let (checker, mut found) = (axe(), Vec::new());
    let pages = ["/", "/history?workload=SRV-QUERY1&jobs=2", "/history", "/run/1"];
    for path in pages {
        for (scheme, rules) in [("light", LEVELS_A_AND_AA), ("dark", OF_COLORS)] {
            browser.open_url(&served.url(path), View { scheme, ..DESKTOP });
            assert!(browser.complaints().is_empty(), "{path}: {:#?}", browser.complaints());
            let violations = browser.violations(&checker, rules).into_iter();
            found.extend(violations.map(|rule| format!("{path} {scheme}: {rule}")));
        }
    }
    assert!(found.is_empty(), "{found:#?}");
    for path in pages {
        browser.open_url(&served.url(path), PHONE);
        let width = browser.count("document.documentElement.scrollWidth");
        assert_eq!(width, i64::from(PHONE.width), "{path} scrolls aside");
    }
    browser.open_url(&served.url("/"), DESKTOP);
    for run in [7, 2] {
        browser.evaluate(&format!("document.querySelector('input[value=\"{run}\"]').focus()"));
        press(&mut browser, " ", 32, " ");
    }
    assert_eq!(
        browser.count("document.querySelectorAll('input[type=checkbox]:checked').length"),
        2
    );
    browser.evaluate("document.querySelector('.runs button').focus()");
    browser.loads(|browser| press(browser, "Enter", 13, "\r"));
    let title = browser.evaluate("document.title");
    assert!(title.as_str().unwrap().contains("night 7 against <b>bold</b>"), "{title}");
    assert!(browser.complaints().is_empty(), "{:#?}", browser.complaints());
    let all_here = |url: &String| url.starts_with(&served.url("/"));
    assert!(browser.requests().iter().all(all_here), "{:?}", browser.requests());
    assert_eq!(browser.evaluate("typeof axe"), Value::from("undefined"), "a page of its own");
}
