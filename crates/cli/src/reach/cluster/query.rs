//! One question to several clusters at the same time.

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use tollgate_client::clusters_file::ClusterSettings;

use crate::exit::CliFailure;

/// The default time for an answer, in seconds: a service answers a quote in milliseconds, and a new TLS
/// connection over a slow network takes about a second.
pub(super) const QUERY_SECONDS: f64 = 5.0;

/// The answer of a cluster.
#[derive(Debug)]
pub(super) enum ClusterAnswer<T> {
    /// The answer, and the time that it took.
    Answered(T, Duration),
    /// The cluster cannot be asked, or refuses to answer.
    Failed(CliFailure),
    /// No answer came in time.
    Silent,
}

/// Asks every cluster at the same time and returns the answers in the order of the clusters. An answer
/// that comes later than `wait` goes to `discard`, as long as this process lives.
pub(super) fn query_all<T: Send + 'static>(
    clusters: &[ClusterSettings],
    wait: Duration,
    question: impl Fn(&ClusterSettings) -> Result<T, CliFailure> + Clone + Send + 'static,
    discard: impl Fn(&ClusterSettings, T) + Clone + Send + 'static,
) -> Vec<ClusterAnswer<T>> {
    let began = Instant::now();
    let (answers, inbox) = mpsc::channel();
    for (at, cluster) in clusters.iter().cloned().enumerate() {
        let (answers, question, discard) = (answers.clone(), question.clone(), discard.clone());
        thread::spawn(move || {
            let answer = question(&cluster);
            if let Err(mpsc::SendError((_, Ok(late), _))) =
                answers.send((at, answer, began.elapsed()))
            {
                discard(&cluster, late);
            }
        });
    }
    drop(answers);
    let mut received: Vec<ClusterAnswer<T>> =
        clusters.iter().map(|_| ClusterAnswer::Silent).collect();
    while let Ok((at, answer, took)) = inbox.recv_timeout(wait.saturating_sub(began.elapsed())) {
        received[at] = match answer {
            Ok(answer) => ClusterAnswer::Answered(answer, took),
            Err(failure) => ClusterAnswer::Failed(failure),
        };
    }
    received
}
