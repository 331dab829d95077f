//! Drive a real browser: Chromium through its driver, by hand over HTTP.
#![allow(dead_code)]

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A browser with one window, closed with the test.
pub struct Browser {
    driver: Child,
    port: u16,
    session: String,
    _profile: tempfile::TempDir,
}

/// Where the pictures of the pages are kept: target/screenshots.
pub fn pictures() -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("screenshots");
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

impl Browser {
    /// Start one. None, with a word on standard error, where there is none; `LEVYTILT_NEED_BROWSER` forbids that.
    pub fn start() -> Option<Self> {
        let spawned = Command::new("chromedriver").arg("--port=0").stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let Ok(mut driver) = spawned else {
            assert!(std::env::var_os("LEVYTILT_NEED_BROWSER").is_none(), "chromedriver is not there");
            eprintln!("SKIPPED: no chromedriver in PATH; scripts/test installs it where it can");
            return None;
        };
        let output = BufReader::new(driver.stdout.take().unwrap());
        let started = |line: std::io::Result<String>| {
            line.ok()?.rsplit_once("started successfully on port ")?.1.trim_end_matches('.').parse::<u16>().ok()
        };
        let port = output.lines().find_map(started).expect("chromedriver names its port");
        let profile = tempfile::tempdir().unwrap();
        let data = format!("--user-data-dir={}", profile.path().display());
        // Tests run as root in containers, where the sandbox of the browser cannot.
        let flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", &data];
        let options = json!({"goog:chromeOptions": {"args": flags}, "goog:loggingPrefs": {"browser": "ALL"}});
        let mut browser = Self { driver, port, session: String::new(), _profile: profile };
        let made = browser.call("POST", "/session", &json!({"capabilities": {"alwaysMatch": options}}));
        browser.session = made["sessionId"].as_str().expect("a session").into();
        Some(browser)
    }

    /// Open a file, on a screen of this width.
    pub fn open(&self, file: &Path, width: u32, dark: bool) {
        self.screen(width, 900);
        let scheme = if dark { "dark" } else { "light" };
        let media = json!({"media": "", "features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.developer("Emulation.setEmulatedMedia", media);
        self.post("/url", json!({"url": format!("file://{}", file.display())}));
    }

    /// Show the page as on paper, in the colours of a dark screen if those were chosen.
    pub fn on_paper(&self, dark: bool) {
        let scheme = if dark { "dark" } else { "light" };
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.developer("Emulation.setEmulatedMedia", json!({"media": "print", "features": features}));
    }

    fn screen(&self, width: u32, height: u32) {
        let screen = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.developer("Emulation.setDeviceMetricsOverride", screen);
    }

    /// The value of a script's `return`.
    pub fn run(&self, script: &str) -> Value {
        self.post("/execute/sync", json!({"script": script, "args": []}))
    }

    /// What a script gives to the function that is its first argument, now or later.
    pub fn run_later(&self, script: &str) -> Value {
        self.post("/execute/async", json!({"script": script, "args": []}))
    }

    /// Press the mouse in the middle of an element's `from` share of its width and let go at `to`.
    pub fn drag(&self, element: &str, from: f64, to: f64) {
        let script = format!(
            "const e = document.querySelector({element:?}); e.scrollIntoView({{block: 'center', behavior: 'instant'}});
             const b = e.getBoundingClientRect(); return [b.left, b.top, b.width, b.height];"
        );
        let found = self.run(&script);
        let of = |k: usize| found[k].as_f64().unwrap();
        let at = |share: f64| {
            json!({"type": "pointerMove", "duration": 50, "origin": "viewport",
                   "x": (of(0) + share * of(2)) as i64, "y": (of(1) + 0.5 * of(3)) as i64})
        };
        let (down, up) = (json!({"type": "pointerDown", "button": 0}), json!({"type": "pointerUp", "button": 0}));
        let steps = [at(from), down, at(0.5 * (from + to)), at(to), up];
        self.post("/actions", json!({"actions": [{"type": "pointer", "id": "mouse", "actions": steps}]}));
    }

    /// Send a key to what has the focus.
    pub fn press(&self, key: &str) {
        let keys = [json!({"type": "keyDown", "value": key}), json!({"type": "keyUp", "value": key})];
        self.post("/actions", json!({"actions": [{"type": "key", "id": "keys", "actions": keys}]}));
    }

    /// What the page wrote to its console, errors of loading included.
    pub fn console(&self) -> Vec<String> {
        let entries = self.post("/se/log", json!({"type": "browser"}));
        entries.as_array().unwrap().iter().map(|entry| entry["message"].to_string()).collect()
    }

    /// Keep a picture of the whole page.
    pub fn picture(&self, name: &str, width: u32) {
        let height = self.run("return Math.ceil(document.documentElement.scrollHeight);").as_u64().unwrap();
        self.screen(width, height as u32);
        // The figures are drawn anew when the screen has changed.
        let wait = "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done(0)));";
        self.post("/execute/async", json!({"script": wait, "args": []}));
        let bytes =
            decode(self.call("GET", &format!("/session/{}/screenshot", self.session), &Value::Null).as_str().unwrap());
        assert!(bytes.starts_with(b"\x89PNG"), "not a picture");
        std::fs::write(pictures().join(name), bytes).unwrap();
        self.screen(width, 900);
    }

    /// The page as it would be printed.
    pub fn printed(&self, name: &str) {
        let text = self.post("/print", json!({"page": {"width": 21.0, "height": 29.7}}));
        let bytes = decode(text.as_str().unwrap());
        assert!(bytes.starts_with(b"%PDF"), "not a document");
        std::fs::write(pictures().join(name), bytes).unwrap();
    }

    fn developer(&self, command: &str, parameters: Value) -> Value {
        self.post("/goog/cdp/execute", json!({"cmd": command, "params": parameters}))
    }

    fn post(&self, path: &str, body: Value) -> Value {
        self.call("POST", &format!("/session/{}{path}", self.session), &body)
    }

    /// One request; the `value` of the answer.
    fn call(&self, method: &str, path: &str, body: &Value) -> Value {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let length = body.len();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Type: application/json\r\n",
            self.port
        )
        .unwrap();
        write!(stream, "Content-Length: {length}\r\nConnection: close\r\n\r\n{body}").unwrap();
        let mut reader = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            if line.trim().is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().unwrap();
            }
        }
        let mut text = vec![0; length];
        reader.read_exact(&mut text).unwrap();
        let mut answer: Value = serde_json::from_slice(&text).unwrap();
        assert!(answer["value"]["error"].is_null(), "{method} {path}: {}", answer["value"]);
        answer["value"].take()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !self.session.is_empty() && !std::thread::panicking() {
            self.call("DELETE", &format!("/session/{}", self.session), &Value::Null);
        }
        drop(self.driver.kill());
        drop(self.driver.wait());
    }
}

/// Base64.
fn decode(text: &str) -> Vec<u8> {
    let digit = |c: u8| match c {
        b'A'..=b'Z' => Some(c - b'A'),
        b'a'..=b'z' => Some(c - b'a' + 26),
        b'0'..=b'9' => Some(c - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let digits: Vec<u32> = text.bytes().filter_map(digit).map(u32::from).collect();
    let part = |four: &[u32]| {
        let number = four.iter().fold(0, |sum, d| sum << 6 | d) << (6 * (4 - four.len()));
        number.to_be_bytes()[1..four.len()].to_vec()
    };
    digits.chunks(4).flat_map(part).collect()
}
