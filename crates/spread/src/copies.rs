//! The copies of one host: start, output, end.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

use crate::message::{CopyOrder, CopyStream, PartMessage};

/// The variable with the rank of a copy, from 0.
const RANK_VARIABLE: &str = "TOLLGATE_RANK";
/// The variable with the number of copies on all hosts.
const COPIES_VARIABLE: &str = "TOLLGATE_COPIES";
/// Maximum length of a piece of output, in bytes. A longer line is passed on in pieces.
const MAX_PIECE: usize = 64 << 10;
/// Time for the output that an ended copy has left to a process in the background.
const OUTPUT_TIMEOUT: Duration = Duration::from_secs(2);
/// Number of messages that may wait for the connection; then the copies wait.
const MAX_MESSAGES: usize = 16;

/// The running copies of a part.
pub(crate) struct RunningCopies {
    groups: Arc<Mutex<Vec<Pid>>>,
    /// The messages of the copies. Ends when all have ended.
    pub(crate) messages: Receiver<PartMessage>,
}

/// Access to the process groups of running copies.
#[derive(Clone)]
pub(crate) struct CopyGroups(Arc<Mutex<Vec<Pid>>>);

impl RunningCopies {
    /// Starts the copies of an order. Variables of `own` take precedence over those of the order.
    pub(crate) fn start(order: &CopyOrder, own: &[(OsString, Option<OsString>)]) -> Self {
        let groups = Arc::new(Mutex::new(Vec::new()));
        let (to, messages) = mpsc::sync_channel(MAX_MESSAGES);
        for &rank in &order.ranks {
            let message = match command(order, own, rank).spawn() {
                Ok(child) => {
                    let pid = Pid::from_child(&child);
                    groups
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .push(pid);
                    let (to, groups) = (to.clone(), CopyGroups(Arc::clone(&groups)));
                    thread::spawn(move || attend(child, rank, &to, &groups));
                    continue;
                }
                Err(error) => PartMessage::Failed {
                    rank,
                    reason: error.to_string(),
                },
            };
            // The channel has no reader yet, and a full one would wait for ever.
            let to = to.clone();
            thread::spawn(move || to.send(message));
        }
        Self { groups, messages }
    }

    /// Returns access to the process groups of the copies.
    pub(crate) fn groups(&self) -> CopyGroups {
        CopyGroups(Arc::clone(&self.groups))
    }
}

impl CopyGroups {
    /// Sends a signal to every process of the copies that has not left its group.
    pub(crate) fn signal(&self, signal: Signal) {
        for &group in self.0.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            // The group may be empty by now.
            let _ = kill_process_group(group, signal);
        }
    }

    /// Ends what a copy has left behind, before its process id is free for others.
    fn end_group(&self, group: Pid) {
        let mut groups = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = kill_process_group(group, Signal::KILL);
        groups.retain(|other| *other != group);
    }
}

fn command(order: &CopyOrder, own: &[(OsString, Option<OsString>)], rank: u32) -> Command {
    let text = |bytes: &Vec<u8>| OsString::from_vec(bytes.clone());
    let mut words = order.argv.iter().map(text);
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words).env_clear();
    command.envs(
        order
            .env
            .iter()
            .map(|(name, value)| (text(name), text(value))),
    );
    for (name, value) in own {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
        .env(RANK_VARIABLE, rank.to_string())
        .env(COPIES_VARIABLE, order.total.to_string())
        .current_dir(text(&order.dir))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    command
}

/// Passes on the output of a copy until it has ended, and then its end.
fn attend(mut child: Child, rank: u32, to: &mpsc::SyncSender<PartMessage>, groups: &CopyGroups) {
    let (done, is_done) = mpsc::channel();
    let output = child.stdout.take();
    let errors = child.stderr.take();
    // The end waits for output that a slow reader has not read, but not for a stream without a writer.
    let pending = Arc::new(AtomicUsize::new(0));
    pass_on(output, CopyStream::Output, to, (&done, &pending));
    pass_on(errors, CopyStream::Error, to, (&done, &pending));
    drop(done);
    let group = Pid::from_child(&child);
    let ended = child.wait();
    groups.end_group(group);
    // Ends early if both streams are at their end, because no sender is left.
    while is_done.recv_timeout(OUTPUT_TIMEOUT) != Err(RecvTimeoutError::Disconnected)
        && pending.load(Ordering::Acquire) > 0
    {}
    let code = ended.map_or(1, exit_code);
    // Without a receiver, the connection is gone.
    let _ = to.send(PartMessage::Exited { rank, code });
}

/// Passes on a stream by the line, in a thread of its own that drops `done` at the end of the stream.
fn pass_on(
    stream: Option<impl Read + Send + 'static>,
    kind: CopyStream,
    to: &mpsc::SyncSender<PartMessage>,
    (done, pending): (&Sender<()>, &Arc<AtomicUsize>),
) {
    let (to, done, pending) = (to.clone(), done.clone(), Arc::clone(pending));
    let Some(stream) = stream else {
        return;
    };
    thread::spawn(move || {
        let mut stream = BufReader::with_capacity(MAX_PIECE, stream);
        while let Ok(Some(lines)) = next_lines(&mut stream) {
            pending.fetch_add(1, Ordering::AcqRel);
            let sent = to.send(PartMessage::Output(kind, lines));
            pending.fetch_sub(1, Ordering::AcqRel);
            if sent.is_err() {
                break;
            }
        }
        drop(done);
    });
}

/// Returns the lines that have arrived, or a piece of a line that is longer than a piece; None at the end.
/// Waits for the end of a line that has begun.
fn next_lines(from: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let arrived = from.fill_buf()?;
    let lines = arrived.iter().rposition(|byte| *byte == b'\n');
    let mut piece = arrived[..lines.map_or(arrived.len(), |end| end + 1)].to_vec();
    from.consume(piece.len());
    if lines.is_none() {
        let rest = MAX_PIECE.saturating_sub(piece.len());
        from.take(rest as u64).read_until(b'\n', &mut piece)?;
    }
    Ok((!piece.is_empty()).then_some(piece))
}

/// Returns the exit code, or 128 + n after signal n.
fn exit_code(status: ExitStatus) -> u8 {
    let code = status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(argv: &[&str], ranks: &[u32]) -> Vec<PartMessage> {
        let bytes = |word: &&str| word.as_bytes().to_vec();
        let order = CopyOrder {
            argv: argv.iter().map(bytes).collect(),
            env: vec![
                (b"PATH".to_vec(), b"/usr/bin:/bin".to_vec()),
                (b"A".to_vec(), b"lead".to_vec()),
                (b"B".to_vec(), b"lead".to_vec()),
            ],
            dir: b"/".to_vec(),
            ranks: ranks.to_vec(),
            total: 8,
        };
        let own = [("A".into(), Some("own".into())), ("B".into(), None)];
        RunningCopies::start(&order, &own).messages.iter().collect()
    }

    fn exited(rank: u32, code: u8) -> PartMessage {
        PartMessage::Exited { rank, code }
    }

    #[test]
    fn copies_find_their_ranks_and_variables_of_their_host() {
        let line = "echo $TOLLGATE_RANK of $TOLLGATE_COPIES, $A, ${B-none}; exit $TOLLGATE_RANK";
        let messages = run(&["sh", "-c", line], &[3, 4]);
        for rank in [3, 4] {
            let text = format!("{rank} of 8, own, none\n").into_bytes();
            let output = PartMessage::Output(CopyStream::Output, text);
            assert!(messages.contains(&output), "{messages:?}");
            assert!(messages.contains(&exited(rank, rank as u8)));
        }
    }

    #[test]
    fn output_comes_before_the_end_by_the_line() {
        let messages = run(&["sh", "-c", "echo a; printf b >&2; kill -9 $$"], &[0]);
        let last = messages.last().unwrap();
        assert_eq!(*last, exited(0, 137));
        let output = |stream, text: &[u8]| PartMessage::Output(stream, text.to_vec());
        assert!(messages.contains(&output(CopyStream::Output, b"a\n")));
        assert!(messages.contains(&output(CopyStream::Error, b"b")));
    }

    #[test]
    fn missing_program_is_reported_for_each_copy() {
        let messages = run(&["no-such-program-anywhere"], &[0, 1]);
        assert_eq!(messages.len(), 2);
        let is_failure = |message: &PartMessage| matches!(message, PartMessage::Failed { .. });
        assert!(messages.iter().all(is_failure));
    }

    #[test]
    fn children_of_a_copy_end_with_it() {
        let messages = run(&["sh", "-c", "sleep 600 & echo $!"], &[0]);
        let pid = messages.iter().find_map(|message| match message {
            PartMessage::Output(CopyStream::Output, text) => {
                String::from_utf8_lossy(text).trim().parse().ok()
            }
            PartMessage::Ready
            | PartMessage::Output(CopyStream::Error, _)
            | PartMessage::Exited { .. }
            | PartMessage::Failed { .. } => None,
        });
        let pid: u32 = pid.unwrap();
        let runs = || {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
            stat.is_ok_and(|stat| !stat.contains(") Z "))
        };
        let began = std::time::Instant::now();
        // A killed process ends in a moment.
        while runs() {
            assert!(began.elapsed() < Duration::from_secs(60), "{pid} runs on");
            thread::yield_now();
        }
        assert_eq!(*messages.last().unwrap(), exited(0, 0));
    }

    #[test]
    fn whole_lines_are_passed_on_together_and_a_long_one_in_pieces() {
        let pieces = |text: &[u8]| {
            let mut from = BufReader::with_capacity(MAX_PIECE, text);
            let pieces = std::iter::from_fn(|| next_lines(&mut from).unwrap());
            pieces.map(|piece| piece.len()).collect::<Vec<_>>()
        };
        assert_eq!(pieces(b"a\nb\nrest"), [4, 4]);
        assert_eq!(pieces(&[b'x'; 100_000]), [65_536, 34_464]);
        let mut text = vec![b'x'; 65_535];
        text.extend(b"\ny\n");
        assert_eq!(pieces(&text), [65_536, 2]);
        assert_eq!(pieces(b""), [0; 0]);
    }
}
