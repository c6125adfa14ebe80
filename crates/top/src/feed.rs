//! Requests to the service, and its events.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt;
use tokio::sync::mpsc::Sender;
use tollgate_client::types::{JobDetails, JobExplanation, JobRef};
use tollgate_client::{ClientError, ForwardedRequest, PathWithQuery, ServiceForwarder};
use tollgate_overview::actions::JobStateChange;
use tollgate_overview::output::{OutputReader, read_output};

use crate::answers::TopAnswers;
use crate::state::TopNews;

/// The time between two tries to follow the events.
const RETRY: Duration = Duration::from_secs(1);

/// The service, and the files of this host.
#[derive(Clone)]
pub(crate) struct ServiceFeed {
    pub(crate) service: Arc<ServiceForwarder>,
    pub(crate) reader: Arc<dyn OutputReader>,
}

/// The parts of the screen that need answers.
#[derive(Clone, Debug)]
pub(crate) struct ShownParts {
    pub(crate) user: Option<String>,
    pub(crate) explained: Option<String>,
    pub(crate) output: Option<String>,
}

impl ServiceFeed {
    /// Asks for everything that is shown.
    pub(crate) async fn fetch(&self, parts: ShownParts) -> Vec<TopNews> {
        let answers = TopAnswers::fetch(&self.service, parts.user).await;
        let answers = match answers {
            Ok(answers) => answers,
            Err(error) if is_refusal(&error) => return vec![TopNews::Denied(words_of(&error))],
            Err(error) => return vec![TopNews::Away(error.to_string())],
        };
        let mut news = vec![TopNews::Answers(Box::new(answers))];
        if let Some(id) = parts.explained {
            let path = PathWithQuery::new(format!("/v1/jobs/{id}/explain"));
            let explained: Result<JobExplanation, _> = self.service.get(&path).await;
            news.push(news_of(explained, |found| {
                TopNews::Explained(Box::new(found))
            }));
        }
        if let Some(id) = parts.output {
            let output = self.output(&id).await;
            news.push(news_of(output, |output| TopNews::Output { id, output }));
        }
        news
    }

    async fn output(
        &self,
        id: &str,
    ) -> Result<tollgate_overview::output::ShownOutput, ClientError> {
        let path = PathWithQuery::new(format!("/v1/jobs/{id}"));
        let job: JobDetails = self.service.get(&path).await?;
        read_output(&self.service, &self.reader, &job).await
    }

    /// Changes a job.
    pub(crate) async fn change(&self, id: &str, change: JobStateChange) -> TopNews {
        let path = PathWithQuery::new(format!("/v1/jobs/{id}/{}", change.verb()));
        let answer: Result<JobRef, ClientError> = self.service.post(&path, &()).await;
        TopNews::Changed(match answer {
            Ok(_) => Ok(change.done(id)),
            Err(error) => Err(format!("Job {id}: {}", words_of(&error))),
        })
    }

    /// Follows the events of the service until the receiver is gone. Each message means that something changed,
    /// or that the stream broke.
    pub(crate) async fn follow(&self, changed: Sender<()>) {
        loop {
            let request = ForwardedRequest::get("/v1/events");
            if let Ok(answer) = self.service.forward(request).await {
                let mut body = answer.into_body();
                while let Some(Ok(frame)) = body.frame().await {
                    let has_event = frame
                        .data_ref()
                        .is_some_and(|data| data.windows(7).any(|part| part == b"event: "));
                    // A full channel holds such a message already.
                    if has_event && is_closed(&changed) {
                        return;
                    }
                }
            }
            if is_closed(&changed) {
                return;
            }
            tokio::time::sleep(RETRY).await;
        }
    }
}

/// Sends a message if none is on its way. Returns whether the receiver is gone.
fn is_closed(changed: &Sender<()>) -> bool {
    let _ = changed.try_send(());
    changed.is_closed()
}

fn news_of<T>(answer: Result<T, ClientError>, news: impl FnOnce(T) -> TopNews) -> TopNews {
    match answer {
        Ok(found) => news(found),
        Err(error) if is_refusal(&error) => TopNews::Refused(words_of(&error)),
        Err(error) => TopNews::Away(error.to_string()),
    }
}

fn is_refusal(error: &ClientError) -> bool {
    matches!(error, ClientError::Refused { .. })
}

/// Returns the message of an error, with its hint.
fn words_of(error: &ClientError) -> String {
    let ClientError::Refused { problem, .. } = error else {
        return error.to_string();
    };
    match &problem.hint {
        Some(hint) => format!("{}: {hint}", problem.error),
        None => problem.error.clone(),
    }
}
