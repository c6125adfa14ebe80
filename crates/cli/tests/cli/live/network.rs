//! Tests of access to a service over the network.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use super::site::{ClientOutput, ClientTestSite};

const LISTENS: &str = "[listen]\naddress = \"127.0.0.1:0\"\n";

impl ClientTestSite {
    /// Returns the arguments with the URL, the token and the key of the service.
    pub(crate) fn remote_args(&self) -> Vec<String> {
        let log = fs::read_to_string(self.folder().join("log")).unwrap();
        let address = log.split("url=").nth(1).expect("it listens");
        let (url, rest) = address.split_once(" key=").expect("its key");
        let key = rest.lines().next().expect("a line");
        let token = self.folder().join("token").display().to_string();
        ["--url", url, "--fingerprint", key, "--token-file", &token]
            .map(str::to_owned)
            .to_vec()
    }

    pub(crate) fn store_token(&self, token: &str) {
        let file = self.folder().join("token");
        fs::write(&file, token).unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    }

    /// Runs the program with these arguments over the network.
    fn tollgate_remote(&self, words: &[&str]) -> ClientOutput {
        let way = self.remote_args();
        let split = words.iter().position(|&word| word == "--");
        let (flags, command) = words.split_at(split.unwrap_or(words.len()));
        let way: Vec<&str> = way.iter().map(String::as_str).collect();
        self.tollgate(&[flags, &way, command].concat())
    }
}

#[test]
fn token_gives_access_until_it_is_revoked() {
    let site = ClientTestSite::start(LISTENS);
    let token = site
        .tollgate(&["token", "new", "--expires", "90d"])
        .answer();
    site.store_token(&token);
    let id = site.tollgate_remote(&["submit", "-q", "-e", "1s", "--", "echo", "said"]);
    let id = id.answer();
    site.tollgate_remote(&["wait", "-q", id.trim()]).answer();
    let logs = site.tollgate_remote(&["logs", id.trim()]);
    assert_eq!(logs.code, Some(1));
    assert!(logs.stderr.contains("serves no files"), "{logs:?}");
    assert_eq!(site.tollgate_remote(&["token", "new"]).code, Some(1));
    let listed = site.tollgate(&["token", "list", "--format", "json"]).json();
    let listed = &listed["tokens"][0];
    assert!(listed["expires_at"].is_string(), "{listed}");
    assert!(!listed.to_string().contains(token.trim()));
    let name = listed["id"].as_str().unwrap();
    site.tollgate(&["token", "revoke", name]).answer();
    let late = site.tollgate_remote(&["status"]);
    assert_eq!(late.code, Some(1));
    assert_eq!(
        late.stderr,
        "error: invalid token: unknown, revoked or expired\n\
         hint: `tollgate token new` creates one, on the host of the service\n"
    );
}

#[test]
fn tokens_are_listed() {
    let site = ClientTestSite::start(LISTENS);
    site.tollgate(&["token", "new"]).answer();
    site.tollgate(&["token", "new", "--worker"]).answer();
    let listed = site.tollgate(&["token", "list"]).answer();
    let kinds = |kind| listed.lines().filter(|line| line.contains(kind)).count();
    assert_eq!((kinds(" user "), kinds(" worker ")), (2, 1), "{listed}");
}

#[test]
fn missing_credentials_are_named() {
    let site = ClientTestSite::start(LISTENS);
    let url = site.remote_args()[1].clone();
    let nothing = site.tollgate(&["status", "--url", &url]);
    assert_eq!(nothing.code, Some(2));
    assert_eq!(
        nothing.stderr.replace(&url, "URL"),
        "error: URL: the service cannot be authenticated: expected a fingerprint or trusted certificates\n\
         hint: `tollgate serve` prints its fingerprint: give it with `--fingerprint` or \
         TOLLGATE_FINGERPRINT\n"
    );
    site.store_token("open");
    let file = site.folder().join("token");
    fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
    let open = site.tollgate_remote(&["status"]);
    assert_eq!(open.code, Some(1));
    assert!(
        open.stderr.contains("others cannot read, found mode 644"),
        "{open:?}"
    );
    for url in ["http://127.0.0.1:1", "127.0.0.1:1"] {
        assert_eq!(
            site.tollgate(&["status", "--url", url]).code,
            Some(2),
            "{url}"
        );
    }
}

#[test]
fn credentials_can_come_from_the_environment() {
    let site = ClientTestSite::start(LISTENS);
    let token = site.tollgate(&["token", "new"]).answer();
    site.store_token(&token);
    let way = site.remote_args();
    let line = format!(
        "TOLLGATE_URL={} TOLLGATE_FINGERPRINT={} TOLLGATE_TOKEN_FILE={} tollgate status",
        way[1], way[3], way[5]
    );
    site.shell(&line).answer();
    let line = line.replace(&way[3], &format!("sha256:{}", "0".repeat(64)));
    let other = site.shell(&line);
    assert_eq!(other.code, Some(1));
    assert!(
        other
            .stderr
            .contains("not the service with that fingerprint"),
        "{other:?}"
    );
    // An explicit data directory takes precedence.
    let data = site.folder().join("data");
    site.shell(&format!("{line} --data {}", data.display()))
        .answer();
}
