//! Tests of notices: a command of the site, a mail server or a web service tells users what happens to their jobs.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use super::site::ClientTestSite;

/// The command writes each notice on a line.
const SETTINGS: &str =
    "[notices]\ncommand = [\"sh\", \"-c\", \"(cat; echo) >> $NOTICES\"]\nper_minute = 4\n";

/// Starts a service with a command for notices that writes into the user's folder.
fn site() -> ClientTestSite {
    let file = tempfile::NamedTempFile::new().unwrap().into_temp_path();
    let file = file.keep().unwrap();
    ClientTestSite::start(&SETTINGS.replace("$NOTICES", file.to_str().unwrap()))
}

/// Returns the kinds and the sentences of the notices so far.
fn sent_notices(site: &ClientTestSite) -> Vec<(String, String)> {
    let config = fs::read_to_string(site.folder().join("data/config.toml")).unwrap();
    let file = config
        .split(">> ")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap();
    let lines = fs::read_to_string(file).unwrap();
    let notices = lines
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    let pair = |notice: serde_json::Value| {
        let text = |key: &str| notice[key].as_str().unwrap().to_owned();
        (text("notice"), text("text"))
    };
    notices.map(pair).collect()
}

#[test]
fn user_gets_notices_of_the_end_and_of_a_late_job() {
    let site = site();
    let end = [
        "submit", "-q", "--name", "sim", "--notify", "end,lost", "--", "false",
    ];
    site.tollgate(&end).answer();
    site.tollgate(&["wait", "1"]);
    site.until("the end is reported", || sent_notices(&site).len() == 1);
    let expected = "job 1 (sim) is finished: exit 1";
    assert_eq!(
        sent_notices(&site),
        [("end".to_owned(), expected.to_owned())]
    );

    let line = ["--", "sleep", "600"];
    let late = [
        "submit",
        "-q",
        "-e",
        "1s",
        "-d",
        "+12s",
        "--notify",
        "late,at-risk:1",
    ];
    site.tollgate(&[&late[..], &line].concat()).answer();
    site.tollgate(&["submit", "-q", "-e", "1s", "true"])
        .answer();
    site.until("the delay is reported", || sent_notices(&site).len() == 3);
    let kinds: Vec<String> = sent_notices(&site)
        .into_iter()
        .map(|(kind, _)| kind)
        .collect();
    assert_eq!(kinds, ["end", "at-risk", "late"]);
    site.tollgate(&["cancel", "2"]).answer();
}

#[test]
fn user_gets_one_notice_of_an_array_at_risk() {
    let site = site();
    let array = [
        "submit",
        "-q",
        "--array",
        "1-2",
        "-e",
        "1s",
        "-d",
        "+10m",
        "--notify",
        "at-risk:1",
    ];
    let line = ["--", "sleep", "600"];
    site.tollgate(&[&array[..], &line].concat()).answer();
    site.until("the risk is reported", || !sent_notices(&site).is_empty());
    let [(kind, text)] = &sent_notices(&site)[..] else {
        panic!("told more than once");
    };
    assert_eq!(kind, "at-risk");
    assert!(
        text.starts_with("job 1 (sleep) meets its deadline with probability 0."),
        "{text}"
    );
    assert!(text.ends_with("than was planned"), "{text}");
    site.tollgate(&["cancel", "1"]).answer();
}

#[test]
fn notices_beyond_the_limit_and_failures_of_the_command_are_reported() {
    let site = site();
    let many = "for i in 1 2 3 4 5 6; do tollgate submit -q --notify end true; done";
    site.shell(many).answer();
    site.tollgate(&["wait", "1", "2", "3", "4", "5", "6"])
        .answer();
    site.until("four are reported", || sent_notices(&site).len() == 4);

    let command = r#"command = ["sh", "-c", "echo no such mailbox >&2; exit 3"]"#;
    let failing = ClientTestSite::start(&format!("[notices]\n{command}\n"));
    failing
        .tollgate(&["submit", "-q", "--notify", "end", "true"])
        .answer();
    failing.until("the failure is reported", || {
        failing.log_has("a notice could not be sent") && failing.log_has("no such mailbox")
    });
}

#[test]
fn notices_need_a_command_and_a_known_kind() {
    let mut site = ClientTestSite::start("");
    let refused = site.tollgate(&["submit", "--notify", "end", "true"]);
    assert_eq!(refused.code, Some(2));
    assert!(
        refused.stderr.contains("this service sends no notices"),
        "{}",
        refused.stderr
    );
    assert!(
        refused.stderr.contains("setting `notices`"),
        "{}",
        refused.stderr
    );
    site.stop();
    let site = ClientTestSite::start("[notices]\ncommand = [\"true\"]\n");
    let unknown = site.tollgate(&["submit", "--notify", "start", "true"]);
    assert!(
        unknown
            .stderr
            .contains("expected end, late, lost or at-risk:P"),
        "{unknown:?}"
    );
}

/// Serves one connection after the other on loopback. Returns the port, and what each connection brought.
fn listen(answer: impl Fn(TcpStream) -> String + Send + 'static) -> (u16, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, received) = channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            let wait = Some(Duration::from_secs(60));
            stream.set_read_timeout(wait).unwrap();
            if sender.send(answer(stream)).is_err() {
                return;
            }
        }
    });
    (port, received)
}

/// Takes one mail; returns all that was received.
fn take_mail(mut stream: TcpStream) -> String {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    let mut received = String::new();
    let mut is_text = false;
    stream.write_all(b"220 here\r\n").unwrap();
    while let Some(Ok(line)) = lines.next() {
        received.push_str(&format!("{line}\n"));
        let answer = match line.as_str() {
            "." => "250 taken",
            _ if is_text => continue,
            "DATA" => "354 go on",
            "QUIT" => "221 bye",
            _ => "250 well",
        };
        is_text = line == "DATA";
        stream
            .write_all(format!("{answer}\r\n").as_bytes())
            .unwrap();
    }
    received
}

/// Takes one request; returns it, headers first.
fn take_request(stream: TcpStream, answer: &str) -> String {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut received = String::new();
    let mut length = 0;
    while reader.read_line(&mut received).unwrap() > 2 {
        let last = received.lines().last().unwrap().to_lowercase();
        if let Some(bytes) = last.strip_prefix("content-length: ") {
            length = bytes.parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let mut stream = stream;
    stream.write_all(answer.as_bytes()).unwrap();
    received + std::str::from_utf8(&body).unwrap()
}

#[test]
fn targets_of_the_site_send_mail_and_requests() {
    let limit = Duration::from_secs(60);
    let (mail_port, mails) = listen(take_mail);
    let taken = "HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n";
    let (chat_port, requests) = listen(move |stream| take_request(stream, taken));
    let away = format!(
        "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:{chat_port}/\r\nconnection: close\r\n\r\n"
    );
    let (away_port, redirected) = listen(move |stream| take_request(stream, &away));
    let site = ClientTestSite::start(&format!(
        r##"
[notices]
default = "mail"
[notices.targets.mail]
by = "mail"
from = "tollgate@hpc.example"
to = "{{user}}@hpc.example"
smtp = "smtp://127.0.0.1:{mail_port}"
[notices.targets.chat]
by = "post"
url = "http://127.0.0.1:{chat_port}/hook?key=1"
body = {{ text = "{{user}}: {{text}}", channel = "#jobs" }}
headers = {{ Authorization = "Bearer word" }}
[notices.targets.away]
by = "post"
url = "http://127.0.0.1:{away_port}/"
"##
    ));
    let name = r#"é "{user}" \ x"#;
    let kinds = "end,end:chat";
    site.tollgate(&["submit", "-q", "--name", name, "--notify", kinds, "true"])
        .answer();
    let mail = mails.recv_timeout(limit).expect("a mail");
    let user = String::from_utf8(
        std::process::Command::new("id")
            .arg("-un")
            .output()
            .unwrap()
            .stdout,
    )
    .unwrap();
    let user = user.trim();
    for line in [
        "MAIL FROM:<tollgate@hpc.example>",
        &format!("RCPT TO:<{user}@hpc.example>"),
        &format!("To: {user}@hpc.example"),
        "Subject: =?utf-8?Q?job_1_=28=C3=A9_=22=7Buser=7D=22_=5C_x=29_is_finished=3A_exit_0?=",
        "Content-Type: text/plain; charset=utf-8",
    ] {
        assert!(
            mail.lines().any(|found| found.starts_with(line)),
            "{line}: {mail}"
        );
    }
    let request = requests.recv_timeout(limit).expect("a request");
    assert!(
        request.starts_with("POST /hook?key=1 HTTP/1.1\r\n"),
        "{request}"
    );
    assert!(
        request.contains("Authorization: Bearer word\r\n"),
        "{request}"
    );
    let (_, body) = request.split_once("\r\n\r\n").expect("a body");
    let body: serde_json::Value = serde_json::from_str(body).expect("JSON");
    let text = format!("{user}: job 1 ({name}) is finished: exit 0");
    assert_eq!(body, serde_json::json!({"channel": "#jobs", "text": text}));

    site.tollgate(&["submit", "-q", "--notify", "end:away", "true"])
        .answer();
    redirected.recv_timeout(limit).expect("a request");
    site.until("the redirect is reported", || {
        site.log_has("a notice could not be sent") && site.log_has("redirects")
    });
    assert!(requests.try_recv().is_err(), "a redirect was followed");

    let unknown = site.tollgate(&["submit", "--notify", "end:pager", "true"]);
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
    let expected = "one of the targets away, chat, mail, not `pager`";
    assert!(unknown.stderr.contains(expected), "{unknown:?}");
    let status = site.tollgate(&["status", "--format", "json"]).json();
    assert_eq!(
        status["notice_targets"],
        serde_json::json!(["away", "chat", "mail"])
    );
}
