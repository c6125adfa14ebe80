//! The programs that deliver notices: the site's own, sendmail, or curl.

use tollgate_model::Instant;

use super::JobNotice;
use super::mail::{self, is_address};
use super::placeholders::{fill, in_strings};
use super::settings::NoticeTarget;

/// Program that takes mail, on most systems with any mail at all.
const SENDMAIL: &str = "/usr/sbin/sendmail";
/// Program for requests and mail servers.
const CURL: &str = "curl";

/// A program that delivers one notice.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NoticeProgram {
    /// The program and its arguments.
    pub(super) words: Vec<String>,
    /// Its standard input.
    pub(super) input: Vec<u8>,
}

impl NoticeProgram {
    /// Returns the program; none is empty, since the settings are checked.
    pub(super) fn name(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }
}

/// The error for a notice that cannot be delivered to its user.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum UndeliverableNotice {
    /// The name of the account makes no address.
    #[error("`{0}` is not a mail address")]
    Address(String),
}

/// Returns the program that delivers a notice at `now` within `timeout_s` seconds.
pub(super) fn program(
    target: &NoticeTarget,
    notice: &JobNotice,
    now: Instant,
    timeout_s: u32,
) -> Result<NoticeProgram, UndeliverableNotice> {
    // Errors alone are printed, and no file of the account's settings is read.
    let quiet = ["--disable", "--silent", "--show-error", "--max-time"];
    let curl = || {
        let words = [CURL].into_iter().chain(quiet).map(str::to_owned);
        words.chain([timeout_s.to_string()])
    };
    match target {
        NoticeTarget::Command { command } => Ok(NoticeProgram {
            words: command.clone(),
            input: json(notice),
        }),
        NoticeTarget::Mail { from, to, smtp } => {
            let to = fill(to, notice);
            if !is_address(&to) {
                return Err(UndeliverableNotice::Address(to));
            }
            let date = tollgate_client::timestamp::format_mail(now);
            let input = mail::message(from, &to, &date, notice);
            let words = match smtp {
                None => [SENDMAIL, "-i", "--", &to].map(str::to_owned).to_vec(),
                Some(server) => {
                    // Encrypted wherever the server can.
                    let mail = [
                        "--ssl",
                        "--upload-file",
                        "-",
                        "--mail-from",
                        from,
                        "--mail-rcpt",
                        &to,
                        "--url",
                        server,
                    ];
                    curl().chain(mail.map(str::to_owned)).collect()
                }
            };
            Ok(NoticeProgram { words, input })
        }
        NoticeTarget::Post { url, body, headers } => {
            let body = match body {
                Some(body) => in_strings(body.clone(), &mut |text| fill(text, notice)).to_string(),
                None => String::from_utf8_lossy(&json(notice)).into_owned(),
            };
            // Through standard input, since addresses and headers may be secrets, and everyone sees arguments.
            let headers = headers
                .iter()
                .map(|(name, value)| ("header", format!("{name}: {value}")));
            let options = [
                ("url", url.clone()),
                ("proto", "=http,https".to_owned()),
                // A redirect is an error, and not followed.
                ("max-redirs", "0".to_owned()),
                ("header", "content-type: application/json".to_owned()),
                ("output", "/dev/null".to_owned()),
                ("data-raw", body),
            ];
            let lines = options.into_iter().chain(headers);
            let input: String = lines
                .map(|(name, value)| format!("{name} = {}\n", quoted(&value)))
                .collect();
            let words = curl().chain(["--fail", "--location", "--config", "-"].map(str::to_owned));
            Ok(NoticeProgram {
                words: words.collect(),
                input: input.into_bytes(),
            })
        }
    }
}

fn json(notice: &JobNotice) -> Vec<u8> {
    serde_json::to_vec(notice).unwrap_or_default()
}

/// Returns a value as curl reads it from its settings.
fn quoted(value: &str) -> String {
    let mut text = String::from("\"");
    for letter in value.chars() {
        match letter {
            '\\' => text.push_str("\\\\"),
            '"' => text.push_str("\\\""),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            letter => text.push(letter),
        }
    }
    text.push('"');
    text
}
