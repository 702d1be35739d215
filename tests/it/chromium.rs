//! A headless Chromium, driven by its DevTools protocol over pipes: JSON texts that end with a zero
//! byte.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;
use serde_json::{Value, json};

use crate::leftovers::Directory;
use crate::support::{TEST_TIMEOUT, until};

/// The flags a root user and a sandboxed machine need; nothing is asked of any network.
const FLAGS: &str = "--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run \
                     --disable-background-networking --disable-component-update --disable-sync \
                     --remote-debugging-pipe";

/// A window to look through.
#[derive(Clone, Copy)]
pub struct View {
    pub width: u32,
    pub height: u32,
    pub is_mobile: bool,
    pub scheme: &'static str,
}

pub const DESKTOP: View = View { width: 1280, height: 900, is_mobile: false, scheme: "light" };
pub const PHONE: View = View { width: 360, height: 740, is_mobile: true, scheme: "light" };

/// The guidelines at levels A and AA, as axe-core names their rules.
pub const LEVELS_A_AND_AA: &str = "['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']";
/// The rules about colors among them: nothing else can differ between the schemes of a page.
pub const OF_COLORS: &str = "['color-contrast', 'link-in-text-block']";

/// Everything is laid out, also what is out of sight.
pub const SHOW_ALL: &str = "document.querySelectorAll('section').forEach(part => \
                            part.style.contentVisibility = 'visible')";

/// Answer of the browser; an error if it says nothing for too long, as after its page's process has
/// crashed.
struct Patient(ChildStdout);

impl Read for Patient {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let mut heard = [PollFd::new(&self.0, PollFlags::IN)];
        let timeout = Timespec::try_from(TEST_TIMEOUT).unwrap();
        match retry_on_intr(|| poll(&mut heard, Some(&timeout)))? {
            0 => Err(std::io::Error::new(
                std::io::ErrorKind::TimedOut,
                "the browser does not answer",
            )),
            _ => self.0.read(buffer),
        }
    }
}

/// A running browser with one page.
pub struct Browser {
    child: Child,
    to: ChildStdin,
    from: BufReader<Patient>,
    session: Option<String>,
    calls: u64,
    events: Vec<Value>,
    _profile: Directory,
}

impl Browser {
    /// Without any network.
    pub fn start() -> Browser {
        let mut browser = Browser::online();
        let offline = json!({
            "offline": true,
            "latency": 0,
            "downloadThroughput": -1,
            "uploadThroughput": -1,
        });
        browser.call("Network.emulateNetworkConditions", offline);
        browser
    }

    /// One that may ask servers.
    pub fn online() -> Browser {
        let profile = crate::support::directory();
        // The protocol is spoken over the file descriptors 3 and 4.
        let line = format!(
            "exec chromium {FLAGS} --user-data-dir={} about:blank 3<&0 4>&1",
            profile.path().display()
        );
        let mut command = Command::new("sh");
        command
            .args(["-c", &line])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let (to, from) =
            (child.stdin.take().unwrap(), BufReader::new(Patient(child.stdout.take().unwrap())));
        let mut browser = Browser {
            child,
            to,
            from,
            session: None,
            calls: 0,
            events: Vec::new(),
            _profile: profile,
        };
        browser.attach();
        browser
    }

    fn attach(&mut self) {
        let targets = self.call("Target.getTargets", json!({}))["targetInfos"].clone();
        let page =
            targets.as_array().unwrap().iter().find(|target| target["type"] == "page").unwrap();
        let to = json!({"targetId": page["targetId"], "flatten": true});
        self.session =
            Some(self.call("Target.attachToTarget", to)["sessionId"].as_str().unwrap().to_string());
        for domain in ["Page", "Runtime", "Log", "Network"] {
            self.call(&format!("{domain}.enable"), json!({}));
        }
    }

    /// Calls a method and waits for its answer; events that come before are kept.
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        self.calls += 1;
        let mut message = json!({"id": self.calls, "method": method, "params": params});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.to.write_all(format!("{message}\0").as_bytes()).unwrap();
        self.to.flush().unwrap();
        loop {
            let mut answer = self.read();
            if answer["id"] == self.calls {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].take();
            }
            self.events.push(answer);
        }
    }

    fn read(&mut self) -> Value {
        let mut text = Vec::new();
        let read = self.from.read_until(0, &mut text).unwrap();
        assert!(
            read > 0,
            "the browser ended (is chromium installed? see scripts/test-dependencies.sh)"
        );
        text.pop();
        serde_json::from_slice(&text).unwrap()
    }

    /// Opens a file, waits until it is loaded, and lets every chart be drawn.
    pub fn open(&mut self, file: &Path, view: View) {
        self.open_url(&format!("file://{}", file.display()), view);
        self.evaluate("dispatchEvent(new Event('beforeprint'))");
    }

    /// Opens a page and waits until it is loaded.
    pub fn open_url(&mut self, url: &str, view: View) {
        let metrics = json!({
            "width": view.width,
            "height": view.height,
            "deviceScaleFactor": 1,
            "mobile": view.is_mobile,
        });
        self.call("Emulation.setDeviceMetricsOverride", metrics);
        let scheme = json!([{"name": "prefers-color-scheme", "value": view.scheme}]);
        self.call("Emulation.setEmulatedMedia", json!({"features": scheme}));
        self.loads(|browser| drop(browser.call("Page.navigate", json!({"url": url}))));
        if view.is_mobile {
            self.is_laid_out_for(view.width);
        }
    }

    /// Waits until the page is laid out for a screen of this width. The renderer learns of the
    /// screen beside the page: on a busy machine a page may be loaded before, and is laid out as
    /// one for desktops, 980 wide. Not the width of what the page holds, which may be wider.
    fn is_laid_out_for(&mut self, width: u32) {
        until("the page is laid out for its screen", || {
            self.count("document.documentElement.clientWidth") == i64::from(width)
        });
    }

    /// Waits until the page is loaded that an act leads to.
    pub fn loads(&mut self, act: impl FnOnce(&mut Browser)) {
        self.events.clear();
        act(self);
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let event = self.read();
            self.events.push(event);
        }
    }

    /// The value of an expression; a promise is awaited.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let params = json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let mut answer = self.call("Runtime.evaluate", params);
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].take()
    }

    /// A whole number that an expression gives.
    pub fn count(&mut self, expression: &str) -> i64 {
        self.evaluate(expression)
            .as_i64()
            .unwrap_or_else(|| panic!("{expression} is not a whole number"))
    }

    /// The rules among these that the page breaks, also where it is out of sight, by axe-core (its
    /// script), the checker that most others are made of.
    pub fn violations(&mut self, checker: &str, rules: &str) -> Vec<String> {
        self.evaluate(SHOW_ALL);
        self.evaluate(checker);
        let run = format!(
            "axe.run(document, {{runOnly: {rules}, resultTypes: ['violations']}}).then(found => \
             found.violations.map(rule => rule.id + ': ' + rule.nodes.slice(0, 3).map(node => \
             node.html.slice(0, 200)).join(' | ')))"
        );
        let found = self.evaluate(&run);
        found.as_array().unwrap().iter().map(Value::to_string).collect()
    }

    /// Everything written to the console, thrown or complained about since the page was opened.
    pub fn complaints(&self) -> Vec<&Value> {
        let loud = ["Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"];
        self.events
            .iter()
            .filter(|event| loud.iter().any(|method| event["method"] == *method))
            .collect()
    }

    /// Addresses asked for since the page was opened.
    pub fn requests(&self) -> Vec<String> {
        let sent =
            self.events.iter().filter(|event| event["method"] == "Network.requestWillBeSent");
        sent.map(|event| event["params"]["request"]["url"].as_str().unwrap_or_default().to_string())
            .collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
